// Incremental readings: what the next one goes on from, and which rows it must not lose.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { RunState } from '../../../src/core/domain/books.ts'
import type { Watermark } from '../../../src/core/domain/watermark.ts'
import type { Ledger, StagedItem } from '../../../src/ledger/ledger.ts'
import {
  accept,
  badRow,
  booked,
  close,
  destination,
  never,
  openRun,
  row,
  rows,
  send,
  settle,
  stage,
  staged,
  statesOf,
  withdrawn,
  type Open,
  type Opened,
  type StageOptions,
} from './scene.ts'

type Task = Pick<NonNullable<Parameters<typeof staged>[2]>, 'task'>

const at = (value: string): Watermark => ({ column: 'id', order: 'number', value })

export function incrementalTests(open: Open): void {
  let opened: Opened
  let ledger: Ledger
  beforeEach(async () => {
    opened = await open()
    ledger = opened.ledger
  })
  afterEach(() => opened.cleanup())

  const reached = async (of = destination) => (await ledger.lastReading(of))?.watermark.value
  const left = async (run: number, after = 0, limit = 100) =>
    (await ledger.leftRows(run, { after, limit })).map(({ ordinal }) => ordinal)
  /** A run that read up to `value` and ends so. */
  async function read(value: string, state: RunState, items: readonly StagedItem[] = rows(1)) {
    const { run } = await staged(ledger, items, { watermark: at(value) })
    await closed(run, state)
    return run
  }
  const closed = async (run: number, state: RunState) => {
    await ledger.settleLeftovers(run)
    await ledger.closeRun(run, { state, books: await ledger.books(run) })
  }

  describe('the watermark of a destination', () => {
    it('is that of the last run that is complete, with its columns', async () => {
      expect(await ledger.lastReading(destination)).toBeNull()
      await read('1', 'complete')
      const run = await read('2', 'complete_with_rejects')
      expect(await ledger.lastReading(destination)).toEqual({
        run,
        watermark: at('2'),
        columns: ['id', 'name'],
      })
      await read('3', 'complete')
      expect(await (await opened.reopen()).lastReading(destination)).toMatchObject({
        watermark: at('3'),
      })
    })

    it('is not moved by a run that is cancelled, that fails, or that is not closed', async () => {
      await read('1', 'complete')
      await read('2', 'cancelled')
      await read('3', 'failed')
      expect(await reached()).toBe('1')
      const { run } = await staged(ledger, rows(1), { watermark: at('4') })
      expect(await reached()).toBe('1')
      await close(ledger, run)
      expect(await reached()).toBe('4')
    })

    it('is not moved by a plan, or by a run that notes none', async () => {
      await read('1', 'complete')
      const plan = await openRun(ledger, 'plan')
      await stage(ledger, plan.id, rows(1), { watermark: at('2') })
      expect(await reached()).toBe('1')
      await ledger.discard(plan.id)
      await accept(ledger, rows(1))
      expect(await reached()).toBe('1')
    })

    it('is what was staged last, where staging began anew', async () => {
      const { id } = await openRun(ledger)
      await stage(ledger, id, rows(1), { watermark: at('1') })
      await stage(ledger, id, rows(1), { watermark: at('2') })
      await close(ledger, id)
      expect(await reached()).toBe('2')
    })

    it('is its own: another org, type or property begins anew', async () => {
      await read('1', 'complete')
      for (const other of [
        { orgId: 2 },
        { sync: 'others' },
        { origin: 'https://other.example.com' },
        { objectType: 'svc_deal' },
        { matchingProperty: 'svc_email' },
      ])
        expect(await reached({ ...destination, ...other })).toBeUndefined()
    })

    it('counts no longer once a later run of the sync wrote through another address', async () => {
      const origin = 'https://other.example.com'
      await read('1', 'complete')
      const idle = await staged(ledger, rows(1, 'b'), { destination: { origin } })
      await close(ledger, idle.run)
      expect(await reached()).toBe('1')
      await accept(ledger, rows(1, 'b'), { destination: { origin }, watermark: at('2') })
      expect(await reached()).toBeUndefined()
      expect(await reached({ ...destination, origin })).toBe('2')
      await read('3', 'cancelled')
      expect(await reached()).toBeUndefined()
      await read('4', 'complete')
      expect(await reached()).toBe('4')
    })
  })

  describe('what a run left over', () => {
    it('is what was not accepted and has a key, in order, with its cells', async () => {
      await accept(ledger, [row(1, 'known')])
      const claim = await staged(ledger, [
        row(1, 'created'),
        row(2, 'refused'),
        row(3, 'known'),
        row(4, 'twice'),
        badRow(5, 'bad'),
        badRow(6, null),
        row(7, 'outcome_unknown'),
        row(8, 'not_sent'),
        row(9, 'twice'),
        row(10, 'differs'),
        row(11, 'equal'),
      ])
      const batch = await send(ledger, claim, 50, ({ ordinal }) => ordinal !== 8)
      await settle(ledger, claim, batch, [
        'created',
        'refused',
        'in_flight',
        'created',
        'created',
        'created',
      ])
      await ledger.recordVerified(claim.run, [
        { ordinal: 10, verdict: 'different', recordId: null, field: null },
        { ordinal: 11, verdict: 'equal', recordId: null, field: null },
      ])
      await close(ledger, claim.run)
      expect(await statesOf(ledger, claim.run)).toMatchObject({
        7: 'outcome_unknown',
        8: 'not_sent',
      })
      expect(await ledger.leftRows(claim.run, { after: 0, limit: 100 })).toEqual([
        { ordinal: 2, run: claim.run, raw: ['refused', 'a'] },
        { ordinal: 5, run: claim.run, raw: ['bad', 'x'] },
        { ordinal: 7, run: claim.run, raw: ['outcome_unknown', 'a'] },
        { ordinal: 8, run: claim.run, raw: ['not_sent', 'a'] },
        { ordinal: 10, run: claim.run, raw: ['differs', 'a'] },
      ])
      expect(await left(claim.run, 2, 2)).toEqual([5, 7])
      expect(await left(claim.run, 10)).toEqual([])
    })

    it('is less by what a later run brought in, and by nothing else', async () => {
      const run = await read('1', 'complete_with_rejects', [
        row(1, 'mended'),
        row(2, 'in doubt'),
        row(3, 'left'),
        row(4, 'elsewhere'),
        row(5, 'again'),
      ])
      await accept(ledger, [row(1, 'elsewhere')], { orgId: 2 })
      const later = await staged(ledger, [
        row(1, 'mended', 'b'),
        row(2, 'in doubt', 'b'),
        row(3, 'again'),
      ])
      expect(await left(run)).toEqual([1, 2, 3, 4, 5])
      await settle(ledger, later, await send(ledger, later), ['updated', 'in_flight', 'updated'])
      expect(await left(run)).toEqual([2, 3, 4])
      await close(ledger, later.run)
      expect(await left(run)).toEqual([2, 3, 4])
      // What is in flight, or was lost there, is brought in no longer; what is left is not written over a newer row for that.
      const lost = await staged(ledger, [row(1, 'mended', 'c'), row(2, 'again', 'c')])
      await send(ledger, lost)
      await close(ledger, lost.run)
      expect(await left(run)).toEqual([2, 3, 4, 5])
    })

    it('is not what a later run wrote with other values, whatever the service made of them', async () => {
      const run = await read('1', 'complete_with_rejects', [row(1, 'newer'), row(2, 'same')])
      const repair = await staged(ledger, [row(1, 'newer', 'b'), row(2, 'same')])
      await settle(ledger, repair, await send(ledger, repair), 'updated')
      await ledger.recordVerified(repair.run, [
        { ordinal: 1, verdict: 'different', recordId: null, field: null },
        { ordinal: 2, verdict: 'different', recordId: null, field: null },
      ])
      await close(ledger, repair.run)
      expect(await left(run)).toEqual([2])
    })

    /** A run that fails, after it has sent the first row, whose answer is lost. */
    async function fails(items: readonly StagedItem[], options: StageOptions & Task = {}) {
      const claim = await staged(ledger, items, { skipUnchanged: false, ...options })
      await send(ledger, claim, 1)
      return { run: claim.run, end: () => closed(claim.run, 'failed') }
    }
    const failed = async (...of: Parameters<typeof fails>) => {
      const { run, end } = await fails(...of)
      await end()
      return run
    }
    const come = async (run: number, page: object = {}) =>
      (await ledger.leftRows(run, { after: 0, limit: 100, ...page })).map((left) => [
        left.ordinal,
        left.run,
        ...left.raw,
      ])

    it('comes as a later run has read it, which did not bring it in', async () => {
      const names = ['doubtful', 'not_sent', 'wrong', 'twice', 'elsewhere', 'deletion_requested']
      const items = names.map((name, at) => row(at + 1, name))
      const run = await read('1', 'complete_with_rejects', items)
      const own = names.map((name, at) => [at + 1, run, name, 'a'])
      await failed([row(1, 'elsewhere', 'b')], { orgId: 2 })
      const lost = await fails([
        row(1, 'doubtful', 'b'),
        row(2, 'twice', 'b'),
        row(3, 'twice', 'c'),
        badRow(4, 'wrong'),
        withdrawn(5, 'deletion_requested'),
        row(6, 'not_sent', 'b'),
      ])
      expect(await come(run)).toEqual(own)
      await lost.end()
      const newer = [
        [1, lost.run, 'doubtful', 'b'],
        [2, lost.run, 'not_sent', 'b'],
        [3, lost.run, 'wrong', 'x'],
        [4, lost.run, 'twice', 'c'],
        own[4],
      ]
      expect(await come(run)).toEqual(newer)
      expect(await come(run, { after: 1, limit: 2 })).toEqual(newer.slice(1, 3))
      expect(await come(run, { keysRepeat: true })).toEqual(own)
      const last = await failed([row(1, 'doubtful', 'c')])
      expect((await come(run))[0]).toEqual([1, last, 'doubtful', 'c'])
    })

    it('comes as the run has it that read it last, whichever of them was tried again last', async () => {
      const names = ['one', 'other']
      const items = names.map((name, at) => row(at + 1, name))
      const again = (content: string, of = 1) => [{ ...row(1, 'one', content), of }]
      const old = await read('0', 'complete_with_rejects', [row(1, 'one', 'old')])
      const run = await read('1', 'complete_with_rejects', items)
      const lost = await failed([row(1, 'other', 'b'), row(2, 'one', 'b')])
      const newer = (one: number, content: string) => [
        [1, one, 'one', content],
        [2, lost, 'other', 'b'],
      ]
      await failed(again('old'), { task: { purpose: 'retry', of: old } })
      await failed(again('a'), { task: { purpose: 'retry', of: run } })
      expect(await come(run)).toEqual(newer(lost, 'b'))
      const corrected = await failed(again('c', 2), { task: { purpose: 'retry', of: lost } })
      expect(await come(run)).toEqual(newer(corrected, 'c'))
      // What an undo sends was read by nobody.
      await failed([row(1, 'one', 'undone')], { task: { purpose: 'undo', of: lost } })
      expect(await come(run)).toEqual(newer(corrected, 'c'))
    })

    it('stays as long as a run goes on from it, however old', async () => {
      const items = [row(1, 'a'), badRow(2, 'b')]
      const old = await read('1', 'complete_with_rejects', items)
      const last = await read('2', 'complete_with_rejects', items)
      const failed = await read('3', 'failed', items)
      expect(await ledger.prune(never)).toBeGreaterThan(0)
      expect(await booked(ledger, old)).toEqual({})
      expect(await booked(ledger, failed)).toEqual({})
      expect(await left(last)).toEqual([1, 2])
      await read('3', 'complete')
      await ledger.prune(never)
      expect(await booked(ledger, last)).toEqual({})
    })
  })

  it('tells which keys are staged, up to a row', async () => {
    const { id } = await openRun(ledger)
    await stage(ledger, id, [row(1, 'a'), badRow(2, "b'\0"), row(3, 'c'), row(4, 'd')])
    await stage(ledger, (await openRun(ledger, 'run', 'others')).id, [row(1, 'e')])
    const keys = await ledger.stagedKeys(id, ['a', "b'\0", 'd', 'e', 'é'], { upTo: 3 })
    expect(keys).toEqual(new Set(['a', "b'\0"]))
    expect(await ledger.stagedKeys(id, [], { upTo: 3 })).toEqual(new Set())
  })
}
