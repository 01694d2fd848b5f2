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
  type Open,
  type Opened,
} from './scene.ts'

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
    await ledger.settleLeftovers(run)
    await ledger.closeRun(run, { state, books: await ledger.books(run) })
    return run
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
        row(2, 'rejected'),
        row(3, 'known'),
        row(4, 'twice'),
        badRow(5, 'bad'),
        badRow(6, null),
        row(7, 'failed'),
        row(8, 'unsent'),
        row(9, 'twice'),
        row(10, 'differs'),
        row(11, 'equal'),
      ])
      const batch = await send(ledger, claim, 50, ({ ordinal }) => ordinal !== 8)
      await settle(ledger, claim, batch, [
        'created',
        'rejected',
        'sent',
        'created',
        'created',
        'created',
      ])
      await ledger.recordVerified(claim.run, [
        { ordinal: 10, verdict: 'different', recordId: null, field: null },
        { ordinal: 11, verdict: 'equal', recordId: null, field: null },
      ])
      await close(ledger, claim.run)
      expect(await statesOf(ledger, claim.run)).toMatchObject({ 7: 'failed', 8: 'unsent' })
      expect(await ledger.leftRows(claim.run, { after: 0, limit: 100 })).toEqual([
        { ordinal: 2, raw: ['rejected', 'a'] },
        { ordinal: 5, raw: ['bad', 'x'] },
        { ordinal: 7, raw: ['failed', 'a'] },
        { ordinal: 8, raw: ['unsent', 'a'] },
        { ordinal: 10, raw: ['differs', 'a'] },
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
      await settle(ledger, later, await send(ledger, later), ['updated', 'sent', 'updated'])
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
