// A person cancels a run while its worker dies: the server then retries no activity, and the run is cancelled, not failed.

import { fileURLToPath } from 'node:url'
import { ApplicationFailure } from '@temporalio/common'
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'
import { beforeAll, expect, test } from 'vitest'
import { importSync, mirrorSync, pause } from '../../../workflows/names.ts'
import { taskQueueOf } from '../../../workflows/queues.ts'
import { SimulatedTemporal, type Bundle } from './index.ts'
import { projectQueues } from './project-queues.ts'
import { seeded, VirtualTime } from './virtual-time.ts'

const queue = taskQueueOf('3f9ac2b1')

let bundle: Bundle
beforeAll(async () => {
  bundle = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../../../workflows/index.ts', import.meta.url)),
    logger: new DefaultLogger('ERROR'),
  })
})

type Step = 'openImport' | 'openMirror' | 'noteParked'

/** A run whose activity `dying` fails after a person has cancelled the run. Returns how the run was closed, and its last event. */
async function cancelledDuring(dying: Step, type: typeof importSync | typeof mirrorSync) {
  const time = new VirtualTime()
  const temporal = new SimulatedTemporal({ scheduler: time, dice: seeded(1), bundle })
  const client = temporal.client('person')
  const closed: string[] = []
  let isDying = false
  const dies = async () => {
    isDying = true
    await time.sleep(30_000)
    throw ApplicationFailure.create({ message: 'the worker dies' })
  }
  const states = { created: 0, updated: 0, refused: 0, outcome_unknown: 0, invalid: 0 }
  const close = async ({ ending }: { ending: { kind: string } }) => {
    closed.push(ending.kind)
    return { state: ending.kind, message: null, manifest: null, books: { states } }
  }
  const activities = {
    openImport: async () => 1,
    openMirror: async () => 1,
    stageImport: async () => await time.sleep(600_000),
    noteParked: async () => ({ created: 0, updated: 0 }),
    closeImport: close,
    closeMirror: close,
    [dying]: dies,
  }
  temporal.addWorker({ name: 'worker', queues: projectQueues(queue, activities, 2) })
  const handle = await time.until(
    client.workflow.start(type, {
      taskQueue: queue,
      workflowId: 'run',
      args: [{ sync: 'contacts', tuning: {} }] as never,
    }),
  )
  if (dying === 'noteParked') {
    await time.pass(5_000)
    await time.until(handle.executeUpdate(pause, { args: [undefined] }))
  }
  for (let waits = 0; !isDying && waits < 1_000; waits++) await time.pass(1_000)
  await time.until(handle.cancel())
  await time.until(handle.result().catch(() => null))
  const last = temporal.history('run').at(-1)!.type
  temporal.dispose()
  return { closed, last }
}

test.each([
  ['openImport', importSync, []],
  ['openMirror', mirrorSync, []],
  ['noteParked', importSync, ['cancelled']],
] as const)('while %s is at work', async (dying, type, closed) => {
  expect(await cancelledDuring(dying, type)).toEqual({
    closed,
    last: expect.stringMatching(/canceled$/i),
  })
})
