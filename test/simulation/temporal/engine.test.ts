// What the engine promises, piece by piece.

import { fileURLToPath } from 'node:url'
import { activityInfo, Context } from '@temporalio/activity'
import { ApplicationFailure } from '@temporalio/common'
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
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
afterEach(() => temporal.dispose())

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
