// The SQLite ledger: one file, several processes of one machine.

import { systemClock, type Clock } from '../../core/ports.ts'
import type { SetUp } from '../../sqlite/migrate.ts'
import type { Ledger } from '../ledger.ts'
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
import { exportSelect } from './archive.ts'
import { closingMethods } from './closing.ts'
import { openLedgerDatabase, type SqliteDatabase } from './database.ts'
import { sqliteDialect, statementRunner } from './dialect.ts'
import { leftoverMethods } from './leftovers.ts'
import { sqliteLinkSql } from './link-sql.ts'
import { outboxMethods } from './outbox.ts'
import { reconciliationMethods } from './reconciliation.ts'
import { runMethods } from './runs.ts'
import { stagingMethods } from './staging.ts'
import { sqliteTransactions } from './transactions.ts'
import { verificationMethods } from './verification.ts'

/**
 * Opens the ledger file at `path`, and makes it unless `readOnly`; `setUp: 'upgrade'` migrates an older one.
 * @param options.signingKey signs the manifests of closed runs; null: they are not signed
 * @throws LedgerError if it cannot be opened, is damaged, or is of another release
 */
export function openSqliteLedger(
  path: string,
  options: { readOnly?: boolean; setUp?: SetUp; clock?: Clock; signingKey?: string | null } = {},
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
  const transactions = sqliteTransactions(db)
  const runner = { ...statementRunner(db), ...transactions }
  const shared = sharedMethods(runner, sqliteLinkSql)
  return {
    place: db.path,
    ...shared,
    ...actionStatements(runner, sqliteDialect, now),
    ...schemaHistoryStatements(runner, sqliteDialect, now),
    ...beginningStatements(runner, now),
    ...archiveStatements(runner, exportSelect),
    ...runMethods(db, now),
    ...stagingMethods(db, linkDecisions(transactions, sqliteLinkSql)),
    ...linkMethods(runner, sqliteLinkSql, now),
    ...leftoverMethods(db),
    ...outboxMethods(db, now, shared.nextPlanned),
    ...verificationMethods(db),
    ...acceptedRecordMethods(runner, sqliteLinkSql),
    ...reconciliationMethods(db),
    ...differenceMethods(runner, sqliteLinkSql),
    ...removalMethods(runner, sqliteLinkSql),
    ...closingMethods(
      db,
      now,
      options.signingKey ?? null,
      linkClosing(transactions, sqliteLinkSql),
      removalClosing(runner, sqliteLinkSql),
      transactions,
    ),
    async close() {
      db.close()
    },
  }
}
