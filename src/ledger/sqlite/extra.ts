// Records that seem extra by their key, and are those of rows of the run.

import type { Ledger } from '../ledger.ts'
import { subjectOf } from '../rows.ts'
import type { SqliteDatabase } from './database.ts'

export const extraMethods = (
  db: SqliteDatabase,
): Pick<Ledger, 'recordsOfRows' | 'acceptedRecords' | 'dropExtra'> => ({
  async recordsOfRows(run, recordIds) {
    const ask = db.sql(
      `SELECT 1 FROM items INDEXED BY items_record WHERE run = ?1 AND record_id = ?2
       UNION ALL
       SELECT 1 FROM differences INDEXED BY differences_record
         WHERE run = ?1 AND record_id = ?2 AND ordinal IS NOT NULL
       UNION ALL
       SELECT 1 FROM accepted INDEXED BY accepted_record
         CROSS JOIN items INDEXED BY items_key ON items.run = ?1 AND items.key = accepted.key
         WHERE accepted.destination = (SELECT destination FROM runs WHERE id = ?1) AND accepted.record_id = ?2
       LIMIT 1`,
    )
    return new Set(recordIds.filter((id) => ask.get(run, id) !== undefined))
  },

  async acceptedRecords(run, keys) {
    // Key by key: in a JSON list SQLite ends a text at U+0000.
    const find = db.sql(
      `SELECT record_id, run FROM accepted
       WHERE destination = (SELECT destination FROM runs WHERE id = ?) AND key = ? AND record_id IS NOT NULL`,
    )
    return new Map(
      keys.flatMap((key) => {
        const row = find.get(run, key)
        return row ? [[key, { recordId: String(row['record_id']), run: Number(row['run']) }]] : []
      }),
    )
  },

  async dropExtra(run, records) {
    const drop = db.sql(
      "DELETE FROM differences INDEXED BY differences_subject WHERE run = ? AND subject = ? AND kind = 'extra'",
    )
    db.transaction(() => {
      for (const record of records) drop.run(run, subjectOf(record))
    })
  },
})
