// The PostgreSQL ledger: one schema of a database, any number of processes on any number of machines.

import { systemClock, type Clock } from '../../core/ports.ts'
import type { SetUp } from '../../sqlite/migrate.ts'
import type { Ledger } from '../ledger.ts'
import { checkUsable, UNUSABLE } from '../move/note.ts'
import { actionStatements } from '../statements/actions.ts'
import { archiveStatements } from '../statements/archive.ts'
import { beginningStatements } from '../statements/beginning.ts'
import { linkClosing } from '../statements/links/closing.ts'
import { linkMethods } from '../statements/links/index.ts'
import { linkDecisions } from '../statements/links/staging.ts'
import { acceptedRecordMethods } from '../statements/accepted-records.ts'
import { differenceMethods } from '../statements/differences.ts'
import { sharedMethods } from '../statements/index.ts'
import { removalClosing, removalMethods } from '../statements/removals.ts'
import { schemaHistoryStatements } from '../statements/schema-history.ts'
import { exportSelects } from './archive.ts'
import { closingMethods } from './closing.ts'
import type { Connection } from './connection.ts'
import { openPostgresDatabase } from './database.ts'
import { postgresDialect } from './dialect.ts'
import { leftoverMethods } from './leftovers.ts'
import { postgresLinkSql } from './link-sql.ts'
import { outboxMethods } from './outbox.ts'
import { pagedRunner } from './pages.ts'
import { reconciliationMethods } from './reconciliation.ts'
import { runMethods } from './runs.ts'
import { stagingMethods } from './staging.ts'
import { subject } from './subject.ts'
import { postgresTransactions } from './transactions.ts'
import { verificationMethods } from './verification.ts'

/**
 * Opens the ledger in a PostgreSQL database, and makes it unless `readOnly`; `setUp: 'upgrade'` migrates an older one.
 * @param options.signingKey signs the manifests of closed runs; null: they are not signed
 * @throws LedgerError if it cannot be reached or used, or is of another release
 */
export async function openPostgresLedger(
  connection: Connection,
  options: { readOnly?: boolean; setUp?: SetUp; clock?: Clock; signingKey?: string | null } = {},
): Promise<Ledger> {
  const clock = options.clock ?? systemClock
  const now = () => new Date(clock.now()).toISOString()
  const db = await openPostgresDatabase(connection, subject, options)
  try {
    checkUsable(db.place, await db.one(UNUSABLE))
  } catch (error) {
    await db.close()
    throw error
  }
  const transactions = postgresTransactions(db)
  const runner = { ...pagedRunner(db), ...transactions }
  return {
    place: db.place,
    ...sharedMethods(runner, postgresLinkSql),
    ...actionStatements(runner, postgresDialect, now),
    ...schemaHistoryStatements(runner, postgresDialect, now),
    ...beginningStatements(runner, now),
    ...archiveStatements(runner, exportSelects(db)),
    ...runMethods(db, now),
    ...stagingMethods(db, linkDecisions(transactions, postgresLinkSql)),
    ...linkMethods(runner, postgresLinkSql, now),
    ...leftoverMethods(db),
    ...outboxMethods(db, now),
    ...verificationMethods(db),
    ...acceptedRecordMethods(runner, postgresLinkSql),
    ...reconciliationMethods(db),
    ...differenceMethods(runner, postgresLinkSql),
    ...removalMethods(runner, postgresLinkSql),
    ...closingMethods(
      db,
      now,
      options.signingKey ?? null,
      linkClosing(transactions, postgresLinkSql),
      removalClosing(runner, postgresLinkSql),
    ),
    close: () => db.close(),
  }
}
