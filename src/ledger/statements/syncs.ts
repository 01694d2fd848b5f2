// What a sync's runs say about it: metrics ask every few seconds.

import { countKnownDifferent, countTargetMissing, type Books } from '../../core/domain/books.ts'
import type { Run } from '../roles/runs.ts'
import type { RunBrief, Syncs } from '../roles/syncs.ts'
import { completeStates, storedBooks, regularPurposes } from '../rows/runs.ts'
import { isStream } from '../rows/streams.ts'
import { number, type Row } from '../rows/values.ts'
import type { SqlDialect, StatementRunner } from './engine.ts'

/** Runs after the last complete one whose streams are read, to know how old a mirror's tables are. */
export const STREAM_RUNS_MAX = 20

/** Whether a run ended and its state or its books say that the two sides differ. Rejects outweigh it as a state. */
const knowsOfDifferences = (state: unknown, counts: Books | null): boolean =>
  state === 'complete_with_differences' ||
  (state === 'complete_with_rejects' &&
    counts !== null &&
    countKnownDifferent(counts) + countTargetMissing(counts) > 0)

/** Whether only `differences` says so of a run. */
const mayLeaveDifferences = ({ state, purpose }: Row): boolean =>
  state === 'complete_with_rejects' && purpose === 'reconcile'

/** A sum over the streams of a run; what steps keep is in their table too. */
const ofStreams = (column: string): string =>
  `(SELECT sum(streams.${column}) FROM streams WHERE streams.run = runs.id AND ${isStream}) AS streams_${column}`

const BRIEF_COLUMNS = `id, kind, purpose, state, reason, rows_read, counts, opened_at, closed_at,
  ${(['read', 'inserted', 'changed', 'deleted'] as const).map(ofStreams).join(', ')}`

const briefReader =
  ({ json, time }: Pick<SqlDialect, 'json' | 'time'>) =>
  (row: Row): RunBrief => ({
    id: Number(row['id']),
    kind: row['kind'] as Run['kind'],
    purpose: row['purpose'] as Run['purpose'],
    state: row['state'] as Run['state'],
    reason: row['reason'] as Run['reason'],
    rowsRead: number(row['rows_read']),
    openedAt: time(row['opened_at']),
    closedAt: row['closed_at'] === null ? null : time(row['closed_at']),
    counts: storedBooks(row['counts'], { json }),
    streams:
      row['streams_read'] === null
        ? null
        : {
            read: Number(row['streams_read']),
            inserted: Number(row['streams_inserted']),
            changed: Number(row['streams_changed']),
            deleted: Number(row['streams_deleted']),
          },
  })

// oxlint-disable-next-line max-lines-per-function -- a table of methods, none of them long
export const syncStatements = (
  db: StatementRunner,
  { json, time, indexedBy }: SqlDialect,
): Syncs => ({
  async syncs() {
    const rows = await db.all("SELECT DISTINCT sync FROM runs WHERE mode = 'run'")
    return rows.map((row) => String(row['sync'])).toSorted()
  },

  async reconciled(sync) {
    const verified = await db.one(
      `SELECT verified_through FROM runs WHERE sync = $1 AND purpose = 'reconcile' AND mode = 'run'
         AND verified_through IS NOT NULL ORDER BY id DESC LIMIT 1`,
      [sync],
    )
    return { verifiedThrough: verified ? time(verified['verified_through']) : null }
  },

  async runBriefs(sync, { limit, before }) {
    const rows = await db.all(
      `SELECT ${BRIEF_COLUMNS} FROM runs WHERE mode = 'run' AND sync = $1${before === undefined ? '' : ' AND id < $3'}
       ORDER BY id DESC LIMIT $2`,
      before === undefined ? [sync, limit] : [sync, limit, before],
    )
    return rows.map(briefReader({ json, time }))
  },

  async syncHealth(sync) {
    const newest = await db.one(
      `SELECT id, kind, state, reason, purpose, counts, opened_at FROM runs WHERE mode = 'run' AND sync = $1
       ORDER BY id DESC LIMIT 1`,
      [sync],
    )
    if (!newest) return null
    const id = Number(newest['id'])
    const counts = storedBooks(newest['counts'], { json })
    const success = await db.one(
      `SELECT id, closed_at FROM runs WHERE mode = 'run' AND sync = $1 AND state IN (${completeStates})
         AND purpose IN (${regularPurposes})
       ORDER BY id DESC LIMIT 1`,
      [sync],
    )
    // While rows are staged there are no segments yet.
    const waits = await db.one(
      `SELECT 1 FROM runs WHERE id = $1 AND closed_at IS NULL AND ((rows_read IS NULL AND rows_staged > 0)
         OR EXISTS (SELECT 1 FROM segments WHERE run = $1 AND state = 'open')
         OR EXISTS (SELECT 1 FROM link_steps WHERE run = $1 AND open > 0))`,
      [id],
    )
    const left = mayLeaveDifferences(newest)
      ? await db.one(
          `SELECT 1 FROM differences ${indexedBy('differences_subject')} WHERE run = $1 AND repaired = 0 LIMIT 1`,
          [id],
        )
      : undefined
    const streams = await db.all(
      `SELECT stream, max(opened_at) AS since FROM streams JOIN runs ON runs.id = streams.run
       WHERE streams.state = 'complete' AND streams.run IN
         (SELECT CAST($2 AS integer) UNION SELECT id FROM (SELECT id FROM runs WHERE mode = 'run' AND sync = $1 AND id > $2
            AND purpose IN (${regularPurposes}) ORDER BY id DESC LIMIT ${STREAM_RUNS_MAX}) AS recent)
       GROUP BY stream`,
      [sync, Number(success?.['id'] ?? 0)],
    )
    return {
      kind: newest['kind'] as Run['kind'],
      state: newest['state'] as Run['state'],
      reason: newest['reason'] as Run['reason'],
      differs: knowsOfDifferences(newest['state'], counts) || left !== undefined,
      succeededAt: success ? time(success['closed_at']) : null,
      waitingSince: waits ? time(newest['opened_at']) : null,
      streams: new Map(streams.map((each) => [String(each['stream']), time(each['since'])])),
    }
  },
})
