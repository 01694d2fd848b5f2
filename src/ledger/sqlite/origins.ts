// The row that an item was first read from: the item itself, or the row of the run that a retry, or a retry of a retry, is of.
// Of two items with one key the one whose row was read later is the newer one, whichever of them was sent last.

import { isAfter, isBroughtIn } from '../rows/items.ts'
import { liveStates } from '../rows/runs.ts'

/** Run and ordinal of that row in one number, in the order in which rows are read. */
export const originOf = (run: string, ordinal: string): string => `(WITH RECURSIVE
    origin (run, ordinal) AS (
      SELECT ${run}, ${ordinal}
      UNION ALL
      SELECT runs.of_run, own.of_ordinal FROM origin
        CROSS JOIN items AS own ON own.run = origin.run AND own.ordinal = origin.ordinal
        CROSS JOIN runs ON runs.id = origin.run
      WHERE runs.of_run IS NOT NULL AND own.of_ordinal IS NOT NULL)
  SELECT min((run << 32) | ordinal) FROM origin)`

/**
 * Whether a newer row than that of `items`, of the retry or undo `?1`, was brought in with its key by another run, and is known to be
 * held; or may be, with other values, because its answer was lost. An undo looks for itself what the records hold. Looks into the items
 * of each run of the sync since the one that the row is of.
 */
export const gaveWayToNewer = `EXISTS (SELECT 1 FROM runs AS own
    CROSS JOIN runs AS since ON since.sync = own.sync AND since.mode = 'run' AND since.id < own.id
      AND since.id >= (${originOf('items.run', 'items.ordinal')} >> 32) AND since.destination = own.destination
    CROSS JOIN items AS newer INDEXED BY items_key ON newer.run = since.id AND newer.key = items.key
    WHERE own.id = ?1
      AND (${isBroughtIn('newer')} AND EXISTS (SELECT 1 FROM accepted
          WHERE accepted.destination = own.destination AND accepted.key = items.key)
        OR own.purpose = 'retry' AND newer.in_doubt = 1 AND newer.hash IS NOT items.hash)
      AND NOT coalesce(${isAfter('items.watermark', 'newer.watermark')}, 0)
      AND ${originOf('newer.run', 'newer.ordinal')} > ${originOf('items.run', 'items.ordinal')})`

/** The runs since the run `?1`, that is `own`, which are over. */
const sinceOwn = (which: string): string => `runs AS own
      CROSS JOIN runs AS since ON since.sync = own.sync AND since.mode = 'run' AND since.id > own.id
        AND since.destination = own.destination AND since.state NOT IN (${liveStates}) AND ${which}`

/**
 * Run and ordinal of the newest reading of the key of `item`, an attempt at a row of the run `?1`: of the row that a run since has read
 * last, the newest attempt that is over; else `item` itself. What an undo sends was read by nobody. Looks into the items of the runs
 * since, the newest first, until one has the key, and into those of their retries.
 */
export const newestReading = (item: string): string => {
  const later = `items AS later INDEXED BY items_key
      ON later.run = since.id AND later.key = ${item}.key AND later.state <> 'superseded'
        AND NOT coalesce(${isAfter(`${item}.watermark`, 'later.watermark')}, 0)`
  return `(SELECT run, ordinal FROM (
    SELECT * FROM (SELECT later.run, later.ordinal, (later.run << 32) | later.ordinal AS origin
      FROM ${sinceOwn('since.of_run IS NULL')} CROSS JOIN ${later}
      WHERE own.id = ?1 ORDER BY since.id DESC, later.ordinal DESC LIMIT 1)
    UNION ALL SELECT later.run, later.ordinal, ${originOf('later.run', 'later.ordinal')} AS origin
      FROM ${sinceOwn("since.of_run > own.id AND since.purpose = 'retry'")} CROSS JOIN ${later}
      WHERE own.id = ?1 AND origin >> 32 > ?1
    UNION ALL SELECT ${item}.run, ${item}.ordinal, 0)
  ORDER BY origin DESC, run DESC LIMIT 1)`
}

/**
 * Whether `accepted` was brought in with other values than those of `item`, whatever the service made of them: those of `item` would be
 * written over them.
 */
export const isOfOther = (
  item: string,
): string => `EXISTS (SELECT 1 FROM items AS other INDEXED BY items_key
    WHERE other.run = accepted.run AND other.key = accepted.key AND ${isBroughtIn('other')}
      AND other.hash IS NOT ${item}.hash)`

/** Whether `accepted` was brought in from a row that was read before that of `item`, or has a smaller watermark. */
export const isOfOlder = (
  item: string,
): string => `(coalesce(${isAfter(`${item}.watermark`, 'accepted.watermark')}, 0) OR EXISTS (SELECT 1 FROM items AS brought INDEXED BY items_key
    WHERE brought.run = accepted.run AND brought.key = accepted.key AND ${isBroughtIn('brought')}
      AND ${originOf('brought.run', 'brought.ordinal')} < ${originOf(`${item}.run`, `${item}.ordinal`)}))`
