// What an answer changes in the items of a batch, and in what is accepted for their keys.

import type { ItemOutcome, ItemPlace, RunSegment, SentBatch } from '../roles/outbox.ts'
import { keepsLast } from '../rows/accepted.ts'
import { collisionFlags, isAcceptance, settlementOf } from '../rules/settlement.ts'
import { bulkStatement } from '../../sqlite/bulk.ts'
import type { SqliteDatabase, Value } from './database.ts'

/** The item's record holds its values now, and no longer those that were accepted for other keys of the record. */
export const TAKE_OVER_SQL = `UPDATE accepted INDEXED BY accepted_record SET hash = NULL
  WHERE destination = (SELECT destination FROM runs WHERE id = ?1)
    AND record_id = (SELECT record_id FROM items WHERE run = ?1 AND ordinal = ?2)
    AND key <> (SELECT key FROM items WHERE run = ?1 AND ordinal = ?2)`

/** Notes what the answer of an item showed that differs; or, with nulls, that it showed nothing. */
export const BOOK_ANSWERED_SQL = `UPDATE items SET verified = ?3, reason = ?4, field = ?5, detail = ?6, "column" = ?7, value = ?8,
    answered_key = ?9
  WHERE run = ?1 AND ordinal = ?2 AND coalesce(verified, 'answered') = 'answered'`

const BOOK_SQL = `UPDATE items SET state = ?, attempts = attempts + 1, http_status = ?, record_id = ?, code = ?, reason = ?,
    field = ?, detail = ?, in_doubt = ?, request_id = ?, batch = CASE WHEN ?1 = 'planned' THEN NULL ELSE batch END,
    replayed = CASE WHEN ?1 = 'planned' THEN 1 ELSE replayed END
  WHERE run = ? AND ordinal = ?`

const BOOK_ACCEPTED = bulkStatement(
  '(?, ?, ?, ?)',
  (rows) => `WITH answers (ordinal, state, http_status, record_id) AS (VALUES ${rows})
  UPDATE items SET state = answers.state, attempts = attempts + 1, http_status = answers.http_status, record_id = answers.record_id,
    request_id = ?, code = NULL, reason = NULL, field = NULL, detail = NULL
  FROM answers WHERE items.run = ? AND items.ordinal = answers.ordinal`,
)

const ACCEPT = bulkStatement(
  '(?, ?)',
  (rows) => `WITH written (ordinal, marks) AS (VALUES ${rows})
  INSERT INTO accepted (destination, key, record_id, hash, marks, run)
    SELECT ?, items.key, items.record_id, items.hash, written.marks, items.run
    FROM written CROSS JOIN items ON items.run = ? AND items.ordinal = written.ordinal WHERE true
  ON CONFLICT (destination, key) DO UPDATE SET record_id = excluded.record_id, hash = excluded.hash,
    marks = excluded.marks, normalised = 0, ${keepsLast}, run = excluded.run`,
)

/** As `TAKE_OVER_SQL`, for items that wrote a record each. The values behind the rows: run and destination. */
const TAKE_OVER = bulkStatement(
  '(?)',
  (rows) => `UPDATE accepted SET hash = NULL WHERE (destination, key) IN
    (WITH written (ordinal) AS (VALUES ${rows})
     SELECT other.destination, other.key FROM written CROSS JOIN items ON items.run = ? AND items.ordinal = written.ordinal
       CROSS JOIN accepted AS other INDEXED BY accepted_record
         ON other.destination = ? AND other.record_id = items.record_id AND other.key <> items.key)`,
)

/** Until it is read back, it is not known whether the service holds what was sent. */
const DOUBT_SQL = `UPDATE accepted SET hash = NULL WHERE destination = ?1
  AND key = (SELECT key FROM items WHERE run = ?2 AND ordinal = ?3)`

/** The items of a batch whose record another item wrote too, with the last of these. */
const COLLISIONS_SQL = `SELECT items.ordinal, max(other.ordinal) AS twin
  FROM items JOIN items AS other INDEXED BY items_record
    ON other.run = items.run AND other.record_id = items.record_id AND other.ordinal <> items.ordinal
  WHERE items.run = ? AND items.ordinal BETWEEN ? AND ? AND items.batch = ?
  GROUP BY items.ordinal`

/** Within the transaction that settles the request. */
export function settleBatch(
  db: SqliteDatabase,
  run: number,
  { first }: RunSegment,
  answer: { batch: SentBatch<ItemPlace>; requestId: string | null; items: readonly ItemOutcome[] },
): void {
  const { requestId, batch } = answer
  const { booked, written, answered, counts } = settlementOf(answer.items)
  const row = db.sql('SELECT destination FROM runs WHERE id = ?').get(run)
  const destination = Number(row?.['destination'])
  const accepted: Value[][] = []
  for (const item of booked) {
    const { state, httpStatus, recordId, code, reason, field, detail, ordinal } = item
    if (isAcceptance(item)) accepted.push([ordinal, state, httpStatus, recordId])
    else {
      const refusal = [code, reason, field, detail, item.inDoubt ? 1 : 0]
      db.sql(BOOK_SQL).run(state, httpStatus, recordId, ...refusal, requestId, run, ordinal)
    }
  }
  BOOK_ACCEPTED.run(db, accepted, [requestId, run])
  accept(db, run, destination, written)
  for (const { ordinal, reason, field, detail, column, value, key = null } of answered) {
    const note = [reason, field, detail, column, value, key]
    db.sql(BOOK_ANSWERED_SQL).run(run, ordinal, 'answered', ...note)
    db.sql(DOUBT_SQL).run(destination, run, ordinal)
  }
  const range = [batch.items[0]!.ordinal, batch.items.at(-1)!.ordinal]
  const rows = db.sql(COLLISIONS_SQL).all(run, ...range, batch.batch)
  for (const { ordinal, other } of collisionFlags(rows))
    db.sql('UPDATE items SET twin = ? WHERE run = ? AND ordinal = ?').run(other, run, ordinal)
  db.sql(
    `UPDATE segments SET created = created + ?, updated = updated + ?, rejected = rejected + ?, failed = failed + ?
     WHERE run = ? AND first = ?`,
  ).run(counts.created, counts.updated, counts.rejected, counts.failed, run, first)
}

/** Notes what was accepted; of items that wrote the same record, the last one has it. */
function accept(
  db: SqliteDatabase,
  run: number,
  destination: number,
  written: readonly ItemOutcome[],
): void {
  const records = written.flatMap(({ recordId }) => recordId ?? [])
  const groups =
    new Set(records).size === records.length ? [written] : written.map((item) => [item])
  for (const items of groups) {
    ACCEPT.run(
      db,
      items.map(({ ordinal, marks }) => [ordinal, marks]),
      [destination, run],
    )
    TAKE_OVER.run(
      db,
      items.map(({ ordinal }) => [ordinal]),
      [run, destination],
    )
  }
}
