// Records that seem extra by their key, and are those of rows of the run.

import type { Ledger } from '../ledger.ts'
import { subjectOf } from '../rows.ts'
import { itemsWith } from './origins.ts'
import type { PostgresDatabase } from './session.ts'

export const extraMethods = (
  db: PostgresDatabase,
): Pick<Ledger, 'recordsOfRows' | 'acceptedRecords' | 'dropExtra'> => ({
  async recordsOfRows(run, recordIds) {
    const ofRecord = (table: string) =>
      `hashtextextended(${table}.record_id, ${table}.run) = hashtextextended(asked.record_id, $1)
         AND ${table}.record_id = asked.record_id AND ${table}.run + 0 = $1`
    const rows = await db.all(
      `SELECT asked.record_id FROM unnest($2::text[]) AS asked (record_id)
       WHERE (SELECT true FROM items WHERE ${ofRecord('items')} LIMIT 1)
         OR (SELECT true FROM differences
           WHERE ${ofRecord('differences')} AND differences.ordinal IS NOT NULL LIMIT 1)
         OR (SELECT true FROM accepted
           JOIN LATERAL (SELECT 1 FROM items AS own
             WHERE ${itemsWith('$1', 'accepted.key', 'own')} LIMIT 1) AS own ON true
           WHERE accepted.destination = (SELECT destination FROM runs WHERE id = $1)
             AND hashtextextended(accepted.record_id, 0) = hashtextextended(asked.record_id, 0)
             AND accepted.record_id = asked.record_id LIMIT 1)`,
      [run, recordIds],
    )
    return new Set(rows.map((row) => String(row['record_id'])))
  },

  async acceptedRecords(run, keys) {
    const rows = await db.all(
      `SELECT asked.key, own.record_id, own.run FROM unnest($2::text[]) AS asked (key)
         JOIN LATERAL (SELECT record_id, run FROM accepted
           WHERE accepted.destination = (SELECT destination FROM runs WHERE id = $1)
             AND hashtextextended(accepted.key, 0) = hashtextextended(asked.key, 0)
             AND accepted.key = asked.key AND accepted.record_id IS NOT NULL LIMIT 1) AS own ON true`,
      [run, keys],
    )
    return new Map(
      rows.map((row) => [
        String(row['key']),
        { recordId: String(row['record_id']), run: Number(row['run']) },
      ]),
    )
  },

  async dropExtra(run, records) {
    await db.run(
      `DELETE FROM differences USING unnest($1::integer[], $2::text[]) AS own (run, subject)
       WHERE hashtextextended(differences.subject, differences.run) = hashtextextended(own.subject, own.run)
         AND differences.subject = own.subject AND differences.run + 0 = own.run AND differences.kind = 'extra'`,
      [records.map(() => run), records.map(subjectOf)],
    )
  },
})
