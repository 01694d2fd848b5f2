// A SQLite ledger on a thread: the suite of every ledger runs over its messages; here are the thread itself and its transactions.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FenceLost, LedgerError } from '../../../src/core/errors.ts'
import type { Ledger, RunSegment } from '../../../src/ledger/ledger.ts'
import { openLedger } from '../../../src/ledger/open.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { openThreadedLedger, startThread } from '../../../src/ledger/thread/index.ts'
import { openRun, rows, stage, statesOf } from '../../suites/ledger/scene.ts'

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ledger-'))
  path = join(folder, 'ledger.sqlite')
})
afterEach(() => rm(folder, { recursive: true }))

/** A run of two segments of 1,000 items, with what is planned in each. */
async function twoSegments(ledger: Ledger) {
  const { id } = await openRun(ledger)
  await stage(ledger, id, rows(2_000), { rowsPerSegment: 1_000 })
  const [first, second] = (await ledger.openSegments(id)) as [RunSegment, RunSegment]
  const planned = (segment: RunSegment) =>
    ledger.nextPlanned(id, segment, { after: 0, attemptsBelow: 1, limit: 50 })
  return { run: id, first, second, planned }
}
describe('a thread', () => {
  it('serves a ledger that other processes have open too', async () => {
    const ledger = await openLedger({ sqlite: path }, { thread: true })
    const { run } = await twoSegments(ledger)
    const outside = openSqliteLedger(path)
    expect(await statesOf(outside, run)).toEqual(await statesOf(ledger, run))
    await outside.close()
    await ledger.close()
  })

  it('gives the error of a file that cannot be opened', async () => {
    await writeFile(path, 'this is not a database, and long enough to be read as one'.repeat(50))
    const opening = openThreadedLedger(path)
    await expect(opening).rejects.toBeInstanceOf(LedgerError)
    await expect(opening).rejects.toMatchObject({ code: 'ledger_corrupt', reason: 'ledger' })
  })

  it('that ends fails what waits for it, and is started again', async () => {
    const started: Worker[] = []
    const ledger = await openThreadedLedger(path, {}, (options) => {
      const worker = startThread(options) as Worker
      started.push(worker)
      return worker
    })
    const { run, first } = await twoSegments(ledger)
    const waiting = Array.from({ length: 20 }, () => ledger.claimSegment(run, first))
    const failures = Promise.allSettled(waiting)
    await started[0]!.terminate()
    for (const ended of await failures)
      if (ended.status === 'rejected')
        expect(ended.reason).toMatchObject({ code: 'ledger_thread', reason: 'ledger' })
    expect(await ledger.openSegments(run)).toHaveLength(2)
    expect(started).toHaveLength(2)
    await ledger.close()
  })

  it('that ends before it opens the file fails the opening', async () => {
    const ending = new Worker('process.exit(0)', { eval: true })
    await expect(openThreadedLedger(path, {}, () => ending)).rejects.toMatchObject({
      code: 'ledger_thread',
    })
  })

  it('that is closed is not started again', async () => {
    let started = 0
    const ledger = await openThreadedLedger(path, {}, (options) => {
      started += 1
      return startThread(options)
    })
    const late = ledger.runs({ limit: 1 })
    await ledger.close()
    await ledger.close()
    await late
    await expect(ledger.runs({ limit: 1 })).rejects.toMatchObject({ code: 'ledger_closed' })
    expect(started).toBe(1)
  })

  it('refuses a value that cannot cross, and carries out what was asked with it', async () => {
    const ledger = await openThreadedLedger(path)
    const uncloned = ledger.runs({ limit: Symbol() as unknown as number })
    const asked = ledger.runs({ limit: 1 })
    await expect(uncloned).rejects.toThrow(/could not be cloned/)
    expect(await asked).toEqual([])
    expect(await ledger.runs({ limit: 1 })).toEqual([])
    await ledger.close()
  })
})

describe('writes of one transaction', () => {
  it.each([
    { why: 'its fence is lost', digest: 'd', isStale: true, error: FenceLost },
    // The last column of the last statement: its items are marked as sent by then.
    {
      why: 'a statement fails',
      digest: null as unknown as string,
      isStale: false,
      error: LedgerError,
    },
  ])('are stored without the one that fails: $why', async ({ digest, isStale, error }) => {
    const ledger = await openThreadedLedger(path)
    const { run, first, second, planned } = await twoSegments(ledger)
    const claim = (segment: RunSegment) => ledger.claimSegment(run, segment)
    const fences = [await claim(first), await claim(second)] as const
    if (isStale) await claim(first)
    const [lost, kept] = [await planned(first), await planned(second)]
    const batch = { operation: 'batchUpsert', digest: 'd' }
    // Asked in one turn, so that one message has both.
    const [refused, sent] = await Promise.allSettled([
      ledger.recordSend(run, first, fences[0], { ...batch, digest, items: lost }),
      ledger.recordSend(run, second, fences[1], { ...batch, items: kept }),
    ])
    expect(refused).toMatchObject({ status: 'rejected', reason: expect.any(error) })
    expect(sent).toMatchObject({ status: 'fulfilled', value: { batch: 1, items: kept } })
    const outside = openSqliteLedger(path)
    expect(await outside.unsettledBatches(run, first)).toEqual([])
    expect(await outside.unsettledBatches(run, second)).toMatchObject([{ batch: 1, items: kept }])
    expect(await planned(first)).toEqual(lost)
    await outside.close()
    await ledger.close()
  })
})
