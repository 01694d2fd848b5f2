// What a closed run left over: each row as its newest attempt had it. A row's attempts are the row itself, those of retries of
// its run, of retries of these, and of the runs that it is itself a retry of.

import { isDone, isLeft, isUnread } from '../rows/items.ts'
import { liveStates } from '../rows/runs.ts'
import { isOfOlder, isOfOther, itemAt, newestReading } from './origins.ts'

/** A row in one number, in the order of its runs. */
const packed = '((attempt.run::bigint << 32) | attempt.ordinal)'

const isAccepted = (item: string, run: string, more: string): string => `(SELECT true FROM accepted
  WHERE accepted.destination = ${run}
    AND hashtextextended(accepted.key, 0) = hashtextextended(${item}.key, 0)
    AND accepted.key = ${item}.key AND ${more})`

/**
 * The newest attempt at `items`, packed, that a closed run left over; null if a later one was brought in. A row that gave way
 * to a later one with its key is brought in with that one, of its own run (`twin`) or of another one. Attempts of later runs
 * have higher numbers, so both recursions end. `OFFSET 0` keeps PostgreSQL from joining with the whole index of `of_ordinal`,
 * once per row, if it assumes that no row has one: its statistics may be from before the retry.
 */
const newest = `(WITH RECURSIVE
    up (run, ordinal) AS (
      SELECT items.run, items.ordinal
      UNION ALL
      SELECT runs.of_run, own.of_ordinal FROM up
        JOIN ${itemAt('up.run', 'up.ordinal')} AS own ON own.of_ordinal IS NOT NULL
        JOIN runs ON runs.id = up.run AND runs.of_run IS NOT NULL),
    family (run, ordinal) AS (
      (SELECT run, ordinal FROM up ORDER BY run LIMIT 1)
      UNION ALL
      SELECT again.run, again.ordinal FROM family
        JOIN runs AS retry ON retry.of_run = family.run AND retry.mode = 'run'
        JOIN LATERAL (SELECT run, ordinal FROM items
          WHERE ((items.run::bigint << 32) | items.of_ordinal) = ((retry.id::bigint << 32) | family.ordinal)
            AND items.of_ordinal IS NOT NULL OFFSET 0) AS again ON true),
    attempts AS (
      SELECT
        max(${packed}) FILTER (WHERE runs.state NOT IN (${liveStates}) AND ${isLeft('attempt')}) AS left_over,
        max(${packed}) FILTER (WHERE
          ${isDone('attempt')}
          OR attempt.state = 'superseded' AND ${isAccepted(
            'attempt',
            'runs.destination',
            'accepted.hash IS NOT NULL AND (accepted.run >= attempt.run OR attempt.twin IS NULL)',
          )}) AS brought_in
      FROM family JOIN ${itemAt('family.run', 'family.ordinal')} AS attempt ON true
        JOIN runs ON runs.id = attempt.run)
  SELECT left_over FROM attempts WHERE left_over > coalesce(brought_in, 0))`

/** See `SqlDialect`. */
export const leftOf = (kept: 'payloads' | 'corrections' | null, where = 'true'): string => `(
    SELECT items.ordinal, items.line, items.of_ordinal, ${kept === null ? '' : 'kept.raw,'} ${newest} AS newest
    FROM ${kept === null ? 'items' : `${kept} AS kept JOIN ${itemAt('kept.run', 'kept.ordinal')} AS items ON true`}
    WHERE ${kept === null ? 'items' : 'kept'}.run = $1 AND ${isLeft('items')} AND (${where})
    ORDER BY ${kept === null ? 'items' : 'kept'}.ordinal OFFSET 0) AS own
  JOIN ${itemAt('(own.newest >> 32)::integer', '(own.newest & 4294967295)::integer')} AS now
    ON ${isAccepted(
      'now',
      '(SELECT destination FROM runs WHERE id = now.run)',
      `accepted.run > now.run AND (accepted.hash IS NOT NULL OR ${isOfOther('now')}) AND NOT ${isOfOlder('now')}`,
    )} IS NULL`

export const withRaw = `LEFT JOIN LATERAL (SELECT run, raw FROM payloads
  WHERE payloads.run = now.run AND payloads.ordinal = now.ordinal LIMIT 1) AS last ON true`

/** See `SqlDialect`. */
export const withNewestRaw = `JOIN ${newestReading('now')} AS reading ON true
  JOIN ${itemAt('reading.run', 'reading.ordinal')} AS newest ON ${isLeft('newest')}
  JOIN LATERAL (SELECT run, raw FROM payloads
    WHERE payloads.run = newest.run AND payloads.ordinal = newest.ordinal LIMIT 1) AS last ON true`

/** See `SqlDialect`. */
export const unreadOf = `SELECT items.run, items.ordinal, items.key, items.hash, items.watermark, kept.raw, kept.payload
  FROM payloads AS kept JOIN ${itemAt('kept.run', 'kept.ordinal')} AS items ON ${isUnread('items')}
  WHERE kept.run = $2 AND kept.ordinal > $3 AND kept.payload IS NOT NULL
    AND ${isAccepted(
      'items',
      '(SELECT destination FROM runs WHERE id = $1)',
      'accepted.run = items.run AND accepted.hash = items.hash',
    )}
  ORDER BY kept.ordinal LIMIT $4`
