// Opening a run for a workflow that has ended: a worker that stood still asks for it late.

import { expect, onTestFinished, test } from 'vitest'
import { NotYet } from '../../../src/core/errors.ts'
import { silentLogger } from '../../../src/core/ports.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { openOrResumeRun } from '../../../src/runs/open.ts'

const holder = { workflowId: 'import-contacts', workflowRunId: 'one' }
const job = { sync: 'contacts', kind: 'import', holder, config: {} } as const

function scene(answers: readonly boolean[]) {
  const ledger = openSqliteLedger(':memory:')
  onTestFinished(() => ledger.close())
  const left = [...answers]
  const told: number[] = []
  const deps = {
    ledger,
    logger: silentLogger,
    isLive: async () => left.shift() ?? true,
    abandoned: async ({ id }: { id: number }) => void told.push(id),
  }
  return { ledger, deps, told }
}

test('a workflow that has ended opens no run', async () => {
  const { ledger, deps } = scene([false])
  await expect(openOrResumeRun(deps, job)).rejects.toThrow(
    'Waiting: workflow import-contacts is not running, so it opens no run',
  )
  expect(await ledger.run(1)).toBeNull()
})

test('a run whose workflow has ended while it was opened is closed at once, and nobody is told', async () => {
  const { ledger, deps, told } = scene([true, false])
  await expect(openOrResumeRun(deps, job)).rejects.toThrow(NotYet)
  expect(await ledger.run(1)).toMatchObject({ state: 'failed', reason: 'abandoned' })
  expect(told).toEqual([])
  const next = await openOrResumeRun(deps, {
    ...job,
    holder: { workflowId: 'next', workflowRunId: 'two' },
  })
  expect(next).toMatchObject({ id: 2, state: 'running' })
})

test('a workflow that has closed its run opens no other one, though it is running still', async () => {
  const { ledger, deps } = scene([])
  const { id } = await openOrResumeRun(deps, job)
  await ledger.closeRun(id, { state: 'complete', books: await ledger.books(id) })
  await expect(openOrResumeRun(deps, job)).rejects.toThrow(
    `Waiting: workflow import-contacts has closed its run ${id}, so it opens no run`,
  )
  expect(await ledger.liveRuns()).toEqual([])
  // The next execution, and another sync of this one, may.
  const next = { ...holder, workflowRunId: 'two' }
  expect(await openOrResumeRun(deps, { ...job, sync: 'companies' })).toMatchObject({ id: id + 1 })
  expect(await openOrResumeRun(deps, { ...job, holder: next })).toMatchObject({ id: id + 2 })
})

test('a run that the same workflow has opened before is not asked about again', async () => {
  const { deps } = scene([true, true, true, false])
  const { id } = await openOrResumeRun(deps, job)
  expect((await openOrResumeRun(deps, job)).id).toBe(id)
})
