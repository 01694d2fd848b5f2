// What pages and answers are read with.

import type { LiveReader } from './live-reader.ts'
import type { Visitor } from './login/gate.ts'
import type { ConsoleParts } from './parts.ts'
import type { ConsoleReadings } from './readings.ts'

export interface ConsoleDeps {
  readonly parts: ConsoleParts
  readonly readings: ConsoleReadings
  readonly live: LiveReader
  /** Who asks; null where that is not known yet. */
  readonly visitor: Visitor | null
  now(): number
}
