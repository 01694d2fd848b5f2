// Runs and destinations: one live run per sync, whoever asks, and however many at once.

import type { Json } from '../../core/json.ts'
import type { Books, RunState } from '../../core/states.ts'
import type { Ledger, Progress, Run, RunSchema } from '../ledger.ts'
import { copyMark, destinationOfRow, liveStates } from '../rows.ts'
import type { Database, Row } from './database.ts'

const text = (value: unknown): string | null =>
  value === null || value === undefined ? null : String(value)
const time = (value: unknown): string => (value as Date).toISOString()

/** Named one by one: a later release may add some, and a prepared statement must not change. */
export const RUN_COLUMNS = `id, sync, kind, mode, purpose, of_run, state, reason, message, workflow_id, workflow_run_id, config, destination,
  key_fingerprint, properties, source_columns, source_digest, rows_read, warnings, counts, verified_through,
  opened_at, closed_at`

export function runOfRow(row: Row): Run {
  return {
    id: Number(row['id']),
    sync: String(row['sync']),
    kind: row['kind'] as Run['kind'],
    mode: row['mode'] as Run['mode'],
    purpose: row['purpose'] as Run['purpose'],
    of: row['of_run'] === null ? null : Number(row['of_run']),
    state: row['state'] as RunState,
    reason: text(row['reason']) as Run['reason'],
    message: text(row['message']),
    workflowId: String(row['workflow_id']),
    workflowRunId: String(row['workflow_run_id']),
    config: row['config'] as Json,
    destination: row['destination'] === null ? null : Number(row['destination']),
    keyFingerprint: text(row['key_fingerprint']),
    schema: row['properties'] as RunSchema | null,
    sourceColumns: row['source_columns'] as string[] | null,
    sourceDigest: text(row['source_digest']),
    rowsRead: row['rows_read'] === null ? null : Number(row['rows_read']),
    warnings: row['warnings'] as string[],
    counts: row['counts'] as Books | null,
    verifiedThrough: row['verified_through'] === null ? null : time(row['verified_through']),
    openedAt: time(row['opened_at']),
    closedAt: row['closed_at'] === null ? null : time(row['closed_at']),
  }
}

type RunMethods = Pick<
  Ledger,
  | 'project'
  | 'copy'
  | 'liveRuns'
  | 'openRun'
  | 'run'
  | 'runs'
  | 'setRunState'
  | 'bindDestination'
  | 'progress'
  | 'destinationOf'
>

export function runMethods(db: Database, now: () => string): RunMethods {
  return {
    async project() {
      return String((await db.one('SELECT id FROM project'))?.['id'])
    },
    async copy() {
      const row = await db.one(
        `SELECT (SELECT system_identifier FROM pg_control_system())::text AS server, oid::text AS database,
           'project'::regclass::oid::text AS project
         FROM pg_database WHERE datname = current_database()`,
      )
      return copyMark(
        ['server', 'database', 'project'].map((part) => String(row?.[part])).join('/'),
      )
    },
    async liveRuns() {
      const rows = await db.all(
        `SELECT ${RUN_COLUMNS} FROM runs WHERE mode = 'run' AND state IN (${liveStates}) ORDER BY id`,
      )
      return rows.map(runOfRow)
    },
    async openRun(run) {
      return await db.transaction(async (session) => {
        // One opens at a time: the next one sees what this one wrote, and no number is left out.
        await session.one(
          `SELECT pg_advisory_xact_lock(hashtextextended('records-sync runs ' || current_schema(), 0))`,
        )
        if (run.mode === 'run') {
          const live = await session.one(
            `SELECT ${RUN_COLUMNS} FROM runs WHERE sync = $1 AND mode = 'run' AND state IN (${liveStates})`,
            [run.sync],
          )
          if (live) return { heldBy: runOfRow(live) }
        }
        // Plans come and go: theirs are negative, so that the runs people see are numbered without gaps.
        const row = await session.one(
          `INSERT INTO runs (id, sync, kind, mode, state, workflow_id, workflow_run_id, config, opened_at, purpose, of_run)
           SELECT CASE WHEN $2 = 'plan' THEN least(0, min(id)) - 1 ELSE greatest(0, max(id)) + 1 END,
             $1, $3, $2, 'running', $4, $5, $6::json, $7::timestamptz, $8, $9::integer FROM runs RETURNING ${RUN_COLUMNS}`,
          [
            run.sync,
            run.mode,
            run.kind,
            run.workflowId,
            run.workflowRunId,
            JSON.stringify(run.config),
            now(),
            run.purpose ?? 'sync',
            run.of ?? null,
          ],
        )
        return { run: runOfRow(row!) }
      })
    },
    async run(id) {
      const row = await db.one(`SELECT ${RUN_COLUMNS} FROM runs WHERE id = $1`, [id])
      return row ? runOfRow(row) : null
    },
    async runs({ sync, limit, isCompared }) {
      const which = `mode = 'run'${isCompared === undefined ? '' : ` AND purpose ${isCompared ? '=' : '<>'} 'reconcile'`}`
      const rows =
        sync === undefined
          ? await db.all(
              `SELECT ${RUN_COLUMNS} FROM runs WHERE ${which} ORDER BY id DESC LIMIT $1`,
              [limit],
            )
          : await db.all(
              `SELECT ${RUN_COLUMNS} FROM runs WHERE ${which} AND sync = $1 ORDER BY id DESC LIMIT $2`,
              [sync, limit],
            )
      return rows.map(runOfRow)
    },
    async setRunState(id, state, reason = null, message = null) {
      // A closed run stays closed: a late activity of it must not bring it back to life.
      await db.run(
        `UPDATE runs SET state = $1, reason = $2, message = $3 WHERE id = $4 AND state IN (${liveStates})`,
        [state, reason, message, id],
      )
    },
    async bindDestination(id, destination, facts) {
      return await db.transaction(async (session) => {
        // Where it is there already it is written as it is, because only what was written is returned.
        const row = await session.one(
          `INSERT INTO destinations (sync, origin, org_id, object_type, matching_property)
           VALUES ($1, $2, $3, $4, $5)
           ON CONFLICT (sync, origin, org_id, object_type, matching_property)
             DO UPDATE SET sync = excluded.sync RETURNING id`,
          [
            destination.sync,
            destination.origin,
            destination.orgId,
            destination.objectType,
            destination.matchingProperty,
          ],
        )
        const bound = Number(row!['id'])
        await session.run(
          `UPDATE runs SET destination = $1, key_fingerprint = $2, warnings = $3::json, properties = $4::json
           WHERE id = $5`,
          [
            bound,
            facts.keyFingerprint,
            JSON.stringify(facts.warnings),
            JSON.stringify(facts.schema),
            id,
          ],
        )
        return bound
      })
    },
    async destinationOf(id) {
      const row = await db.one(
        `SELECT destinations.sync, destinations.origin, destinations.org_id, destinations.object_type,
           destinations.matching_property
         FROM runs JOIN destinations ON destinations.id = runs.destination WHERE runs.id = $1`,
        [id],
      )
      return row ? destinationOfRow(row) : null
    },
    async progress(id): Promise<Progress> {
      const row = await db.one(
        `SELECT rows_staged AS read,
           coalesce(sum(segments.planned), 0) AS planned, coalesce(sum(segments.created), 0) AS created,
           coalesce(sum(segments.updated), 0) AS updated, coalesce(sum(segments.rejected), 0) AS rejected,
           coalesce(sum(segments.failed), 0) AS failed,
           coalesce(sum(segments.requests), 0) + (SELECT coalesce(sum(streams.requests), 0) FROM streams
             WHERE streams.run = runs.id AND streams.state = 'place') AS requests
         FROM runs LEFT JOIN segments ON segments.run = runs.id WHERE runs.id = $1 GROUP BY runs.id`,
        [id],
      )
      const number = (name: string) => Number(row?.[name] ?? 0)
      return {
        read: number('read'),
        planned: number('planned'),
        created: number('created'),
        updated: number('updated'),
        rejected: number('rejected'),
        failed: number('failed'),
        requests: number('requests'),
      }
    },
  }
}
