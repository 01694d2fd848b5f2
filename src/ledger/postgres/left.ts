// What a closed run left over: each row as its newest attempt had it. A row's attempts are the row itself, those of retries of
// its run, of retries of these, and of the runs that it is itself a retry of.

import { isLeft, liveStates, acceptedStates } from '../rows.ts'
import { isOfOlder, itemAt } from './origins.ts'

/** A row in one number, in the order of its runs. */
const packed = '((attempt.run::bigint << 32) | attempt.ordinal)'

const isAccepted = (item: string, run: string, more: string): string => `(SELECT true FROM accepted
  WHERE accepted.destination = ${run}
    AND hashtextextended(accepted.key, 0) = hashtextextended(${item}.key, 0)
    AND accepted.key = ${item}.key AND accepted.hash IS NOT NULL AND ${more})`

/**
 * The newest attempt, packed, of `item`, that was left over by a run that is over; null where a later one was brought in. A row
 * that gave way to a later one with its key is brought in with that one, of its own run (`twin`) or of another one. Attempts of later runs have higher numbers, so both
 * recursions end. `OFFSET 0` keeps PostgreSQL from joining with the whole index of `of_ordinal`, once per row, where it thinks
 * that no row has one: its statistics may be from before the retry.
 */
const newest = `(WITH RECURSIVE
    up (run, ordinal) AS (
      SELECT item.run, item.ordinal
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
          attempt.state IN (${acceptedStates}) AND coalesce(attempt.verified, 'equal') = 'equal'
          OR attempt.state = 'superseded' AND ${isAccepted(
            'attempt',
            'runs.destination',
            '(accepted.run >= attempt.run OR attempt.twin IS NULL)',
          )}) AS brought_in
      FROM family JOIN ${itemAt('family.run', 'family.ordinal')} AS attempt ON true
        JOIN runs ON runs.id = attempt.run)
  SELECT left_over FROM attempts WHERE left_over > coalesce(brought_in, 0))`

/**
 * `FROM` of a statement about the rows of the closed run `$1` that are left: `own` has their place in it, `now` the newest
 * attempt, whose key no later run has brought in. In order of ordinals.
 * @param kept a table with `raw` that only has rows that may be left: `own` then has its `raw`; null: all rows are looked at
 * @param where more about `item`, and `kept`
 */
export const leftOf = (kept: 'payloads' | 'corrections' | null, where = 'true'): string => `(
    SELECT item.ordinal, item.line, item.of_ordinal, ${kept === null ? '' : 'kept.raw,'} ${newest} AS newest
    FROM ${kept === null ? 'items AS item' : `${kept} AS kept JOIN ${itemAt('kept.run', 'kept.ordinal')} AS item ON true`}
    WHERE ${kept === null ? 'item' : 'kept'}.run = $1 AND ${isLeft('item')} AND (${where})
    ORDER BY ${kept === null ? 'item' : 'kept'}.ordinal OFFSET 0) AS own
  JOIN ${itemAt('(own.newest >> 32)::integer', '(own.newest & 4294967295)::integer')} AS now
    ON ${isAccepted(
      'now',
      '(SELECT destination FROM runs WHERE id = now.run)',
      `accepted.run > now.run AND NOT ${isOfOlder('now')}`,
    )} IS NULL`

/** What `now` was read from, beside `readLeftovers`. */
export const withRaw = `LEFT JOIN LATERAL (SELECT raw FROM payloads
  WHERE payloads.run = now.run AND payloads.ordinal = now.ordinal LIMIT 1) AS last ON true`

/** The columns of a report. */
export const reported = `own.ordinal, own.line, own.of_ordinal, now.run AS attempt_run, now.ordinal AS attempt_ordinal, now.key,
  now.state, last.raw, now.http_status, now.record_id, now.code, now.reason, now."column", now.field, now.value, now.detail,
  now.more, now.request_id, now.in_doubt`
