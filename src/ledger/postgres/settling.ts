// What the answers to batches change in their items, and in what is accepted for their keys.

import {
  isAcceptance,
  isMaybeWrittenSql,
  settlementOf,
  type Settlement,
} from '../rules/settlement.ts'
import type { ItemOutcome } from '../roles/outbox.ts'
import {
  acceptItemsSql,
  FORGET_SQL,
  isWanted,
  ITEM_DESTINATION,
  itemsAt,
  listsOf,
  unlessNulls,
  wanted,
} from './items.ts'
import type { SentStatement } from './session.ts'

/**
 * The records of the wanted items hold their values now, of several the last one's, and no longer those that were accepted for
 * other keys of the record. Keys of batches that are in flight are left out: nothing counts as accepted for them, and their rows
 * may be locked by a transaction that waits for the run.
 */
export const TAKE_OVER_SQL = `
  UPDATE accepted SET hash = NULL
  FROM (SELECT held.* FROM
      (SELECT DISTINCT ON (items.record_id) items.record_id, items.key, ${ITEM_DESTINATION} AS destination
        ${wanted} JOIN items ON ${isWanted} WHERE items.record_id IS NOT NULL
        ORDER BY items.record_id, items.ordinal DESC) AS item
      JOIN LATERAL (SELECT other.destination, other.key, hashtextextended(other.key, 0) AS hashed FROM accepted AS other
        WHERE other.destination = item.destination
          AND hashtextextended(other.record_id, 0) = hashtextextended(item.record_id, 0)
          AND other.record_id = item.record_id AND other.key <> item.key AND other.hash IS NOT NULL OFFSET 0) AS held ON true
    ORDER BY held.hashed OFFSET 0) AS taken
  WHERE accepted.destination = taken.destination AND accepted.key = taken.key
    AND hashtextextended(accepted.key, 0) = taken.hashed`

/** Notes `$3` of the wanted items and what their answers showed that differs, `$4` to `$9`; or, with nulls, that they showed nothing. */
export const BOOK_ANSWERED_SQL = `
  UPDATE items SET verified = $3, reason = answer.reason, field = answer.field, detail = answer.detail,
    "column" = answer."column", value = answer.value, answered_key = answer.answered_key
  FROM unnest($1::integer[], $2::integer[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[])
    AS answer (run, ordinal, reason, field, detail, "column", value, answered_key)
  WHERE items.run = answer.run AND items.ordinal = answer.ordinal AND coalesce(items.verified, 'answered') = 'answered'`

const BOOK_SQL = `UPDATE items SET state = booked.state, attempts = attempts + 1, http_status = booked.http_status,
    record_id = booked.record_id, request_id = booked.request_id, code = booked.code, reason = booked.reason,
    field = booked.field, detail = booked.detail, in_doubt = coalesce(booked.in_doubt, items.in_doubt),
    batch = CASE WHEN booked.state = 'pending' THEN NULL ELSE batch END,
    replayed = CASE WHEN ${isMaybeWrittenSql('booked.state', 'booked.http_status')} THEN 1 ELSE replayed END
  FROM unnest($1::integer[], $2::integer[], $3::text[], $4::text[], $5::integer[], $6::text[], $7::text[],
    $8::text[], $9::text[], $10::text[], $11::smallint[])
    AS booked (run, ordinal, request_id, state, http_status, record_id, code, reason, field, detail, in_doubt)
  WHERE items.run = booked.run AND items.ordinal = booked.ordinal`

const ACCEPT_SQL = acceptItemsSql('excluded.marks')

/**
 * Flags the wanted items whose record another item wrote too, with the last of these, and those with them. Where an item is
 * found several times, the last counts.
 */
const FLAG_TWINS_SQL = `UPDATE items SET twin = flags.other
  FROM (SELECT DISTINCT ON (ordinal) $1[1] AS run, ordinal, other FROM
      (SELECT found.ordinal AS finder, each.* FROM
         (SELECT items.ordinal, others.last AS twin ${wanted} JOIN items ON ${isWanted} JOIN LATERAL
            (SELECT other.ordinal AS last FROM items AS other
             WHERE hashtextextended(other.record_id, other.run) = hashtextextended(items.record_id, items.run)
               AND other.record_id = items.record_id AND other.run + 0 = items.run
               AND other.ordinal <> items.ordinal
             ORDER BY other.ordinal::bigint DESC LIMIT 1) AS others ON true) AS found
         CROSS JOIN LATERAL (VALUES (found.ordinal, found.twin, 0), (found.twin, found.ordinal, 1)) AS each (ordinal, other, part)
      ) AS flag
    ORDER BY ordinal, finder DESC, part DESC) AS flags
  WHERE items.run = flags.run AND items.ordinal = flags.ordinal`

/** The items of an answer, with the id of its request. */
export interface BatchAnswered {
  readonly requestId: string | null
  readonly items: readonly ItemOutcome[]
}

export interface SettlingStatements {
  /** What rises by it in the segment. */
  readonly counts: Settlement['counts']
  /** What is of these items and their keys alone. */
  readonly own: readonly SentStatement[]
  /** What needs the lock of the run: of two batches that write one record at once, the later must see the earlier. */
  readonly locked: readonly SentStatement[]
}

export function settlingStatements(
  run: number,
  answers: readonly BatchAnswered[],
): SettlingStatements {
  const requests = new Map(
    answers.flatMap(({ requestId, items }) =>
      items.map(({ ordinal }) => [ordinal, requestId] as const),
    ),
  )
  const { booked, written, answered, doubted, counts } = settlementOf(
    answers.flatMap(({ items }) => items),
  )
  if (booked.length === 0) return { counts, own: [], locked: [] }
  const refused = <Fact extends string | number | null>(fact: (item: ItemOutcome) => Fact) =>
    unlessNulls(booked.map((item) => (isAcceptance(item) ? null : fact(item))))
  const book: SentStatement = {
    text: BOOK_SQL,
    values: [
      ...itemsAt(run, booked),
      booked.map(({ ordinal }) => requests.get(ordinal) ?? null),
      ...listsOf(booked, 'state', 'httpStatus', 'recordId'),
      refused((item) => item.code),
      refused((item) => item.reason),
      refused((item) => item.field),
      refused((item) => item.detail),
      refused((item) => (item.inDoubt ? 1 : 0)),
    ],
  }
  const own = [book]
  if (written.length > 0)
    own.push({
      text: ACCEPT_SQL,
      values: [...itemsAt(run, written), unlessNulls(written.map(({ marks }) => marks))],
    })
  if (answered.length > 0)
    own.push({
      text: BOOK_ANSWERED_SQL,
      values: [
        ...itemsAt(run, answered),
        'answered',
        ...listsOf(answered, 'reason', 'field', 'detail', 'column', 'value', 'key'),
      ],
    })
  // Until they are read back, it is not known whether the service holds what was sent.
  if (doubted.length > 0) own.push({ text: FORGET_SQL, values: itemsAt(run, doubted) })
  const values = itemsAt(run, written)
  const locked =
    written.length === 0
      ? []
      : [
          { text: TAKE_OVER_SQL, values },
          { text: FLAG_TWINS_SQL, values },
        ]
  return { counts, own, locked }
}
