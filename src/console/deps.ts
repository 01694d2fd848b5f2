// What pages and answers are read with.

import type { LiveReader } from './live-reader.ts'
import type { ConsoleParts } from './parts.ts'
import type { ConsoleReadings } from './readings.ts'

export interface ConsoleDeps {
  readonly parts: ConsoleParts
  readonly readings: ConsoleReadings
  readonly live: LiveReader
  now(): number
}
