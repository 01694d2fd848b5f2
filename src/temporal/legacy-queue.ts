// The runs of releases without projects. They continue in the queue that all projects of a namespace shared, so a worker polls
// there only while a run or a schedule of its own ledger is left there.

import type { Client } from '@temporalio/client'
import type { Worker } from '@temporalio/worker'
import { SHARED_QUEUE } from '../../workflows/queues.ts'
import type { Logger } from '../core/ports.ts'
import type { Run, Runs } from '../ledger/ledger.ts'
import { describeWorkflow } from './is-live.ts'
import type { WorkerPool } from './worker-pool.ts'

/** Whether a workflow of a live run is in the old queue. */
async function hasOldRun(client: Client, runs: readonly Run[]): Promise<boolean> {
  for (const run of runs) {
    const found = await describeWorkflow(client, run)
    if (found?.status.name === 'RUNNING' && found.taskQueue === SHARED_QUEUE) return true
  }
  return false
}

export function legacyQueue(deps: {
  readonly client: Client
  readonly ledger: Pick<Runs, 'liveRuns'>
  readonly logger: Logger
  /** Whether an older release has left schedules of this project. */
  hasOldSchedule(): Promise<boolean>
  /** Workers of the old queue. */
  pollers(): Promise<readonly Worker[]>
}) {
  let polling: readonly Worker[] = []
  return {
    /** The workers that poll there now. */
    polling: () => polling,
    /** Starts or stops polling there, as needed. @param pool null: before the workers are joined to a pool */
    async look(pool: WorkerPool | null): Promise<void> {
      const runs = await deps.ledger.liveRuns()
      const isNeeded = (await hasOldRun(deps.client, runs)) || (await deps.hasOldSchedule())
      if (isNeeded === polling.length > 0) return
      if (isNeeded) {
        polling = await deps.pollers()
        pool?.add(polling)
        deps.logger.warn({ queue: SHARED_QUEUE }, 'old_queue_served')
      } else {
        const ending = polling
        polling = []
        await pool?.remove(ending)
        deps.logger.info({ queue: SHARED_QUEUE }, 'old_queue_left')
      }
    },
  }
}
