// What the engine promises, piece by piece.

import { fileURLToPath } from 'node:url'
import { activityInfo, Context } from '@temporalio/activity'
import { ApplicationFailure } from '@temporalio/common'
import { bundleWorkflowCode, DefaultLogger, Worker } from '@temporalio/worker'
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { silentLogger } from '../../../src/core/ports.ts'
import { installRuntime } from '../../../src/temporal/runtime.ts'
import { SimulatedTemporal, type Bundle, type SimulatedWorker } from './index.ts'
import { seeded, VirtualTime } from './virtual-time.ts'

let bundle: Bundle
beforeAll(async () => {
  bundle = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('./workflows.ts', import.meta.url)),
    logger: new DefaultLogger('ERROR'),
  })
})

let time: VirtualTime
let temporal: SimulatedTemporal
let flaky: number
const queue = 'q'

const activities = {
  echo: async (text: string) => text,
  flaky: async () => {
    if (++flaky < 3) throw ApplicationFailure.create({ message: `attempt ${flaky}` })
    return flaky
  },
  fatal: async () => {
    throw ApplicationFailure.nonRetryable('no way', 'Fatal')
  },
}

beforeEach(() => {
  time = new VirtualTime()
  flaky = 0
  temporal = new SimulatedTemporal({ scheduler: time, dice: seeded(1), bundle })
})
/** Of all tests. */
const histories: ReturnType<SimulatedTemporal['wireHistories']> = []
const origins: string[] = []
afterEach(({ task }) => {
  const all = temporal.wireHistories()
  histories.push(...all)
  origins.push(...all.map(() => task.name))
  temporal.dispose()
})

const worker = (name = 'worker-1', more: object = {}): SimulatedWorker =>
  temporal.addWorker({
    name,
    queues: [
      { queue, workflows: true },
      { queue, activities: { ...activities, ...more } },
    ],
  })
const start = async (type: string, ...args: unknown[]) =>
  await time.until(
    temporal.client('test').workflow.start(type, { taskQueue: queue, workflowId: 'w', args }),
  )
const types = (id = 'w') => temporal.history(id).map(({ type }) => type)

test('an activity', async () => {
  worker()
  const handle = await start('echoed', 'hello')
  expect(await time.until(handle.result())).toBe('hello')
  expect(types()).toEqual([
    'WorkflowExecutionStarted',
    'WorkflowTaskScheduled',
    'WorkflowTaskStarted',
    'WorkflowTaskCompleted',
    'ActivityTaskScheduled',
    'ActivityTaskStarted',
    'ActivityTaskCompleted',
    'WorkflowTaskScheduled',
    'WorkflowTaskStarted',
    'WorkflowTaskCompleted',
    'WorkflowExecutionCompleted',
  ])
})

test('an activity that fails is tried again, later each time', async () => {
  worker()
  const begun = time.now()
  expect(await time.until((await start('retried')).result())).toBe(3)
  expect(time.now() - begun).toBeGreaterThanOrEqual(300)
  const started = temporal.history('w').find(({ type }) => type === 'ActivityTaskStarted')
  expect(started?.attributes).toMatchObject({ attempt: 3, lastFailure: { message: 'attempt 2' } })
})

test('a failure that no retry mends ends the workflow', async () => {
  worker()
  const ended = (await start('failed')).result()
  await expect(time.until(ended)).rejects.toMatchObject({
    cause: { name: 'ActivityFailure', cause: { type: 'Fatal', message: 'no way' } },
  })
  expect(types().slice(-5)).toEqual([
    'ActivityTaskFailed',
    'WorkflowTaskScheduled',
    'WorkflowTaskStarted',
    'WorkflowTaskCompleted',
    'WorkflowExecutionFailed',
  ])
})

/** An activity whose first attempt beats once and then hangs. */
const beating = (lives: { signal?: AbortSignal }) => async () => {
  const { attempt, heartbeatDetails } = activityInfo()
  if (attempt > 1) return { attempt, heartbeatDetails }
  Context.current().heartbeat({ at: 7 })
  lives.signal = Context.current().cancellationSignal
  return await new Promise(() => {})
}

test('an attempt without a heartbeat is tried again, with the details, while the old one still lives', async () => {
  const lives: { signal?: AbortSignal } = {}
  worker('worker-1', { beating: beating(lives) })
  const handle = await start('resumed')
  expect(await time.until(handle.result())).toEqual({ attempt: 2, heartbeatDetails: { at: 7 } })
  expect(lives.signal?.aborted).toBe(false)
  await time.pass(10_000)
  // The SDK gives it up by itself after a while.
  expect(lives.signal?.aborted).toBe(true)
})

test('the activity of a killed worker goes on at another one', async () => {
  const one = worker('worker-1', { beating: beating({}) })
  const handle = await start('resumed')
  await time.pass(500)
  expect(one.running).toBe(1)
  one.kill()
  worker('worker-2', { beating: beating({}) })
  expect(await time.until(handle.result())).toEqual({ attempt: 2, heartbeatDetails: { at: 7 } })
})

test('signals come in their order', async () => {
  const handle = await start('noted')
  for (const text of ['a', 'b', 'c', 'stop']) await time.until(handle.signal('note', text))
  worker()
  expect(await time.until(handle.result())).toEqual(['a', 'b', 'c', 'stop'])
})

test('updates are accepted and completed, or refused without a trace', async () => {
  worker()
  const handle = await start('noted')
  expect(await time.until(handle.executeUpdate('add', { args: ['a'] }))).toEqual(['a'])
  await time.pass(100)
  const before = types()
  const refused = handle.executeUpdate('add', { args: [''] })
  await expect(time.until(refused)).rejects.toMatchObject({ cause: { type: 'Empty' } })
  expect(types()).toEqual(before)
  expect(await time.until(handle.executeUpdate('slowly', { args: ['b'] }))).toBe('b')
  expect(await time.until(handle.query('notes'))).toEqual(['a', 'b'])
  await time.until(handle.signal('note', 'stop'))
  expect(await time.until(handle.result())).toEqual(['a', 'b', 'stop'])
  expect(types().filter((type) => type.includes('Update'))).toEqual([
    'WorkflowExecutionUpdateAccepted',
    'WorkflowExecutionUpdateCompleted',
    'WorkflowExecutionUpdateAccepted',
    'WorkflowExecutionUpdateCompleted',
  ])
  const late = handle.executeUpdate('add', { args: ['c'] })
  await expect(time.until(late)).rejects.toMatchObject({ name: 'WorkflowNotFoundError' })
  expect(await time.until(handle.query('notes'))).toEqual(['a', 'b', 'stop'])
})

test('an update waits for a worker, no longer than its deadline', async () => {
  const handle = await start('noted')
  const client = temporal.client('test')
  const asked = client.withDeadline(Date.now() + 3_000, () =>
    client.workflow.getHandle('w').executeUpdate('add', { args: ['a'] }),
  )
  await expect(time.until(asked)).rejects.toMatchObject({
    name: 'WorkflowUpdateRPCTimeoutOrCancelledError',
  })
  worker()
  await time.until(handle.signal('note', 'stop'))
  // It was there all the same.
  expect(await time.until(handle.result())).toEqual(['a', 'stop'])
})

/** An activity that beats until it is cancelled. */
const untilCancelled = async () => {
  const context = Context.current()
  const beat = () => {
    if (context.cancellationSignal.aborted) return
    context.heartbeat()
    time.at(time.now() + 100, 'beat', beat)
  }
  beat()
  return await context.cancelled
}

test('a cancel reaches an activity with its heartbeat, and the workflow waits for its end', async () => {
  worker('worker-1', { untilCancelled })
  expect(await time.until((await start('cancelling')).result())).toBe('cancelled')
  expect(types().filter((type) => type.includes('Cancel'))).toEqual([
    'ActivityTaskCancelRequested',
    'ActivityTaskCanceled',
  ])
})

test('an activity that nobody has begun is cancelled at once', async () => {
  temporal.addWorker({ name: 'decides', queues: [{ queue, workflows: true }] })
  expect(await time.until((await start('cancelling')).result())).toBe('cancelled')
})

test('a cancelled workflow ends as it decides', async () => {
  worker('worker-1', { untilCancelled })
  const handle = await start('cancelled')
  await time.pass(500)
  await time.until(handle.cancel())
  await expect(time.until(handle.result())).rejects.toMatchObject({
    cause: { name: 'CancelledFailure' },
  })
  expect(types().at(-1)).toBe('WorkflowExecutionCanceled')
  expect((await time.until(handle.describe())).status.name).toBe('CANCELLED')
})

test('a terminated workflow is over at once; its activity learns it by its heartbeat', async () => {
  const one = worker('worker-1', { untilCancelled })
  const handle = await start('cancelled')
  await time.pass(500)
  await time.until(handle.terminate('enough'))
  await expect(time.until(handle.result())).rejects.toMatchObject({
    cause: { name: 'TerminatedFailure' },
  })
  await time.pass(10_000)
  expect(one.running).toBe(0)
})

test('continue-as-new', async () => {
  worker()
  const handle = await start('counted', 3)
  expect(await time.until(handle.result())).toBe('later run')
  expect(temporal.server.runs.get('w')?.map(({ status }) => status)).toEqual([
    'ContinuedAsNew',
    'ContinuedAsNew',
    'ContinuedAsNew',
    'Completed',
  ])
})

test('children: their results, failures, signals, and the cancel that reaches them', async () => {
  worker('worker-1', { untilCancelled })
  const run = async (workflowId: string, type: string, ...args: unknown[]) =>
    await time.until(
      temporal.client('test').workflow.start(type, { taskQueue: queue, workflowId, args }),
    )
  expect(await time.until((await run('p1', 'parent', 'hi')).result())).toBe('hi')
  expect(await time.until((await run('p2', 'unluckyParent')).result())).toBe(
    'ChildWorkflowFailure: ActivityFailure: no way',
  )
  expect(await time.until((await run('p3', 'signallingParent')).result())).toEqual([
    'external',
    'stop',
  ])
  const last = await run('p4', 'cancelledParent')
  await time.pass(500)
  await time.until(last.cancel())
  await expect(time.until(last.result())).rejects.toMatchObject({
    cause: { name: 'CancelledFailure' },
  })
  expect(types('p4-child').at(-1)).toBe('WorkflowExecutionCanceled')
  // A child that is terminated with its parent.
  const gone = await run('p5', 'cancelledParent')
  await time.pass(500)
  await time.until(gone.terminate('enough'))
  await time.pass(100)
  expect(types('p5-child').at(-1)).toBe('WorkflowExecutionTerminated')
})

test('timers', async () => {
  worker()
  const handle = await start('raced')
  await time.pass(100)
  await time.until(handle.signal('note', 'go'))
  expect(await time.until(handle.result())).toBe('true false')
  expect(types().filter((type) => type.startsWith('Timer'))).toEqual([
    'TimerStarted',
    'TimerCanceled',
    'TimerStarted',
    'TimerFired',
  ])
})

test('every task on another worker: the history is replayed, with its chance and its time', async () => {
  const alone = async (forgets: number) => {
    time = new VirtualTime()
    temporal = new SimulatedTemporal({ scheduler: time, dice: seeded(5), bundle })
    temporal.addWorker({
      name: 'a',
      forgets,
      queues: [
        { queue, workflows: true },
        { queue, activities },
      ],
    })
    const result = await time.until((await start('random')).result())
    temporal.dispose()
    return result
  }
  const [kept, replayed] = [await alone(0), await alone(1)]
  expect(kept).toEqual(await alone(0))
  // The times are those of the tasks, and a replay takes none.
  expect((replayed as { numbers: number[] }).numbers).toHaveLength(3)
  expect((replayed as { times: number[] }).times[2]).toBeGreaterThan(1_000)
})

test('a worker that stands still: another one takes its task over, and its late answer does not count', async () => {
  const one = worker('worker-1', { untilCancelled })
  const handle = await start('noted')
  await time.pass(100)
  one.stop()
  await time.until(handle.signal('note', 'a'))
  worker('worker-2')
  await time.pass(20_000)
  await time.until(handle.signal('note', 'stop'))
  expect(await time.until(handle.result())).toEqual(['a', 'stop'])
  one.continue()
  await time.pass(1_000)
  expect(types()).toContain('WorkflowTaskTimedOut')
  expect(types().at(-1)).toBe('WorkflowExecutionCompleted')
})

test('a worker of other code: what it decides otherwise is refused, and the old one goes on', async () => {
  const other = {
    code: bundle.code.replace("patched)('new-way')", "patched)('other-way')"),
  }
  expect(other.code).not.toBe(bundle.code)
  const one = worker('worker-1', { echo: () => new Promise(() => {}) })
  const handle = await start('patchedOnce')
  await time.pass(100)
  one.kill()
  temporal.addWorker({
    name: 'worker-2',
    bundle: other,
    queues: [
      { queue, workflows: true },
      { queue, activities },
    ],
  })
  await time.pass(70_000)
  expect(types()).toContain('WorkflowTaskFailed')
  worker('worker-3')
  temporal.server.matching.leave('worker-2', time.now())
  expect(await time.until(handle.result())).toBe('new')
})

test('an error in workflow code: its task is tried again until the code is mended', async () => {
  worker()
  await start('broken')
  await time.pass(60_000)
  expect(types().filter((type) => type === 'WorkflowTaskFailed')).toHaveLength(1)
  expect(temporal.server.find('w')?.status).toBe('Running')
})

test('a promise that fails unheard fails the task', async () => {
  worker()
  await start('unheard')
  await time.pass(5_000)
  const failed = temporal.history('w').find(({ type }) => type === 'WorkflowTaskFailed')
  expect(failed?.attributes.failure?.message).toContain('nobody listens')
})

test('ids: one run at a time, and what the policies say', async () => {
  worker()
  await start('noted')
  await expect(start('noted')).rejects.toMatchObject({
    name: 'WorkflowExecutionAlreadyStartedError',
  })
  const { workflow } = temporal.client('test')
  const replace = {
    taskQueue: queue,
    workflowId: 'w',
    workflowIdConflictPolicy: 'TERMINATE_EXISTING',
  } as const
  await time.until(workflow.start('echoed', { ...replace, args: ['x'] }))
  await time.pass(1_000)
  expect(temporal.server.runs.get('w')?.map(({ status }) => status)).toEqual([
    'Terminated',
    'Completed',
  ])
  const once = {
    taskQueue: queue,
    workflowId: 'w',
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
  } as const
  await expect(
    time.until(workflow.start('echoed', { ...once, args: ['x'] })),
  ).rejects.toMatchObject({ name: 'WorkflowExecutionAlreadyStartedError' })
})

test('a server that is away, and one that has lost its database', async () => {
  const one = worker('worker-1', { untilCancelled })
  const handle = await start('cancelled')
  await time.pass(500)
  temporal.down()
  const asked = handle.describe()
  await time.pass(2_000)
  temporal.up()
  expect((await time.until(asked)).status.name).toBe('RUNNING')
  temporal.wipe()
  await expect(time.until(handle.describe())).rejects.toMatchObject({
    name: 'WorkflowNotFoundError',
  })
  await time.pass(10_000)
  expect(one.running).toBe(0)
})

test('search attributes that are not registered stop a run until they are', async () => {
  expect(temporal.server.refusedAttribute({ Some: {} })).toBeNull()
  temporal.server.searchAttributes = new Map([['SyncName', 2]])
  expect(temporal.server.refusedAttribute({ SyncName: {} })).toBeNull()
  expect(temporal.server.refusedAttribute({ Some: {} })).toContain('no mapping defined')
})

test('the same seed tells the same story', async () => {
  const story = async () => {
    time = new VirtualTime()
    temporal = new SimulatedTemporal({ scheduler: time, dice: seeded(9), bundle })
    flaky = 0
    worker('worker-1')
    worker('worker-2')
    await time.until((await start('retried')).result())
    temporal.dispose()
    return time.story
  }
  expect(await story()).toEqual(await story())
})

test("the SDK's native part replays every history of these tests", async () => {
  await installRuntime(silentLogger, null)
  const failed: string[] = []
  const replayed = Worker.runReplayHistories({ workflowBundle: bundle }, histories)
  let count = 0
  for await (const { workflowId, error } of replayed) {
    if (error) failed.push(`${origins[count]}, ${workflowId}: ${error.message}`)
    count++
  }
  expect(failed).toEqual([])
  expect(count).toBe(histories.length)
  expect(count).toBeGreaterThan(25)
})
