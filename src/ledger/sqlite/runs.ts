// Runs and destinations: a unique index holds each sync to one live run.

import { LedgerError } from '../../core/errors.ts'
import { fileNumber } from '../../sqlite/file-identity.ts'
import { copyMark } from '../copy-mark.ts'
import type { LedgerIdentity } from '../roles/identity.ts'
import type { Destination, Run, Runs } from '../roles/runs.ts'
import { liveStates, mergeWarnings, runReader } from '../rows/runs.ts'
import type { SqliteDatabase } from './database.ts'
import { sqliteDialect } from './dialect.ts'

export const runOfRow = runReader(sqliteDialect)

/** The destination's id; made if it is new. */
function destinationId(db: SqliteDatabase, destination: Destination): number {
  const { sync, origin, orgId, objectType, matchingProperty } = destination
  const values = [sync, origin, orgId, objectType, matchingProperty]
  db.sql(
    `INSERT INTO destinations (sync, origin, org_id, object_type, matching_property)
     VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  ).run(...values)
  const row = db
    .sql(
      `SELECT id FROM destinations WHERE sync = ? AND origin = ? AND org_id = ?
       AND object_type = ? AND matching_property = ?`,
    )
    .get(...values)
  if (!row) throw new LedgerError('ledger_failed', `The ledger ${db.path} lost a destination`)
  return Number(row['id'])
}

type Opening = Parameters<Runs['openRun']>[0]

/** The live run of the sync; with `once`, else the last one that this execution has opened. */
function holderOf(
  db: SqliteDatabase,
  { sync, workflowId, workflowRunId, once = false }: Opening,
): Run | null {
  const live = db
    .sql(`SELECT * FROM runs WHERE sync = ? AND mode = 'run' AND state IN (${liveStates})`)
    .get(sync)
  const before = live || !once ? live : db.sql(OPENED_BEFORE).get(sync, workflowId, workflowRunId)
  return before ? runOfRow(before) : null
}

const OPENED_BEFORE = `SELECT * FROM runs WHERE sync = ? AND mode = 'run' AND workflow_id = ?
  AND workflow_run_id = ? AND reason IS NOT 'abandoned' ORDER BY id DESC LIMIT 1`

export const runMethods = (db: SqliteDatabase, now: () => string) =>
  ({
    async copy() {
      return copyMark(String(fileNumber(db.path)))
    },
    async openRun(run) {
      const { sync, mode, kind, workflowId, workflowRunId, purpose = 'sync', of = null } = run
      const config = JSON.stringify(run.config)
      return db.transaction(() => {
        const holder = mode === 'run' ? holderOf(db, run) : null
        if (holder) return { heldBy: holder }
        // Plans come and go: their numbers are negative, so that the runs people see are numbered without gaps.
        const row = db
          .sql(
            `INSERT INTO runs (id, sync, kind, mode, state, workflow_id, workflow_run_id, config, opened_at,
               purpose, of_run)
             VALUES (CASE WHEN ?2 = 'plan' THEN (SELECT min(0, coalesce(min(id), 0)) - 1 FROM runs) END,
               ?1, ?3, ?2, 'running', ?4, ?5, ?6, ?7, ?8, ?9) RETURNING *`,
          )
          .get(sync, mode, kind, workflowId, workflowRunId, config, now(), purpose, of)
        return { run: runOfRow(row!) }
      })
    },
    async addWarnings(run, warnings) {
      db.transaction(() => {
        const row = db
          .sql(`SELECT warnings FROM runs WHERE id = ? AND state IN (${liveStates})`)
          .get(run)
        if (!row) return
        const all = mergeWarnings(JSON.parse(String(row['warnings'])) as string[], warnings)
        db.sql('UPDATE runs SET warnings = ? WHERE id = ?').run(JSON.stringify(all), run)
      })
    },
    async bindDestination(run, destination, { keyFingerprint, warnings, schema }) {
      return db.transaction(() => {
        const id = destinationId(db, destination)
        db.sql(
          'UPDATE runs SET destination = ?, key_fingerprint = ?, warnings = ?, properties = ? WHERE id = ?',
        ).run(id, keyFingerprint, JSON.stringify(warnings), JSON.stringify(schema), run)
        return id
      })
    },
  }) satisfies Partial<LedgerIdentity & Runs>
