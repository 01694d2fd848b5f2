// A run whose workflow was terminated, taken over at once: what its worker wrote down a moment ago may still be sent, so the next
// run waits for as long as a write may be old.

import { MockActivityEnvironment } from '@temporalio/testing'
import { DefaultLogger } from '@temporalio/worker'
import { expect, onTestFinished, test, vi } from 'vitest'
import { importActivities, type ImportActivities } from '../../../activities/import.ts'
import { FenceLost } from '../../../src/core/errors.ts'
import { silentLogger, systemClock } from '../../../src/core/ports.ts'
import type { ImportSync } from '../../../config/index.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { rows, stage } from '../../suites/ledger/scene.ts'
import { isOwnWorkflow } from '../../own-workflow.ts'

/** A write may be that old, ms. */
const AGE_MS = 20_000

/** A ledger with a run that was staged, and the activity that opens the next one. */
async function scene(config: object = {}) {
  const ledger = openSqliteLedger(':memory:')
  onTestFinished(() => ledger.close())
  const opened = await ledger.openRun({
    sync: 'contacts',
    kind: 'import',
    mode: 'run',
    workflowId: 'terminated',
    workflowRunId: 'r',
    config: { import: { to: 'crm' }, ...config },
  })
  if (!('run' in opened)) throw new Error('a run is open')
  const run = opened.run.id
  await stage(ledger, run, rows(3))
  const [segment] = await ledger.openSegments(run)
  const fence = await ledger.claimSegment(run, segment!)
  const send = async () => {
    const items = await ledger.nextPlanned(run, segment!, { after: 0, attemptsBelow: 5, limit: 1 })
    const batch = { operation: 'batchUpsert' as const, digest: 'd', items }
    return await ledger.recordSend(run, segment!, fence, batch)
  }
  let lateMs = 0
  let asked = 0
  const { openImport }: ImportActivities = importActivities({
    ledger,
    clock: { ...systemClock, now: () => Date.now() + lateMs },
    logger: silentLogger,
    loadSync: async () => ({ name: 'contacts', kind: 'import' }) as ImportSync,
    isLive: isOwnWorkflow,
    connect: async () => {
      asked++
      throw new Error('the service is away')
    },
    openSource: async () => {
      throw new Error('nothing is read')
    },
    watch: { changed: async () => {} },
  })
  const open = async (): Promise<unknown> =>
    await new MockActivityEnvironment({}, { logger: new DefaultLogger('ERROR') })
      .run(openImport, { sync: 'contacts' } as Parameters<typeof openImport>[0])
      .catch((error: unknown) => error)
  return {
    ledger: ledger as Ledger,
    run,
    send,
    open,
    later: (ms: number) => (lateMs += ms),
    asked: () => asked,
    finish: async () => {
      await ledger.finishSegment(run, segment!, fence)
    },
  }
}

test('a request that was written down just now is waited for, and no other is written down', async () => {
  const s = await scene()
  await s.send()
  const failure = await s.open()
  expect(failure).toMatchObject({ type: 'StillUnderWay', nonRetryable: false })
  const { nextRetryDelay } = failure as { nextRetryDelay: number }
  expect(nextRetryDelay).toBeGreaterThan(0)
  expect(nextRetryDelay).toBeLessThanOrEqual(AGE_MS)
  await expect(s.send()).rejects.toThrow(FenceLost)
  expect(s.asked()).toBe(0)
  expect(await s.ledger.run(s.run)).toMatchObject({ state: 'running' })

  s.later(AGE_MS)
  expect(await s.open()).toBe(s.run + 1)
  expect(s.asked()).toBe(1)
  expect(await s.ledger.run(s.run)).toMatchObject({ state: 'failed', reason: 'abandoned' })
})

test('the time is that of the run that is taken over', async () => {
  const s = await scene({ tuned: { heartbeat_timeout_ms: 600_000 } })
  await s.send()
  s.later(AGE_MS)
  expect(await s.open()).toMatchObject({ type: 'StillUnderWay' })
  s.later(180_000)
  expect(await s.open()).toBe(s.run + 1)
})

test('a run with nothing under way is taken over at once', async () => {
  const s = await scene()
  expect(await s.open()).toBe(s.run + 1)
})

test('single writes come after the batches: their run is closed, and then they are waited for', async () => {
  const s = await scene()
  const batches = [await s.send(), await s.send(), await s.send()]
  for (const batch of batches)
    await s.ledger.recordNoAnswer(s.run, batch, { status: 500, requestId: null, durationMs: 1 })
  await s.finish()
  expect(await s.open()).toMatchObject({ type: 'StillUnderWay' })
  expect(await s.ledger.run(s.run)).toMatchObject({ state: 'failed', reason: 'abandoned' })
  expect(await s.open()).toMatchObject({ type: 'StillUnderWay' })
  s.later(AGE_MS + 1_000)
  expect(await s.open()).toBe(s.run + 1)
})

test('a clock that was set back keeps a run from being taken over for as long as a write may be old, not longer', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const s = await scene()
  await s.send()
  s.later(-3_600_000)
  expect(await s.open()).toMatchObject({ type: 'StillUnderWay' })
  vi.advanceTimersByTime(AGE_MS / 2)
  expect(await s.open()).toMatchObject({ type: 'StillUnderWay' })
  vi.advanceTimersByTime(AGE_MS / 2)
  expect(await s.open()).toBe(s.run + 1)
})
