// Plans and the runs that apply them, as every engine reads them.

import type { Plans } from '../roles/plans.ts'
import type { SqlDialect, StatementRunner } from './engine.ts'

export const planStatements = (db: StatementRunner, dialect: SqlDialect) =>
  ({
    async plannedOtherwise(run, plan, limit) {
      const { join, collate } = dialect
      const planned = "SELECT key, hash FROM items WHERE run = $1 AND state = 'pending'"
      // Each row of a whole plan has an image.
      const imaged = `SELECT items.key, items.hash FROM before_images AS image
        ${join} items ON items.run = image.run AND items.ordinal = image.ordinal WHERE image.run = $2`
      const rows = await db.all(
        `WITH otherwise AS (SELECT key FROM (${planned} EXCEPT ${imaged}) AS added
           UNION SELECT key FROM (${imaged} EXCEPT ${planned}) AS left_out)
         SELECT key, (SELECT count(*) FROM otherwise) AS keys FROM otherwise ORDER BY key ${collate} LIMIT $3`,
        [run, plan, limit],
      )
      return { rows: Number(rows[0]?.['keys'] ?? 0), keys: rows.map((row) => String(row['key'])) }
    },
  }) satisfies Plans
