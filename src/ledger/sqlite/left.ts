// What a closed run left over: each row as its newest attempt had it. A row's attempts are the row itself, those of retries of
// its run, of retries of these, and of the runs that it is itself a retry of.

import { isDone, isLeft, isUnread } from '../rows/items.ts'
import { liveStates } from '../rows/runs.ts'
import { isOfOlder, isOfOther, newestReading } from './origins.ts'

/** A row in one number, in the order of its runs. */
const packed = '((attempt.run << 32) | attempt.ordinal)'

/**
 * The newest attempt at `items`, packed, that a closed run left over; null if a later one was brought in. A row that gave way
 * to a later one with its key is brought in with that one, of its own run (`twin`) or of another one. Attempts of later runs
 * have higher numbers, so both recursions end.
 */
const newest = `(WITH RECURSIVE
    up (run, ordinal) AS (
      SELECT items.run, items.ordinal
      UNION ALL
      SELECT runs.of_run, own.of_ordinal FROM up
        CROSS JOIN items AS own ON own.run = up.run AND own.ordinal = up.ordinal
        CROSS JOIN runs ON runs.id = up.run
      WHERE runs.of_run IS NOT NULL AND own.of_ordinal IS NOT NULL),
    family (run, ordinal) AS (
      SELECT * FROM (SELECT run, ordinal FROM up ORDER BY run LIMIT 1)
      UNION ALL
      SELECT again.run, again.ordinal FROM family
        CROSS JOIN runs AS retry ON retry.of_run = family.run AND retry.mode = 'run'
        CROSS JOIN items AS again INDEXED BY items_of
          ON again.run = retry.id AND again.of_ordinal = family.ordinal)
  SELECT max(CASE WHEN runs.state NOT IN (${liveStates}) AND ${isLeft('attempt')} THEN ${packed} END) AS left_over
  FROM family CROSS JOIN items AS attempt ON attempt.run = family.run AND attempt.ordinal = family.ordinal
    CROSS JOIN runs ON runs.id = attempt.run
  HAVING left_over > coalesce(max(CASE
    WHEN ${isDone('attempt')}
      OR attempt.state = 'superseded' AND EXISTS (SELECT 1 FROM accepted
        WHERE accepted.destination = runs.destination AND accepted.key = attempt.key
          AND (accepted.run >= attempt.run OR attempt.twin IS NULL) AND accepted.hash IS NOT NULL)
    THEN ${packed} END), 0))`

/** See `SqlDialect`. */
export const leftOf = (kept: 'payloads' | 'corrections' | null, where = 'true'): string => `(
    SELECT items.ordinal, items.line, items.of_ordinal, ${kept === null ? '' : 'kept.raw,'} ${newest} AS newest
    FROM ${kept === null ? '' : `${kept} AS kept CROSS JOIN`} items
    ${kept === null ? '' : 'ON items.run = kept.run AND items.ordinal = kept.ordinal'}
    WHERE ${kept === null ? 'items' : 'kept'}.run = ?1 AND ${isLeft('items')} AND (${where})
    ORDER BY ${kept === null ? 'items' : 'kept'}.ordinal LIMIT -1) AS own
  CROSS JOIN items AS now ON now.run = (own.newest >> 32) AND now.ordinal = (own.newest & 4294967295)
    AND NOT EXISTS (SELECT 1 FROM accepted
      WHERE accepted.destination = (SELECT destination FROM runs WHERE id = now.run)
        AND accepted.key = now.key AND accepted.run > now.run
        AND (accepted.hash IS NOT NULL OR ${isOfOther('now')})
        AND NOT ${isOfOlder('now')})`

export const withRaw =
  'LEFT JOIN payloads AS last ON last.run = now.run AND last.ordinal = now.ordinal'

/** See `SqlDialect`. */
export const withNewestRaw = `CROSS JOIN items AS newest ON (newest.run, newest.ordinal) = ${newestReading('now')}
    AND ${isLeft('newest')}
  CROSS JOIN payloads AS last ON last.run = newest.run AND last.ordinal = newest.ordinal`

/** See `SqlDialect`. */
export const unreadOf = `SELECT items.run, items.ordinal, items.key, items.hash, items.watermark, kept.raw, kept.payload
  FROM payloads AS kept CROSS JOIN items ON items.run = kept.run AND items.ordinal = kept.ordinal
    CROSS JOIN accepted ON accepted.destination = (SELECT destination FROM runs WHERE id = ?1) AND accepted.key = items.key
      AND accepted.run = items.run AND accepted.hash = items.hash
  WHERE kept.run = ?2 AND kept.ordinal > ?3 AND kept.payload IS NOT NULL AND ${isUnread('items')}
  ORDER BY kept.ordinal LIMIT ?4`
