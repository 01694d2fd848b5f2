// How far a live run is: its phase, and how much of that is done.

import { expect, onTestFinished, test } from 'vitest'
import { liveProgressOf, phaseText } from '../../../src/report/live-progress.ts'
import type { Run } from '../../../src/ledger/ledger.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { lookUpNoter } from '../../../src/runs/look-ups-made.ts'
import { shareNoter } from '../../../src/runs/step-share.ts'
import { close, openRun, rows, send, settle, stage, stream } from '../../suites/ledger/scene.ts'

function scene() {
  const ledger = openSqliteLedger(':memory:')
  onTestFinished(() => ledger.close())
  let nowMs = 0
  return {
    ledger,
    now: async ({ id }: Run) => await liveProgressOf(ledger, (await ledger.run(id))!),
    /** Notes a share, and lets a second pass. */
    async note(run: Run, step: 'stage' | 'verify', ...shares: readonly number[]) {
      const clock = { now: () => (nowMs += 1_000), sleep: () => Promise.resolve() }
      const note = shareNoter({ ledger, clock }, run.id, step)
      for (const share of shares) await note(share)
    },
  }
}

test('a live import is staging, sending, verifying or closing; one that has ended has its account', async () => {
  const { ledger, now, note } = scene()
  const run = await openRun(ledger)
  const { id } = run
  expect(await now(run)).toMatchObject({ phase: 'staging', percent: null })
  await note(run, 'stage', 0.1, 0.416)
  expect(phaseText((await now(run))!)).toBe('staging 41 %')
  await stage(ledger, id, rows(150))
  expect(await now(run)).toMatchObject({ phase: 'sending', percent: 0, counters: { read: 150 } })
  const segment = (await ledger.openSegments(id))[0]!
  const claim = { run: id, segment, fence: await ledger.claimSegment(id, segment) }
  await settle(ledger, claim, await send(ledger, claim), 'created')
  const half = (await now(run))!
  expect(half).toMatchObject({
    percent: 33,
    counters: { created: 50 },
    amount: '50 of 150 rows',
    work: { done: 50, total: 150 },
  })
  expect(phaseText(half)).toBe('sending 33 %')
  for (let batch = 0; batch < 2; batch++)
    await settle(ledger, claim, await send(ledger, claim), batch === 0 ? 'updated' : 'refused')
  const last = (await now(run))!
  expect(phaseText(last)).toBe('closing')
  expect(last).toMatchObject({
    counters: { created: 50, updated: 50, rejected: 50 },
    details: ['3 requests', '50 rejected'],
  })
  await note(run, 'verify', 0.5)
  expect(phaseText((await now(run))!)).toBe('verifying 50 %')
  await close(ledger, id)
  expect(await now(run)).toBeNull()
})

test('look-ups count apart from the requests that write', async () => {
  const { ledger, now } = scene()
  const run = await openRun(ledger)
  await stage(ledger, run.id, rows(150))
  expect((await now(run))!.details).toEqual(['0 requests'])
  let nowMs = 0
  const note = lookUpNoter({ ledger, clock: { now: () => nowMs } }, run.id)
  // Those of a second together.
  await note(1)
  expect((await now(run))!.details).toEqual(['0 requests'])
  nowMs += 1_000
  await note(1)
  expect((await now(run))!.details).toEqual(['0 writing requests', '2 look-ups'])
})

test('the rows of a source whose length is known are estimated', async () => {
  const { ledger, now, note } = scene()
  const run = await openRun(ledger)
  const fence = await ledger.beginStage(run.id, ['id', 'name'])
  await ledger.stageItems(run.id, fence, rows(100))
  expect(await now(run)).toMatchObject({
    amount: '100 rows read',
    work: { done: 100, total: null },
  })
  await note(run, 'stage', 0.25)
  expect(await now(run)).toMatchObject({ percent: 25, work: { done: 100, total: 400 } })
})

test('a share is noted once a second', async () => {
  const { ledger, now } = scene()
  const run = await openRun(ledger)
  let nowMs = 0
  const clock = { now: () => nowMs, sleep: () => Promise.resolve() }
  const note = shareNoter({ ledger, clock }, run.id, 'stage')
  await note(0.1)
  expect(await now(run)).toMatchObject({ percent: null })
  nowMs = 1_000
  await note(0.2)
  nowMs = 1_999
  await note(0.9)
  await note(null)
  expect(await now(run)).toMatchObject({ percent: 20 })
})

test('a reconciliation compares before it sends', async () => {
  const { ledger, now } = scene()
  const run = await openRun(ledger, 'run', 'contacts', 'import', { purpose: 'reconcile' })
  await stage(ledger, run.id, rows(40), { skipUnchanged: false })
  expect(await now(run)).toMatchObject({
    phase: 'comparing',
    percent: 0,
    amount: '0 of 40 rows are settled',
    details: ['0 differ'],
  })
})

test('a mirror reads table after table', async () => {
  const { ledger, now } = scene()
  const run = await openRun(ledger, 'run', 'crm', 'mirror')
  expect(await now(run)).toMatchObject({ phase: 'reading', percent: null, work: null })
  await ledger.noteStream(run.id, stream('svc_a', { state: 'complete', read: 2_000, inserted: 7 }))
  await ledger.noteStream(run.id, stream('svc_b', { state: 'pulling', read: 500, deleted: 1 }))
  expect(await now(run)).toMatchObject({
    percent: 50,
    counters: null,
    amount: '1 of 2 tables',
    work: { done: 2_500, total: null },
    details: ['2,500 rows read', '7 changed', '1 deleted', '0 requests'],
  })
})
