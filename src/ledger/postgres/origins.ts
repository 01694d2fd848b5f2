// The row that an item was first read from: the item itself, or the row of the run that a retry, or a retry of a retry, is of.
// Of two items with one key the one whose row was read later is the newer one, whichever of them was sent last.

import { isBroughtIn } from '../rows/items.ts'

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
 * Whether a newer row than that of `items`, of the retry `$1`, was brought in with its key by another run, and is known to be
 * held. Looks into the items of each run of the sync since the one that the row is of.
 */
export const gaveWayToNewer = `(SELECT true FROM accepted
    WHERE accepted.destination = (SELECT destination FROM runs WHERE id = $1)
      AND hashtextextended(accepted.key, 0) = hashtextextended(items.key, 0) AND accepted.key = items.key)
  AND (SELECT true FROM runs AS own
    JOIN runs AS since ON since.sync = own.sync AND since.mode = 'run' AND since.id < own.id
      AND since.id >= (${originOf('items.run', 'items.ordinal')} >> 32) AND since.destination = own.destination
    JOIN LATERAL (SELECT newer.run, newer.ordinal, newer.state FROM items AS newer
      WHERE ${itemsWith('since.id', 'items.key', 'newer')} OFFSET 0) AS newer ON true
    WHERE own.id = $1 AND ${isBroughtIn('newer')}
      AND ${originOf('newer.run', 'newer.ordinal')} > ${originOf('items.run', 'items.ordinal')} LIMIT 1)`

/**
 * Whether `accepted` was brought in with other values than those of `item`, whatever the service made of them: those of `item` would be
 * written over them.
 */
export const isOfOther = (item: string): string => `coalesce((SELECT true FROM items AS other
    WHERE ${itemsWith('accepted.run', 'accepted.key', 'other')} AND ${isBroughtIn('other')}
      AND other.hash IS DISTINCT FROM ${item}.hash LIMIT 1), false)`

/** Whether `accepted` was brought in from a row that was read before that of `item`. */
export const isOfOlder = (item: string): string => `coalesce((SELECT true FROM items AS brought
    WHERE ${itemsWith('accepted.run', 'accepted.key', 'brought')} AND ${isBroughtIn('brought')}
      AND ${originOf('brought.run', 'brought.ordinal')} < ${originOf(`${item}.run`, `${item}.ordinal`)} LIMIT 1), false)`
