// Until when a worker polls the queue of releases without projects.

import type { Client } from '@temporalio/client'
import type { Worker } from '@temporalio/worker'
import { expect, test } from 'vitest'
import { silentLogger } from '../../../src/core/ports.ts'
import type { Run } from '../../../src/ledger/ledger.ts'
import { legacyQueue } from '../../../src/temporal/legacy-queue.ts'
import { SHARED_QUEUE } from '../../../workflows/queues.ts'

/** A run of the old queue, whose workflow runs and which is live in the ledger, until said otherwise. */
function scene() {
  const run = { workflowId: 'import-contacts', workflowRunId: 'first' } as Run
  const at = { status: 'RUNNING', isLive: true }
  const describe = async () => ({ status: { name: at.status }, taskQueue: SHARED_QUEUE })
  const queue = () =>
    legacyQueue({
      client: { workflow: { getHandle: () => ({ describe }) } } as unknown as Client,
      ledger: {
        liveRuns: async () => (at.isLive ? [run] : []),
        runs: async () => [run],
      },
      logger: silentLogger,
      hasOldSchedule: async () => false,
      pollers: async () => [{} as Worker],
    })
  return { at, queue }
}

test('the old queue is polled until the workflow has ended, not only until its run is closed', async () => {
  const { at, queue } = scene()
  const old = queue()
  await old.look(null)
  expect(old.polling()).toHaveLength(1)
  at.isLive = false
  await old.look(null)
  expect(old.polling()).toHaveLength(1)
  at.status = 'COMPLETED'
  await old.look(null)
  expect(old.polling()).toEqual([])
})

test('a worker that starts after the run was closed polls the old queue too', async () => {
  const { at, queue } = scene()
  at.isLive = false
  const old = queue()
  await old.look(null)
  expect(old.polling()).toHaveLength(1)
  at.status = 'COMPLETED'
  await old.look(null)
  expect(old.polling()).toEqual([])
})
