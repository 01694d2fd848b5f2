// The runs of releases without projects. They continue in the queue that all projects of a namespace shared, so a worker polls
// there only while a workflow or a schedule of its own ledger is left there.

import type { Client } from '@temporalio/client'
import type { Worker } from '@temporalio/worker'
import { SHARED_QUEUE } from '../../workflows/queues.ts'
import type { Logger } from '../core/ports.ts'
import type { Run, Runs } from '../ledger/ledger.ts'
import { describeWorkflow } from './is-live.ts'
import type { WorkerPool } from './worker-pool.ts'

/** The newest runs that a worker asks about when it starts. */
const NEWEST_RUNS = 20

/** The runs whose workflows are in the old queue, and run. */
async function oldRunsOf(client: Client, runs: readonly Run[]): Promise<readonly Run[]> {
  const old: Run[] = []
  // A live run may be among the newest, and among those that were served.
  for (const run of new Map(runs.map((one) => [one.workflowRunId, one])).values()) {
    const found = await describeWorkflow(client, run)
    if (found?.status.name === 'RUNNING' && found.taskQueue === SHARED_QUEUE) old.push(run)
  }
  return old
}

export function legacyQueue(deps: {
  readonly client: Client
  readonly ledger: Pick<Runs, 'liveRuns' | 'runs'>
  readonly logger: Logger
  /** Whether an older release has left schedules of this project. */
  hasOldSchedule(): Promise<boolean>
  /** Workers of the old queue. */
  pollers(): Promise<readonly Worker[]>
}) {
  let polling: readonly Worker[] = []
  let served: readonly Run[] | null = null
  /** A workflow closes its run in the ledger and needs a worker after that, to its end. */
  const candidates = async (): Promise<readonly Run[]> => [
    ...(served ?? (await deps.ledger.runs({ limit: NEWEST_RUNS }))),
    ...(await deps.ledger.liveRuns()),
  ]
  return {
    /** The workers that poll there now. */
    polling: () => polling,
    /** Starts or stops polling there, as needed. @param pool null: before the workers are joined to a pool */
    async look(pool: WorkerPool | null): Promise<void> {
      served = await oldRunsOf(deps.client, await candidates())
      const isNeeded = served.length > 0 || (await deps.hasOldSchedule())
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
