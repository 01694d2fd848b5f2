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
    let deleted = -1
    // Bounded by the table's rows: every pass goes beyond the last one, over what it deleted, or ends.
    for (;;) {
      const slice = await db.transaction(async (session) => {
        await before(session)
        const row = await session.one(
          `SELECT max(${key}) AS last FROM
             (SELECT ${key} FROM ${table} WHERE run = $1 AND ${key} > $2 ORDER BY ${key} LIMIT $3) AS slice`,
          [run, deleted, LEDGER_ROWS_MAX],
        )
        if (!row || row['last'] === null) return null
        const last = Number(row['last'])
        const rows = await session.run(
          `DELETE FROM ${table} WHERE run = $1 AND ${key} > $2 AND ${key} <= $3`,
          [run, deleted, last],
        )
        await after(session, table, rows)
        return { last, rows }
      })
      if (!slice) break
      deleted = slice.last
      removed += slice.rows
    }
  }
  return removed
}
