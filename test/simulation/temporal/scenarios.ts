// Little histories that the engine and a real server have to tell alike.

import { activityInfo, Context } from '@temporalio/activity'
import type { WorkflowHandle } from '@temporalio/client'
import { ApplicationFailure } from '@temporalio/common'
import type { EventName } from './history.ts'

/** The engine, or a real server. */
export interface Side {
  /** Waits for something that the server or the workflow does. */
  wait<Result>(promise: Promise<Result>): Promise<Result>
  sleep(ms: number): Promise<void>
  /** Waits until the run has so many events of that type, and nothing is to decide. */
  until(handle: WorkflowHandle, type: EventName, count?: number): Promise<void>
}

export interface Scenario {
  readonly name: string
  readonly type: string
  readonly args?: readonly unknown[]
  /** What a person does meanwhile; it may return what it was answered. */
  act?(handle: WorkflowHandle, side: Side): Promise<unknown>
  /** Only the order of events counts, not how many of them a task decides about: that is a matter of luck. */
  readonly isLoose?: boolean
}

const refusal = async (side: Side, asked: Promise<unknown>): Promise<string> => {
  try {
    return JSON.stringify(await side.wait(asked))
  } catch (error) {
    return errorText(error)
  }
}

/** Names, types and messages of an error and its causes. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { type = '' } = error as { type?: string }
  const cause = error.cause === undefined ? '' : ` < ${errorText(error.cause)}`
  return `${error.name} ${type}: ${error.message}${cause}`
}

export const SCENARIOS: readonly Scenario[] = [
  { name: 'an activity', type: 'echoed', args: ['hello'] },
  { name: 'an activity that fails twice', type: 'retried' },
  { name: 'a failure that no retry mends', type: 'failed' },
  { name: 'an attempt without a heartbeat, and one with its details', type: 'resumed' },
  {
    name: 'signals, updates, a refused one, a query, and an update that comes too late',
    type: 'noted',
    async act(handle, side) {
      await side.until(handle, 'WorkflowTaskCompleted')
      await side.wait(handle.signal('note', 'one'))
      await side.until(handle, 'WorkflowTaskCompleted', 2)
      const added = await side.wait(handle.executeUpdate('add', { args: ['two'] }))
      await side.until(handle, 'WorkflowExecutionUpdateCompleted')
      const refused = await refusal(side, handle.executeUpdate('add', { args: [''] }))
      const unknown = await refusal(side, handle.executeUpdate('nothing', { args: [] }))
      const slow = await side.wait(handle.executeUpdate('slowly', { args: ['three'] }))
      const asked = await side.wait(handle.query('notes'))
      const unasked = await refusal(side, handle.query('nothing'))
      await side.wait(handle.signal('note', 'stop'))
      await side.wait(handle.result())
      const late = await refusal(side, handle.executeUpdate('add', { args: ['four'] }))
      const lateSignal = await refusal(side, handle.signal('note', 'five'))
      const after = await side.wait(handle.query('notes'))
      return { added, refused, unknown, slow, asked, unasked, late, lateSignal, after }
    },
  },
  {
    name: 'signals before the first decision',
    type: 'noted',
    async act(handle, side) {
      await side.until(handle, 'WorkflowTaskCompleted')
      for (const text of ['one', 'two', 'stop']) await side.wait(handle.signal('note', text))
    },
    isLoose: true,
  },
  { name: 'an activity that the workflow cancels, and waits for', type: 'cancelling' },
  {
    name: 'a workflow that is cancelled',
    type: 'cancelled',
    async act(handle, side) {
      await side.until(handle, 'ActivityTaskScheduled')
      await side.sleep(500)
      await side.wait(handle.cancel())
    },
  },
  {
    name: 'a workflow that is terminated',
    type: 'cancelled',
    async act(handle, side) {
      await side.until(handle, 'ActivityTaskScheduled')
      await side.wait(handle.terminate('enough'))
    },
  },
  { name: 'continue-as-new', type: 'counted', args: [2] },
  { name: 'a child', type: 'parent', args: ['hi'] },
  { name: 'a child that fails', type: 'unluckyParent' },
  { name: 'signals to a child', type: 'signallingParent', isLoose: true },
  {
    name: 'a cancel that reaches a child',
    type: 'cancelledParent',
    async act(handle, side) {
      await side.until(handle, 'ChildWorkflowExecutionStarted')
      await side.sleep(500)
      await side.wait(handle.cancel())
    },
  },
  {
    name: 'timers, one of them cancelled',
    type: 'raced',
    async act(handle, side) {
      await side.until(handle, 'TimerStarted')
      await side.wait(handle.signal('note', 'go'))
    },
  },
  { name: 'a patch', type: 'patchedOnce' },
  { name: 'a memo', type: 'remembering' },
]

/** The activities of the workflows; `sleep` is that of the side. */
export function scenarioActivities(sleep: Side['sleep']) {
  const attempts = new Map<string, number>()
  return {
    echo: async (text: string) => text,
    flaky: async () => {
      const { workflowId } = activityInfo().workflowExecution!
      const attempt = (attempts.get(workflowId) ?? 0) + 1
      attempts.set(workflowId, attempt)
      if (attempt < 3) throw ApplicationFailure.create({ message: `attempt ${attempt}` })
      return attempt
    },
    fatal: async () => {
      throw ApplicationFailure.nonRetryable('no way', 'Fatal')
    },
    beating: async () => {
      const { attempt, heartbeatDetails } = activityInfo()
      if (attempt > 1) return { attempt, heartbeatDetails }
      Context.current().heartbeat({ at: 7 })
      const { cancellationSignal } = Context.current()
      while (!cancellationSignal.aborted) await sleep(500)
      throw new Error('too late')
    },
    untilCancelled: async () => {
      const context = Context.current()
      while (!context.cancellationSignal.aborted) {
        context.heartbeat()
        await sleep(100)
      }
      return await context.cancelled
    },
  }
}
