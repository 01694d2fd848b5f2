// A worker does the work of its ledger's runs, and gives back that of others, also where a copied ledger shares its queue.

import { MockActivityEnvironment } from '@temporalio/testing'
import { DefaultLogger } from '@temporalio/worker'
import { expect, test } from 'vitest'
import type { Run } from '../../../src/ledger/ledger.ts'
import { guardActivities } from '../../../src/temporal/project-guard.ts'

const execution = { workflowId: 'import-contacts-1', runId: 'r1' }
const held = { id: 30, workflowId: execution.workflowId, workflowRunId: execution.runId } as Run

/** What the work of run 30 gives, on a queue of its own, at a worker whose ledger holds `run`. */
const work = async (run: Run | null, attempt = 1, ending = 'finished') => {
  const ledger = { run: async () => run }
  const { closeImport } = guardActivities({ closeImport: async () => 'done' }, ledger)
  const environment = new MockActivityEnvironment(
    { workflowExecution: execution, attempt },
    { logger: new DefaultLogger('ERROR') },
  )
  return await environment.run(closeImport as (...args: unknown[]) => Promise<string>, {
    run: 30,
    ending: { kind: ending },
  })
}

const givenBack = { type: 'AnotherProject', nonRetryable: false, nextRetryDelay: '5s' }

test('work of a run of the ledger is done', async () => {
  expect(await work(held)).toBe('done')
})

test('work of a run that the ledger does not hold, or holds for another workflow, is given back', async () => {
  await expect(work(null)).rejects.toMatchObject(givenBack)
  await expect(work({ ...held, workflowRunId: 'r2' })).rejects.toMatchObject(givenBack)
})

const inNoLedger = { type: 'RunUnknown', nonRetryable: true }

test.each([null, { ...held, workflowRunId: 'r2' }])(
  'where no ledger holds the run for an hour, its work fails for good (%j)',
  async (run) => {
    await expect(work(run, 720)).rejects.toMatchObject(givenBack)
    await expect(work(run, 721)).rejects.toMatchObject(inNoLedger)
  },
)

test.each(['cancelled', 'failed'])('a run that is %s ends after two minutes', async (ending) => {
  await expect(work(null, 24, ending)).rejects.toMatchObject(givenBack)
  await expect(work(null, 25, ending)).rejects.toMatchObject(inNoLedger)
})
