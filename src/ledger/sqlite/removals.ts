// Removals: found, noted, sent and settled. Keys are asked one by one: in a JSON list SQLite ends a text at U+0000.

import { FenceLost } from '../../core/errors.ts'
import { DONE_DELETIONS, type DeletionState } from '../../core/domain/outcomes.ts'
import { bulkStatement } from '../../sqlite/bulk.ts'
import type { Removals } from '../roles/removals.ts'
import {
  carriedStates,
  doneRemovalStates,
  goneKeyOfRow,
  IS_TRACKED,
  OPEN_REMOVAL_COLUMNS,
  openRemovalOfRow,
  openRemovalStates,
} from '../rows/removals.ts'
import { liveStates } from '../rows/runs.ts'
import { doubtRecords, forgetRecords, repairExtra } from './accepted-records.ts'
import type { SqliteDatabase } from './database.ts'
import { checkStageFence } from './fences.ts'

const DESTINATION = '(SELECT destination FROM runs WHERE id = ?1)'
const recordOf = (key: string) =>
  `(SELECT record_id FROM accepted WHERE destination = ${DESTINATION} AND accepted.key = ${key}) AS record_id`
/** 1, or null. */
const isTracked = (key: string) =>
  `(SELECT 1 FROM accepted WHERE destination = ${DESTINATION} AND accepted.key = ${key} AND ${IS_TRACKED})`
const isPresent = (key: string) =>
  `EXISTS (SELECT 1 FROM items AS own INDEXED BY items_key WHERE own.run = ?1 AND own.key = ${key})`

const WATERMARK_OF_KEY = `(SELECT accepted.watermark FROM accepted WHERE destination = ${DESTINATION} AND accepted.key = removals.key)`

/** Of several rows of a key that the reading had, the last one says what it asks for. */
const WITHDRAWN = `EXISTS (SELECT 1 FROM items AS other INDEXED BY items_key
  WHERE other.run = ?2 AND other.key = gone.key AND other.state = 'deletion_requested')`

/** The keys that the reading had, and those that its corrected rows were brought in with. */
const readWith = (key: string, where: string) => `SELECT ordinal, state, ${key} FROM items
    WHERE run = ?2 AND ordinal > ?3 AND ordinal <= ?4 ${where}`
const READ = `(${readWith('key, raw_key', '')}
  UNION ALL ${readWith('answered_key AS key, NULL AS raw_key', "AND state = 'corrected' AND answered_key IS DISTINCT FROM key")})`

const MISSING_SQL = `SELECT gone.key, gone.raw_key, gone.state = 'deletion_requested' OR gone.state = 'superseded' AND ${WITHDRAWN} AS is_withdrawn, ${recordOf('gone.key')}, ${isTracked('gone.key')} AS is_tracked FROM ${READ} AS gone
  WHERE gone.key IS NOT NULL AND NOT ${isPresent('gone.key')}
    AND NOT EXISTS (SELECT 1 FROM items AS first INDEXED BY items_key
      WHERE first.run = ?2 AND first.key = gone.key AND first.ordinal < gone.ordinal)
    AND NOT EXISTS (SELECT 1 FROM removals INDEXED BY removals_key WHERE removals.run = ?1 AND removals.key = gone.key)
  ORDER BY gone.ordinal`

const INSERT = bulkStatement(
  '(?1, ?, ?, ?, ?, ?, ?, ?)',
  (rows) =>
    `INSERT INTO removals (run, number, key, record_id, cause, state, reason, detail) VALUES ${rows}
     ON CONFLICT DO NOTHING`,
)

const isDone = (state: DeletionState) =>
  (DONE_DELETIONS as readonly DeletionState[]).includes(state)

// oxlint-disable-next-line max-lines-per-function -- a table of methods, none of them long
export const removalMethods = (db: SqliteDatabase) =>
  ({
    async missingKeys(run, { earlier, after, limit }) {
      const last = Number(
        db.sql('SELECT max(ordinal) AS last FROM items WHERE run = ?').get(earlier)?.['last'] ?? 0,
      )
      const rows = db.sql(MISSING_SQL).all(run, earlier, after, after + limit)
      return {
        keys: rows.map((row) => ({
          ...goneKeyOfRow(row),
          isWithdrawn: row['is_withdrawn'] === 1,
          rawKey: row['raw_key'] === null ? null : String(row['raw_key']),
        })),
        next: after + limit < last ? after + limit : null,
      }
    },

    async askedKeys(run, { after, limit }) {
      return db
        .sql(
          `SELECT ordinal, key, ${recordOf('items.key')}, 1 AS is_tracked FROM items
           WHERE run = ?1 AND ordinal > ?2 AND state = 'deletion_requested' AND ${isTracked('items.key')} IS NOT NULL
           ORDER BY ordinal LIMIT ?3`,
        )
        .all(run, after, limit)
        .map((row) => ({ ...goneKeyOfRow(row), ordinal: Number(row['ordinal']) }))
    },

    async carriedKeys(run, { earlier, after, limit }) {
      return db
        .sql(
          `SELECT number, key, cause, ${recordOf('removals.key')}, 1 AS is_tracked FROM removals
           WHERE run = ?2 AND number > ?3 AND state IN (${carriedStates}) AND NOT ${isPresent('removals.key')}
             AND ${isTracked('removals.key')} IS NOT NULL
           ORDER BY number LIMIT ?4`,
        )
        .all(run, earlier, after, limit)
        .map((row) => ({
          ...goneKeyOfRow(row),
          number: Number(row['number']),
          cause: row['cause'] as 'missing' | 'asked',
        }))
    },

    async removedSince(run, earlier, keys) {
      const find = db.sql(
        `SELECT 1 FROM runs CROSS JOIN removals INDEXED BY removals_key
           ON removals.run = runs.id AND removals.key = ?3 AND removals.state IN (${doneRemovalStates})
         WHERE runs.id >= ?2 AND (?1 < 0 OR runs.id < ?1) AND runs.destination = ${DESTINATION} LIMIT 1`,
      )
      return new Set(keys.filter((key) => find.get(run, earlier, key) !== undefined))
    },

    async addRemovals(run, fence, removals) {
      const rows = removals.map(({ number, key, recordId, cause, state, reason, detail }) => [
        number,
        key,
        recordId,
        cause,
        state,
        reason,
        detail ?? null,
      ])
      db.transaction(() => {
        checkStageFence(db, run, fence)
        INSERT.run(db, rows, { before: [run] })
      })
    },

    async claimRemovals(run) {
      const row = db
        .sql(
          `UPDATE runs SET stage_fence = stage_fence + 1 WHERE id = ? AND state IN (${liveStates})
           RETURNING stage_fence`,
        )
        .get(run)
      if (!row) throw new FenceLost(run, 0)
      return Number(row['stage_fence'])
    },

    async openRemovals(run, { after, limit }) {
      return db
        .sql(
          `SELECT ${OPEN_REMOVAL_COLUMNS} FROM removals LEFT JOIN accepted
             ON accepted.destination = ${DESTINATION} AND accepted.key = removals.key
           WHERE removals.run = ?1 AND removals.number > ?2 AND removals.state IN (${openRemovalStates})
           ORDER BY removals.number LIMIT ?3`,
        )
        .all(run, after, limit)
        .map(openRemovalOfRow)
    },

    async recordRemovals(run, fence, removals) {
      const send = db.sql(
        `UPDATE removals SET state = 'in_flight', attempts = attempts + 1, "before" = coalesce(?3, "before")
         WHERE run = ?1 AND number = ?2 AND state IN (${openRemovalStates})`,
      )
      db.transaction(() => {
        checkStageFence(db, run, fence)
        for (const { number, before } of removals) send.run(run, number, before)
      })
    },

    async settleRemovals(run, fence, outcomes) {
      const settle = db.sql(
        `UPDATE removals SET state = ?3, record_id = coalesce(?4, record_id), http_status = ?5, code = ?6, reason = ?7, detail = ?8,
           watermark = ${WATERMARK_OF_KEY}
         WHERE run = ?1 AND number = ?2 AND state IN (${openRemovalStates})`,
      )
      const forget = db.sql(`DELETE FROM accepted WHERE destination = ${DESTINATION} AND key = ?2`)
      db.transaction(() => {
        checkStageFence(db, run, fence)
        for (const { number, key, state, recordId, httpStatus, code, reason, detail } of outcomes) {
          const about = [httpStatus ?? null, code ?? null, reason ?? null, detail ?? null]
          const { changes } = settle.run(run, number, state, recordId, ...about)
          if (changes > 0 && state === 'outcome_unknown') doubtRecords(db, run, [{ key, recordId }])
          if (changes === 0 || !isDone(state)) continue
          repairExtra(db, run, [{ key }])
          if (state === 'cleared' || recordId === null) forget.run(run, key)
          else forgetRecords(db, run, [{ key, recordId, wasGone: state === 'already_gone' }])
        }
      })
    },
  }) satisfies Partial<Removals>
