// The views `results`, `rejects` and `in_doubt` know all attempts of a row, as `left.ts` does.

import { outcomeSql } from '../rows/values.ts'

const isBroughtIn = (item: string): string => `${item}.state IN ('created', 'updated', 'unchanged')`
const isLeft = (item: string): string =>
  `(${item}.state IN ('invalid', 'refused', 'conflict', 'outcome_unknown', 'not_sent') OR ${item}.verified NOT IN ('equal', 'overwritten'))`

/** Whether a retry may have taken the item, or made it: without one there is nothing to look for. */
const hasAttempts = (item: string): string =>
  `(${item}.of_ordinal IS NOT NULL OR EXISTS (SELECT 1 FROM runs AS retry WHERE retry.of_run = ${item}.run))`

/** From an item back to the row that it was first read from. Retries have higher numbers than what they are of, so it ends. */
const back = (name: string, item: string): string => `${name} (run, ordinal) AS (
    SELECT ${item}.run, ${item}.ordinal
    UNION ALL
    SELECT retry.of_run, own.of_ordinal FROM ${name}
      CROSS JOIN items AS own ON own.run = ${name}.run AND own.ordinal = ${name}.ordinal
      CROSS JOIN runs AS retry ON retry.id = ${name}.run
    WHERE retry.of_run IS NOT NULL AND own.of_ordinal IS NOT NULL)`

/** Its run and ordinal in one number. */
const originOf = (item: string): string =>
  `(WITH RECURSIVE ${back('origin', item)} SELECT min((run << 32) | ordinal) FROM origin)`

/** All attempts of an item's row, as `attempt`, with their runs as `its`; `what` is asked of them. */
const ofAttempts = (item: string, what: string, having: string): string => `(WITH RECURSIVE
  ${back('up', item)},
  family (run, ordinal) AS (
    SELECT * FROM (SELECT run, ordinal FROM up ORDER BY run LIMIT 1)
    UNION ALL
    SELECT again.run, again.ordinal FROM family
      CROSS JOIN runs AS retry ON retry.of_run = family.run AND retry.mode = 'run'
      CROSS JOIN items AS again INDEXED BY items_of ON again.run = retry.id AND again.of_ordinal = family.ordinal)
  SELECT ${what} FROM family
    CROSS JOIN items AS attempt ON attempt.run = family.run AND attempt.ordinal = family.ordinal
    CROSS JOIN runs AS its ON its.id = attempt.run
  ${having})`

/** Those of a retry that is at work do not count yet. */
const isLeftOver = (item: string): string =>
  `${isLeft('attempt')} AND (its.state NOT IN ('running', 'paused', 'blocked') OR attempt.run = ${item}.run)`

/** An attempt that is done with the row: its mode does not write it, others have changed its record, or a later reading lacks it. */
const settled = `(attempt.state IN ('exists', 'not_found', 'protected') OR coalesce(attempt.reason, '') = 'gone_from_source')`

/** A row that gave way to a newer one with its key came in with that one. */
const cameIn = `(${settled} OR ${isBroughtIn('attempt')} AND coalesce(attempt.verified, 'equal') = 'equal'
  OR attempt.state = 'superseded' AND EXISTS (SELECT 1 FROM accepted
    WHERE accepted.destination = its.destination AND accepted.key = attempt.key AND accepted.hash IS NOT NULL
      AND (accepted.run >= attempt.run OR attempt.twin IS NULL)))`

const newestOf = (item: string): string => `CASE WHEN ${hasAttempts(item)}
  THEN ${ofAttempts(item, `max(CASE WHEN ${isLeftOver(item)} THEN (attempt.run << 32) | attempt.ordinal END)`, '')}
  ELSE (${item}.run << 32) | ${item}.ordinal END`

/** A row that was brought in later may have a smaller watermark, and does not count then. */
const isNotOlder = `NOT coalesce(now.watermark > accepted.watermark
    AND substr(now.watermark, 1, 9) = substr(accepted.watermark, 1, 9), 0)`

/** A later run of the destination brought the key of the newest attempt in, from a row that is not older. */
const broughtInLater = `EXISTS (SELECT 1 FROM (SELECT ${newestOf('results')} AS place) AS newest
  CROSS JOIN items AS now ON now.run = (newest.place >> 32) AND now.ordinal = (newest.place & 4294967295)
  CROSS JOIN accepted ON accepted.destination = (SELECT destination FROM runs WHERE id = now.run) AND accepted.key = now.key
  WHERE accepted.run > now.run AND accepted.hash IS NOT NULL AND ${isNotOlder}
    AND NOT EXISTS (SELECT 1 FROM items AS brought INDEXED BY items_key
      WHERE brought.run = accepted.run AND brought.key = accepted.key AND ${isBroughtIn('brought')}
        AND ${originOf('brought')} < ${originOf('now')}))`

export const ATTEMPT_VIEWS = `
  CREATE VIEW results AS
    SELECT runs.sync, items.run, items.ordinal, items.line, items.key, ${outcomeSql('items.state')} AS outcome, items.state, items.record_id,
      items.http_status, items.code, items.reason, items."column", items.field, items.value, items.detail,
      items.request_id, items.attempts, items.replayed, items.in_doubt, items.verified,
      runs.purpose, runs.of_run, items.of_ordinal,
      CASE WHEN ${isLeft('items')} AND ${hasAttempts('items')} THEN ${ofAttempts(
        'items',
        `max(CASE WHEN ${cameIn} THEN attempt.run END) AS came_in`,
        `HAVING came_in > max(CASE WHEN ${isLeftOver('items')} THEN attempt.run ELSE 0 END)`,
      )} END AS mended_by
    FROM items JOIN runs ON runs.id = items.run
    WHERE runs.mode = 'run';

  CREATE VIEW rejects AS
    SELECT results.*, payloads.raw FROM results LEFT JOIN payloads USING (run, ordinal)
    WHERE (results.state IN ('invalid', 'refused', 'conflict', 'outcome_unknown', 'not_sent') OR results.verified <> 'equal')
      AND results.mended_by IS NULL AND NOT ${broughtInLater};

  CREATE VIEW in_doubt AS
    SELECT * FROM results
    WHERE in_doubt = 1 AND coalesce(verified, '') <> 'equal' AND mended_by IS NULL AND NOT ${broughtInLater};
`
