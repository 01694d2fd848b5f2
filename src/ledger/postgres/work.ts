// Removing the items of a run, and all that goes with them.

import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import { WORK_TABLES, type WorkTable } from '../rules/staging.ts'
import type { PostgresDatabase, Session } from './session.ts'

/**
 * Deletes in slices of at most 1,000 rows; returns the number of rows removed. `before` and `after` are part of each slice's
 * transaction, and undo it by throwing.
 */
export async function deleteWork(
  db: PostgresDatabase,
  run: number,
  before: (session: Session) => Promise<unknown> = async () => {},
  after: (session: Session, table: WorkTable, rows: number) => Promise<unknown> = async () => {},
): Promise<number> {
  let removed = 0
  for (const { table, key } of WORK_TABLES) {
    const columns = key.split(', ')
    const [from, to] = [0, columns.length].map(
      (first) => `(${columns.map((_, at) => `$${first + at + 2}`).join(', ')})`,
    )
    let deleted = columns.map(() => -1)
    // Bounded by the table's rows: every pass goes beyond the last one, over what it deleted, or ends.
    for (;;) {
      const passed = deleted
      const slice = await db.transaction(async (session) => {
        await before(session)
        const rows = await session.all(
          `SELECT ${key} FROM ${table} WHERE run = $1 AND (${key}) > ${from} ORDER BY ${key} LIMIT ${LEDGER_ROWS_MAX}`,
          [run, ...passed],
        )
        const row = rows.at(-1)
        if (!row) return null
        const last = columns.map((column) => Number(row[column]))
        const count = await session.run(
          `DELETE FROM ${table} WHERE run = $1 AND (${key}) > ${from} AND (${key}) <= ${to}`,
          [run, ...passed, ...last],
        )
        await after(session, table, count)
        return { last, rows: count }
      })
      if (!slice) break
      deleted = slice.last
      removed += slice.rows
    }
  }
  return removed
}
