// Live runs that no workflow carries: closed and told once it is sure, and never while they move.

import { beforeEach, expect, test } from 'vitest'
import { silentLogger } from '../../../src/core/ports.ts'
import type { Ledger, Run } from '../../../src/ledger/ledger.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { orphanCleanup } from '../../../src/runs/orphaned-runs.ts'

let ledger: Ledger
let live: Set<string>
let told: number[]
let sweep: () => Promise<void>
beforeEach(() => {
  ledger = openSqliteLedger(':memory:')
  live = new Set()
  told = []
  sweep = orphanCleanup({
    ledger,
    logger: silentLogger,
    isLive: ({ workflowId }) => Promise.resolve(live.has(workflowId)),
    abandoning: (run) => {
      told.push(-run.id)
      return Promise.resolve()
    },
    abandoned: ({ id }) => {
      told.push(id)
      return Promise.resolve()
    },
  })
})

async function openRun(sync: string): Promise<Run> {
  const opened = await ledger.openRun({
    sync,
    kind: 'mirror',
    mode: 'run',
    workflowId: `mirror-${sync}`,
    workflowRunId: 'one',
    config: {},
  })
  if (!('run' in opened)) throw new Error('it is held')
  return opened.run
}
const stateOf = async ({ id }: Run) => (await ledger.run(id))!

test('a run whose workflow is gone is closed at the second look, and told; others are left alone', async () => {
  const [gone, carried] = [await openRun('gone'), await openRun('carried')]
  live.add('mirror-carried')
  await sweep()
  expect((await stateOf(gone)).state).toBe('running')
  await sweep()
  expect(await stateOf(gone)).toMatchObject({ state: 'failed', reason: 'abandoned' })
  expect((await stateOf(carried)).state).toBe('running')
  expect(told).toEqual([-gone.id, gone.id])
  await sweep()
  expect(told).toEqual([-gone.id, gone.id])
})

test('a run that moves between two looks is carried elsewhere: it is left alone until it stands still', async () => {
  const run = await openRun('elsewhere')
  for (const state of ['paused', 'running', 'blocked'] as const) {
    await ledger.setRunState(run.id, state)
    await sweep()
    expect((await stateOf(run)).state).toBe(state)
  }
  await sweep()
  expect((await stateOf(run)).state).toBe('failed')
})

test('a workflow that is found again is not closed at the next doubt', async () => {
  const run = await openRun('back')
  await sweep()
  live.add('mirror-back')
  await sweep()
  live.clear()
  await sweep()
  expect((await stateOf(run)).state).toBe('running')
})
