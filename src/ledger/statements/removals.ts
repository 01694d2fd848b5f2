// Removals: found, noted, sent, settled and reported.

import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { FenceLost } from '../../core/errors.ts'
import { DONE_DELETIONS, type DeletionState } from '../../core/domain/outcomes.ts'
import type { Removals } from '../roles/removals.ts'
import {
  carriedStates,
  doneRemovalStates,
  goneKeyOfRow,
  IS_TRACKED,
  OPEN_REMOVAL_COLUMNS,
  openRemovalOfRow,
  openRemovalStates,
  removalCountsOfRows,
  reportedRemovalOfRow,
} from '../rows/removals.ts'
import { watermarkOf, writtenStates } from '../rows/items.ts'
import { completeStates, liveStates } from '../rows/runs.ts'
import { text as textOf } from '../rows/values.ts'
import { ordinalSlices } from '../rules/ranges.ts'
import { acceptedSteps } from './accepted-records.ts'
import type { StatementRunner } from './engine.ts'
import { DESTINATION, exists, type LinkSql } from './link-sql.ts'
import { checkStage } from './links/slices.ts'
import {
  read,
  readGiven,
  write,
  writeGiven,
  type Given,
  type TransactionRunner,
} from './transaction.ts'

export const REMOVAL_COUNTS_SQL =
  'SELECT state, count(*) AS records FROM removals WHERE run = $1 GROUP BY state'

/** What a run that ends leaves of its removals with the numbers `$2` to `$3`. */
const LEAVE_REMOVALS = `UPDATE removals SET in_doubt = CASE WHEN state = 'in_flight' THEN 1 ELSE in_doubt END,
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

const isDone = (state: DeletionState) =>
  (DONE_DELETIONS as readonly DeletionState[]).includes(state)

const keysOf = (keys: readonly string[]): Given => ({
  columns: { key: 'text' },
  rows: keys.map((key) => [key]),
})

const removalTexts = (sql: LinkSql) => {
  const held = (key: string, what: string, fits = 'true') => {
    const { table, on } = sql.acceptedOfKey('held', DESTINATION, key)
    return `(SELECT ${what} FROM ${table} WHERE ${on} AND ${fits} LIMIT 1)`
  }
  const recordOf = (key: string) => `${held(key, 'held.record_id')} AS record_id`
  /** 1, or null. */
  const isTracked = (key: string) =>
    held(key, '1', '(held.record_id IS NOT NULL OR held.hash IS NOT NULL)')
  const isPresent = (key: string) => exists(sql.itemsOfKey('own', '$1', key))
  // The keys that the reading had, and those that its corrected rows were brought in with.
  const readWith = (key: string, where: string) => `SELECT ordinal, state, ${key} FROM items
    WHERE run = $2 AND ordinal > $3 AND ordinal <= $4 ${where}`
  const earlier = (fits: string) => exists(sql.itemsOfKey('other', '$2', 'gone.key'), fits)
  // Of several rows of a key that the reading had, the last one says what it asks for.
  const isWithdrawn = `gone.state = 'deletion_requested' OR gone.state = 'superseded' AND ${earlier("other.state = 'deletion_requested'")}`
  return {
    missing: `SELECT gone.key, gone.raw_key, CASE WHEN ${isWithdrawn} THEN 1 ELSE 0 END AS is_withdrawn,
        ${recordOf('gone.key')}, ${isTracked('gone.key')} AS is_tracked
      FROM (${readWith('key, raw_key', '')}
        UNION ALL ${readWith('answered_key AS key, NULL AS raw_key', "AND state = 'corrected' AND answered_key IS DISTINCT FROM key")}) AS gone
      WHERE gone.key IS NOT NULL AND NOT ${isPresent('gone.key')} AND NOT ${earlier('other.ordinal + 0 < gone.ordinal')}
        AND NOT ${exists(sql.removalsOfKey('planned', '$1', 'gone.key'))}
      ORDER BY gone.ordinal`,
    asked: `SELECT ordinal, key, ${recordOf('items.key')}, 1 AS is_tracked FROM items
      WHERE run = $1 AND ordinal > $2 AND state = 'deletion_requested' AND ${isTracked('items.key')} IS NOT NULL
      ORDER BY ordinal LIMIT $3`,
    carried: `SELECT number, key, cause, ${recordOf('removals.key')}, 1 AS is_tracked FROM removals
      WHERE run = $2 AND number > $3 AND state IN (${carriedStates}) AND NOT ${isPresent('removals.key')}
        AND ${isTracked('removals.key')} IS NOT NULL
      ORDER BY number LIMIT $4`,
    since: `SELECT given.key FROM given WHERE (SELECT 1 FROM runs
      WHERE runs.id >= $2 AND (CAST($1 AS integer) < 0 OR runs.id < $1) AND runs.destination = ${DESTINATION}
        AND ${exists(sql.removalsOfKey('removed', 'runs.id', 'given.key'), `removed.state IN (${doneRemovalStates})`)} LIMIT 1) IS NOT NULL`,
    open: `SELECT ${OPEN_REMOVAL_COLUMNS} FROM removals ${sql.leftJoined(
      sql.acceptedOfKey('accepted', DESTINATION, 'removals.key'),
      'accepted',
      'accepted.*',
    )}
      WHERE removals.run = $1 AND removals.number > $2 AND removals.state IN (${openRemovalStates})
      ORDER BY removals.number LIMIT $3`,
    settle: `UPDATE removals SET state = given.state, record_id = coalesce(given.record_id, removals.record_id),
        http_status = given.http_status, code = given.code, reason = given.reason, detail = given.detail,
        watermark = ${held('removals.key', 'held.watermark')}
      FROM given WHERE removals.run = $1 AND removals.number = given.number AND removals.state IN (${openRemovalStates})
      RETURNING removals.number`,
  }
}

// oxlint-disable-next-line max-lines-per-function -- a table of methods, none of them long
export const removalMethods = (db: StatementRunner & TransactionRunner, sql: LinkSql): Removals => {
  const { list, isOneOf, ofAllRuns } = sql
  const made = madeText(sql)
  const text = removalTexts(sql)
  const accepted = acceptedSteps(sql)
  return {
    async missingKeys(run, { earlier, after, limit }) {
      const end = await db.one('SELECT max(ordinal) AS last FROM items WHERE run = $1', [earlier])
      const rows = await db.all(text.missing, [run, earlier, after, after + limit])
      return {
        keys: rows.map((row) => ({
          ...goneKeyOfRow(row),
          isWithdrawn: Number(row['is_withdrawn']) === 1,
          rawKey: textOf(row['raw_key']),
        })),
        next: after + limit < Number(end?.['last'] ?? 0) ? after + limit : null,
      }
    },

    async askedKeys(run, { after, limit }) {
      const rows = await db.all(text.asked, [run, after, limit])
      return rows.map((row) => ({ ...goneKeyOfRow(row), ordinal: Number(row['ordinal']) }))
    },

    async carriedKeys(run, { earlier, after, limit }) {
      const rows = await db.all(text.carried, [run, earlier, after, limit])
      return rows.map((row) => ({
        ...goneKeyOfRow(row),
        number: Number(row['number']),
        cause: row['cause'] as 'missing' | 'asked',
      }))
    },

    async removedSince(run, earlier, keys) {
      const rows = await db.transact(() => readGiven(keysOf(keys), text.since, [run, earlier]))
      return new Set(rows.map((row) => String(row['key'])))
    },

    async addRemovals(run, fence, removals) {
      const given: Given = {
        columns: {
          number: 'integer',
          key: 'text',
          record_id: 'text',
          cause: 'text',
          state: 'text',
          reason: 'text',
          detail: 'text',
        },
        rows: removals.map(({ number, key, recordId, cause, state, reason, detail = null }) => [
          number,
          key,
          recordId,
          cause,
          state,
          reason,
          detail,
        ]),
      }
      await db.transact(function* () {
        yield* checkStage(sql, run, fence)
        yield* writeGiven(
          given,
          `INSERT INTO removals (run, number, key, record_id, cause, state, reason, detail)
           SELECT CAST($1 AS integer), given.* FROM given WHERE true ON CONFLICT DO NOTHING`,
          [run],
        )
      })
    },

    async claimRemovals(run) {
      const row = await db.one(
        `UPDATE runs SET stage_fence = stage_fence + 1 WHERE id = $1 AND state IN (${liveStates})
         RETURNING stage_fence`,
        [run],
      )
      if (!row) throw new FenceLost(run, 0)
      return Number(row['stage_fence'])
    },

    async openRemovals(run, { after, limit }) {
      return (await db.all(text.open, [run, after, limit])).map(openRemovalOfRow)
    },

    async recordRemovals(run, fence, removals) {
      const given: Given = {
        columns: { number: 'integer', held: 'text' },
        rows: removals.map(({ number, before }) => [number, before]),
      }
      await db.transact(function* () {
        yield* checkStage(sql, run, fence)
        yield* writeGiven(
          given,
          `UPDATE removals SET state = 'in_flight', attempts = attempts + 1, "before" = coalesce(given.held, removals."before")
           FROM given WHERE removals.run = $1 AND removals.number = given.number AND removals.state IN (${openRemovalStates})`,
          [run],
        )
      })
    },

    async settleRemovals(run, fence, outcomes) {
      const given: Given = {
        columns: {
          number: 'integer',
          state: 'text',
          record_id: 'text',
          http_status: 'integer',
          code: 'text',
          reason: 'text',
          detail: 'text',
        },
        rows: outcomes.map(
          ({
            number,
            state,
            recordId,
            httpStatus = null,
            code = null,
            reason = null,
            detail = null,
          }) => [number, state, recordId, httpStatus, code, reason, detail],
        ),
      }
      await db.transact(function* () {
        yield* checkStage(sql, run, fence)
        const rows = yield* readGiven(given, text.settle, [run])
        const settled = new Set(rows.map((row) => Number(row['number'])))
        const own = outcomes.filter(({ number }) => settled.has(number))
        yield* accepted.doubtRecords(
          run,
          own.filter(({ state }) => state === 'outcome_unknown'),
        )
        const done = own.filter(({ state }) => isDone(state))
        yield* accepted.repairExtra(run, done)
        // A record that is there still may be that of another key.
        const gone = done.map(({ key, state, recordId }) => ({
          key,
          recordId: state === 'cleared' ? null : recordId,
          wasGone: state === 'already_gone' && recordId !== null,
        }))
        yield* accepted.forgetRecords(run, gone)
      })
    },

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
  }
}

/** The end of a run's removals. */
export function removalClosing(db: StatementRunner & TransactionRunner, sql: LinkSql) {
  const { doubtRecords } = acceptedSteps(sql)
  const flying = `SELECT key, record_id FROM removals WHERE run = $1 AND number BETWEEN $2 AND $3 AND state = 'in_flight'`
  return {
    /** What is in flight may be gone: its rows are sent again. What is open becomes terminal. */
    async settleLeftovers(run: number): Promise<void> {
      const end = await db.one('SELECT max(number) AS last FROM removals WHERE run = $1', [run])
      for (const { first, last } of ordinalSlices(Number(end?.['last'] ?? 0))) {
        await db.transact(function* () {
          const rows = yield* read(flying, [run, first, last])
          const records = rows.map((row) => ({
            key: String(row['key']),
            recordId: textOf(row['record_id']),
          }))
          yield* doubtRecords(run, records)
          yield* write(LEAVE_REMOVALS, [run, first, last])
        })
        await yieldToOthers()
      }
    },
  }
}
export type RemovalClosing = ReturnType<typeof removalClosing>
