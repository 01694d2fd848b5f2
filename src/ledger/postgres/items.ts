// How statements find their rows: each row by both columns of an index, whatever the planner assumes of the tables. A
// condition such as `run = $1 AND ordinal = ANY ($2)` would let it read the whole run and throw most of it away.

import { keepsLast } from '../rows/accepted.ts'

/** `FROM` of a statement about the items that `$1` and `$2` name, which `itemsAt` gives. */
export const wanted = 'FROM unnest($1::integer[], $2::integer[]) AS wanted (run, ordinal)'
export const isWanted = 'items.run = wanted.run AND items.ordinal = wanted.ordinal'

/** The number of the run as often as there are items, and their ordinals. */
export const itemsAt = (
  run: number,
  items: readonly { readonly ordinal: number }[],
): [number[], number[]] => [items.map(() => run), items.map(({ ordinal }) => ordinal)]

/**
 * A list as `unnest` takes it next to a longer one, which fills it up with nulls: null where it has only these, because each of
 * them would be written and read.
 */
export const unlessNulls = <Value>(list: readonly Value[]): readonly Value[] | null =>
  list.some((value) => value !== null) ? list : null

/** The values of all rows for each of these names, as the lists that `unnest` takes. */
export const listsOf = <Of, Name extends keyof Of>(rows: readonly Of[], ...names: Name[]) =>
  names.map((name) => unlessNulls(rows.map((row) => row[name] ?? null)))

/** Joins each of `items` with its payload. */
export const withPayload = `JOIN LATERAL (SELECT raw, payload FROM payloads
  WHERE payloads.run = items.run AND payloads.ordinal = items.ordinal LIMIT 1) AS kept ON true`

/** Of the items that `$1` and `$2` name; they are of one run. */
export const ITEM_DESTINATION = '(SELECT destination FROM runs WHERE id = ($1::integer[])[1])'

/** Notes the wanted items as accepted, with `$3` as their baseline hashes; `marks`: which ones a key keeps that has some. */
export const acceptItemsSql = (marks: string, more = 'normalised = 0'): string => `
  INSERT INTO accepted (destination, key, record_id, hash, marks, run, normalised, watermark)
    SELECT DISTINCT ON (hashtextextended(items.key, 0))
      ${ITEM_DESTINATION}, items.key, items.record_id, items.hash, wanted.marks, items.run, items.normalised, items.watermark
    FROM unnest($1::integer[], $2::integer[], $3::text[]) AS wanted (run, ordinal, marks)
      JOIN items ON ${isWanted} ORDER BY hashtextextended(items.key, 0)
  ON CONFLICT (destination, hashtextextended(key, 0)) DO UPDATE
    SET key = excluded.key, record_id = excluded.record_id, hash = excluded.hash, marks = ${marks},
      ${keepsLast}, run = excluded.run, watermark = excluded.watermark, ${more}`

/** Forgets what was accepted of the wanted items' keys. */
export const FORGET_SQL = `
  UPDATE accepted SET hash = NULL
  FROM (SELECT items.key, ${ITEM_DESTINATION} AS destination ${wanted} JOIN items ON ${isWanted} OFFSET 0) AS item
  WHERE accepted.destination = item.destination AND accepted.key = item.key
    AND hashtextextended(accepted.key, 0) = hashtextextended(item.key, 0)`

/**
 * Notes what was read back of the wanted items instead of what was sent: `$3` its digests, `$4` the baseline hashes, `$5` 1 if
 * it is a form of what was sent. Otherwise it no longer counts as accepted.
 */
export const NOTE_READ_SQL = `
  UPDATE accepted SET hash = CASE WHEN item.normalised = 1 THEN accepted.hash END, read_back = item.read_back,
    seen = item.seen, read_back_run = item.run, normalised = item.normalised
  FROM (SELECT items.key, items.run, wanted.read_back, wanted.seen, wanted.normalised, ${ITEM_DESTINATION} AS destination
      FROM unnest($1::integer[], $2::integer[], $3::text[], $4::text[], $5::smallint[])
        AS wanted (run, ordinal, read_back, seen, normalised)
        JOIN items ON ${isWanted} OFFSET 0) AS item
  WHERE accepted.destination = item.destination AND accepted.key = item.key
    AND hashtextextended(accepted.key, 0) = hashtextextended(item.key, 0)`
