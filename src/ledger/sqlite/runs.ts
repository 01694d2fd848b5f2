// Runs and destinations: one live run per sync, by a unique index.

import { LedgerError } from '../../core/errors.ts'
import type { Json } from '../../core/json.ts'
import type { Books, RunState } from '../../core/states.ts'
import { fileNumber } from '../../sqlite/identity.ts'
import type { Ledger, Progress, Run, RunSchema } from '../ledger.ts'
import { copyMark, destinationOfRow, liveStates } from '../rows.ts'
import type { Database, Row } from './database.ts'

const text = (value: unknown): string | null =>
  value === null || value === undefined ? null : String(value)
const parse = <Value>(value: unknown): Value | null =>
  value === null || value === undefined ? null : (JSON.parse(String(value)) as Value)

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
    config: parse<Json>(row['config']),
    destination: row['destination'] === null ? null : Number(row['destination']),
    keyFingerprint: text(row['key_fingerprint']),
    schema: parse<RunSchema>(row['properties']),
    sourceColumns: parse<string[]>(row['source_columns']),
    sourceDigest: text(row['source_digest']),
    rowsRead: row['rows_read'] === null ? null : Number(row['rows_read']),
    warnings: parse<string[]>(row['warnings']) ?? [],
    counts: parse<Books>(row['counts']),
    verifiedThrough: text(row['verified_through']),
    openedAt: String(row['opened_at']),
    closedAt: text(row['closed_at']),
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
  const byId = (id: number): Run | null => {
    const row = db.sql('SELECT * FROM runs WHERE id = ?').get(id)
    return row ? runOfRow(row) : null
  }
  return {
    async project() {
      return String(db.sql('SELECT id FROM project').get()?.['id'])
    },
    async copy() {
      return copyMark(String(fileNumber(db.path)))
    },
    async liveRuns() {
      return db
        .sql(`SELECT * FROM runs WHERE mode = 'run' AND state IN (${liveStates}) ORDER BY id`)
        .all()
        .map(runOfRow)
    },
    async openRun(run) {
      return db.transaction(() => {
        if (run.mode === 'run') {
          const live = db
            .sql(`SELECT * FROM runs WHERE sync = ? AND mode = 'run' AND state IN (${liveStates})`)
            .get(run.sync)
          if (live) return { heldBy: runOfRow(live) }
        }
        // Plans come and go: theirs are negative, so that the runs people see are numbered without gaps.
        const row = db
          .sql(
            `INSERT INTO runs (id, sync, kind, mode, state, workflow_id, workflow_run_id, config, opened_at,
               purpose, of_run)
             VALUES (CASE WHEN ?2 = 'plan' THEN (SELECT min(0, coalesce(min(id), 0)) - 1 FROM runs) END,
               ?1, ?3, ?2, 'running', ?4, ?5, ?6, ?7, ?8, ?9) RETURNING *`,
          )
          .get(
            run.sync,
            run.mode,
            run.kind,
            run.workflowId,
            run.workflowRunId,
            JSON.stringify(run.config),
            now(),
            run.purpose ?? 'sync',
            run.of ?? null,
          )
        return { run: runOfRow(row!) }
      })
    },
    async run(id) {
      return byId(id)
    },
    async runs({ sync, limit, isCompared }) {
      const which = `mode = 'run'${isCompared === undefined ? '' : ` AND purpose ${isCompared ? '=' : '<>'} 'reconcile'`}`
      const rows =
        sync === undefined
          ? db.sql(`SELECT * FROM runs WHERE ${which} ORDER BY id DESC LIMIT ?`).all(limit)
          : db
              .sql(`SELECT * FROM runs WHERE ${which} AND sync = ? ORDER BY id DESC LIMIT ?`)
              .all(sync, limit)
      return rows.map(runOfRow)
    },
    async setRunState(id, state, reason = null, message = null) {
      // A closed run stays closed: a late activity of it must not bring it back to life.
      db.sql(
        `UPDATE runs SET state = ?, reason = ?, message = ? WHERE id = ? AND state IN (${liveStates})`,
      ).run(state, reason, message, id)
    },
    async bindDestination(id, destination, facts) {
      return db.transaction(() => {
        const place = [
          destination.sync,
          destination.origin,
          destination.orgId,
          destination.objectType,
          destination.matchingProperty,
        ]
        db.sql(
          `INSERT INTO destinations (sync, origin, org_id, object_type, matching_property)
           VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
        ).run(...place)
        const row = db
          .sql(
            `SELECT id FROM destinations WHERE sync = ? AND origin = ? AND org_id = ?
             AND object_type = ? AND matching_property = ?`,
          )
          .get(...place)
        if (!row) throw new LedgerError('ledger_failed', `The ledger ${db.path} lost a destination`)
        db.sql(
          'UPDATE runs SET destination = ?, key_fingerprint = ?, warnings = ?, properties = ? WHERE id = ?',
        ).run(
          Number(row['id']),
          facts.keyFingerprint,
          JSON.stringify(facts.warnings),
          JSON.stringify(facts.schema),
          id,
        )
        return Number(row['id'])
      })
    },
    async destinationOf(id) {
      const row = db
        .sql(
          `SELECT destinations.* FROM runs JOIN destinations ON destinations.id = runs.destination
           WHERE runs.id = ?`,
        )
        .get(id)
      return row ? destinationOfRow(row) : null
    },
    async progress(id): Promise<Progress> {
      const row = db
        .sql(
          `SELECT runs.rows_staged AS read,
             coalesce(sum(segments.planned), 0) AS planned, coalesce(sum(segments.created), 0) AS created,
             coalesce(sum(segments.updated), 0) AS updated, coalesce(sum(segments.rejected), 0) AS rejected,
             coalesce(sum(segments.failed), 0) AS failed,
             coalesce(sum(segments.requests), 0) + (SELECT coalesce(sum(streams.requests), 0) FROM streams
               WHERE streams.run = runs.id AND streams.state = 'place') AS requests
           FROM runs LEFT JOIN segments ON segments.run = runs.id WHERE runs.id = ? GROUP BY runs.id`,
        )
        .get(id)
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
