// Promise kept here: a worker does nothing for a run that its ledger does not hold. It gives such work back for another worker to
// try: the work comes from a project whose ledger was copied from ours.

import { Context } from '@temporalio/activity'
import { ApplicationFailure } from '@temporalio/common'
import type { Run, Runs } from '../ledger/ledger.ts'

/** The work is retried, perhaps by the right worker, after this time. */
const againAfter = '5s'

/** How often work is given back whose run no ledger seems to hold: for an hour, then it fails for good. */
const GIVEN_BACK_MAX = 720
/** The same of what closes a run that was cancelled, or has failed: two minutes. */
const CLOSING_MAX = 24

type Functions = Readonly<Record<string, (...input: never[]) => Promise<unknown>>>

/** What is read of the input of an activity. */
interface Input {
  readonly run?: number
  /** Of one that closes a run. */
  readonly ending?: { readonly kind: string }
}

function isSpent(input: Input | undefined): boolean {
  const isEnding = input?.ending !== undefined && input.ending.kind !== 'finished'
  return Context.current().info.attempt > (isEnding ? CLOSING_MAX : GIVEN_BACK_MAX)
}

const givenBack = () =>
  ApplicationFailure.create({
    message:
      'This run is not in the ledger of the worker that was asked; another one is asked next. Where there is none, cancel the run and start it again',
    type: 'AnotherProject',
    nextRetryDelay: againAfter,
  })

const inNoLedger = (input: Input | undefined) =>
  ApplicationFailure.nonRetryable(
    `Run ${input?.run ?? ''} of this workflow is in no ledger of a worker that answers: the ledger was put back from a backup, or is another one. Start the run again`,
    'RunUnknown',
  )

/** Wraps the activities so that they work only for runs of the ledger. */
export function guardActivities<Activities extends object>(
  activities: Activities,
  ledger: Pick<Runs, 'run'>,
): Activities {
  const isOwn = async (input: Input | undefined): Promise<boolean> => {
    const { workflowExecution: execution } = Context.current().info
    if (execution === undefined) return false
    const isHolder = (run: Run) =>
      run.workflowId === execution.workflowId && run.workflowRunId === execution.runId
    if (typeof input?.run !== 'number') return true
    try {
      const run = await ledger.run(input.run)
      return run !== null && isHolder(run)
    } catch {
      // The work itself reports a ledger that does not answer.
      return true
    }
  }
  const guarded = Object.entries(activities as Functions).map(([name, work]) => [
    name,
    async (...input: never[]) => {
      if (await isOwn(input[0])) return await work(...input)
      const failure = isSpent(input[0]) ? inNoLedger(input[0]) : givenBack()
      failure.stack = ''
      throw failure
    },
  ])
  return Object.fromEntries(guarded) as Activities
}
