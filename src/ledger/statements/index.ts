// The methods of a ledger whose statements are the same in every engine.

import type { StatementRunner } from './engine.ts'
import type { LinkSql } from './link-sql.ts'
import type { TransactionRunner } from './transaction.ts'
import { beforeImageStatements } from './before-images.ts'
import { leftoverStatements } from './leftovers.ts'
import { correctionStatements } from './corrections.ts'
import { outboxStatements } from './outbox.ts'
import { planStatements } from './plans.ts'
import { rowHistoryStatements } from './row-history.ts'
import { runReportStatements } from './run-reports.ts'
import { runStatements } from './runs.ts'
import { streamStatements } from './streams.ts'
import { syncStatements } from './syncs.ts'

export const sharedMethods = (db: StatementRunner & TransactionRunner, dialect: LinkSql) => ({
  ...runStatements(db, dialect),
  ...syncStatements(db, dialect),
  ...leftoverStatements(db, dialect),
  ...correctionStatements(db, dialect),
  ...outboxStatements(db, dialect),
  ...beforeImageStatements(db, dialect),
  ...planStatements(db, dialect),
  ...streamStatements(db),
  ...runReportStatements(db, dialect),
  ...rowHistoryStatements(db, dialect),
})
