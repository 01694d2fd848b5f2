// The PostgreSQL ledger: one schema of a database, any number of processes on any number of machines.

import { LedgerError } from '../../core/errors.ts'
import { systemClock, type Clock } from '../../core/ports.ts'
import type { Ledger } from '../ledger.ts'
import { accountMethods } from './account.ts'
import { closeMethods } from './close.ts'
import { correctedMethods } from './corrected.ts'
import { extraMethods } from './extra.ts'
import type { Connection } from './connection.ts'
import { openPostgresDatabase } from './database.ts'
import type { ErrorSubject } from './session.ts'
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

const subject: ErrorSubject = {
  noun: 'ledger',
  code: 'ledger',
  connections: 8,
  connectMaxMs: 10_000,
  lockMaxMs: 10_000,
  statementMaxMs: 60_000,
  fail: (code, message, reason) => new LedgerError(code, message, reason),
}

/**
 * Opens the ledger in a PostgreSQL database, made and migrated where needed.
 * @param options.signingKey signs the manifests of closed runs; null: they are not signed
 * @throws LedgerError where it cannot be reached or used, or is of another release
 */
export async function openPostgresLedger(
  connection: Connection,
  options: { readOnly?: boolean; clock?: Clock; signingKey?: string | null } = {},
): Promise<Ledger> {
  const clock = options.clock ?? systemClock
  const now = () => new Date(clock.now()).toISOString()
  const db = await openPostgresDatabase(connection, subject, options)
  return {
    place: db.place,
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
    close: () => db.close(),
  }
}
