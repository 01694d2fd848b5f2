// Removals, as every engine reads them.

import type { Removals } from '../roles/removals.ts'
import {
  goneKeyOfRow,
  IS_TRACKED,
  openRemovalStates,
  removalCountsOfRows,
  removalGroupOfRow,
  reportedRemovalOfRow,
} from '../rows/removals.ts'
import { watermarkOf, writtenStates } from '../rows/items.ts'
import { completeStates } from '../rows/runs.ts'
import type { StatementRunner } from './engine.ts'
import { DESTINATION, exists, type LinkSql } from './link-sql.ts'

export const REMOVAL_COUNTS_SQL =
  'SELECT state, count(*) AS records FROM removals WHERE run = $1 GROUP BY state'

/** What a run that ends leaves of its removals with the numbers `$2` to `$3`. */
export const LEAVE_REMOVALS = `UPDATE removals SET in_doubt = CASE WHEN state = 'in_flight' THEN 1 ELSE in_doubt END,
    state = CASE WHEN state = 'in_flight' THEN 'outcome_unknown' ELSE 'not_sent' END
  WHERE run = $1 AND number BETWEEN $2 AND $3 AND state IN (${openRemovalStates})`

/** Whether a run is not the reading that the next one of its destination is compared with: a statement about `runs`. */
export const IS_OLD_READING = `(purpose <> 'sync' OR state NOT IN (${completeStates})
  OR (SELECT count(*) FROM runs AS next WHERE next.destination = runs.destination AND next.id > runs.id
        AND next.mode = 'run' AND next.purpose = 'sync' AND next.state IN (${completeStates})) > 0)`

/** A stretch of what is accepted in the destination of the run `$1`, of `$3` keys; behind the place `$4`. */
const madeText = (sql: LinkSql) => {
  const place = sql.hashed('accepted.key')
  const lacks = `NOT ${exists(sql.itemsOfKey('own', '$1', 'accepted.key'))}
    AND NOT ${exists(sql.removalsOfKey('removed', '$1', 'accepted.key'))}`
  const text = (
    where: string,
  ) => `SELECT key, record_id, 1 AS is_tracked, CAST(${place} AS text) AS place,
      CASE WHEN run > $2 AND ${IS_TRACKED} AND ${lacks} THEN 1 ELSE 0 END AS is_made
    FROM accepted WHERE destination = ${DESTINATION} ${where} ORDER BY ${place} LIMIT $3`
  return { first: text(''), next: text(`AND ${place} > $4`) }
}

// oxlint-disable-next-line max-lines-per-function -- a table of methods, none of them long
export const removalStatements = (db: StatementRunner, sql: LinkSql) => {
  const { list, isOneOf, collate, ofAllRuns } = sql
  const made = madeText(sql)
  return {
    async madeKeys(run, { earlier, after, limit }) {
      const rows = await db.all(after === null ? made.first : made.next, [
        run,
        earlier,
        limit,
        ...(after === null ? [] : [after]),
      ])
      return {
        keys: rows.filter((row) => Number(row['is_made']) === 1).map(goneKeyOfRow),
        next: rows.length < limit ? null : String(rows.at(-1)!['place']),
      }
    },

    async previousReading(run) {
      const earlier = await db.one(
        `SELECT id, rows_read FROM runs WHERE mode = 'run' AND purpose = 'sync' AND state IN (${completeStates})
           AND destination = (SELECT destination FROM runs WHERE id = $1) AND ($1 < 0 OR id < $1)
         ORDER BY id DESC LIMIT 1`,
        [run],
      )
      if (earlier === undefined) return null
      const id = Number(earlier['id'])
      // Items are pruned from the first one on.
      const first = await db.one('SELECT 1 FROM items WHERE run = $1 AND ordinal = 1', [id])
      return { run: id, isKept: first !== undefined || Number(earlier['rows_read']) === 0 }
    },

    async trackedRecords(run) {
      const row = await db.one(
        `SELECT count(*) AS keys FROM accepted
         WHERE destination = (SELECT destination FROM runs WHERE id = $1) AND ${IS_TRACKED}`,
        [run],
      )
      return Number(row?.['keys'] ?? 0)
    },

    async writerOf(key, upTo) {
      const row = await db.one(
        `SELECT runs.id ${ofAllRuns('items', 'key')}
         WHERE runs.mode = 'run' AND runs.id <= $2 AND items.state IN (${writtenStates})
           AND runs.destination = (SELECT destination FROM runs WHERE id = $2)
         ORDER BY runs.id DESC LIMIT 1`,
        [key, upTo],
      )
      return row === undefined ? null : Number(row['id'])
    },

    async removalCounts(run) {
      return removalCountsOfRows(await db.all(REMOVAL_COUNTS_SQL, [run]))
    },

    async removalGroups(run) {
      const rows = await db.all(
        `SELECT state, cause, code, reason, count(*) AS records FROM removals WHERE run = $1
         GROUP BY state, cause, code, reason
         ORDER BY records DESC, state ${collate}, cause ${collate}, code ${collate} NULLS FIRST, reason ${collate} NULLS FIRST
         LIMIT 1000`,
        [run],
      )
      return rows.map(removalGroupOfRow)
    },

    async removedImages(run, { after, limit }) {
      const { rows } = await db.page(
        `SELECT number AS ordinal, key, "before", watermark FROM removals
         WHERE run = $1 AND number > $2 AND state = 'deleted' AND "before" IS NOT NULL ORDER BY number LIMIT $3`,
        [run, after, limit],
        'before',
      )
      return rows.map((row) => ({
        number: Number(row['ordinal']),
        key: String(row['key']),
        before: String(row['before']),
        ...watermarkOf(row),
      }))
    },

    async removals(run, { states, after, limit }) {
      const rows = await db.all(
        `SELECT * FROM removals WHERE run = $1 AND number > $2 AND ${isOneOf('state', '$4')}
         ORDER BY number LIMIT $3`,
        [run, after, limit, list(states)],
      )
      return {
        rows: rows.map(reportedRemovalOfRow),
        next: rows.length < limit ? null : Number(rows.at(-1)!['number']),
      }
    },
  } satisfies Partial<Removals>
}
