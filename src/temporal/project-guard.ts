// Promise kept here: a worker does nothing for a run that its ledger does not hold. It gives such work back for another worker to
// try: the work comes from a project whose ledger was copied from ours, or from one that shared our queue.

import { Context } from '@temporalio/activity'
import { ApplicationFailure } from '@temporalio/common'
import type { Client } from '@temporalio/client'
import type { Run, Runs } from '../ledger/ledger.ts'

/** The work is retried, perhaps by the right worker, after this time. */
const againAfter = '5s'

/** How often work is given back whose run no ledger seems to hold: for an hour, then it fails with an error. */
const GIVEN_BACK_MAX = 720

type Functions = Readonly<Record<string, (...input: never[]) => Promise<unknown>>>
type Execution = { readonly workflowId: string; readonly runId: string }

interface Queue {
  /** Only the work of one project, except for copies of its ledger. */
  readonly isAlone: boolean
  /** Whether a workflow that has no run yet may open one here. */
  mayOpen(execution: Execution): Promise<boolean>
}

/** Wraps the activities so that they work only for runs of the ledger. */
export function guardActivities<Activities extends object>(
  activities: Activities,
  ledger: Pick<Runs, 'run' | 'liveRuns'>,
  { isAlone, mayOpen }: Queue,
): Activities {
  const isOwn = async (input: { readonly run?: number } | undefined): Promise<boolean> => {
    const { workflowExecution: execution, attempt } = Context.current().info
    if (execution === undefined) return false
    const isHolder = (run: Run) =>
      run.workflowId === execution.workflowId && run.workflowRunId === execution.runId
    if (typeof input?.run === 'number') {
      try {
        const run = await ledger.run(input.run)
        return run === null ? isAlone && attempt > GIVEN_BACK_MAX : isHolder(run)
      } catch {
        // The work itself reports a ledger that does not answer.
        return isAlone
      }
    }
    return (await mayOpen(execution)) || (await ledger.liveRuns()).some(isHolder)
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

/** For a run without an entry in the ledger: whether a schedule that `isOurs` began it. */
export const isStartedBySchedule =
  (client: Client, isOurs: (scheduleId: string) => Promise<boolean>) =>
  async ({ workflowId, runId }: Execution): Promise<boolean> => {
    const { searchAttributes } = await client.workflow.getHandle(workflowId, runId).describe()
    const [schedule] = searchAttributes['TemporalScheduledById'] ?? []
    return typeof schedule === 'string' && (await isOurs(schedule))
  }
