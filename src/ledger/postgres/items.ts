// How statements find the rows they are about: each row by both columns of an index, whatever the planner takes the tables
// to be. A condition such as `run = $1 AND ordinal = ANY ($2)` would let it read the whole run and throw most of it away.

import { keepsLast } from '../rows.ts'

/** `FROM` of a statement about the items that `$1` and `$2` name, which `itemsAt` gives. */
export const wanted = 'FROM unnest($1::integer[], $2::integer[]) AS wanted (run, ordinal)'
export const isWanted = 'items.run = wanted.run AND items.ordinal = wanted.ordinal'

/** The number of the run as often as there are items, and their ordinals. */
export const itemsAt = (
  run: number,
  items: readonly { readonly ordinal: number }[],
): [number[], number[]] => [items.map(() => run), items.map(({ ordinal }) => ordinal)]

/** Joins each of `items` with its payload. */
export const withPayload = `JOIN LATERAL (SELECT raw, payload FROM payloads
  WHERE payloads.run = items.run AND payloads.ordinal = items.ordinal LIMIT 1) AS kept ON true`

const destination = '(SELECT destination FROM runs WHERE id = items.run)'

/** Notes the wanted items as accepted, with the marks that `$3` gives; `marks` says what becomes of those that are there. */
export const acceptItems = (marks: string, more = 'normalised = 0'): string => `
  INSERT INTO accepted (destination, key, record_id, hash, marks, run, normalised)
    SELECT DISTINCT ON (hashtextextended(items.key, 0))
      ${destination}, items.key, items.record_id, items.hash, wanted.marks, items.run, items.normalised
    FROM unnest($1::integer[], $2::integer[], $3::text[]) AS wanted (run, ordinal, marks)
      JOIN items ON ${isWanted} ORDER BY hashtextextended(items.key, 0)
  ON CONFLICT (destination, hashtextextended(key, 0)) DO UPDATE
    SET key = excluded.key, record_id = excluded.record_id, hash = excluded.hash, marks = ${marks},
      ${keepsLast}, run = excluded.run, ${more}`

/**
 * The records of the wanted items hold their values now, of several the last one's, and no longer those that were accepted for
 * other keys of the record.
 */
export const TAKE_OVER_SQL = `
  UPDATE accepted SET hash = NULL
  FROM (SELECT DISTINCT ON (items.record_id) items.record_id, items.key, ${destination} AS destination
      ${wanted} JOIN items ON ${isWanted} WHERE items.record_id IS NOT NULL
      ORDER BY items.record_id, items.ordinal DESC) AS item
  WHERE accepted.destination = item.destination
    AND hashtextextended(accepted.record_id, 0) = hashtextextended(item.record_id, 0)
    AND accepted.record_id = item.record_id AND accepted.key <> item.key`

/** Notes `$3` of the wanted items and what their answers showed otherwise, `$4` to `$9`; or nulls, that they showed nothing. */
export const BOOK_ANSWERED_SQL = `
  UPDATE items SET verified = $3, reason = told.reason, field = told.field, detail = told.detail,
    "column" = told."column", value = told.value, answered_key = told.answered_key
  FROM unnest($1::integer[], $2::integer[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[])
    AS told (run, ordinal, reason, field, detail, "column", value, answered_key)
  WHERE items.run = told.run AND items.ordinal = told.ordinal AND coalesce(items.verified, 'answered') = 'answered'`

/** Forgets what was accepted of the wanted items' keys. */
export const forgetItems = `
  UPDATE accepted SET hash = NULL
  FROM (SELECT items.key, ${destination} AS destination ${wanted} JOIN items ON ${isWanted} OFFSET 0) AS item
  WHERE accepted.destination = item.destination AND accepted.key = item.key
    AND hashtextextended(accepted.key, 0) = hashtextextended(item.key, 0)`

/**
 * Notes what was read back of the wanted items instead of what was sent: `$3` its digests, `$4` the marks, `$5` 1 where it is a
 * form of what was sent. What is none is forgotten as accepted.
 */
export const noteRead = `
  UPDATE accepted SET hash = CASE WHEN item.normalised = 1 THEN accepted.hash END, read_back = item.read_back,
    seen = item.seen, read_back_run = item.run, normalised = item.normalised
  FROM (SELECT items.key, items.run, wanted.read_back, wanted.seen, wanted.normalised, ${destination} AS destination
      FROM unnest($1::integer[], $2::integer[], $3::text[], $4::text[], $5::smallint[])
        AS wanted (run, ordinal, read_back, seen, normalised)
        JOIN items ON ${isWanted} OFFSET 0) AS item
  WHERE accepted.destination = item.destination AND accepted.key = item.key
    AND hashtextextended(accepted.key, 0) = hashtextextended(item.key, 0)`
