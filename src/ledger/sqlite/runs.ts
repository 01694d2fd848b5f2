// Runs and destinations: a unique index holds each sync to one live run.

import { fileNumber } from '../../sqlite/file-identity.ts'
import { copyMark } from '../copy-mark.ts'
import type { LedgerIdentity } from '../roles/identity.ts'
import type { Run, Runs } from '../roles/runs.ts'
import { liveStates, runReader } from '../rows/runs.ts'
import type { SqliteDatabase } from './database.ts'
import { sqliteDialect } from './dialect.ts'

export const runOfRow = runReader(sqliteDialect)

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
  }) satisfies Partial<LedgerIdentity & Runs>
