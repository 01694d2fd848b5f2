// Runs and destinations: one live run per sync, by a unique index.

import { LedgerError } from '../../core/errors.ts'
import { fileNumber } from '../../sqlite/file-identity.ts'
import type { Run } from '../ledger.ts'
import { copyMark, destinationOfRow, liveStates } from '../rows.ts'
import { progressOfRow, runReader, type RunMethods } from '../run-rows.ts'
import type { SqliteDatabase } from './database.ts'

export const runOfRow = runReader({ json: (value) => JSON.parse(String(value)), time: String })

export function runMethods(db: SqliteDatabase, now: () => string): RunMethods {
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
    async restoredAfter() {
      return Number(db.sql('SELECT restored_after FROM project').get()?.['restored_after'] ?? 0)
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
    async progress(id) {
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
      return progressOfRow(row)
    },
  }
}
