// What an answer changes in the items of a batch, and in what is accepted for their keys.

import type { ItemOutcome, RunSegment } from '../roles/outbox.ts'
import { collisionFlags, isAcceptance, settlementOf } from '../rules/settlement.ts'
import {
  acceptItemsSql,
  FORGET_SQL,
  isWanted,
  ITEM_DESTINATION,
  itemsAt,
  listsOf,
  wanted,
} from './items.ts'
import { lockRun } from './fences.ts'
import type { Session } from './session.ts'

/**
 * The records of the wanted items hold their values now, of several the last one's, and no longer those that were accepted for
 * other keys of the record.
 */
export const TAKE_OVER_SQL = `
  UPDATE accepted SET hash = NULL
  FROM (SELECT DISTINCT ON (items.record_id) items.record_id, items.key, ${ITEM_DESTINATION} AS destination
      ${wanted} JOIN items ON ${isWanted} WHERE items.record_id IS NOT NULL
      ORDER BY items.record_id, items.ordinal DESC) AS item
  WHERE accepted.destination = item.destination
    AND hashtextextended(accepted.record_id, 0) = hashtextextended(item.record_id, 0)
    AND accepted.record_id = item.record_id AND accepted.key <> item.key`

/** Notes `$3` of the wanted items and what their answers showed that differs, `$4` to `$9`; or, with nulls, that they showed nothing. */
export const BOOK_ANSWERED_SQL = `
  UPDATE items SET verified = $3, reason = answer.reason, field = answer.field, detail = answer.detail,
    "column" = answer."column", value = answer.value, answered_key = answer.answered_key
  FROM unnest($1::integer[], $2::integer[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[])
    AS answer (run, ordinal, reason, field, detail, "column", value, answered_key)
  WHERE items.run = answer.run AND items.ordinal = answer.ordinal AND coalesce(items.verified, 'answered') = 'answered'`

const BOOK_SQL = `UPDATE items SET state = booked.state, attempts = attempts + 1, http_status = booked.http_status,
    record_id = booked.record_id, request_id = $3, code = booked.code, reason = booked.reason,
    field = booked.field, detail = booked.detail, in_doubt = coalesce(booked.in_doubt, items.in_doubt),
    batch = CASE WHEN booked.state = 'planned' THEN NULL ELSE batch END,
    replayed = CASE WHEN booked.state = 'planned' THEN 1 ELSE replayed END
  FROM unnest($1::integer[], $2::integer[], $4::text[], $5::integer[], $6::text[], $7::text[], $8::text[],
    $9::text[], $10::text[], $11::smallint[])
    AS booked (run, ordinal, state, http_status, record_id, code, reason, field, detail, in_doubt)
  WHERE items.run = booked.run AND items.ordinal = booked.ordinal`

const ACCEPT_SQL = acceptItemsSql('excluded.marks')

/** The wanted items whose record another item wrote too, with the last of these. */
const COLLISIONS_SQL = `SELECT items.ordinal, others.last AS twin ${wanted} JOIN items ON ${isWanted} JOIN LATERAL
    (SELECT other.ordinal AS last FROM items AS other
     WHERE hashtextextended(other.record_id, other.run) = hashtextextended(items.record_id, items.run)
       AND other.record_id = items.record_id AND other.run + 0 = items.run
       AND other.ordinal <> items.ordinal
     ORDER BY other.ordinal::bigint DESC LIMIT 1) AS others ON true
  ORDER BY items.ordinal`

/** Within the transaction that settles the request. */
export async function settleBatch(
  session: Session,
  run: number,
  { first }: RunSegment,
  answer: { readonly requestId: string | null; readonly items: readonly ItemOutcome[] },
): Promise<void> {
  const { booked, written, answered, counts } = settlementOf(answer.items)
  const refused = <Fact>(fact: (item: ItemOutcome) => Fact) =>
    booked.map((item) => (isAcceptance(item) ? null : fact(item)))
  // One batch of a run is settled at a time: of two batches that write one record at once, the later must see the earlier.
  await lockRun(session, run)
  await session.run(BOOK_SQL, [
    ...itemsAt(run, booked),
    answer.requestId,
    ...listsOf(booked, 'state', 'httpStatus', 'recordId'),
    refused((item) => item.code),
    refused((item) => item.reason),
    refused((item) => item.field),
    refused((item) => item.detail),
    refused((item) => (item.inDoubt ? 1 : 0)),
  ])
  await session.run(ACCEPT_SQL, [...itemsAt(run, written), ...listsOf(written, 'marks')])
  await session.run(TAKE_OVER_SQL, itemsAt(run, written))
  if (answered.length > 0) {
    await session.run(BOOK_ANSWERED_SQL, [
      ...itemsAt(run, answered),
      'answered',
      ...listsOf(answered, 'reason', 'field', 'detail', 'column', 'value', 'key'),
    ])
    // Until they are read back, it is not known whether the service holds what was sent.
    await session.run(FORGET_SQL, itemsAt(run, answered))
  }
  const rows = await session.all(COLLISIONS_SQL, itemsAt(run, written))
  for (const { ordinal, other } of collisionFlags(rows))
    await session.run('UPDATE items SET twin = $1 WHERE run = $2 AND ordinal = $3', [
      other,
      run,
      ordinal,
    ])
  await session.run(
    `UPDATE segments SET created = created + $1, updated = updated + $2, rejected = rejected + $3,
       failed = failed + $4 WHERE run = $5 AND first = $6`,
    [counts.created, counts.updated, counts.rejected, counts.failed, run, first],
  )
}
