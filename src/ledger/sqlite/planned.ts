// Planned items by the page. The driver takes longer to hand over a row than SQLite to find it, so rows that were not sent before come
// as one text for each column; all others come row by row.

import { decodeStoredText } from '../../core/stored-text.ts'
import { LEDGER_CHARS_MAX } from '../../core/limits.ts'
import type { PlannedItem } from '../roles/outbox.ts'
import type { SqliteDatabase } from './database.ts'

/** At least the characters of the payloads; it is asked of their lengths alone. */
const BYTES_SQL = `SELECT sum(octet_length(payload)) AS bytes FROM payloads
  WHERE run = ?1 AND ordinal BETWEEN ?2 AND ?3`

/** Payloads have no line ends. What is `again` was sent before, or is sent to a record that is known. */
const COLUMNS_SQL = `SELECT count(*) AS items, total(attempts <> 0 OR record_id IS NOT NULL OR replayed <> 0 OR payload IS NULL) AS again,
    json_group_array(ordinal) AS ordinals, group_concat(payload, char(10)) AS payloads,
    json_group_array(key) AS keys, json_group_array(hash) AS hashes
  FROM (SELECT ordinal, attempts, record_id, replayed, payload, key, hash FROM items JOIN payloads USING (run, ordinal)
    WHERE run = ?1 AND ordinal BETWEEN ?2 AND ?3 AND state = 'pending' AND attempts < ?4 ORDER BY ordinal)`

/**
 * The planned items of a range in order, if they are as most are, and at least half of the range; null: they have to be read one by
 * one.
 */
export function plannedColumns(
  db: SqliteDatabase,
  run: number,
  { first, last }: { readonly first: number; readonly last: number },
  attemptsBelow: number,
): readonly PlannedItem[] | null {
  const bytes = db.sql(BYTES_SQL).get(run, first, last)?.['bytes']
  if (bytes === null || Number(bytes) >= LEDGER_CHARS_MAX) return null
  const row = db.sql(COLUMNS_SQL).get(run, first, last, attemptsBelow)!
  if (Number(row['again']) > 0 || Number(row['items']) * 2 < last - first + 1) return null
  const list = (column: string) => JSON.parse(String(row[column])) as readonly string[]
  const ordinals = list('ordinals').map(Number)
  const [keys, hashes] = [list('keys'), list('hashes')]
  const payloads = String(row['payloads']).split('\n')
  if (payloads.length !== ordinals.length) return null
  return ordinals.map((ordinal, index) => ({
    ordinal,
    key: decodeStoredText(keys[index]!),
    payload: payloads[index]!,
    hash: decodeStoredText(hashes[index]!),
    attempts: 0,
  }))
}
