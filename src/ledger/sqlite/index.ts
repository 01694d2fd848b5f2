// The SQLite ledger: one file, several processes of one machine.

import { systemClock, type Clock } from '../../core/ports.ts'
import type { Ledger } from '../ledger.ts'
import { closeMethods } from './close.ts'
import { openDatabase } from './database.ts'
import { incrementalMethods } from './incremental.ts'
import { pushMethods } from './push.ts'
import { reportMethods } from './reports.ts'
import { runMethods } from './runs.ts'
import { stageMethods } from './stage.ts'
import { standingMethods } from './standing.ts'
import { streamMethods } from './streams.ts'

/**
 * Opens the ledger file at `path`, made and migrated where needed.
 * @throws LedgerError where it cannot be opened, is damaged, or is of another release
 */
export function openSqliteLedger(
  path: string,
  options: { readOnly?: boolean; clock?: Clock } = {},
): Ledger {
  const clock = options.clock ?? systemClock
  const now = () => new Date(clock.now()).toISOString()
  const db = openDatabase(path, options)
  return {
    place: path,
    ...runMethods(db, now),
    ...stageMethods(db),
    ...incrementalMethods(db),
    ...pushMethods(db, now),
    ...closeMethods(db, now),
    ...reportMethods(db),
    ...standingMethods(db),
    ...streamMethods(db),
    async close() {
      db.close()
    },
  }
}
