// A ledger that is not there although something shows that it was: without it every sync looks as if it had never run.

import { existsSync } from 'node:fs'
import type { Config } from '../../../config/index.ts'
import { findParts } from '../../dev/parts.ts'

/** What SQLite keeps next to a file that is in use. */
const BESIDE = ['-wal', '-shm', '-journal']

/** Says that a ledger file is gone; null where nothing shows that there was one. Asked where there is none. */
export function lostLedgerText({ ledger, file: configFile }: Config): string | null {
  if (!('sqlite' in ledger)) return null
  const file = ledger.sqlite
  const beside = BESIDE.map((end) => `${file}${end}`).find((path) => existsSync(path))
  const parts = findParts(configFile)
  const sign =
    beside !== undefined
      ? `${beside} is there`
      : parts && `"records-sync ${parts.command}" (process ${parts.pid}) works with it`
  return sign === null
    ? null
    : `There is no ledger at ${file}, although ${sign}: it was moved or deleted. Put it back; until then nothing is known of its runs`
}
