// Removals: found, noted, sent and settled.

import { FenceLost } from '../../core/errors.ts'
import { DONE_DELETIONS, type DeletionState } from '../../core/domain/outcomes.ts'
import type { RemovalOutcome, Removals } from '../roles/removals.ts'
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
import { DOUBT_SQL, forgetKeys, forgetRecords, hasKey, repairExtra } from './accepted-records.ts'
import { checkStageFence } from './fences.ts'
import { listsOf } from './items.ts'
import { itemsWith } from './origins.ts'
import type { PostgresDatabase, Session } from './session.ts'

const DESTINATION = '(SELECT destination FROM runs WHERE id = $1)'
const recordOf = (key: string) =>
  `(SELECT record_id FROM accepted WHERE accepted.destination = ${DESTINATION} AND ${hasKey(key)} LIMIT 1) AS record_id`
/** 1, or null. */
const isTracked = (key: string) =>
  `(SELECT 1 FROM accepted WHERE accepted.destination = ${DESTINATION} AND ${hasKey(key)} AND ${IS_TRACKED} LIMIT 1)`
const isAbsent = (key: string) =>
  `(SELECT true FROM items AS own WHERE ${itemsWith('$1', key, 'own')} LIMIT 1) IS NULL`
const removalsWith = (run: string, key: string) =>
  `hashtextextended(removals.key, removals.run) = hashtextextended(${key}, ${run})
      AND removals.key = ${key} AND removals.run + 0 = ${run}`

/** Of several rows of a key that the reading had, the last one says what it asks for. */
const WITHDRAWN = `(SELECT true FROM items AS other WHERE ${itemsWith('$2', 'gone.key', 'other')}
  AND other.state = 'deletion_requested' LIMIT 1) IS NOT NULL`

/** The keys that the reading had, and those that its corrected rows were brought in with. */
const readWith = (key: string, where: string) => `SELECT ordinal, state, ${key} FROM items
    WHERE run = $2 AND ordinal > $3 AND ordinal <= $4 ${where}`
const READ = `(${readWith('key, raw_key', '')}
  UNION ALL ${readWith('answered_key AS key, NULL AS raw_key', "AND state = 'corrected' AND answered_key IS DISTINCT FROM key")})`

const MISSING_SQL = `SELECT gone.key, gone.raw_key, gone.state = 'deletion_requested' OR gone.state = 'superseded' AND ${WITHDRAWN} AS is_withdrawn, ${recordOf('gone.key')}, ${isTracked('gone.key')} AS is_tracked FROM ${READ} AS gone
  WHERE gone.key IS NOT NULL AND ${isAbsent('gone.key')}
    AND (SELECT true FROM items AS earlier WHERE ${itemsWith('$2', 'gone.key', 'earlier')}
      AND earlier.ordinal::bigint < gone.ordinal LIMIT 1) IS NULL
    AND (SELECT true FROM removals WHERE ${removalsWith('$1', 'gone.key')} LIMIT 1) IS NULL
  ORDER BY gone.ordinal`

const SINCE_SQL = `SELECT asked.key FROM unnest($3::text[]) AS asked (key)
  WHERE (SELECT true FROM runs JOIN LATERAL (SELECT 1 FROM removals
      WHERE ${removalsWith('runs.id', 'asked.key')} AND removals.state IN (${doneRemovalStates}) LIMIT 1) AS found ON true
    WHERE runs.id >= $2 AND ($1 < 0 OR runs.id < $1) AND runs.destination = ${DESTINATION} LIMIT 1)`

const SETTLE_SQL = `UPDATE removals SET state = settled.state, record_id = coalesce(settled.record_id, removals.record_id),
    http_status = settled.http_status, code = settled.code, reason = settled.reason, detail = settled.detail,
    watermark = (SELECT accepted.watermark FROM accepted WHERE accepted.destination = ${DESTINATION} AND ${hasKey('removals.key')} LIMIT 1)
  FROM unnest($2::integer[], $3::text[], $4::text[], $5::integer[], $6::text[], $7::text[], $8::text[])
    AS settled (number, state, record_id, http_status, code, reason, detail)
  WHERE removals.run = $1 AND removals.number = settled.number AND removals.state IN (${openRemovalStates})
  RETURNING removals.number`

const isDone = (state: DeletionState) =>
  (DONE_DELETIONS as readonly DeletionState[]).includes(state)

async function settle(
  session: Session,
  run: number,
  outcomes: readonly RemovalOutcome[],
): Promise<void> {
  const rows = outcomes.map(
    ({ httpStatus = null, code = null, reason = null, detail = null, ...outcome }) => ({
      ...outcome,
      httpStatus,
      code,
      reason,
      detail,
    }),
  )
  const lists = listsOf(
    rows,
    'number',
    'state',
    'recordId',
    'httpStatus',
    'code',
    'reason',
    'detail',
  )
  const settled = new Set(
    (await session.all(SETTLE_SQL, [run, ...lists])).map((row) => Number(row['number'])),
  )
  for (const { number, state } of rows)
    if (state === 'outcome_unknown')
      for (const doubt of DOUBT_SQL) await session.run(doubt, [run, number, number])
  const done = rows.filter(({ number, state }) => settled.has(number) && isDone(state))
  const records = done.flatMap(({ key, state, recordId }) =>
    state === 'cleared' || recordId === null
      ? []
      : [{ key, recordId, wasGone: state === 'already_gone' }],
  )
  const keys = done.flatMap(({ key, state, recordId }) =>
    state === 'cleared' || recordId === null ? [key] : [],
  )
  if (done.length > 0) await repairExtra(session, run, done)
  if (records.length > 0) await forgetRecords(session, run, records)
  if (keys.length > 0) await forgetKeys(session, run, keys)
}

// oxlint-disable-next-line max-lines-per-function -- a table of methods, none of them long
export const removalMethods = (db: PostgresDatabase) =>
  ({
    async missingKeys(run, { earlier, after, limit }) {
      const end = await db.one('SELECT max(ordinal) AS last FROM items WHERE run = $1', [earlier])
      const rows = await db.all(MISSING_SQL, [run, earlier, after, after + limit])
      return {
        keys: rows.map((row) => ({
          ...goneKeyOfRow(row),
          isWithdrawn: row['is_withdrawn'] === true,
          rawKey: row['raw_key'] === null ? null : String(row['raw_key']),
        })),
        next: after + limit < Number(end?.['last'] ?? 0) ? after + limit : null,
      }
    },

    async askedKeys(run, { after, limit }) {
      const rows = await db.all(
        `SELECT ordinal, key, ${recordOf('items.key')}, 1 AS is_tracked FROM items
         WHERE run = $1 AND ordinal > $2 AND state = 'deletion_requested' AND ${isTracked('items.key')} IS NOT NULL
         ORDER BY ordinal LIMIT $3`,
        [run, after, limit],
      )
      return rows.map((row) => ({ ...goneKeyOfRow(row), ordinal: Number(row['ordinal']) }))
    },

    async carriedKeys(run, { earlier, after, limit }) {
      const rows = await db.all(
        `SELECT number, key, cause, ${recordOf('removals.key')}, 1 AS is_tracked FROM removals
         WHERE run = $2 AND number > $3 AND state IN (${carriedStates}) AND ${isAbsent('removals.key')}
           AND ${isTracked('removals.key')} IS NOT NULL
         ORDER BY number LIMIT $4`,
        [run, earlier, after, limit],
      )
      return rows.map((row) => ({
        ...goneKeyOfRow(row),
        number: Number(row['number']),
        cause: row['cause'] as 'missing' | 'asked',
      }))
    },

    async removedSince(run, earlier, keys) {
      const rows = await db.all(SINCE_SQL, [run, earlier, keys])
      return new Set(rows.map((row) => String(row['key'])))
    },

    async addRemovals(run, fence, removals) {
      await db.transaction(async (session) => {
        await checkStageFence(session, run, fence)
        await session.run(
          `INSERT INTO removals (run, number, key, record_id, cause, state, reason, detail)
           SELECT $1, * FROM unnest($2::integer[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
           ON CONFLICT DO NOTHING`,
          [
            run,
            ...listsOf(
              removals.map((one) => ({ detail: null, ...one })),
              'number',
              'key',
              'recordId',
              'cause',
              'state',
              'reason',
              'detail',
            ),
          ],
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
      const rows = await db.all(
        `SELECT ${OPEN_REMOVAL_COLUMNS} FROM removals LEFT JOIN LATERAL
           (SELECT * FROM accepted WHERE accepted.destination = ${DESTINATION} AND ${hasKey('removals.key')} LIMIT 1)
           AS accepted ON true
         WHERE removals.run = $1 AND removals.number > $2 AND removals.state IN (${openRemovalStates})
         ORDER BY removals.number LIMIT $3`,
        [run, after, limit],
      )
      return rows.map(openRemovalOfRow)
    },

    async recordRemovals(run, fence, removals) {
      await db.transaction(async (session) => {
        await checkStageFence(session, run, fence)
        await session.run(
          `UPDATE removals SET state = 'in_flight', attempts = attempts + 1, "before" = coalesce(asked.held, removals."before")
           FROM unnest($2::integer[], $3::text[]) AS asked (number, held)
           WHERE removals.run = $1 AND removals.number = asked.number AND removals.state IN (${openRemovalStates})`,
          [run, removals.map(({ number }) => number), removals.map(({ before }) => before)],
        )
      })
    },

    async settleRemovals(run, fence, outcomes) {
      await db.transaction(async (session) => {
        await checkStageFence(session, run, fence)
        await settle(session, run, outcomes)
      })
    },
  }) satisfies Partial<Removals>
