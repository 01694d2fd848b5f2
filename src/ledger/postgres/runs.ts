// Runs and destinations: one live run per sync, whoever asks, and however many at once.

import { copyMark, destinationOfRow, liveStates } from '../rows.ts'
import { progressOfRow, runReader, type RunMethods } from '../run-rows.ts'
import type { PostgresDatabase } from './session.ts'

/** Named one by one: a later release may add some, and a prepared statement must not change. */
export const RUN_COLUMNS = `id, sync, kind, mode, purpose, of_run, state, reason, message, workflow_id, workflow_run_id, config, destination,
  key_fingerprint, properties, source_columns, source_digest, rows_read, warnings, counts, verified_through,
  opened_at, closed_at`

export const runOfRow = runReader({
  json: (value) => value,
  time: (value) => (value as Date).toISOString(),
})

export function runMethods(db: PostgresDatabase, now: () => string): RunMethods {
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
    async restoredAfter() {
      return Number((await db.one('SELECT restored_after FROM project'))?.['restored_after'] ?? 0)
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
    async progress(id) {
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
      return progressOfRow(row)
    },
  }
}
