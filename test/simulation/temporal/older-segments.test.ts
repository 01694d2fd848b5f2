// What earlier runs have read is sent to its end before a segment of newer rows is begun; of the others two are sent at once.

import { fileURLToPath } from 'node:url'
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'
import { expect, test } from 'vitest'
import { importSync } from '../../../workflows/names.ts'
import { taskQueueOf } from '../../../workflows/queues.ts'
import { SimulatedTemporal } from './index.ts'
import { projectQueues } from './project-queues.ts'
import { seeded, VirtualTime } from './virtual-time.ts'

const queue = taskQueueOf('3f9ac2b1')

test.each([
  [{ older: 1 }, ['begin 9', 'end 9', 'begin 1', 'begin 5', 'end 1', 'end 5']],
  [{}, ['begin 9', 'begin 1', 'end 1', 'begin 5', 'end 5', 'end 9']],
])('segments are sent in their order (%o)', async (older, expected) => {
  const bundle = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../../../workflows/index.ts', import.meta.url)),
    logger: new DefaultLogger('ERROR'),
  })
  const time = new VirtualTime()
  const temporal = new SimulatedTemporal({ scheduler: time, dice: seeded(1), bundle })
  const client = temporal.client('person')
  const order: string[] = []
  const states = { created: 0, updated: 0, refused: 0, outcome_unknown: 0, invalid: 0 }
  const segments = [9, 1, 5].map((first) => ({ first, last: first }))
  const activities = {
    openImport: async () => 1,
    stageImport: async () => ({
      rows: 9,
      planned: 3,
      invalid: 0,
      segments,
      errors: [],
      hasLimits: false,
      ...older,
    }),
    pushSegment: async ({ segment: { first } }: { segment: { first: number } }) => {
      order.push(`begin ${first}`)
      await time.sleep(1_000 * first)
      order.push(`end ${first}`)
      return {
        done: true,
        requests: 1,
        progress: { ...states, rejected: 0, failed: 0 },
        errors: [],
      }
    },
    closeImport: async () => ({
      state: 'complete',
      message: null,
      manifest: null,
      books: { states },
    }),
  }
  temporal.addWorker({ name: 'worker', queues: projectQueues(queue, activities, 2) })
  const handle = await time.until(
    client.workflow.start(importSync, {
      taskQueue: queue,
      workflowId: 'run',
      args: [{ sync: 'contacts', tuning: {} }] as never,
    }),
  )
  await time.until(handle.result())
  temporal.dispose()
  expect(order).toEqual(expected)
})
