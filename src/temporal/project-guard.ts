// Promise kept here: a worker does nothing for a run that its ledger does not hold. Such work is given back, to be tried by
// another worker: it comes from a project whose ledger was copied from ours, or from one that shared our queue.

import { Context } from '@temporalio/activity'
import { ApplicationFailure } from '@temporalio/common'
import type { Client } from '@temporalio/client'
import type { Ledger, Run } from '../ledger/ledger.ts'

/** Another worker, perhaps the right one, is asked after this. */
const againAfter = '5s'

/** How often work is given back whose run no ledger seems to hold: for an hour, then it fails and says so. */
const GIVEN_BACK_MAX = 720

type Functions = Readonly<Record<string, (...input: never[]) => Promise<unknown>>>
type Execution = { readonly workflowId: string; readonly runId: string }

/** What a queue holds. */
interface Queue {
  /** The work of one project alone, except for copies of its ledger. */
  readonly isAlone: boolean
  /** Whether a workflow that has no run yet may get one here. */
  mayOpen(execution: Execution): Promise<boolean>
}

/** The activities, done for the runs of the ledger alone. */
export function guardActivities<Activities extends object>(
  activities: Activities,
  ledger: Pick<Ledger, 'run' | 'liveRuns'>,
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
        // A ledger that does not answer is said by the work itself.
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

/** Of a run without a ledger's entry: whether a schedule that `isOurs` began it. */
export const isStartedBySchedule =
  (client: Client, isOurs: (scheduleId: string) => Promise<boolean>) =>
  async ({ workflowId, runId }: Execution): Promise<boolean> => {
    const { searchAttributes } = await client.workflow.getHandle(workflowId, runId).describe()
    const [schedule] = searchAttributes['TemporalScheduledById'] ?? []
    return typeof schedule === 'string' && (await isOurs(schedule))
  }
