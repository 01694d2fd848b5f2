// Rows with texts of any size: as many as a process can hold.

import { LEDGER_CHARS_MAX } from '../../core/limits.ts'
import type { RowPage, StatementRunner, StatementValue } from '../statements/engine.ts'
import type { PostgresDatabase, Session } from './session.ts'

/** The server knows how long a text is before it reads it. */
const pageText = (text: string, column: string): string =>
  `SELECT * FROM (SELECT sized.*, sum(sized.page_row) OVER (ORDER BY ordinal ROWS UNBOUNDED PRECEDING) AS page_chars
     FROM (SELECT read.*, coalesce(octet_length(read.${column}), 0) AS page_row FROM (${text}) AS read) AS sized) AS page
   WHERE page_chars - page_row < ${LEDGER_CHARS_MAX} ORDER BY ordinal`

/** See `StatementRunner`. */
export async function pageOfTexts(
  db: Pick<Session, 'all'>,
  text: string,
  values: readonly StatementValue[],
  column: Parameters<StatementRunner['page']>[2],
): Promise<RowPage> {
  const found = await db.all(pageText(text, column), values)
  const chars = Number(found.at(-1)?.['page_chars'] ?? 0)
  return { rows: found, chars }
}

export const pagedRunner = (db: PostgresDatabase): StatementRunner => ({
  all: db.all,
  one: db.one,
  run: db.run,
  page: (...page) => pageOfTexts(db, ...page),
})
