// Links, written once for every engine.

import type { Links } from '../../roles/links.ts'
import type { StatementRunner } from '../engine.ts'
import type { LinkSql } from '../link-sql.ts'
import type { TransactionRunner } from '../transaction.ts'
import { knownEndMethods } from './known-ends.ts'
import { knownLinkMethods } from './known.ts'
import { linkOutbox } from './outbox.ts'
import { linkReports } from './reports.ts'
import { linkStaging } from './staging.ts'

export const linkMethods = (
  db: StatementRunner & TransactionRunner,
  sql: LinkSql,
  now: () => string,
): Links => ({
  ...linkStaging(db, sql),
  ...linkOutbox(db, sql, now),
  ...knownLinkMethods(db, sql),
  ...knownEndMethods(db, sql),
  ...linkReports(db, sql),
})
