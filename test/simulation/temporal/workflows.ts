// Tiny workflows, each for one piece of what a server promises. The engine and a real server both run them.

import {
  ActivityCancellationType,
  CancellationScope,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  defineUpdate,
  executeChild,
  getExternalWorkflowHandle,
  isCancellation,
  patched,
  proxyActivities,
  setHandler,
  sleep,
  startChild,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow'
import { ApplicationFailure } from '@temporalio/common'

interface Acts {
  echo(text: string): Promise<string>
  flaky(): Promise<number>
  fatal(): Promise<void>
  beating(): Promise<unknown>
  untilCancelled(): Promise<string>
}
const acts = proxyActivities<Acts>({
  startToCloseTimeout: '1m',
  heartbeatTimeout: '2s',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry: { initialInterval: '100ms', backoffCoefficient: 2, maximumInterval: '1s' },
})

export const note = defineSignal<[string]>('note')
export const notes = defineQuery<string[]>('notes')
export const add = defineUpdate<string[], [string]>('add')
export const slowly = defineUpdate<string, [string]>('slowly')

export async function echoed(text: string): Promise<string> {
  return await acts.echo(text)
}

export async function retried(): Promise<number> {
  return await acts.flaky()
}

export async function failed(): Promise<void> {
  await acts.fatal()
}

/** The activity stops beating in its first attempt, and tells what the second one was given. */
export async function resumed(): Promise<unknown> {
  return await acts.beating()
}

/** Waits for `stop`. */
export async function noted(): Promise<string[]> {
  const all: string[] = []
  setHandler(note, (text) => void all.push(text))
  setHandler(notes, () => all)
  setHandler(
    add,
    (text) => {
      all.push(text)
      return all
    },
    {
      validator: (text) => {
        if (text === '') throw ApplicationFailure.nonRetryable('empty', 'Empty')
      },
    },
  )
  setHandler(slowly, async (text) => {
    await sleep(200)
    all.push(text)
    return text
  })
  await condition(() => all.includes('stop'))
  return all
}

/** Cancels its own activity, and waits for its end. */
export async function cancelling(): Promise<string> {
  const scope = new CancellationScope()
  const running = scope.run(() => acts.untilCancelled())
  await sleep(300)
  scope.cancel()
  try {
    return await running
  } catch (error) {
    return isCancellation(error) ? 'cancelled' : 'failed'
  }
}

/** Is cancelled from outside; does one thing more before it ends. */
export async function cancelled(): Promise<void> {
  try {
    await acts.untilCancelled()
  } catch (error) {
    await CancellationScope.nonCancellable(() => acts.echo('last'))
    throw error
  }
}

export async function counted(left: number): Promise<string> {
  await sleep(10)
  if (left > 0) await continueAsNew<typeof counted>(left - 1)
  return `${workflowInfo().continuedFromExecutionRunId === undefined ? 'first' : 'later'} run`
}

export async function parent(text: string): Promise<string> {
  return await executeChild(echoed, {
    args: [text],
    workflowId: `${workflowInfo().workflowId}-child`,
  })
}

/** Its child fails. */
export async function unluckyParent(): Promise<string> {
  try {
    await executeChild(failed, { workflowId: `${workflowInfo().workflowId}-child` })
    return 'well'
  } catch (error) {
    const cause = (error as Error).cause as Error
    return `${(error as Error).name}: ${cause.name}: ${(cause.cause as Error).message}`
  }
}

/** Signals its child, which then ends. */
export async function signallingParent(): Promise<string[]> {
  const child = await startChild(noted, { workflowId: `${workflowInfo().workflowId}-child` })
  await getExternalWorkflowHandle(child.workflowId).signal(note, 'external')
  await child.signal(note, 'stop')
  return await child.result()
}

/** Cancelled while its child works. */
export async function cancelledParent(): Promise<void> {
  await executeChild(cancelled, { workflowId: `${workflowInfo().workflowId}-child` })
}

/** Timers that race, one of which is cancelled. */
export async function raced(): Promise<string> {
  let isReady = false
  setHandler(note, () => {
    isReady = true
  })
  const first = await condition(() => isReady, 5_000)
  const second = await condition(() => false, 50)
  return `${first} ${second}`
}

export async function patchedOnce(): Promise<string> {
  const path = patched('new-way') ? 'new' : 'old'
  await acts.echo(path)
  return path
}

export async function remembering(): Promise<unknown> {
  upsertMemo({ seen: true })
  await sleep(1)
  return workflowInfo().memo
}

/** Throws an error that is no failure: the task is tried again. */
export async function broken(): Promise<void> {
  await sleep(1)
  throw new TypeError('a mistake in the code')
}

/** A promise of it fails, and nobody hears. */
export async function unheard(): Promise<void> {
  void sleep(1).then(() => {
    throw new Error('nobody listens')
  })
  await sleep(100)
}

/** Numbers of chance and time, which a replay has to repeat. */
export async function random(): Promise<{ numbers: number[]; times: number[] }> {
  const numbers = [Math.random()]
  const times = [Date.now()]
  await acts.echo('between')
  numbers.push(Math.random())
  times.push(Date.now())
  await sleep(1_000)
  numbers.push(Math.random())
  times.push(Date.now())
  return { numbers, times }
}
