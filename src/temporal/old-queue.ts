// The runs of releases that knew no projects. They go on in the queue that all projects of a namespace shared, so a worker asks
// there only while a run or a schedule of its own ledger is left there. Promise kept here: what belongs to another project is
// given back, to be tried by another worker.

import { Context } from '@temporalio/activity'
import { WorkflowNotFoundError, type Client } from '@temporalio/client'
import { ApplicationFailure } from '@temporalio/common'
import type { Worker } from '@temporalio/worker'
import { SHARED_QUEUE } from '../../workflows/queues.ts'
import type { Logger } from '../core/ports.ts'
import type { Ledger, Run } from '../ledger/ledger.ts'
import type { Pool } from './pool.ts'

/** Another worker, perhaps the right one, is asked after this. */
const againAfter = '5s'

/** Whether a workflow of a live run is in the old queue. */
async function hasOldRun(client: Client, runs: readonly Run[]): Promise<boolean> {
  for (const { workflowId, workflowRunId } of runs) {
    try {
      const found = await client.workflow.getHandle(workflowId, workflowRunId).describe()
      if (found.status.name === 'RUNNING' && found.taskQueue === SHARED_QUEUE) return true
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error
    }
  }
  return false
}

export interface OldQueue {
  /** Those that poll there now. */
  polling(): readonly Worker[]
  /** Begins or ends to poll there, as it is needed. @param pool null: before the pool is made of those that poll */
  look(pool: Pool | null): Promise<void>
}

export function oldQueue(deps: {
  readonly client: Client
  readonly ledger: Pick<Ledger, 'liveRuns'>
  readonly logger: Logger
  /** Whether an older release has left schedules of this project. */
  hasOldSchedule(): Promise<boolean>
  /** Workers of the old queue. */
  pollers(): Promise<readonly Worker[]>
}): OldQueue {
  let polling: readonly Worker[] = []
  return {
    polling: () => polling,
    async look(pool) {
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

type Functions = Readonly<Record<string, (...input: never[]) => Promise<unknown>>>

/**
 * The activities, for the old queue: done where the run is in the ledger, or where a schedule that `isOurs` began it.
 * @param isOurs whether an older release made the schedule of that id for this project
 */
export function onlyOwn<Activities extends object>(
  activities: Activities,
  deps: {
    readonly ledger: Pick<Ledger, 'run' | 'liveRuns'>
    readonly client: Client
    isOurs(scheduleId: string): Promise<boolean>
  },
): Activities {
  const isOwn = async (input: { readonly run?: number } | undefined): Promise<boolean> => {
    const { workflowId, runId } = Context.current().info.workflowExecution ?? {}
    if (workflowId === undefined || runId === undefined) return false
    const isHolder = (run: Run | null) =>
      run?.workflowId === workflowId && run.workflowRunId === runId
    if (typeof input?.run === 'number') return isHolder(await deps.ledger.run(input.run))
    if ((await deps.ledger.liveRuns()).some(isHolder)) return true
    const { searchAttributes } = await deps.client.workflow.getHandle(workflowId, runId).describe()
    const [schedule] = searchAttributes['TemporalScheduledById'] ?? []
    return typeof schedule === 'string' && (await deps.isOurs(schedule))
  }
  const guarded = Object.entries(activities as Functions).map(([name, work]) => [
    name,
    async (...input: never[]) => {
      if (await isOwn(input[0])) return await work(...input)
      const failure = ApplicationFailure.create({
        message:
          'This run is not in the ledger of the worker that was asked; another one is asked next. Where there is none, cancel the run and start it again',
        type: 'AnotherProject',
        nextRetryDelay: againAfter,
      })
      failure.stack = ''
      throw failure
    },
  ])
  return Object.fromEntries(guarded) as Activities
}
