// What an answer changes in the items of a batch, and in what is accepted for their keys.

import type { ItemOutcome, ItemPlace, RunSegment, SentBatch } from '../roles/outbox.ts'
import { keepsLast } from '../rows/accepted.ts'
import { stretches } from '../rules/ranges.ts'
import {
  collisionFlags,
  isAcceptance,
  isMaybeWrittenSql,
  settlementOf,
} from '../rules/settlement.ts'
import { bulkStatement, textsValue } from '../../sqlite/bulk.ts'
import type { SqliteDatabase } from './database.ts'

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
    field = ?, detail = ?, in_doubt = ?, request_id = ?, batch = CASE WHEN ?1 = 'pending' THEN NULL ELSE batch END,
    replayed = CASE WHEN ${isMaybeWrittenSql('?1', '?2')} THEN 1 ELSE replayed END
  WHERE run = ? AND ordinal = ?`

/** Of a stretch of items; the ids of their records are a list. */
const BOOK_ACCEPTED_SQL = `UPDATE items SET state = ?4, attempts = attempts + 1, http_status = ?5, record_id = ?6 ->> (ordinal - ?2),
    request_id = ?7, code = NULL, reason = NULL, field = NULL, detail = NULL
  WHERE run = ?1 AND ordinal BETWEEN ?2 AND ?3`

const ACCEPT = bulkStatement(
  '(?, ?)',
  (rows) => `WITH written (ordinal, marks) AS (VALUES ${rows})
  INSERT INTO accepted (destination, key, record_id, hash, marks, run, watermark)
    SELECT ?, items.key, items.record_id, items.hash, written.marks, items.run, items.watermark
    FROM written CROSS JOIN items ON items.run = ? AND items.ordinal = written.ordinal WHERE true
  ON CONFLICT (destination, key) DO UPDATE SET record_id = excluded.record_id, hash = excluded.hash,
    marks = excluded.marks, normalised = 0, ${keepsLast}, run = excluded.run, watermark = excluded.watermark`,
)

/** As `TAKE_OVER_SQL`, for a stretch of items that wrote a record each. */
const TAKE_OVER_ALL_SQL = `UPDATE accepted SET hash = NULL WHERE (destination, key) IN
  (SELECT other.destination, other.key FROM items CROSS JOIN accepted AS other INDEXED BY accepted_record
     ON other.destination = ?4 AND other.record_id = items.record_id AND other.key <> items.key
   WHERE items.run = ?1 AND items.ordinal BETWEEN ?2 AND ?3)`

/** Until it is read back, it is not known whether the service holds what was sent. */
const DOUBT_SQL = `UPDATE accepted SET hash = NULL WHERE destination = ?1
  AND key = (SELECT key FROM items WHERE run = ?2 AND ordinal = ?3)`

/** The items of a batch whose record another item wrote too, with the last of these. */
const COLLISIONS_SQL = `SELECT items.ordinal, max(other.ordinal) AS twin
  FROM items JOIN items AS other INDEXED BY items_record
    ON other.run = items.run AND other.record_id = items.record_id AND other.ordinal <> items.ordinal
  WHERE items.run = ? AND items.ordinal BETWEEN ? AND ? AND items.batch = ?
  GROUP BY items.ordinal`

/** Within the transaction that settles the request, if there is one. */
export function settleBatch(
  db: SqliteDatabase,
  run: number,
  { first }: RunSegment,
  answer: {
    batch: SentBatch<ItemPlace> | null
    requestId: string | null
    items: readonly ItemOutcome[]
  },
): void {
  const { requestId, batch } = answer
  const { booked, written, answered, doubted, counts } = settlementOf(answer.items)
  const row = db.sql('SELECT destination FROM runs WHERE id = ?').get(run)
  const destination = Number(row?.['destination'])
  const accepted: ItemOutcome[] = []
  for (const item of booked) {
    const { state, httpStatus, recordId, code, reason, field, detail, ordinal } = item
    if (isAcceptance(item)) accepted.push(item)
    else {
      const refusal = [code, reason, field, detail, item.inDoubt ? 1 : 0]
      db.sql(BOOK_SQL).run(state, httpStatus, recordId, ...refusal, requestId, run, ordinal)
    }
  }
  for (const { first: from, last, items } of stretches(accepted, isAnsweredAlike)) {
    const { state, httpStatus } = items[0]!
    const ids = textsValue(items.map(({ recordId }) => recordId))
    db.sql(BOOK_ACCEPTED_SQL).run(run, from, last, state, httpStatus, ids, requestId)
  }
  accept(db, run, destination, written)
  for (const { ordinal, reason, field, detail, column, value, key = null } of answered) {
    const note = [reason, field, detail, column, value, key]
    db.sql(BOOK_ANSWERED_SQL).run(run, ordinal, 'answered', ...note)
  }
  for (const { ordinal } of doubted) db.sql(DOUBT_SQL).run(destination, run, ordinal)
  if (batch !== null) flagCollisions(db, run, batch)
  db.sql(
    `UPDATE segments SET created = created + ?, updated = updated + ?, skipped = skipped + ?,
       rejected = rejected + ? WHERE run = ? AND first = ?`,
  ).run(counts.created, counts.updated, counts.skipped, counts.rejected, run, first)
}

function flagCollisions(
  db: SqliteDatabase,
  run: number,
  { batch, items }: SentBatch<ItemPlace>,
): void {
  const rows = db.sql(COLLISIONS_SQL).all(run, items[0]!.ordinal, items.at(-1)!.ordinal, batch)
  for (const { ordinal, other } of collisionFlags(rows))
    db.sql('UPDATE items SET twin = ? WHERE run = ? AND ordinal = ?').run(other, run, ordinal)
}

const isAnsweredAlike = (a: ItemOutcome, b: ItemOutcome): boolean =>
  a.state === b.state && a.httpStatus === b.httpStatus

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
      { behind: [destination, run] },
    )
    for (const { first, last } of stretches(items))
      db.sql(TAKE_OVER_ALL_SQL).run(run, first, last, destination)
  }
}
