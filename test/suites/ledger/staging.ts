// Staging: one item per row, and what is decided about each before anything is sent.

import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FenceLost } from '../../../src/core/errors.ts'
import type { ItemState } from '../../../src/core/domain/outcomes.ts'
import type { Ledger, StagedItem } from '../../../src/ledger/ledger.ts'
import {
  accept,
  accepted,
  badRow,
  booked,
  close,
  offBalance,
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
import { runs } from '../../runs.ts'

/** What must be decided: the last valid row of a key stands, unless the destination has accepted it as it is. */
function decisions(
  items: readonly StagedItem[],
  acceptedRows: readonly StagedItem[],
): Record<number, ItemState> {
  const last = new Map<string, number>()
  for (const item of items) if (item.valid) last.set(item.key, item.ordinal)
  const known = new Map(acceptedRows.map((item) => [item.key, item.valid ? item.hash : null]))
  return Object.fromEntries(
    items.map((item): [number, ItemState] => {
      if (!item.valid) return [item.ordinal, 'invalid']
      if (last.get(item.key) !== item.ordinal) return [item.ordinal, 'superseded']
      return [item.ordinal, known.get(item.key) === item.hash ? 'unchanged' : 'pending']
    }),
  )
}

export function stagingTests(open: Open): void {
  let opened: Opened
  let ledger: Ledger
  beforeEach(async () => {
    opened = await open()
    ledger = opened.ledger
  })
  afterEach(() => opened.cleanup())

  /** Stages the rows in a run of their own and says what was decided about each. */
  async function decided(items: readonly StagedItem[], options = {}) {
    const { id } = await openRun(ledger)
    const { counts } = await stage(ledger, id, items, options)
    const states = await statesOf(ledger, id)
    expect(await offBalance(ledger, id)).toBe(0)
    const {
      pending: planned = 0,
      superseded = 0,
      unchanged = 0,
      invalid = 0,
    } = await booked(ledger, id)
    expect(counts).toEqual({ planned, superseded, unchanged, invalid })
    await close(ledger, id)
    return states
  }

  it('takes keys for different that differ after a U+0000', async () => {
    const keys = ['a', 'a\0', 'a\0b', 'a\u001a0', 'a\0b']
    const items = keys.map((key, index) => row(index + 1, key))
    expect(await decided(items)).toEqual({
      1: 'pending',
      2: 'pending',
      3: 'superseded',
      4: 'pending',
      5: 'pending',
    })
  })

  describe('staging', () => {
    it('keeps a stale reader out: a later one has begun anew', async () => {
      const { id } = await openRun(ledger)
      const stale = await ledger.beginStage(id, ['id'])
      await ledger.stageItems(id, stale, [row(1, 'old')])
      const other = await opened.reopen()
      const fence = await other.beginStage(id, ['id'])
      await expect(ledger.stageItems(id, stale, [row(2, 'late')])).rejects.toThrow(FenceLost)
      const source = { rows: 1, digest: 'd', rowsPerSegment: 10 }
      await expect(ledger.finishStage(id, stale, source)).rejects.toThrow(FenceLost)
      expect(await statesOf(ledger, id)).toEqual({})
      await other.stageItems(id, fence, [row(1, 'new')])
      await other.finishStage(id, fence, source)
      const [item] = await ledger.report(id, { states: ['pending'], after: 0, limit: 10 })
      expect(item).toMatchObject({ ordinal: 1, key: 'new' })
    })

    it('starts again from the first row: nothing of an earlier attempt stays', async () => {
      const { id: run } = await openRun(ledger)
      await stage(ledger, run, [...rows(3), badRow(4, null)])
      await ledger.beginStage(run, ['id'])
      expect(await ledger.books(run)).toMatchObject({ read: 0 })
      expect(await booked(ledger, run)).toEqual({})
      expect(await ledger.openSegments(run)).toEqual([])
      expect(await ledger.run(run)).toMatchObject({ rowsRead: null })
      await stage(ledger, run, rows(2))
      expect(await booked(ledger, run)).toEqual({ pending: 2 })
      expect(await offBalance(ledger, run)).toBe(0)
    })

    it('does not begin again where a segment is being sent, or was', async () => {
      const { run, segment, fence } = await staged(ledger, rows(3))
      // A worker that stood still until another one had staged the run.
      const other = await opened.reopen()
      await expect(other.beginStage(run, ['id'])).rejects.toThrow(FenceLost)
      await ledger.finishSegment(run, segment, fence)
      await expect(other.beginStage(run, ['id'])).rejects.toThrow(FenceLost)
      expect(await booked(ledger, run)).toEqual({ pending: 3 })
      expect(await ledger.run(run)).toMatchObject({ rowsRead: 3 })
    })

    it('begins only where nobody has staged since the attempt began, if it says when that was', async () => {
      const { id: run, stageFence } = await openRun(ledger)
      const fence = await ledger.beginStage(run, ['id'], stageFence)
      await ledger.stageItems(run, fence, rows(2))
      const other = await opened.reopen()
      await expect(other.beginStage(run, ['late'], stageFence)).rejects.toThrow(FenceLost)
      expect(await ledger.run(run)).toMatchObject({ sourceColumns: ['id'], stageFence: fence })
      expect(await statesOf(ledger, run)).toEqual({ 1: 'pending', 2: 'pending' })
      await expect(other.beginStage(run, ['id'], fence)).resolves.toBeGreaterThan(fence)
    })

    it('writes a chunk whole or not at all', async () => {
      const { id } = await openRun(ledger)
      const fence = await ledger.beginStage(id, ['id'])
      await ledger.stageItems(id, fence, rows(2))
      await expect(ledger.stageItems(id, fence, [row(3, 'k3'), row(2, 'again')])).rejects.toThrow()
      expect(await statesOf(ledger, id)).toEqual({ 1: 'pending', 2: 'pending' })
      expect(await offBalance(ledger, id)).toBe(0)
    })

    it('never touches the books of a closed run', async () => {
      const run = await accept(ledger, rows(2))
      const before = await ledger.run(run)
      await expect(ledger.beginStage(run, ['late'])).rejects.toThrow(FenceLost)
      expect(await booked(ledger, run)).toEqual({ created: 2 })
      expect(await ledger.run(run)).toEqual(before)
    })

    it('leaves the segments of a closed run, of which none was sent', async () => {
      const { id: run } = await openRun(ledger)
      await stage(ledger, run, rows(2))
      await ledger.closeRun(run, { state: 'failed', books: null })
      const open = await ledger.openSegments(run)
      await expect(ledger.beginStage(run, ['late'])).rejects.toThrow(FenceLost)
      expect(await ledger.openSegments(run)).toEqual(open)
      expect(open).toHaveLength(1)
    })

    it('gives its segments to who has staged them, and to nobody whom another staging has overtaken', async () => {
      const { id: run } = await openRun(ledger)
      const { fence } = await stage(ledger, run, rows(2))
      expect(await ledger.openSegments(run, fence)).toHaveLength(1)
      const next = await ledger.beginStage(run, ['id'])
      await expect(ledger.openSegments(run, fence)).rejects.toThrow(FenceLost)
      expect(await ledger.openSegments(run, next)).toEqual([])
    })

    it('ends where the caller says so, and can begin anew', async () => {
      const { id } = await openRun(ledger)
      const fence = await ledger.beginStage(id, ['id'])
      await ledger.stageItems(id, fence, rows(3))
      const stop = new Error('cancelled')
      const source = { rows: 3, digest: 'd', rowsPerSegment: 10 }
      const finish = ledger.finishStage(id, fence, source, () => {
        throw stop
      })
      await expect(finish).rejects.toBe(stop)
      expect(await ledger.run(id)).toMatchObject({ rowsRead: null })
      expect(await ledger.openSegments(id)).toEqual([])
      expect(await offBalance(ledger, id)).toBe(0)
      expect((await stage(ledger, id, rows(3))).counts).toMatchObject({ planned: 3 })
    })

    it('of a source without rows balances, and leaves nothing to push', async () => {
      const { id } = await openRun(ledger)
      const { counts } = await stage(ledger, id, [])
      expect(counts).toEqual({ planned: 0, superseded: 0, unchanged: 0, invalid: 0 })
      expect(await ledger.openSegments(id)).toEqual([])
      expect(await ledger.books(id)).toMatchObject({ read: 0, replayed: 0, inDoubt: 0 })
    })
  })

  it('counts keys and books over all slices of a run', async () => {
    const { id } = await openRun(ledger)
    await stage(ledger, id, [])
    const fence = await ledger.beginStage(id, ['id', 'name'])
    // On both sides of the slices in which each engine counts.
    const ordinals = [1, 10_000, 10_001, 100_000, 100_001, 200_001]
    const items = ordinals.flatMap((ordinal): StagedItem[] => [
      { ...row(ordinal, `K${ordinal}`), rawKey: ` K${ordinal}` } as StagedItem,
      row(ordinal + 300_000, `k${ordinal}`),
      badRow(ordinal + 600_000, null),
    ])
    await ledger.stageItems(id, fence, items)
    const counts = { loose: 6, keyless: 6, merged: 0, variants: 6 }
    expect(await ledger.keyCounts(id)).toEqual(counts)
    expect(await ledger.books(id)).toMatchObject({ read: 18, states: { pending: 12, invalid: 6 } })
  })

  describe('an item is', () => {
    it('superseded by the last valid row of its key, which stands', async () => {
      const items = [row(1, 'x', 'a'), row(2, 'y'), row(3, 'x', 'b'), row(4, 'x', 'c')]
      expect(await decided(items)).toEqual({
        1: 'superseded',
        2: 'pending',
        3: 'superseded',
        4: 'pending',
      })
    })

    it('not superseded by an invalid row', async () => {
      expect(await decided([badRow(1, 'x'), row(2, 'x'), badRow(3, 'x')])).toEqual({
        1: 'invalid',
        2: 'pending',
        3: 'invalid',
      })
    })

    it('of a key that is written exactly so, and no other', async () => {
      const keys = ['a', 'A', 'ä', 'a ', '%', '_', "'", '', 'null', '日本']
      const items = keys.map((key, index) => row(index + 1, key))
      expect(new Set(Object.values(await decided(items)))).toEqual(new Set(['pending']))
    })

    it('unchanged where its hash is the accepted hash of its key', async () => {
      await accept(ledger, [row(1, 'x', 'a'), row(2, 'y', 'a')])
      expect(await decided([row(1, 'x', 'a'), row(2, 'y', 'b'), row(3, 'z', 'a')])).toEqual({
        1: 'unchanged',
        2: 'pending',
        3: 'pending',
      })
    })

    it('superseded or planned by the last row, whatever was accepted of an earlier one', async () => {
      await accept(ledger, [row(1, 'x', 'a'), row(2, 'y', 'a')])
      const items = [row(1, 'x', 'a'), row(2, 'x', 'b'), row(3, 'y', 'b'), row(4, 'y', 'a')]
      expect(await decided(items)).toEqual({
        1: 'superseded',
        2: 'pending',
        3: 'superseded',
        4: 'unchanged',
      })
    })

    it('not unchanged by what another org accepted', async () => {
      await accept(ledger, rows(2), { orgId: 2 })
      expect(await accepted(ledger, rows(2))).toEqual([])
      expect(await accepted(ledger, rows(2), { orgId: 2 })).toEqual([1, 2])
    })

    describe.each([
      ['address', { origin: 'https://other.example.com' }],
      ['matching property', { matchingProperty: 'svc_email' }],
    ])('of a sync whose %s changes', (_, change) => {
      const other = { destination: change }

      it('not unchanged by what was accepted before, once it changes back', async () => {
        await accept(ledger, rows(3, 'a'))
        await accept(ledger, rows(3, 'b'), other)
        expect(await accepted(ledger, rows(3, 'a'))).toEqual([])
        expect(await accepted(ledger, rows(3, 'b'), other)).toEqual([1, 2, 3])
      })

      it('not unchanged until it is sent again itself, whatever run was interrupted', async () => {
        await accept(ledger, rows(3, 'a'))
        const there = await staged(ledger, rows(3, 'b'), other)
        await send(ledger, there)
        await close(ledger, there.run)
        expect(await accepted(ledger, rows(3, 'a'))).toEqual([])
        const back = await staged(ledger, rows(3, 'a'))
        await settle(ledger, back, await send(ledger, back, 1), 'updated')
        await close(ledger, back.run)
        expect(await accepted(ledger, rows(3, 'a'))).toEqual([1])
        const rest = await staged(ledger, rows(3, 'a'))
        await settle(ledger, rest, await send(ledger, rest), 'updated')
        await close(ledger, rest.run)
        expect(await accepted(ledger, rows(3, 'a'))).toEqual([1, 2, 3])
      })

      it('not unchanged after a reconciliation there, which may have deleted', async () => {
        await accept(ledger, rows(2, 'a'))
        const task = { purpose: 'reconcile' } as const
        const { id } = await openRun(ledger, 'run', 'contacts', 'import', task)
        await stage(ledger, id, rows(1, 'a'), { ...other, skipUnchanged: false })
        await close(ledger, id)
        expect(await accepted(ledger, rows(2, 'a'))).toEqual([])
      })

      it('unchanged still where nothing was written there, or in other records', async () => {
        await accept(ledger, rows(2, 'a'))
        const { run } = await staged(ledger, rows(2, 'b'), other)
        await close(ledger, run)
        const { id: plan } = await openRun(ledger, 'plan')
        await stage(ledger, plan, rows(2, 'b'), other)
        for (const more of [{ orgId: 2 }, { objectType: 'svc_deal' }, { sync: 'others' }])
          await accept(ledger, rows(2, 'b'), {
            ...('orgId' in more && more),
            destination: { ...change, ...more },
          })
        expect(await accepted(ledger, rows(2, 'a'))).toEqual([1, 2])
      })
    })

    it('decided alike on both sides of every slice: 2,400 rows', async () => {
      const old = [row(1, 'k3', 'a'), row(2, 'k7', 'a'), row(3, 'k999', 'a')]
      await accept(ledger, old)
      // Keys come back after 700 rows, so most are decided across the border of a slice.
      const items = Array.from({ length: 2_400 }, (_, index) => {
        const ordinal = index + 1
        return ordinal % 11 === 0
          ? badRow(ordinal, `k${index % 700}`)
          : row(ordinal, `k${index % 700}`)
      })
      items.push(row(2_401, 'k999', 'a'))
      expect(await decided(items)).toEqual(decisions(items, old))
    })

    it('decided as said, for any rows', async () => {
      const anyRow = fc.record({
        key: fc.constantFrom('x', 'y', 'z'),
        content: fc.constantFrom('a', 'b'),
        valid: fc.boolean(),
      })
      const itemsOf = (drawn: readonly { key: string; content: string; valid: boolean }[]) =>
        drawn.map(({ key, content, valid }, index) =>
          valid ? row(index + 1, key, content) : badRow(index + 1, key),
        )
      let orgId = 100
      await fc.assert(
        fc.asyncProperty(
          fc.array(anyRow, { maxLength: 12 }),
          fc.constantFrom('a', 'b'),
          async (drawn, content) => {
            orgId++
            const old = [row(1, 'x', content)]
            await accept(ledger, old, { orgId })
            const items = itemsOf(drawn)
            expect(await decided(items, { orgId })).toEqual(decisions(items, old))
          },
        ),
        { numRuns: runs(40) },
      )
    })
  })

  describe('segments', () => {
    it('hold every planned item once, and no more planned rows than asked for', async () => {
      // The second slice has nothing to push, the fourth only half.
      const items = rows(5_000).map((item) => {
        const isOff =
          (item.ordinal > 1_000 && item.ordinal <= 2_000) ||
          (item.ordinal > 3_000 && item.ordinal <= 3_500)
        return isOff ? badRow(item.ordinal, null) : item
      })
      const { id } = await openRun(ledger)
      const { counts } = await stage(ledger, id, items, { rowsPerSegment: 2_000 })
      expect(counts).toMatchObject({ planned: 3_500, invalid: 1_500 })
      const segments = await ledger.openSegments(id)
      const ordinals: number[] = []
      for (const segment of segments) {
        const planned = await ledger.nextPlanned(id, segment, {
          after: 0,
          attemptsBelow: 1,
          limit: 10_000,
        })
        expect(planned.length).toBeGreaterThan(0)
        expect(planned.length).toBeLessThanOrEqual(2_000)
        ordinals.push(...planned.map(({ ordinal }) => ordinal))
      }
      expect(ordinals).toEqual(items.filter(({ valid }) => valid).map(({ ordinal }) => ordinal))
      expect(segments).toHaveLength(2)
    })
  })

  describe('known keys', () => {
    it('are those of planned items that the destination has a record for, in whatever version', async () => {
      await accept(ledger, [row(1, 'x', 'a'), row(2, 'y', 'a'), row(3, 'z', 'a')])
      const items = [
        row(1, 'x', 'b'),
        row(2, 'y', 'a'),
        row(3, 'new', 'a'),
        row(4, 'z', 'b'),
        row(5, 'z', 'c'),
      ]
      const { id } = await openRun(ledger)
      const { counts } = await stage(ledger, id, items)
      expect(counts).toEqual({ planned: 3, unchanged: 1, superseded: 1, invalid: 0 })
      expect(await ledger.knownKeys(id)).toBe(2)
      expect(await ledger.hasAccepted(id)).toBe(true)
      const elsewhere = await openRun(ledger, 'plan')
      await stage(ledger, elsewhere.id, items, { orgId: 2 })
      expect(await ledger.knownKeys(elsewhere.id)).toBe(0)
      expect(await ledger.hasAccepted(elsewhere.id)).toBe(false)
    })

    it('leave the strangers: planned items without such a record, in order', async () => {
      await accept(ledger, [row(1, 'x', 'a'), row(2, 'y', 'a')])
      const items = [
        row(1, 'x', 'b'),
        row(2, 'new', 'a'),
        row(3, 'y', 'a'),
        row(4, 'other', 'a'),
        row(5, 'new', 'b'),
      ]
      const { id } = await openRun(ledger)
      await stage(ledger, id, items)
      const ordinals = async (after: number, limit: number) =>
        (await ledger.keysWithoutRecord(id, { after, limit })).map(({ ordinal }) => ordinal)
      expect(await ordinals(0, 10)).toEqual([4, 5])
      expect(await ordinals(0, 1)).toEqual([4])
      expect(await ordinals(4, 10)).toEqual([5])
      expect((await ledger.keysWithoutRecord(id, { after: 4, limit: 1 }))[0]).toMatchObject({
        key: 'new',
        hash: items[4]!.valid && items[4]!.hash,
        payload: items[4]!.valid && items[4]!.payload,
      })
      const elsewhere = await openRun(ledger, 'plan')
      await stage(ledger, elsewhere.id, items, { orgId: 2 })
      expect(await ledger.keysWithoutRecord(elsewhere.id, { after: 0, limit: 10 })).toHaveLength(4)
    })
  })
}
