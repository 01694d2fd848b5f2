// The SQLite ledger: one file, several processes of one machine.

import { systemClock, type Clock } from '../../core/ports.ts'
import type { Ledger } from '../ledger.ts'
import { accountMethods } from './account.ts'
import { closeMethods } from './close.ts'
import { correctedMethods } from './corrected.ts'
import { extraMethods } from './extra.ts'
import { openLedgerDatabase, type SqliteDatabase } from './database.ts'
import { incrementalMethods } from './incremental.ts'
import { keyMethods } from './keys.ts'
import { pushMethods } from './push.ts'
import { reconcileMethods } from './reconcile.ts'
import { reportMethods } from './reports.ts'
import { retryMethods } from './retry.ts'
import { runMethods } from './runs.ts'
import { stageMethods } from './stage.ts'
import { syncHealthMethods } from './sync-health.ts'
import { streamMethods } from './streams.ts'

/**
 * Opens the ledger file at `path`, made and migrated where needed.
 * @param options.signingKey signs the manifests of closed runs; null: they are not signed
 * @throws LedgerError where it cannot be opened, is damaged, or is of another release
 */
export function openSqliteLedger(
  path: string,
  options: { readOnly?: boolean; clock?: Clock; signingKey?: string | null } = {},
): Ledger {
  return ledgerOn(openLedgerDatabase(path, options), options)
}

/** The ledger in an open file. */
export function ledgerOn(
  db: SqliteDatabase,
  options: { clock?: Clock; signingKey?: string | null } = {},
): Ledger {
  const clock = options.clock ?? systemClock
  const now = () => new Date(clock.now()).toISOString()
  return {
    place: db.path,
    ...runMethods(db, now),
    ...stageMethods(db),
    ...incrementalMethods(db),
    ...pushMethods(db, now),
    ...keyMethods(db),
    ...reconcileMethods(db),
    ...correctedMethods(db),
    ...extraMethods(db),
    ...closeMethods(db, now, options.signingKey ?? null),
    ...retryMethods(db),
    ...reportMethods(db),
    ...syncHealthMethods(db),
    ...streamMethods(db),
    ...accountMethods(db),
    async close() {
      db.close()
    },
  }
}
