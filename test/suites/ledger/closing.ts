// Verifying and closing: what reading back showed, what is left over, the books, and what is kept afterwards.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FenceLost } from '../../../src/core/errors.ts'
import { isBalanced } from '../../../src/core/domain/books.ts'
import { ITEM_STATES, REJECT_STATES } from '../../../src/core/domain/outcomes.ts'
import type { Ledger, StagedItem, VerificationResult } from '../../../src/ledger/ledger.ts'
import {
  accept,
  accepted,
  answered,
  badRow,
  booked,
  close,
  never,
  openRun,
  outcome,
  row,
  rows,
  send,
  settle,
  stage,
  staged,
  statesOf,
  type Open,
  type Opened,
} from './scene.ts'

export function closingTests(open: Open): void {
  let opened: Opened
  let ledger: Ledger
  beforeEach(async () => {
    opened = await open()
    ledger = opened.ledger
  })
  afterEach(() => opened.cleanup())

  const verdict = (
    ordinal: number,
    of: VerificationResult['verdict'],
    more: Partial<VerificationResult> = {},
  ): VerificationResult => ({ recordId: null, field: null, ...more, ordinal, verdict: of })

  /** A run with an item in every state: ordinals in the order of `ITEM_STATES`. */
  async function everyState() {
    await accept(ledger, [row(1, 'known')])
    const items = [
      row(1, 'c'),
      row(2, 'u'),
      row(3, 'known'),
      row(4, 's'),
      badRow(5, 'i'),
      row(6, 'r'),
    ]
    const more = [row(7, 'f'), row(8, 'n'), row(9, 'p'), row(10, 's')]
    const claim = await staged(ledger, [...items, ...more])
    await settle(ledger, claim, await send(ledger, claim, 5), [
      'created',
      'updated',
      'refused',
      'in_flight',
      'pending',
    ])
    const batch = await send(ledger, claim, 2)
    await ledger.recordResend(claim.run, claim.segment, claim.fence, batch, {
      operation: 'batchUpsert',
      replayed: true,
    })
    return claim
  }

  describe('verifying', () => {
    const ordinals = async (run: number, every: number, after = 0, limit = 100) =>
      (await ledger.written(run, { after, every, limit })).map(({ ordinal }) => ordinal)

    it('reads every n-th written item, and always those in doubt', async () => {
      const claim = await staged(ledger, rows(20))
      const states = rows(20).map(({ ordinal }) =>
        ordinal === 7
          ? ('in_flight' as const)
          : ordinal === 8
            ? ('refused' as const)
            : ('created' as const),
      )
      await settle(ledger, claim, await send(ledger, claim), states)
      expect(await ordinals(claim.run, 1)).toEqual(
        rows(20).flatMap(({ ordinal }) => (ordinal === 8 ? [] : [ordinal])),
      )
      const sampled = await ordinals(claim.run, 5)
      expect(sampled).toHaveLength(5)
      expect(sampled).toContain(7)
      expect(await ordinals(claim.run, Number.MAX_SAFE_INTEGER)).toEqual([7])
      expect(await ordinals(claim.run, 1, 17)).toEqual([18, 19, 20])
      expect(await ordinals(claim.run, 1, 0, 3)).toEqual([1, 2, 3])
    })

    it('reads an item with what was sent', async () => {
      const claim = await staged(ledger, rows(2))
      const batch = await send(ledger, claim)
      await settle(ledger, claim, batch, ['created', 'in_flight'])
      const { key, payload, hash } = batch.items[0]!
      expect(await ledger.written(claim.run, { after: 0, every: 1, limit: 10 })).toEqual([
        {
          ordinal: 1,
          key,
          payload,
          hash,
          state: 'created',
          recordId: 'record 1',
          inDoubt: false,
          lastRead: null,
          answered: null,
          answeredKey: null,
          isHeld: false,
          known: expect.objectContaining({ run: claim.run, marks: 'marks of 1', seen: null }),
        },
        expect.objectContaining({ ordinal: 2, state: 'in_flight', recordId: null, inDoubt: true }),
      ])
    })

    it('changes nothing in a run that was closed: it stays as it was sealed', async () => {
      const claim = await staged(ledger, rows(2))
      await settle(ledger, claim, await send(ledger, claim), ['created', 'in_flight'])
      await close(ledger, claim.run)
      const before = await ledger.books(claim.run)
      expect(before).toMatchObject({ inDoubt: 1, states: { created: 1, outcome_unknown: 1 } })
      await ledger.recordVerified(claim.run, [
        { ordinal: 2, verdict: 'equal', recordId: 'late', field: null },
      ])
      expect(await ledger.books(claim.run)).toEqual(before)
      expect(await accepted(ledger, rows(2))).toEqual([1])
    })

    it('reads what nobody answered', async () => {
      const claim = await staged(ledger, rows(2))
      await send(ledger, claim, 1)
      expect(await ordinals(claim.run, Number.MAX_SAFE_INTEGER)).toEqual([1])
    })

    it('settles what is in doubt: equal is updated, anything else failed', async () => {
      const claim = await staged(ledger, rows(3))
      await settle(ledger, claim, await send(ledger, claim), 'in_flight')
      await ledger.recordVerified(claim.run, [
        verdict(1, 'equal', { recordId: 'found' }),
        verdict(2, 'different', { recordId: 'other', field: '/properties/name' }),
        verdict(3, 'missing'),
      ])
      expect(await statesOf(ledger, claim.run)).toEqual({
        1: 'updated',
        2: 'outcome_unknown',
        3: 'outcome_unknown',
      })
      const items = await ledger.report(claim.run, { states: ITEM_STATES, after: 0, limit: 10 })
      expect(items.map(({ inDoubt, recordId }) => [inDoubt, recordId])).toEqual([
        [false, 'found'],
        [true, 'other'],
        [true, null],
      ])
      expect(items[1]).toMatchObject({ field: '/properties/name' })
      expect(await ledger.books(claim.run)).toMatchObject({ inDoubt: 2 })
      expect(await accepted(ledger, rows(3))).toEqual([1])
    })

    it('keeps the state of what was written; what differs is due again', async () => {
      const claim = await staged(ledger, rows(3))
      await settle(ledger, claim, await send(ledger, claim), ['created', 'updated', 'created'])
      expect(await accepted(ledger, rows(3))).toEqual([1, 2, 3])
      await ledger.recordVerified(claim.run, [
        verdict(1, 'different', { field: '/properties/name' }),
        verdict(2, 'missing'),
        verdict(3, 'equal'),
      ])
      expect(await booked(ledger, claim.run)).toEqual({ created: 2, updated: 1 })
      expect(await ledger.books(claim.run)).toMatchObject({ inDoubt: 0 })
      expect(await accepted(ledger, rows(3))).toEqual([3])
    })
  })

  describe('what was read back', () => {
    const told = { reason: 'read_back_different', detail: 'd', column: 'name', value: 'v' }

    it('is not read again: whoever begins again goes on with the rest', async () => {
      const claim = await staged(ledger, rows(4))
      await settle(ledger, claim, await send(ledger, claim), [
        'created',
        'updated',
        'in_flight',
        'created',
      ])
      await ledger.recordVerified(claim.run, [
        verdict(1, 'equal'),
        verdict(2, 'different'),
        verdict(3, 'missing'),
      ])
      const left = await ledger.written(claim.run, { after: 0, every: 1, limit: 10 })
      expect(left.map(({ ordinal }) => ordinal)).toEqual([4])
    })

    it('is counted in the books, told with its reason, and left over', async () => {
      const claim = await staged(ledger, rows(5))
      await settle(ledger, claim, await send(ledger, claim), 'created')
      await ledger.recordVerified(claim.run, [
        verdict(1, 'equal'),
        verdict(2, 'different', { told }),
        verdict(3, 'missing', { told: { ...told, reason: 'read_back_missing' } }),
        verdict(4, 'normalised'),
      ])
      expect((await ledger.books(claim.run)).readBack).toEqual({
        equal: 1,
        different: 1,
        missing: 1,
        normalised: 1,
      })
      const groups = await ledger.rejectGroups(claim.run)
      expect(groups.map(({ reason, state, items }) => [reason, state, items]).toSorted()).toEqual([
        ['read_back_different', 'created', 1],
        ['read_back_missing', 'created', 1],
      ])
      await close(ledger, claim.run)
      const page = { states: REJECT_STATES, after: 0, limit: 10, isLeft: true }
      expect(await ledger.report(claim.run, page)).toEqual([])
      const left = await ledger.report(claim.run, { ...page, readBack: true })
      expect(left.map(({ ordinal, raw }) => [ordinal, raw !== null])).toEqual([
        [2, true],
        [3, true],
      ])
      expect(left[0]).toMatchObject({ ...told, state: 'created' })
      expect(await accepted(ledger, rows(4))).toEqual([1, 4])
    })

    it('of a record that two keys write is that of the last row; the other is overwritten, and not left', async () => {
      const pair = [row(1, 'A'), row(2, 'a'), row(3, 'own')]
      const claim = await staged(ledger, pair)
      const batch = await send(ledger, claim)
      const outcomes = [1, 2, 3].map((ordinal) =>
        outcome(ordinal, 'created', { recordId: ordinal === 3 ? 'own' : 'same' }),
      )
      await ledger.settle(claim.run, claim.segment, claim.fence, batch, answered, outcomes)
      const [twin] = await ledger.collisions(claim.run, { after: 0, limit: 2 })
      expect(twin).toMatchObject({ ordinal: 2 })
      await ledger.recordCollision(claim.run, 2, {
        reason: 'same_record',
        detail: 'row 2 comes last',
      })
      const { readBack } = await ledger.books(claim.run)
      expect(readBack).toMatchObject({ overwritten: 1, different: 0 })
      expect(await ledger.written(claim.run, { after: 0, every: 1, limit: 9 })).toMatchObject([
        { ordinal: 2 },
        { ordinal: 3 },
      ])
      await close(ledger, claim.run)
      expect(await ledger.retryRows(claim.run, {}, { after: 0, limit: 9 })).toEqual([])
      // The last row alone is believed; with the other one in the file both are due.
      expect(await accepted(ledger, [row(1, 'a'), row(2, 'own')])).toEqual([1, 2])
      expect(await accepted(ledger, [row(1, 'A')])).toEqual([])
      expect(await accepted(ledger, pair)).toEqual([3])
      // Who writes the record under the other key takes back what was accepted under this one.
      const alone = await staged(ledger, [row(1, 'A', 'b')])
      const again = await send(ledger, alone)
      await ledger.settle(alone.run, alone.segment, alone.fence, again, answered, [
        outcome(1, 'updated', { recordId: 'same' }),
      ])
      await close(ledger, alone.run)
      expect(await accepted(ledger, [row(1, 'a'), row(2, 'own')])).toEqual([2])
    })

    describe('what an answer shows otherwise than it was sent', () => {
      const told = (reason: string) => ({
        reason,
        field: '/properties/name',
        detail: 'sent and answered',
        column: 'name',
        value: '"a"',
      })
      const state = [
        'verified',
        'reason',
        'field',
        'detail',
        '"column"',
        'value',
        'record_id',
      ].join(', ')
      const items = (run: number) =>
        `SELECT ${state} FROM items WHERE run = ${run} ORDER BY ordinal`
      const blank = { reason: null, field: null, detail: null, column: null, value: null }

      it('counts as different, is not accepted, and is read back before it is told', async () => {
        const claim = await staged(ledger, rows(5))
        const batch = await send(ledger, claim)
        const { run } = claim
        const other = { recordId: null, answered: told('answered_other_record') }
        await ledger.settle(run, claim.segment, claim.fence, batch, answered, [
          outcome(1, 'created', { answered: { ...told('answered_different'), key: 'K1' } }),
          outcome(2, 'updated', { answered: told('answered_different') }),
          outcome(3, 'updated', { answered: told('answered_different') }),
          outcome(4, 'created', other),
          outcome(5, 'created', { answered: null }),
        ])
        expect((await ledger.books(run)).readBack).toMatchObject({ different: 4, equal: 0 })
        const none = { after: 0, every: Number.MAX_SAFE_INTEGER, limit: 9 }
        const due = await ledger.written(run, none)
        expect(due.map((item) => [item.ordinal, item.answered, item.answeredKey])).toEqual([
          [1, 'answered_different', 'K1'],
          [2, 'answered_different', null],
          [3, 'answered_different', null],
          [4, 'answered_other_record', null],
        ])
        expect(await ledger.written(run, { ...none, every: 1 })).toHaveLength(5)
        expect(await ledger.written(run, { ...none, every: null })).toEqual([])
        const missing = { reason: 'read_back_missing', detail: 'gone', column: null, value: null }
        const read = { recordId: null, field: null }
        await ledger.recordVerified(run, [
          { ...read, ordinal: 1, verdict: 'equal', marks: 'm' },
          { ...read, ordinal: 2, verdict: 'normalised', readBack: 'digest', marks: 'm' },
          { ...read, ordinal: 3, verdict: 'missing', told: missing },
          { ...read, ordinal: 4, verdict: 'different', recordId: 'the right one' },
        ])
        expect(await opened.query(items(run))).toEqual([
          { verified: 'equal', ...blank, record_id: 'record 1' },
          { verified: 'equal', ...blank, record_id: 'record 2' },
          { verified: 'missing', ...blank, ...missing, record_id: 'record 3' },
          {
            verified: 'different',
            ...told('answered_other_record'),
            record_id: 'the right one',
          },
          { verified: null, ...blank, record_id: 'record 5' },
        ])
        expect(await ledger.written(run, none)).toEqual([])
        expect((await ledger.books(run)).readBack).toEqual({
          equal: 1,
          normalised: 1,
          missing: 1,
          different: 1,
        })
        await close(ledger, run)
        expect(await accepted(ledger, rows(5))).toEqual([1, 2, 5])
      })

      it('and is not read back, is left over, and not accepted', async () => {
        const claim = await staged(ledger, rows(2))
        const batch = await send(ledger, claim)
        const { run } = claim
        await ledger.settle(run, claim.segment, claim.fence, batch, answered, [
          outcome(1, 'created', { answered: told('answered_different') }),
          outcome(2, 'created'),
        ])
        await close(ledger, run)
        const retried = await ledger.retryRows(run, {}, { after: 0, limit: 9 })
        expect(retried.map(({ ordinal }) => ordinal)).toEqual([1])
        expect(await accepted(ledger, rows(2))).toEqual([2])
      })

      it('of a record that two keys write is what its last sending shows', async () => {
        for (const last of [null, told('answered_different')]) {
          const claim = await staged(ledger, [row(1, 'A', 'x'), row(2, 'a', 'x')], {
            skipUnchanged: false,
          })
          const batch = await send(ledger, claim)
          const { run } = claim
          const same = { recordId: 'same', answered: told('answered_different') }
          await ledger.settle(run, claim.segment, claim.fence, batch, answered, [
            outcome(1, 'updated', same),
            outcome(2, 'updated', same),
          ])
          const overwritten = { reason: 'same_record', detail: 'row 2 comes last' }
          await ledger.recordCollision(run, 2, { ...overwritten, answered: last })
          expect(await opened.query(items(run))).toEqual([
            { verified: 'overwritten', ...blank, ...overwritten, record_id: 'same' },
            { verified: last && 'answered', ...blank, ...last, record_id: 'same' },
          ])
          await close(ledger, run)
          expect(await accepted(ledger, [row(1, 'a', 'x')])).toEqual(last === null ? [1] : [])
        }
      })
    })

    it('gives a row in doubt a reason, unless the service gave one', async () => {
      const claim = await staged(ledger, rows(3))
      const batch = await send(ledger, claim)
      const silent = { code: null, reason: null, field: null, detail: null }
      await ledger.settle(claim.run, claim.segment, claim.fence, batch, answered, [
        outcome(1, 'in_flight', silent),
        outcome(2, 'in_flight', { ...silent, code: 'internal' }),
        outcome(3, 'created'),
      ])
      await close(ledger, claim.run)
      for (const isLeft of [false, true]) {
        const groups = await ledger.rejectGroups(claim.run, { isLeft })
        expect(groups.map(({ state, code, reason }) => [state, code, reason])).toEqual([
          ['outcome_unknown', null, 'in_doubt'],
          ['outcome_unknown', 'internal', null],
        ])
      }
    })

    it('tells what else is wrong with a row, in a group of its own', async () => {
      const more = [
        { reason: 'not_a_number', column: 'age', field: 'svc_age', value: 'x', detail: 'a number' },
      ]
      const { id: run } = await openRun(ledger)
      await stage(ledger, run, [{ ...badRow(1, 'k'), more } as StagedItem, badRow(2, 'l')])
      const groups = await ledger.rejectGroups(run)
      expect(groups.map(({ reason, items, isMore }) => [reason, items, isMore])).toContainEqual([
        'not_a_number',
        1,
        true,
      ])
      expect(groups.filter(({ isMore }) => !isMore)).toMatchObject([{ items: 2 }])
      const [item] = await ledger.report(run, { states: ['invalid'], after: 0, limit: 1 })
      expect(item!.more).toEqual(more)
    })

    it('keeps what was sent before, and what was seen of it, for the next run', async () => {
      const times = async (
        marks: string,
        seen: string | null,
        of: VerificationResult['verdict'],
      ) => {
        const claim = await staged(ledger, [{ ...row(1, 'k'), hash: marks } as StagedItem])
        const batch = await send(ledger, claim)
        await ledger.settle(claim.run, claim.segment, claim.fence, batch, answered, [
          { ...outcome(1, 'updated'), marks },
        ])
        const [item] = await ledger.written(claim.run, { after: 0, every: 1, limit: 1 })
        await ledger.recordVerified(claim.run, [verdict(1, of, { marks, readBack: 'r', seen })])
        await close(ledger, claim.run)
        return { run: claim.run, known: item!.known, lastRead: item!.lastRead }
      }
      const first = await times('one', 'seen-1', 'different')
      expect(first).toMatchObject({ lastRead: null, known: { marks: 'one', lastRun: null } })
      const second = await times('two', 'seen-2', 'normalised')
      expect(second).toMatchObject({
        lastRead: 'r',
        known: {
          run: second.run,
          marks: 'two',
          lastRun: first.run,
          lastBaseline: 'one',
          seenRun: first.run,
          seen: 'seen-1',
        },
      })
      // A row that is met again says that it is kept in a form of its own, until it is sent as it is.
      const meets = async (hash: string) => {
        const { id: run } = await openRun(ledger)
        await stage(ledger, run, [{ ...row(1, 'k'), hash } as StagedItem])
        const books = await ledger.books(run)
        await close(ledger, run)
        return [books.states.unchanged, books.readBack!.normalised]
      }
      expect(await meets('two')).toEqual([1, 1])
      const third = await times('three', null, 'equal')
      expect(third.known).toMatchObject({
        lastBaseline: 'two',
        seenRun: second.run,
        seen: 'seen-2',
      })
      expect(await meets('three')).toEqual([1, 0])
    })

    it('is known to a later run, and never to the run that read it', async () => {
      const first = await staged(ledger, rows(2))
      await settle(ledger, first, await send(ledger, first), 'created')
      const lastRead = async (run: number) =>
        (await ledger.written(run, { after: 0, every: 1, limit: 10 })).map((item) => item.lastRead)
      await ledger.recordVerified(first.run, [verdict(1, 'different', { readBack: 'digest' })])
      expect(await lastRead(first.run)).toEqual([null])
      await close(ledger, first.run)
      const second = await staged(ledger, rows(2))
      await settle(ledger, second, await send(ledger, second), 'updated')
      expect(await lastRead(second.run)).toEqual(['digest'])
    })
  })

  describe('what is left over', () => {
    it('gets a terminal state: sent is failed and in doubt, planned is unsent', async () => {
      const { run } = await everyState()
      const before = await statesOf(ledger, run)
      expect(Object.values(before)).toEqual([
        'created',
        'updated',
        'unchanged',
        'superseded',
        'invalid',
        'refused',
        'in_flight',
        'in_flight',
        'in_flight',
        'pending',
      ])
      await ledger.settleLeftovers(run)
      expect(await statesOf(ledger, run)).toEqual({
        ...before,
        7: 'outcome_unknown',
        8: 'outcome_unknown',
        9: 'outcome_unknown',
        10: 'not_sent',
      })
      const books = await ledger.books(run)
      expect(books).toMatchObject({ read: 10, replayed: 2, inDoubt: 3 })
      expect(isBalanced(books)).toBe(true)
      await ledger.settleLeftovers(run)
      expect(await ledger.books(run)).toEqual(books)
    })

    it('is out of the reach of those who worked on it', async () => {
      const claim = await staged(ledger, rows(4))
      const batch = await send(ledger, claim, 2)
      const items = await ledger.nextPlanned(claim.run, claim.segment, {
        after: 0,
        attemptsBelow: 1,
        limit: 2,
      })
      await (await opened.reopen()).settleLeftovers(claim.run)
      await expect(settle(ledger, claim, batch, 'created')).rejects.toThrow(FenceLost)
      const note = { operation: 'batchUpsert', digest: 'd', items }
      await expect(ledger.recordSend(claim.run, claim.segment, claim.fence, note)).rejects.toThrow(
        FenceLost,
      )
      expect(await booked(ledger, claim.run)).toEqual({ outcome_unknown: 2, not_sent: 2 })
      // Nor is there anything for somebody who claims the segment afterwards.
      const late = { ...claim, fence: await ledger.claimSegment(claim.run, claim.segment) }
      expect(await ledger.unsettledBatches(late.run, late.segment)).toEqual([])
      const options = { after: 0, attemptsBelow: 9, limit: 9 }
      expect(await ledger.nextPlanned(late.run, late.segment, options)).toEqual([])
    })

    it('of a source that was not read to its end balances too', async () => {
      const { id } = await openRun(ledger)
      const fence = await ledger.beginStage(id, ['id'])
      await ledger.stageItems(id, fence, [...rows(2), badRow(3, null)])
      await (await opened.reopen()).settleLeftovers(id)
      await expect(ledger.stageItems(id, fence, [row(4, 'late')])).rejects.toThrow(FenceLost)
      const books = await ledger.books(id)
      expect(books).toMatchObject({ read: 3, states: { not_sent: 2, invalid: 1 } })
      expect(isBalanced(books)).toBe(true)
    })

    it('is settled to the last row: 2,001 of them', async () => {
      const { id } = await openRun(ledger)
      await stage(ledger, id, rows(2_001))
      await ledger.settleLeftovers(id)
      expect(await booked(ledger, id)).toEqual({ not_sent: 2_001 })
      expect(isBalanced(await ledger.books(id))).toBe(true)
    })
  })

  describe('a closed run', () => {
    it('keeps its counts, and the rows of those items that a person may want to repair', async () => {
      const { run } = await everyState()
      await ledger.settleLeftovers(run)
      const books = await ledger.books(run)
      await ledger.closeRun(run, { state: 'failed', reason: 'abandoned', message: 'gone', books })
      const closed = await ledger.run(run)
      expect(closed).toMatchObject({
        state: 'failed',
        reason: 'abandoned',
        message: 'gone',
        counts: books,
      })
      expect(new Date(closed!.closedAt!).toISOString()).toBe(closed!.closedAt)
      expect(await ledger.books(run)).toEqual(books)
      const items = await ledger.report(run, { states: ITEM_STATES, after: 0, limit: 100 })
      const kept = items.filter(({ raw }) => raw !== null)
      expect(kept.map(({ state }) => state)).toEqual(
        items.map(({ state }) => state).filter((state) => REJECT_STATES.includes(state)),
      )
      expect(kept[0]).toMatchObject({ state: 'invalid', raw: ['i', 'x'] })
    })

    it('loses its items and requests when it is old, and nothing else', async () => {
      const run = await accept(ledger, rows(3))
      const before = await ledger.run(run)
      const { run: live } = await staged(ledger, rows(2, 'b'))
      expect(await ledger.prune(before!.closedAt!)).toBe(0)
      expect(await booked(ledger, run)).toEqual({ created: 3 })
      expect(await ledger.prune(never)).toBeGreaterThan(0)
      expect(await booked(ledger, run)).toEqual({})
      expect(await ledger.run(run)).toEqual(before)
      expect(await booked(ledger, live)).toEqual({ pending: 2 })
      await close(ledger, live)
      expect(await accepted(ledger, rows(3))).toEqual([1, 2, 3])
      await ledger.prune(never)
      expect(await ledger.prune(never)).toBe(0)
    })
  })

  describe('a plan', () => {
    it('is discarded without a trace', async () => {
      const { id } = await openRun(ledger, 'plan')
      await stage(ledger, id, rows(3))
      await ledger.discard(id)
      expect(await ledger.run(id)).toBeNull()
      expect(await statesOf(ledger, id)).toEqual({})
      expect(await ledger.openSegments(id)).toEqual([])
    })

    it('is what is discarded: a run is not', async () => {
      const { run, segment } = await staged(ledger, rows(3))
      await ledger.discard(run)
      expect(await booked(ledger, run)).toEqual({ pending: 3 })
      expect(await ledger.openSegments(run)).toEqual([segment])
      expect(await ledger.run(run)).not.toBeNull()
    })

    it('that was kept or forgotten is pruned like a run, and keeps its number', async () => {
      const { id } = await openRun(ledger, 'plan')
      await stage(ledger, id, rows(3))
      const found = { verdict: 'create', recordId: null, before: null, sent: '{}' } as const
      await ledger.recordImages(id, [{ ordinal: 1, ...found }])
      await ledger.saveStepState(id, '@kept', '{}')
      expect(await ledger.prune(never)).toBeGreaterThan(0)
      expect(await statesOf(ledger, id)).toEqual({})
      expect(await ledger.imagesOf(id, [1])).toEqual(new Map())
      expect(await ledger.loadStepState(id, '@kept')).toBe('{}')
      expect((await openRun(ledger, 'plan')).id).toBe(id - 1)
    })
  })

  describe('reports', () => {
    it('show the items of the given states in order, page by page', async () => {
      const { run } = await everyState()
      const page = async (
        states: typeof ITEM_STATES | readonly ['invalid', 'created'],
        after: number,
        limit: number,
      ) => (await ledger.report(run, { states, after, limit })).map(({ ordinal }) => ordinal)
      expect(await page(ITEM_STATES, 0, 100)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
      expect(await page(ITEM_STATES, 4, 2)).toEqual([5, 6])
      expect(await page(['invalid', 'created'], 0, 100)).toEqual([1, 5])
      expect(await ledger.report(run, { states: [], after: 0, limit: 100 })).toEqual([])
    })

    it('show an invalid row with its place, its value and what was expected', async () => {
      const { run } = await everyState()
      const [item] = await ledger.report(run, { states: ['invalid'], after: 0, limit: 1 })
      expect(item).toEqual({
        ordinal: 5,
        line: 6,
        of: null,
        attempt: null,
        key: 'i',
        state: 'invalid',
        raw: ['i', 'x'],
        httpStatus: null,
        recordId: null,
        code: 'row_invalid',
        reason: 'not_a_date',
        column: 'born',
        field: 'svc_born',
        value: 'x',
        more: [],
        detail: 'expected a day',
        requestId: null,
        inDoubt: false,
      })
    })

    it('group rejects by what is wrong, most frequent first, each with its first row', async () => {
      const items = [
        badRow(1, null, 'rare'),
        badRow(2, null, 'often'),
        row(3, 'x'),
        badRow(4, 'y', 'often'),
      ]
      const claim = await staged(ledger, [...items, row(5, 'y'), row(6, 'z'), row(7, 'w')])
      const batch = await send(ledger, claim, 3)
      await settle(ledger, claim, batch, ['created', 'refused', 'refused'])
      const groups = await ledger.rejectGroups(claim.run)
      expect(groups).toEqual([
        {
          state: 'invalid',
          code: 'row_invalid',
          reason: 'often',
          column: 'born',
          field: 'svc_born',
          items: 2,
          example: 2,
        },
        {
          state: 'refused',
          code: 'request_invalid',
          reason: 'schema_invalid',
          column: null,
          field: '/properties/svc_email',
          items: 2,
          example: 5,
        },
        expect.objectContaining({ reason: 'rare', items: 1, example: 1 }),
      ])
      await ledger.release(
        claim.run,
        claim.segment,
        claim.fence,
        await send(ledger, claim),
        answered,
      )
      await ledger.settleLeftovers(claim.run)
      expect((await ledger.rejectGroups(claim.run)).at(-1)).toMatchObject({
        state: 'not_sent',
        items: 1,
        example: 7,
      })
    })
  })
}
