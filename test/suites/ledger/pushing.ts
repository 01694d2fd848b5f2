// Pushing: a batch is written down before it is sent and settled after, and only by the holder of the segment's fence.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FenceLost } from '../../../src/core/errors.ts'
import { ITEM_STATES } from '../../../src/core/domain/outcomes.ts'
import type { Ledger, PlannedItem, StagedItem } from '../../../src/ledger/ledger.ts'
import {
  accept,
  accepted,
  answered,
  booked,
  openRun,
  outcome,
  row,
  rows,
  send,
  settle,
  stage,
  staged,
  statesOf,
  unanswered,
  type Open,
  type Opened,
} from './scene.ts'

export function pushingTests(open: Open): void {
  let opened: Opened
  let ledger: Ledger
  beforeEach(async () => {
    opened = await open()
    ledger = opened.ledger
  })
  afterEach(() => opened.cleanup())

  const behind =
    (count: number) =>
    (item: StagedItem): StagedItem => ({ ...item, ordinal: item.ordinal + count })
  const resend = { operation: 'batchUpsert', replayed: true }

  describe('planned items', () => {
    it('come in the order of the source, with what is sent', async () => {
      const { run, segment } = await staged(ledger, [row(1, 'c', 'ü'), row(2, 'a'), row(3, 'b')])
      const items = await ledger.nextPlanned(run, segment, { after: 0, attemptsBelow: 1, limit: 2 })
      const payload = '{"properties":{"id":"c","name":"ü"}}'
      expect(items[0]).toEqual({ ordinal: 1, key: 'c', payload, hash: 'hash of ü', attempts: 0 })
      expect(items.map(({ ordinal }) => ordinal)).toEqual([1, 2])
      const rest = await ledger.nextPlanned(run, segment, { after: 2, attemptsBelow: 1, limit: 2 })
      expect(rest.map(({ ordinal }) => ordinal)).toEqual([3])
    })

    it('have segments of their own where earlier runs have read them', async () => {
      const { id: run } = await openRun(ledger)
      const of = async (count: number, again: number) => {
        await stage(ledger, run, rows(count), { again })
        return (await ledger.openSegments(run)).map(({ first, last }) => [first, last])
      }
      expect(await of(5, 2)).toEqual([
        [1, 3],
        [4, 5],
      ])
      expect(await of(2, 2)).toEqual([[1, 2]])
      expect(await of(2_300, 1_100)).toEqual([
        [1, 1_200],
        [1_201, 2_300],
      ])
    })

    it('come from their own segment only, and only while they are planned', async () => {
      const { id: run } = await openRun(ledger)
      await stage(ledger, run, rows(2_000), { rowsPerSegment: 1_000 })
      const [first, second] = await ledger.openSegments(run)
      const ordinals = async (segment = second!) =>
        (await ledger.nextPlanned(run, segment, { after: 0, attemptsBelow: 1, limit: 5_000 })).map(
          ({ ordinal }) => ordinal,
        )
      expect(Math.max(...(await ordinals(first)))).toBeLessThan(Math.min(...(await ordinals())))
      const claim = { run, segment: second!, fence: await ledger.claimSegment(run, second!) }
      const batch = await send(ledger, claim)
      expect(await ordinals()).not.toContain(batch.items[0]!.ordinal)
      expect(await ordinals()).toHaveLength(950)
    })

    it.each([
      { which: 'not sent before', change: null },
      { which: 'sent to a record before', change: { recordId: 'record', replayed: false } },
      { which: 'sent before with another key', change: { replayed: true } },
      { which: 'answered before', change: 'pending' as const },
    ])('come by the page as they come one by one: some are $which', async ({ change }) => {
      const keys = ['a\0b', '\u001a', '"', 'a\nb', '\\', 'ü😀', '[1]', '{}', '1', ',', 'a\u001ab']
      const items = keys.map((key, index) => row(index + 1, key, `${key}\u2028`))
      const claim = await staged(ledger, [...items, ...rows(9).map(behind(items.length))])
      const { run, segment, fence } = claim
      const page = { attemptsBelow: 5, limit: 1_000 }
      if (change === 'pending') await settle(ledger, claim, await send(ledger, claim, 3), 'pending')
      else if (change !== null) {
        const { replayed, ...aimed } = change
        const sent = [{ ordinal: 2, ...aimed }]
        const batch = { operation: 'batchUpsert', digest: 'd', items: sent, replayed }
        const recorded = await ledger.recordSend(run, segment, fence, batch)
        await ledger.release(run, segment, fence, recorded, answered)
      }
      const alone: PlannedItem[] = []
      for (let after = 0; after < 20;) {
        const [item] = await ledger.nextPlanned(run, segment, { ...page, after, limit: 1 })
        alone.push(item!)
        after = item!.ordinal
      }
      expect(alone.map(({ key }) => key).slice(0, keys.length)).toEqual(keys)
      expect(await ledger.nextPlanned(run, segment, { ...page, after: 0 })).toEqual(alone)
    })

    it('come all, however large the bounds are', async () => {
      const { run } = await staged(ledger, rows(3))
      const max = Number.MAX_SAFE_INTEGER
      const page = { after: 0, attemptsBelow: max, limit: 1_000 }
      expect(await ledger.nextPlanned(run, { first: 1, last: max }, page)).toHaveLength(3)
    })
  })

  describe('a batch', () => {
    it('is written down before it is sent', async () => {
      const claim = await staged(ledger, rows(5))
      const batch = await send(ledger, claim, 3)
      expect(batch).toMatchObject({ attempt: 1, digest: 'digest of 1 2 3' })
      expect(await booked(ledger, claim.run)).toEqual({ in_flight: 3, pending: 2 })
      expect(await ledger.progress(claim.run)).toMatchObject({ planned: 5, requests: 1 })
      expect((await send(ledger, claim, 3)).batch).not.toBe(batch.batch)
    })

    it('is rebuilt as it was where its answer was lost, oldest first', async () => {
      const claim = await staged(ledger, rows(7))
      const lost = [await send(ledger, claim, 3), await send(ledger, claim, 2)]
      const other = await opened.reopen()
      expect(await other.unsettledBatches(claim.run, claim.segment)).toEqual(lost)
    })

    it.each([null, 408, 500, 503, 504])(
      'stays unsettled where the last answer was %s',
      async (status) => {
        const claim = await staged(ledger, rows(2))
        const batch = await send(ledger, claim)
        await ledger.recordNoAnswer(claim.run, batch, { ...unanswered, status })
        expect(await ledger.unsettledBatches(claim.run, claim.segment)).toEqual([batch])
      },
    )

    it('tells when the last was written down that may still be under way', async () => {
      const claim = await staged(ledger, rows(4))
      expect(await ledger.lastSentAt(claim.run)).toBeNull()
      const before = new Date().toISOString()
      const [one, two] = [await send(ledger, claim, 2), await send(ledger, claim, 2)]
      const last = (await ledger.lastSentAt(claim.run))!
      expect(last >= before && last <= new Date().toISOString()).toBe(true)
      await ledger.recordNoAnswer(claim.run, two, { ...unanswered, status: null })
      expect((await ledger.lastSentAt(claim.run))! <= last).toBe(true)
      await settle(ledger, claim, one, 'updated')
      expect(await ledger.lastSentAt(claim.run)).toBeNull()
    })

    it('is unsettled in its own segment only', async () => {
      const { id: run } = await openRun(ledger)
      await stage(ledger, run, rows(2_000), { rowsPerSegment: 1_000 })
      const [first, second] = await ledger.openSegments(run)
      const batch = await send(ledger, {
        run,
        segment: second!,
        fence: await ledger.claimSegment(run, second!),
      })
      expect(await ledger.unsettledBatches(run, first!)).toEqual([])
      expect(await ledger.unsettledBatches(run, second!)).toEqual([batch])
    })

    it('is sent again under its number, as a further attempt', async () => {
      const claim = await staged(ledger, rows(3))
      const { run, segment, fence } = claim
      const batch = await send(ledger, claim, 2)
      const again = await ledger.recordResend(run, segment, fence, batch, {
        ...resend,
        replayed: false,
      })
      expect(again).toEqual({ ...batch, attempt: 2 })
      expect(await ledger.books(run)).toMatchObject({ replayed: 0 })
      const third = await ledger.recordResend(run, segment, fence, again, resend)
      expect(third).toEqual({ ...batch, attempt: 3 })
      expect(await ledger.books(run)).toMatchObject({
        replayed: 2,
        states: { in_flight: 2, pending: 1 },
      })
      const items = third.items.map((item) => ({ ...item, isReplayed: true }))
      expect(await ledger.unsettledBatches(run, segment)).toEqual([{ ...third, items }])
      await settle(ledger, claim, third, 'updated')
      expect(await ledger.unsettledBatches(run, segment)).toEqual([])
      expect(await ledger.books(run)).toMatchObject({ replayed: 2, states: { updated: 2 } })
      expect(await ledger.progress(run)).toMatchObject({ requests: 3, updated: 2 })
    })

    it('whose answer is unknown goes in part into a new one, which flags its items alone', async () => {
      const claim = await staged(ledger, rows(4))
      const { run, segment, fence } = claim
      const batch = await send(ledger, claim, 3)
      const unknown = { status: null, requestId: null, durationMs: 1 }
      await ledger.recordNoAnswer(run, batch, unknown)
      await ledger.settleUnanswered(run, segment, fence, [outcome(2, 'updated')])
      const items = batch.items.filter(({ ordinal }) => ordinal !== 2)
      const part = { operation: 'batchUpsert', digest: 'other', items, replayed: true }
      const next = await ledger.recordSend(run, segment, fence, part)
      expect(next).toEqual({ batch: batch.batch + 1, attempt: 1, digest: 'other', items })
      const flagged = items.map((item) => ({ ...item, isReplayed: true }))
      expect(await ledger.unsettledBatches(run, segment)).toEqual([{ ...next, items: flagged }])
      expect(await ledger.books(run)).toMatchObject({ replayed: 2, states: { in_flight: 2 } })
      await ledger.release(run, segment, fence, next, unknown)
      const page = { after: 0, attemptsBelow: 1, limit: 9 }
      const planned = await ledger.nextPlanned(run, segment, page)
      expect(planned.map(({ ordinal, isReplayed = false }) => [ordinal, isReplayed])).toEqual([
        [1, true],
        [3, true],
        [4, false],
      ])
    })

    it('settles item by item', async () => {
      const claim = await staged(ledger, rows(5))
      const batch = await send(ledger, claim)
      await settle(ledger, claim, batch, ['created', 'updated', 'refused', 'pending', 'in_flight'])
      expect(await statesOf(ledger, claim.run)).toEqual({
        1: 'created',
        2: 'updated',
        3: 'refused',
        4: 'pending',
        5: 'in_flight',
      })
      expect(await ledger.unsettledBatches(claim.run, claim.segment)).toEqual([])
      expect(await ledger.progress(claim.run)).toMatchObject({
        created: 1,
        updated: 1,
        rejected: 2,
      })
      expect(await ledger.books(claim.run)).toMatchObject({ read: 5, inDoubt: 1 })
      const [created] = await ledger.report(claim.run, { states: ['created'], after: 0, limit: 1 })
      expect(created).toMatchObject({
        httpStatus: 201,
        recordId: 'record 1',
        requestId: 'req',
        code: null,
      })
      const [rejected] = await ledger.report(claim.run, {
        states: ['refused'],
        after: 0,
        limit: 1,
      })
      expect(rejected).toMatchObject({
        httpStatus: 422,
        recordId: null,
        code: 'request_invalid',
        reason: 'schema_invalid',
        field: '/properties/svc_email',
        detail: 'the service said why',
        requestId: 'req',
      })
    })

    it('with gaps between its items leaves the items in them as they are', async () => {
      const claim = await staged(ledger, rows(9))
      const { run } = claim
      const batch = await send(ledger, claim, 9, ({ ordinal }) => [1, 2, 4, 7, 8].includes(ordinal))
      const sent = {
        1: 'in_flight',
        2: 'in_flight',
        4: 'in_flight',
        7: 'in_flight',
        8: 'in_flight',
      }
      const planned = { 3: 'pending', 5: 'pending', 6: 'pending', 9: 'pending' }
      expect(await statesOf(ledger, run)).toEqual({ ...sent, ...planned })
      const answers = ['created', 'created', 'updated', 'updated', 'created'] as const
      const outcomes = batch.items.map(({ ordinal }, index) => outcome(ordinal, answers[index]!))
      // The answer was the record of another key: its id is not known.
      outcomes[1] = { ...outcomes[1]!, recordId: null }
      outcomes[4] = { ...outcomes[4]!, recordId: '8\u0000\u001a"' }
      await ledger.settle(run, claim.segment, claim.fence, batch, answered, outcomes)
      const items = await ledger.report(run, { states: ITEM_STATES, after: 0, limit: 10 })
      expect(
        items.map(({ ordinal, state, httpStatus, recordId }) => [
          ordinal,
          state,
          httpStatus,
          recordId,
        ]),
      ).toEqual([
        [1, 'created', 201, 'record 1'],
        [2, 'created', 201, null],
        [3, 'pending', null, null],
        [4, 'updated', 200, 'record 4'],
        [5, 'pending', null, null],
        [6, 'pending', null, null],
        [7, 'updated', 200, 'record 7'],
        [8, 'created', 201, '8\u0000\u001a"'],
        [9, 'pending', null, null],
      ])
    })

    it('spends an attempt of the items that were answered, and of no other', async () => {
      const claim = await staged(ledger, rows(3))
      const { run, segment, fence } = claim
      await settle(ledger, claim, await send(ledger, claim, 1), 'pending')
      await ledger.release(run, segment, fence, await send(ledger, claim, 3), answered)
      const planned = async (attemptsBelow: number) =>
        (await ledger.nextPlanned(run, segment, { after: 0, attemptsBelow, limit: 10 })).map(
          ({ ordinal, attempts }) => [ordinal, attempts],
        )
      expect(await planned(1)).toEqual([
        [2, 0],
        [3, 0],
      ])
      expect(await planned(2)).toEqual([
        [1, 1],
        [2, 0],
        [3, 0],
      ])
    })

    it('that succeeds in a later round keeps nothing of the refusal before', async () => {
      const claim = await staged(ledger, rows(1))
      await settle(ledger, claim, await send(ledger, claim), 'pending')
      await settle(ledger, claim, await send(ledger, claim), 'created')
      const [item] = await ledger.report(claim.run, { states: ['created'], after: 0, limit: 1 })
      expect(item).toMatchObject({
        httpStatus: 201,
        code: null,
        reason: null,
        field: null,
        detail: null,
      })
    })

    it('that was not carried out goes back to planned', async () => {
      const claim = await staged(ledger, rows(3))
      const { run, segment, fence } = claim
      const batch = await send(ledger, claim, 2)
      await ledger.release(run, segment, fence, batch, {
        status: 422,
        requestId: null,
        durationMs: 5,
      })
      expect(await booked(ledger, run)).toEqual({ pending: 3 })
      expect(await ledger.unsettledBatches(run, segment)).toEqual([])
      expect((await send(ledger, claim, 2)).items).toEqual(batch.items)
    })
  })

  describe('a segment', () => {
    it('that was taken over is out of the reach of who held it before', async () => {
      const stale = await staged(ledger, rows(4))
      const { run, segment, fence } = stale
      const batch = await send(ledger, stale, 2)
      const items = await ledger.nextPlanned(run, segment, { after: 0, attemptsBelow: 1, limit: 2 })
      const other = await opened.reopen()
      const claim = { run, segment, fence: await other.claimSegment(run, segment) }
      expect(claim.fence).toBeGreaterThan(fence)
      const late = [
        () =>
          ledger.recordSend(run, segment, fence, { operation: 'batchUpsert', digest: 'd', items }),
        () => ledger.recordResend(run, segment, fence, batch, resend),
        () => settle(ledger, stale, batch, 'created'),
        () => ledger.release(run, segment, fence, batch, answered),
        () => ledger.finishSegment(run, segment, fence),
      ]
      for (const work of late) await expect(work()).rejects.toThrow(FenceLost)
      expect(await booked(other, run)).toEqual({ in_flight: 2, pending: 2 })
      expect(await other.books(run)).toMatchObject({ replayed: 0 })
      expect(await other.openSegments(run)).toEqual([segment])
      expect(await accepted(other, rows(4))).toEqual([])
      // The new holder goes on where the old one stopped.
      const [again] = await other.unsettledBatches(run, segment)
      expect(again).toEqual(batch)
      await settle(
        other,
        claim,
        await other.recordResend(run, segment, claim.fence, again!, resend),
        'updated',
      )
      await settle(other, claim, await send(other, claim), 'created')
      await other.finishSegment(run, segment, claim.fence)
      expect(await booked(other, run)).toEqual({ created: 2, updated: 2 })
    })

    it('is open until it is finished', async () => {
      const { run, segment, fence } = await staged(ledger, rows(2))
      expect(await ledger.openSegments(run)).toEqual([segment])
      await ledger.finishSegment(run, segment, fence)
      expect(await ledger.openSegments(run)).toEqual([])
    })

    it('that does not exist cannot be claimed', async () => {
      const { run, segment } = await staged(ledger, rows(2))
      const elsewhere = { first: segment.last + 1, last: segment.last + 2 }
      await expect(ledger.claimSegment(run, elsewhere)).rejects.toThrow(FenceLost)
    })

    it('has a fence of its own', async () => {
      const { id: run } = await openRun(ledger)
      await stage(ledger, run, rows(2_000), { rowsPerSegment: 1_000 })
      const [first, second] = await ledger.openSegments(run)
      const claim = { run, segment: first!, fence: await ledger.claimSegment(run, first!) }
      await ledger.claimSegment(run, second!)
      await ledger.claimSegment(run, second!)
      await settle(ledger, claim, await send(ledger, claim), 'created')
      expect(await booked(ledger, run)).toEqual({ created: 50, pending: 1_950 })
    })
  })

  describe('the accepted hash', () => {
    it('is cleared while its key is in flight, and by nothing else', async () => {
      await accept(ledger, rows(3, 'a'))
      const claim = await staged(ledger, [...rows(2, 'b'), row(3, 'k3', 'a')])
      expect(await accepted(ledger, rows(3, 'a'))).toEqual([1, 2, 3])
      await send(ledger, claim, 1)
      expect(await accepted(ledger, rows(3, 'a'))).toEqual([2, 3])
      expect(await accepted(ledger, rows(3, 'b'))).toEqual([])
    })

    it('is set by created and updated only', async () => {
      await accept(ledger, rows(5, 'a'))
      const claim = await staged(ledger, rows(5, 'b'))
      await settle(ledger, claim, await send(ledger, claim), [
        'created',
        'updated',
        'refused',
        'pending',
        'in_flight',
      ])
      expect(await accepted(ledger, rows(5, 'b'))).toEqual([1, 2])
      expect(await accepted(ledger, rows(5, 'a'))).toEqual([])
    })

    it('is not set again by a release', async () => {
      await accept(ledger, rows(1, 'a'))
      const claim = await staged(ledger, rows(1, 'b'))
      const batch = await send(ledger, claim)
      await ledger.release(claim.run, claim.segment, claim.fence, batch, answered)
      expect(await accepted(ledger, rows(1, 'a'))).toEqual([])
      expect(await accepted(ledger, rows(1, 'b'))).toEqual([])
    })
  })

  describe('twins', () => {
    /** Settles a batch whose items were all written to these records. */
    const written = async (
      claim: Awaited<ReturnType<typeof staged>>,
      recordIds: readonly string[],
    ) => {
      const batch = await send(ledger, claim, recordIds.length)
      const outcomes = batch.items.map(({ ordinal }, index) =>
        outcome(ordinal, 'updated', { recordId: recordIds[index]! }),
      )
      await ledger.settle(claim.run, claim.segment, claim.fence, batch, answered, outcomes)
    }
    const twinsOf = async (run: number) =>
      (await ledger.collisions(run, { after: 0, limit: 100 })).map(({ ordinal }) => ordinal)

    it('are found within a batch: the later row stands', async () => {
      const claim = await staged(ledger, rows(4))
      await written(claim, ['r1', 'r2', 'r3', 'r1'])
      expect(await ledger.collisions(claim.run, { after: 0, limit: 100 })).toEqual([
        expect.objectContaining({
          ordinal: 4,
          key: 'k4',
          payload: '{"properties":{"id":"k4","name":"a"}}',
        }),
      ])
    })

    it('are older than the others where an earlier run has read them, whatever their place', async () => {
      const again = [row(3, 'k3'), row(4, 'k4')].map((item) => ({ ...item, line: 0 }))
      const claim = await staged(ledger, [...rows(2), ...again])
      await written(claim, ['r1', 'r2', 'r1', 'r1'])
      expect(await twinsOf(claim.run)).toEqual([1])
    })

    it('are found across batches, whichever is settled first', async () => {
      const claim = await staged(ledger, rows(4))
      const first = await send(ledger, claim, 2)
      const second = await send(ledger, claim, 2)
      for (const batch of [second, first])
        await ledger.settle(
          claim.run,
          claim.segment,
          claim.fence,
          batch,
          answered,
          batch.items.map(({ ordinal }) =>
            outcome(ordinal, 'updated', { recordId: `r${ordinal % 2}` }),
          ),
        )
      expect(await twinsOf(claim.run)).toEqual([3, 4])
    })

    it('of three rows the last one stands', async () => {
      const claim = await staged(ledger, rows(5))
      await written(claim, ['r1', 'r2'])
      await written(claim, ['r1', 'r3'])
      await written(claim, ['r1'])
      expect(await twinsOf(claim.run)).toEqual([5])
    })

    it('are of one run: what another run wrote to the record is no twin', async () => {
      await accept(ledger, rows(2))
      const claim = await staged(ledger, rows(2, 'b'))
      await settle(ledger, claim, await send(ledger, claim), 'updated')
      expect(await twinsOf(claim.run)).toEqual([])
    })
  })
}
