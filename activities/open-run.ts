// Opens the run of a sync for the workflow that asks, with the configuration that the run keeps to its end.

import { Context } from '@temporalio/activity'
import type { BackfillLimits } from '../src/core/domain/backfill.ts'
import { ConfigError } from '../src/core/errors.ts'
import type { Task } from '../src/core/domain/purpose.ts'
import type { SyncConfig } from '../config/index.ts'
import { tuningProblem } from '../src/core/domain/tuning.ts'
import type { Run } from '../src/ledger/ledger.ts'
import { undoneSync } from '../src/import/index.ts'
import { storedJob } from '../src/runs/job.ts'
import { NO_CHANGE } from '../src/runs/observers.ts'
import { abandonedChange, openOrResumeRun, type RunHolder } from '../src/runs/open.ts'
import type { SharedDeps } from './deps.ts'
import { final } from './failure.ts'

/** What a run is opened with besides its sync. */
export interface RunOpening {
  readonly limits?: BackfillLimits | null | undefined
  readonly task?: Task | null | undefined
  /** The plan that a regular run applies. */
  readonly plan?: number | undefined
  /** What the run was tuned to. */
  readonly tuning?: object | undefined
  /** Called before the books of a run are closed whose workflow is gone. */
  abandoning?(run: Run): Promise<void>
}

/** Input of the activities that open a run. */
export type OpenRunInput = { readonly sync: string } & Omit<RunOpening, 'abandoning'>

/** The execution of the workflow that asks. */
export function ownExecution(): RunHolder {
  const { workflowId = '', runId = '' } = Context.current().info.workflowExecution ?? {}
  return { workflowId, workflowRunId: runId }
}

export function createRunOpener(deps: SharedDeps) {
  const { ledger, logger, loadSync, isLive, watch, env = {} } = deps
  /** An undo writes as the run was configured that it undoes. */
  const ofTask = async (sync: SyncConfig, task: Task | null): Promise<SyncConfig> => {
    if (task === null || !('undo' in task) || sync.kind !== 'import') return sync
    return await undoneSync(ledger, sync, task.undo)
  }
  return async (name: string, kind: SyncConfig['kind'], opening: RunOpening): Promise<number> => {
    const { limits = null, task = null, tuning = {}, plan } = opening
    const problem = tuningProblem(kind, tuning, env)
    if (problem !== null) throw final('InvalidInput', `tuning: ${problem}`).failure
    const holder = ownExecution()
    const { workflowId } = holder
    const began = { ...NO_CHANGE, sync: name, kind, from: null, workflowId }
    try {
      const sync = await ofTask(await loadSync(name, kind), task)
      const { heartbeat_timeout_ms: heartbeatMs } = tuning as { heartbeat_timeout_ms?: number }
      // A worker that takes the run over has to know how old its writes may be.
      const tuned = heartbeatMs === undefined ? {} : { heartbeat_timeout_ms: heartbeatMs }
      const job = storedJob(sync, { limits, task, tuned, plan })
      const run = await openOrResumeRun(
        {
          ledger,
          logger,
          isLive,
          abandoning: opening.abandoning,
          abandoned: (gone) => watch.changed(abandonedChange(gone)),
        },
        { sync: name, kind, holder, ...job },
      )
      logger.info({ run: run.id, sync: name }, 'run_opened')
      await watch.changed({ ...began, run: run.id, purpose: job.purpose, to: run.state })
      return run.id
    } catch (error) {
      if (error instanceof ConfigError) {
        const { message } = error
        await watch.changed({ ...began, run: null, purpose: 'sync', to: 'failed', message })
      }
      throw error
    }
  }
}
