// Runs and destinations: one live run per sync, however many workers open one at once.

import { copyMark } from '../copy-mark.ts'
import type { LedgerIdentity } from '../roles/identity.ts'
import type { Run, Runs } from '../roles/runs.ts'
import { liveStates, RUN_COLUMNS, runReader } from '../rows/runs.ts'
import { postgresDialect } from './dialect.ts'
import { lockRuns } from './fences.ts'
import type { PostgresDatabase, Session } from './session.ts'

export const runOfRow = runReader(postgresDialect)

type Opening = Parameters<Runs['openRun']>[0]

/** The live run of the sync; with `once`, else the last one that this execution has opened. */
async function holderOf(
  session: Session,
  { sync, workflowId, workflowRunId, once = false }: Opening,
): Promise<Run | null> {
  const live = await session.one(
    `SELECT ${RUN_COLUMNS} FROM runs WHERE sync = $1 AND mode = 'run' AND state IN (${liveStates})`,
    [sync],
  )
  const before =
    live || !once ? live : await session.one(OPENED_BEFORE, [sync, workflowId, workflowRunId])
  return before ? runOfRow(before) : null
}

const OPENED_BEFORE = `SELECT ${RUN_COLUMNS} FROM runs WHERE sync = $1 AND mode = 'run' AND workflow_id = $2
  AND workflow_run_id = $3 AND reason IS DISTINCT FROM 'abandoned' ORDER BY id DESC LIMIT 1`

export const runMethods = (db: PostgresDatabase, now: () => string) =>
  ({
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
    async openRun(run) {
      const { sync, mode, kind, workflowId, workflowRunId, purpose = 'sync', of = null } = run
      const config = JSON.stringify(run.config)
      return await db.transaction(async (session) => {
        await lockRuns(session)
        const holder = mode === 'run' ? await holderOf(session, run) : null
        if (holder) return { heldBy: holder }
        // Plans come and go: their numbers are negative, so that the runs people see are numbered without gaps.
        const row = await session.one(
          `INSERT INTO runs (id, sync, kind, mode, state, workflow_id, workflow_run_id, config, opened_at, purpose, of_run)
           SELECT CASE WHEN $2 = 'plan' THEN least(0, min(id)) - 1 ELSE greatest(0, max(id)) + 1 END,
             $1, $3, $2, 'running', $4, $5, $6::json, $7::timestamptz, $8, $9::integer FROM runs RETURNING ${RUN_COLUMNS}`,
          [sync, mode, kind, workflowId, workflowRunId, config, now(), purpose, of],
        )
        return { run: runOfRow(row!) }
      })
    },
  }) satisfies Partial<LedgerIdentity & Runs>
