// Removing the items of a run, and all that goes with them.

import { setTimeout as wait } from 'node:timers/promises'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import { WORK_TABLES, type WorkTable } from '../rules/staging.ts'
import type { SqliteDatabase } from './database.ts'

/**
 * Deletes in slices of at most 1,000 rows; returns the number of rows removed. `onSlice` is part of each slice's transaction,
 * and undoes it by throwing.
 */
export async function deleteWork(
  db: SqliteDatabase,
  run: number,
  onSlice: (table: WorkTable, rows: number) => void = () => {},
): Promise<number> {
  let removed = 0
  for (const { table, key } of WORK_TABLES) {
    // Bounded by the table's rows: every pass removes at least one or ends.
    for (;;) {
      const remove = db.sql(
        `DELETE FROM ${table} WHERE run = ?1 AND (${key}) <= (SELECT ${key} FROM
           (SELECT ${key} FROM ${table} WHERE run = ?1 ORDER BY ${key} LIMIT ?2) AS slice
           ORDER BY ${key.replaceAll(/(\w+)/g, '$1 DESC')} LIMIT 1)`,
      )
      const begun = performance.now()
      const rows = db.transaction(() => {
        const { changes } = remove.run(run, LEDGER_ROWS_MAX)
        onSlice(table, changes)
        return changes
      })
      if (rows === 0) break
      removed += rows
      // Another process looks ten times a second whether it may write: for half of the time it may.
      await wait(performance.now() - begun)
    }
  }
  return removed
}
