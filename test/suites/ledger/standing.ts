// How a sync stands, as metrics ask for it: told by its runs, of which many may lie behind it.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { NOT_READ_BACK, type RunState } from '../../../src/core/domain/books.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { STREAM_RUNS_MAX } from '../../../src/ledger/statements/syncs.ts'
import {
  answered,
  close,
  openRun,
  outcome,
  row,
  send,
  settle,
  stage,
  stream,
  type Open,
  type Opened,
} from './scene.ts'

export function standingTests(open: Open): void {
  let opened: Opened
  let ledger: Ledger
  beforeEach(async () => {
    opened = await open()
    ledger = opened.ledger
  })
  afterEach(() => opened.cleanup())

  const end = (run: number, state: 'complete' | 'complete_with_rejects' | 'failed' | 'cancelled') =>
    ledger.closeRun(run, { state, books: null })
  const closedAt = async (run: number) => (await ledger.run(run))!.closedAt

  describe('the runs of a sync in brief', () => {
    it('are newest first, without plans and other syncs, and are read a page at a time', async () => {
      expect(await ledger.runBriefs('contacts', { limit: 5 })).toEqual([])
      const ids: number[] = []
      for (let count = 0; count < 3; count++) {
        const { id } = await openRun(ledger)
        ids.unshift(id)
        await stage(ledger, id, [row(1, 'a', `content ${count}`)])
        await ledger.closeRun(id, { state: 'cancelled', books: await ledger.books(id) })
      }
      await end((await openRun(ledger, 'run', 'companies')).id, 'complete')
      const plan = await openRun(ledger, 'plan')
      const briefs = await ledger.runBriefs('contacts', { limit: 5 })
      expect(briefs.map(({ id }) => id)).toEqual(ids)
      const { openedAt, closedAt } = (await ledger.run(ids[0]!))!
      expect(briefs[0]).toMatchObject({
        kind: 'import',
        purpose: 'sync',
        state: 'cancelled',
        reason: null,
        rowsRead: 1,
        streams: null,
        counts: { read: 1 },
        openedAt,
        closedAt,
      })
      const older = await ledger.runBriefs('contacts', { limit: 1, before: ids[0]! })
      expect(older.map(({ id }) => id)).toEqual([ids[1]])
      expect(await ledger.runBriefs('contacts', { limit: 1, before: ids[2]! })).toEqual([])
      await ledger.discard(plan.id)
    })

    it('have the sums of a mirror, and not what its steps keep', async () => {
      const { id } = await openRun(ledger, 'run', 'copy', 'mirror')
      await ledger.saveStepState(id, '@somewhere', 'a place')
      expect((await ledger.runBriefs('copy', { limit: 1 }))[0]).toMatchObject({ streams: null })
      await ledger.noteStream(id, stream('a', { read: 10, inserted: 3, changed: 2, deleted: 1 }))
      await ledger.noteStream(id, stream('b', { read: 5, inserted: 1 }))
      expect((await ledger.runBriefs('copy', { limit: 1 }))[0]).toMatchObject({
        counts: null,
        streams: { read: 15, inserted: 4, changed: 2, deleted: 1 },
      })
    })

    it('and when a run sent its first batch, and had the last answer', async () => {
      const { id } = await openRun(ledger)
      expect(await ledger.requestTimes(id)).toBeNull()
      await stage(ledger, id, [row(1, 'a'), row(2, 'b')])
      const [segment] = await ledger.openSegments(id)
      const fence = await ledger.claimSegment(id, segment!)
      const claim = { run: id, segment: segment!, fence }
      const batch = await send(ledger, claim)
      const sent = await ledger.requestTimes(id)
      expect(sent).toEqual({ first: expect.any(String), last: null })
      await settle(ledger, claim, batch, 'created')
      const { first, last } = (await ledger.requestTimes(id))!
      expect(first).toBe(sent!.first)
      expect(Date.parse(last!)).toBeGreaterThanOrEqual(Date.parse(first))
    })
  })

  describe('the history of a row', () => {
    it('has what every run did with its key, newest first, and what is known of it', async () => {
      const ids: number[] = []
      for (const content of ['one', 'two']) {
        const { id } = await openRun(ledger)
        ids.unshift(id)
        await stage(ledger, id, [row(1, 'a', content), row(2, 'b', content)])
        const [segment] = await ledger.openSegments(id)
        const fence = await ledger.claimSegment(id, segment!)
        const batch = await send(ledger, { run: id, segment: segment!, fence })
        const outcomes = batch.items.map(({ ordinal }) => ({
          ...outcome(ordinal, 'created'),
          recordId: `record ${ordinal}`,
        }))
        await ledger.settle(id, segment!, fence, batch, answered, outcomes)
        await end(id, 'complete')
      }
      const plan = await openRun(ledger, 'plan')
      await stage(ledger, plan.id, [row(1, 'a', 'three')])
      const byKey = await (await opened.reopen()).rowHistory({ key: 'a' }, 10)
      expect(byKey.items).toMatchObject([
        {
          run: ids[0],
          sync: 'contacts',
          ordinal: 1,
          state: 'created',
          hash: 'hash of two',
          recordId: 'record 1',
          keptValues: 0,
        },
        {
          run: ids[1],
          sync: 'contacts',
          ordinal: 1,
          state: 'created',
          hash: 'hash of one',
          attempts: 1,
        },
      ])
      expect(Date.parse(byKey.items[0]!.sentAt!)).toBeGreaterThan(0)
      expect(byKey.known).toMatchObject([
        { sync: 'contacts', key: 'a', recordId: 'record 1', run: ids[0] },
      ])
      expect(byKey).toMatchObject({ removals: [], differences: [] })
      const byRecord = await ledger.rowHistory({ recordId: 'record 2' }, 1)
      expect(byRecord.items.map(({ run, key }) => [run, key])).toEqual([[ids[0], 'b']])
      expect(byRecord.known).toMatchObject([{ key: 'b' }])
      const none = { items: [], removals: [], differences: [], known: [] }
      expect(await ledger.rowHistory({ key: 'A' }, 10)).toEqual(none)
      expect(await ledger.rowHistory({ recordId: 'a' }, 10)).toEqual(none)
      await ledger.discard(plan.id)
    })

    it('has the differences that a reconciliation found, by key and by record', async () => {
      const { id } = await openRun(ledger, 'run', 'contacts', 'import', { purpose: 'reconcile' })
      const about = {
        stream: 's',
        ordinal: null,
        whose: 'service',
        ours: null,
        theirs: null,
      } as const
      await ledger.noteDifferences(
        id,
        [
          { ...about, key: 'a', recordId: 'r1', kind: 'different', field: 'name' },
          { ...about, key: null, recordId: 'r2', kind: 'missing', field: null },
        ],
        { repaired: false },
      )
      expect((await ledger.rowHistory({ key: 'a' }, 10)).differences).toMatchObject([
        { run: id, kind: 'different', field: 'name', whose: 'service', repaired: false },
      ])
      expect((await ledger.rowHistory({ recordId: 'r2' }, 10)).differences).toMatchObject([
        { run: id, kind: 'missing' },
      ])
      // The text of a key is no record, and the id of a record is no key.
      expect((await ledger.rowHistory({ key: 'r2' }, 10)).differences).toEqual([])
      expect((await ledger.rowHistory({ recordId: 'a' }, 10)).differences).toEqual([])
    })
  })

  describe('how a sync stands', () => {
    it('is unknown before its first run, and told by each sync apart', async () => {
      expect(await ledger.syncHealth('contacts')).toBeNull()
      const plan = await openRun(ledger, 'plan')
      expect(await ledger.syncHealth('contacts')).toBeNull()
      const run = await openRun(ledger)
      await ledger.setRunState(run.id, 'blocked', 'auth', 'mend the key')
      expect(await (await opened.reopen()).syncHealth('contacts')).toEqual({
        kind: 'import',
        state: 'blocked',
        reason: 'auth',
        differs: false,
        succeededAt: null,
        waitingSince: null,
        streams: new Map(),
      })
      expect(await ledger.syncHealth('companies')).toBeNull()
      await ledger.discard(plan.id)
    })

    it('has the newest success, with rejects or without, whatever came after it', async () => {
      const first = await openRun(ledger)
      await end(first.id, 'complete')
      const second = await openRun(ledger)
      await end(second.id, 'complete_with_rejects')
      for (const state of ['failed', 'cancelled'] as const)
        await end((await openRun(ledger)).id, state)
      const other = await openRun(ledger, 'run', 'companies')
      await end(other.id, 'complete')
      expect(await ledger.syncHealth('contacts')).toMatchObject({
        state: 'cancelled',
        succeededAt: await closedAt(second.id),
      })
      const live = await openRun(ledger)
      expect(await ledger.syncHealth('contacts')).toMatchObject({
        state: 'running',
        succeededAt: await closedAt(second.id),
      })
      await ledger.setRunState(live.id, 'paused')
      expect(await ledger.syncHealth('contacts')).toMatchObject({ state: 'paused' })
    })

    it('differs where its newest run ended and knows so, also where it has rejects', async () => {
      const differs = async () => (await ledger.syncHealth('contacts'))!.differs
      const ended = async (state: RunState, different = 0) => {
        const { id } = await openRun(ledger)
        const readBack = { ...NOT_READ_BACK, different }
        await ledger.closeRun(id, { state, books: { ...(await ledger.books(id)), readBack } })
        return await differs()
      }
      expect(await ended('complete')).toBe(false)
      expect(await ended('complete_with_differences')).toBe(true)
      expect(await ended('complete_with_rejects')).toBe(false)
      expect(await ended('complete_with_rejects', 2)).toBe(true)
      expect(await ended('failed', 2)).toBe(false)
      for (const isRepaired of [true, false]) {
        const task = { purpose: 'reconcile' } as const
        const { id } = await openRun(ledger, 'run', 'contacts', 'import', task)
        const extra = {
          stream: 'svc_contact',
          key: 'k',
          recordId: 'r',
          ordinal: null,
          kind: 'extra',
          field: null,
          whose: 'source',
          ours: null,
          theirs: null,
        } as const
        await ledger.noteDifferences(id, [extra], { repaired: isRepaired })
        expect(await differs()).toBe(false)
        await end(id, 'complete_with_rejects')
        expect(await differs()).toBe(!isRepaired)
      }
      await openRun(ledger)
      expect(await differs()).toBe(false)
    })

    it('has what waits: from the first row that is staged to the end of the last segment', async () => {
      const waiting = async () => (await ledger.syncHealth('contacts'))!.waitingSince
      const run = await openRun(ledger)
      expect(await waiting()).toBeNull()
      const fence = await ledger.beginStage(run.id, ['id'])
      await ledger.stageItems(run.id, fence, [row(1, 'k1')])
      expect(await waiting()).toBe(run.openedAt)
      await stage(ledger, run.id, [row(1, 'k1'), row(2, 'k2')])
      expect(await waiting()).toBe(run.openedAt)
      const [segment] = await ledger.openSegments(run.id)
      const claim = { run: run.id, segment: segment!, fence: 1 }
      expect(await ledger.claimSegment(run.id, segment!)).toBe(claim.fence)
      await settle(ledger, claim, await send(ledger, claim), 'created')
      await ledger.finishSegment(run.id, segment!, claim.fence)
      expect(await waiting()).toBeNull()
    })

    it('has nothing that waits once the run is closed', async () => {
      const run = await openRun(ledger)
      await stage(ledger, run.id, [row(1, 'k1')])
      await close(ledger, run.id)
      expect(await ledger.syncHealth('contacts')).toMatchObject({ waitingSince: null })
      const torn = await openRun(ledger)
      const fence = await ledger.beginStage(torn.id, ['id'])
      await ledger.stageItems(torn.id, fence, [row(1, 'k1')])
      await end(torn.id, 'failed')
      expect(await ledger.syncHealth('contacts')).toMatchObject({ waitingSince: null })
    })

    it('has, of each stream of a mirror, the start of the run that came to its end', async () => {
      const mirror = async (states: Record<string, 'complete' | 'failed' | 'pulling'>) => {
        const run = await openRun(ledger, 'run', 'crm', 'mirror')
        for (const [name, state] of Object.entries(states))
          await ledger.noteStream(run.id, stream(name, { state }))
        return run
      }
      const streams = async () => Object.fromEntries((await ledger.syncHealth('crm'))!.streams)
      const old = await mirror({ a: 'complete', gone: 'complete' })
      await end(old.id, 'complete')
      const whole = await mirror({ a: 'complete', b: 'complete' })
      await end(whole.id, 'complete')
      expect(await streams()).toEqual({ a: whole.openedAt, b: whole.openedAt })
      const half = await mirror({ a: 'complete', b: 'failed' })
      await end(half.id, 'failed')
      const live = await mirror({ a: 'pulling', b: 'pulling' })
      expect(await streams()).toEqual({ a: half.openedAt, b: whole.openedAt })
      await ledger.noteStream(live.id, stream('b', { state: 'complete' }))
      expect(await streams()).toEqual({ a: half.openedAt, b: live.openedAt })
      await end(live.id, 'failed')
      for (let run = 1; run < STREAM_RUNS_MAX; run++)
        await end((await mirror({ a: 'failed', b: 'failed' })).id, 'failed')
      // The run `half` has fallen out of those that are looked at; the complete one never does.
      expect(await streams()).toEqual({ a: whole.openedAt, b: live.openedAt })
      expect((await ledger.syncHealth('crm'))!.kind).toBe('mirror')
    })
  })
}
