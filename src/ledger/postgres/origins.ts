// The row that an item was first read from: the item itself, or the row of the run that a retry, or a retry of a retry, is of.
// Of two items with one key the one whose row was read later is the newer one, whichever of them was sent last.

import { isAfter, isBroughtIn } from '../rows/items.ts'
import { liveStates } from '../rows/runs.ts'

/** An item by both columns of its key, whatever the planner assumes of the table. */
export const itemAt = (run: string, ordinal: string): string =>
  `LATERAL (SELECT * FROM items AS found WHERE found.run = ${run} AND found.ordinal = ${ordinal} LIMIT 1)`

/** Run and ordinal of that row in one number, in the order in which rows are read. */
export const originOf = (run: string, ordinal: string): string => `(WITH RECURSIVE
    origin (run, ordinal) AS (
      SELECT ${run}, ${ordinal}
      UNION ALL
      SELECT runs.of_run, own.of_ordinal FROM origin
        JOIN ${itemAt('origin.run', 'origin.ordinal')} AS own ON own.of_ordinal IS NOT NULL
        JOIN runs ON runs.id = origin.run AND runs.of_run IS NOT NULL)
  SELECT min((origin.run::bigint << 32) | origin.ordinal) FROM origin)`

/** Items of `run` with `key`, by the index of keys. */
export const itemsWith = (run: string, key: string, alias: string): string =>
  `hashtextextended(${alias}.key, ${alias}.run) = hashtextextended(${key}, ${run})
      AND ${alias}.key = ${key} AND ${alias}.run + 0 = ${run}`

/**
 * Whether a newer row than that of `items`, of the retry or undo `$1`, was brought in with its key by another run, and is known to be
 * held; or may be, with other values, because its answer was lost. An undo looks for itself what the records hold. Looks into the items
 * of each run of the sync since the one that the row is of.
 */
export const gaveWayToNewer = `(SELECT true FROM runs AS own
    JOIN runs AS since ON since.sync = own.sync AND since.mode = 'run' AND since.id < own.id
      AND since.id >= (${originOf('items.run', 'items.ordinal')} >> 32) AND since.destination = own.destination
    JOIN LATERAL (SELECT newer.run, newer.ordinal, newer.state, newer.in_doubt, newer.hash, newer.watermark FROM items AS newer
      WHERE ${itemsWith('since.id', 'items.key', 'newer')} OFFSET 0) AS newer ON true
    WHERE own.id = $1
      AND (${isBroughtIn('newer')} AND (SELECT true FROM accepted
          WHERE accepted.destination = own.destination
            AND hashtextextended(accepted.key, 0) = hashtextextended(items.key, 0) AND accepted.key = items.key)
        OR own.purpose = 'retry' AND newer.in_doubt = 1 AND newer.hash IS DISTINCT FROM items.hash)
      AND NOT coalesce(${isAfter('items.watermark', 'newer.watermark')}, false)
      AND ${originOf('newer.run', 'newer.ordinal')} > ${originOf('items.run', 'items.ordinal')} LIMIT 1)`

/** The runs since the run `$1`, that is `own`, which are over. */
const sinceOwn = (which: string): string => `runs AS own
      JOIN runs AS since ON since.sync = own.sync AND since.mode = 'run' AND since.id > own.id
        AND since.destination = own.destination AND since.state NOT IN (${liveStates}) AND ${which}`

/**
 * Run and ordinal of the newest reading of the key of `item`, an attempt at a row of the run `$1`: of the row that a run since has read
 * last, the newest attempt that is over; else `item` itself. What an undo sends was read by nobody. Looks into the items of the runs
 * since, the newest first, until one has the key, and into those of their retries.
 */
export const newestReading = (item: string): string => {
  const later = `LATERAL (SELECT found.run, found.ordinal FROM items AS found
      WHERE ${itemsWith('since.id', `${item}.key`, 'found')} AND found.state <> 'superseded'
        AND NOT coalesce(${isAfter(`${item}.watermark`, 'found.watermark')}, false) OFFSET 0) AS later ON true`
  return `LATERAL (
    (SELECT later.run, later.ordinal, (later.run::bigint << 32) | later.ordinal AS origin
      FROM ${sinceOwn('since.of_run IS NULL')} JOIN ${later}
      WHERE own.id = $1 ORDER BY since.id DESC, later.ordinal DESC LIMIT 1)
    UNION ALL SELECT later.run, later.ordinal, ${originOf('later.run', 'later.ordinal')} AS origin
      FROM ${sinceOwn("since.of_run > own.id AND since.purpose = 'retry'")} JOIN ${later}
      WHERE own.id = $1 AND (${originOf('later.run', 'later.ordinal')} >> 32) > $1
    UNION ALL SELECT ${item}.run, ${item}.ordinal, 0
    ORDER BY origin DESC, run DESC LIMIT 1)`
}

/**
 * Whether `accepted` was brought in with other values than those of `item`, whatever the service made of them: those of `item` would be
 * written over them.
 */
export const isOfOther = (item: string): string => `coalesce((SELECT true FROM items AS other
    WHERE ${itemsWith('accepted.run', 'accepted.key', 'other')} AND ${isBroughtIn('other')}
      AND other.hash IS DISTINCT FROM ${item}.hash LIMIT 1), false)`

/** Whether `accepted` was brought in from a row that was read before that of `item`, or has a smaller watermark. */
export const isOfOlder = (
  item: string,
): string => `(coalesce(${isAfter(`${item}.watermark`, 'accepted.watermark')}, false) OR coalesce((SELECT true FROM items AS brought
    WHERE ${itemsWith('accepted.run', 'accepted.key', 'brought')} AND ${isBroughtIn('brought')}
      AND ${originOf('brought.run', 'brought.ordinal')} < ${originOf(`${item}.run`, `${item}.ordinal`)} LIMIT 1), false))`
