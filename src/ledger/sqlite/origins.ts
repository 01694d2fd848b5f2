// The row that an item was first read from: the item itself, or the row of the run that a retry, or a retry of a retry, is of.
// Of two items with one key the one whose row was read later is the newer one, whichever of them was sent last.

import { acceptedStates } from '../rows.ts'

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

/** Whether `item` is one whose values were accepted. */
export const isBroughtIn = (item: string): string => `${item}.state IN (${acceptedStates})`

/**
 * Whether a newer row than that of `items`, of the retry `?1`, was brought in with its key by another run, and is known to be
 * held. Looks into the items of each run of the sync since the one that the row is of.
 */
export const gaveWayToNewer = `EXISTS (SELECT 1 FROM accepted
    WHERE accepted.destination = (SELECT destination FROM runs WHERE id = ?1) AND accepted.key = items.key)
  AND EXISTS (SELECT 1 FROM runs AS own
    CROSS JOIN runs AS since ON since.sync = own.sync AND since.mode = 'run' AND since.id < own.id
      AND since.id >= (${originOf('items.run', 'items.ordinal')} >> 32) AND since.destination = own.destination
    CROSS JOIN items AS newer INDEXED BY items_key ON newer.run = since.id AND newer.key = items.key
    WHERE own.id = ?1 AND ${isBroughtIn('newer')}
      AND ${originOf('newer.run', 'newer.ordinal')} > ${originOf('items.run', 'items.ordinal')})`

/** Whether `accepted` was brought in from a row that was read before that of `item`. */
export const isOfOlder = (
  item: string,
): string => `EXISTS (SELECT 1 FROM items AS brought INDEXED BY items_key
    WHERE brought.run = accepted.run AND brought.key = accepted.key AND ${isBroughtIn('brought')}
      AND ${originOf('brought.run', 'brought.ordinal')} < ${originOf(`${item}.run`, `${item}.ordinal`)})`

/**
 * The newest run of the sync of `destination` that wrote records of the same org and type, or may have deleted some, as another
 * destination: through another address or by another matching property. 0 where there is none. What was accepted before it does
 * not show what the service holds.
 */
export const newestRunElsewhere = (
  destination: string,
): string => `(SELECT coalesce(max(since.id), 0)
  FROM destinations AS mine
    CROSS JOIN destinations AS elsewhere ON elsewhere.sync = mine.sync AND elsewhere.org_id = mine.org_id
      AND elsewhere.object_type = mine.object_type AND elsewhere.id <> mine.id
    CROSS JOIN runs AS since ON since.sync = mine.sync AND since.mode = 'run' AND since.destination = elsewhere.id
      AND (since.batches > 0 OR since.purpose = 'reconcile')
  WHERE mine.id = ${destination})`
