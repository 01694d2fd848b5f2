// Reconciliations: what is compared, what comparing showed, and what is left of it.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Difference } from '../../../src/core/domain/differences.ts'
import { FenceLost } from '../../../src/core/errors.ts'
import { isBalanced } from '../../../src/core/domain/books.ts'
import { LOOK_UPS_STEP } from '../../../src/core/domain/look-ups.ts'
import { countHeldBack, OTHER_KEY } from '../../../src/core/domain/held-back.ts'
import type { ItemComparison, Ledger, StagedItem } from '../../../src/ledger/ledger.ts'
import {
  accept,
  accepted,
  answered,
  badRow,
  booked,
  close,
  destination,
  never,
  offBalance,
  openRun,
  outcome,
  row,
  rows,
  send,
  settle,
  stage,
  staged,
  statesOf,
  stream,
  type Open,
  type Opened,
} from './scene.ts'

const asks = { skipUnchanged: false, task: { purpose: 'reconcile' } } as const
const first = { after: 0, limit: 1_000 } as const

const difference = (ordinal: number | null, more: Partial<Difference> = {}): Difference => ({
  stream: 'svc_contact',
  key: `k${ordinal}`,
  recordId: `record ${ordinal}`,
  ordinal,
  kind: 'different',
  field: 'svc_name',
  whose: 'service',
  ours: '"a"',
  theirs: '"b"',
  ...more,
})

const equal = (ordinal: number): ItemComparison => ({
  ordinal,
  recordId: `found ${ordinal}`,
  kind: null,
  marks: `now ${ordinal}`,
  held: null,
  differences: [],
})

const different = (ordinal: number, more: Partial<ItemComparison> = {}): ItemComparison => ({
  ...equal(ordinal),
  kind: 'different',
  differences: [difference(ordinal)],
  ...more,
})

const none = { missing: 0, extra: 0, stale: 0, different: 0 }

export function reconcilingTests(open: Open): void {
  let opened: Opened
  let ledger: Ledger
  beforeEach(async () => {
    opened = await open()
    ledger = opened.ledger
  })
  afterEach(() => opened.cleanup())

  const reconcile = (items: readonly StagedItem[]) => staged(ledger, items, asks)
  const uncompared = async (run: number, after = 0, limit = 1_000) =>
    (await ledger.uncompared(run, { after, limit })).map(({ ordinal }) => ordinal)
  const noted = async (run: number) => (await ledger.differences(run, first)).rows

  describe('staging that asks', () => {
    it('leaves nothing out because it was accepted', async () => {
      await accept(ledger, rows(3))
      const items = [row(1, 'k1'), row(2, 'k2', 'b'), row(3, 'k3'), row(4, 'k3'), badRow(5, 'x')]
      const { run, counts } = await reconcile(items)
      expect(counts).toEqual({ planned: 3, superseded: 1, unchanged: 0, invalid: 1 })
      expect(await booked(ledger, run)).toEqual({ pending: 3, superseded: 1, invalid: 1 })
    })
  })

  describe('a sample', () => {
    const take = async (items: readonly StagedItem[], count: number, rowsPerSegment = 1_000) => {
      const { id: run } = await openRun(ledger, 'run', 'contacts', 'import', asks.task)
      const { fence } = await stage(ledger, run, items, { skipUnchanged: false, rowsPerSegment })
      const { planned: left } = await ledger.keepSample(run, fence, count)
      const states = await statesOf(ledger, run)
      const kept = Object.keys(states)
        .map(Number)
        .filter((ordinal) => states[ordinal] === 'pending')
      return { run, fence, left, kept }
    }

    it('is about as large as asked, even, another in the next run, and the books balance', async () => {
      const items = rows(3_500).map((item) =>
        item.ordinal % 500 === 7 ? badRow(item.ordinal, null) : item,
      )
      const { run, left, kept } = await take(items, 70)
      expect(left).toBe(kept.length)
      expect(left).toBeGreaterThan(60)
      expect(left).toBeLessThan(80)
      for (let from = 0; from < 3_500; from += 500) {
        const here = kept.filter((ordinal) => ordinal > from && ordinal <= from + 500).length
        expect(here).toBeGreaterThanOrEqual(8)
        expect(here).toBeLessThanOrEqual(12)
      }
      expect(await booked(ledger, run)).toEqual({ pending: left, invalid: 7 })
      expect(await offBalance(ledger, run)).toBe(0)
      expect(await ledger.run(run)).toMatchObject({ rowsRead: left + 7 })
      expect(await ledger.progress(run)).toMatchObject({ read: left + 7, planned: left })
      expect(await uncompared(run)).toEqual(kept)
      await close(ledger, run)
      expect(isBalanced(await ledger.books(run))).toBe(true)
      const next = await take(items, 70)
      expect(next.kept.filter((ordinal) => kept.includes(ordinal)).length).toBeLessThan(20)
    })

    it('is the same one for whoever begins it again', async () => {
      const { run, fence, left, kept } = await take(rows(2_000), 10)
      expect(await ledger.keepSample(run, fence, 10)).toMatchObject({ planned: left })
      expect(await uncompared(run)).toEqual(kept)
    })

    it('is not taken by whoever lost the run', async () => {
      const { id: run } = await openRun(ledger, 'run', 'contacts', 'import', asks.task)
      const { fence } = await stage(ledger, run, rows(100), { skipUnchanged: false })
      await expect(ledger.keepSample(run, fence - 1, 10)).rejects.toThrow(FenceLost)
      expect(await booked(ledger, run)).toEqual({ pending: 100 })
    })

    it('of 1 of few rows is not nothing, in whatever run', async () => {
      for (let runs = 0; runs < 10; runs++) {
        const { run, left } = await take(rows(4), 1)
        expect(left).toBeGreaterThanOrEqual(1)
        expect(left).toBeLessThanOrEqual(2)
        await close(ledger, run)
      }
    })

    it('is even also where every other row is not to be compared', async () => {
      const items = rows(2_000).map((item) =>
        item.ordinal % 2 === 1 ? badRow(item.ordinal, null) : item,
      )
      const { left } = await take(items, 100)
      expect(left).toBeGreaterThan(90)
      expect(left).toBeLessThan(110)
    })

    it('of more rows than there are is all of them; of none nothing', async () => {
      const all = await take(rows(5), 10)
      expect(all.left).toBe(5)
      await close(ledger, all.run)
      expect((await take([badRow(1, null)], 10)).left).toBe(0)
    })
  })

  describe('what is to be compared', () => {
    it('is accepted once it is equal, and its record is still written by the run that wrote it', async () => {
      const wrote = await accept(ledger, rows(2))
      const elsewhere = await accept(ledger, rows(2), { orgId: 2 })
      const { run } = await reconcile(rows(2))
      await ledger.recordCompared(run, [equal(1), equal(2)])
      await close(ledger, run)
      expect((await ledger.acceptedRecords(run, ['k1'])).get('k1')).toMatchObject({ run })
      expect(await ledger.writerOf('k1', run)).toBe(wrote)
      expect(await ledger.writerOf('k1', wrote)).toBe(wrote)
      expect(await ledger.writerOf('k1', elsewhere)).toBe(elsewhere)
      expect(await ledger.writerOf('other', run)).toBe(null)
      const again = await accept(ledger, [row(1, 'k1', 'b')])
      expect(await ledger.writerOf('k1', again)).toBe(again)
      expect(await ledger.writerOf('k1', run)).toBe(wrote)
    })

    it('is what is planned, with what was accepted for its key', async () => {
      const before = await accept(ledger, rows(2))
      await accept(ledger, rows(1), { orgId: 2 })
      const lost = await staged(ledger, [row(1, 'k3')])
      await send(ledger, lost)
      await close(ledger, lost.run)
      const { run } = await reconcile([
        row(1, 'k1'),
        badRow(2, 'k2'),
        row(3, 'k3'),
        row(4, 'k2', 'b'),
        row(5, 'new'),
      ])
      const of = (key: string, ordinal: number) => ({
        key,
        recordId: `record ${ordinal}`,
        hash: 'hash of a',
        marks: `marks of ${ordinal}`,
        run: before,
        readBack: null,
      })
      expect(await ledger.uncompared(run, first)).toEqual([
        {
          ordinal: 1,
          key: 'k1',
          payload: '{"properties":{"id":"k1","name":"a"}}',
          hash: 'hash of a',
          attempts: 0,
          accepted: of('k1', 1),
        },
        expect.objectContaining({ ordinal: 3, key: 'k3', accepted: null }),
        expect.objectContaining({ ordinal: 4, hash: 'hash of b', accepted: of('k2', 2) }),
        expect.objectContaining({ ordinal: 5, accepted: null }),
      ])
      expect(await uncompared(run, 1, 2)).toEqual([3, 4])
    })

    it('is what was not compared yet', async () => {
      const { run } = await reconcile(rows(6))
      await ledger.recordCompared(run, [equal(1), different(2), different(4)])
      expect(await uncompared(run)).toEqual([3, 5, 6])
      const other = await openRun(ledger, 'run', 'others')
      await ledger.noteDifferences(other.id, [difference(5)], { repaired: false })
      expect(await uncompared(run)).toEqual([3, 5, 6])
    })
  })

  describe('what comparing showed', () => {
    it('is booked: equal ones are unchanged, verified and accepted; the others stay planned', async () => {
      await accept(ledger, [row(1, 'k2', 'old'), row(2, 'k1', 'old')])
      const { run } = await reconcile(rows(4))
      await ledger.recordCompared(run, [
        equal(1),
        different(2),
        different(3, { kind: 'missing', held: { reason: 'key_changed', detail: 'ü' } }),
      ])
      expect(await statesOf(ledger, run)).toEqual({
        1: 'unchanged',
        2: 'pending',
        3: 'not_sent',
        4: 'pending',
      })
      const [one, three] = await ledger.report(run, { states: ['unchanged', 'not_sent'], ...first })
      expect(one).toMatchObject({ ordinal: 1, recordId: 'found 1', raw: null })
      expect(three).toMatchObject({ reason: 'key_changed', detail: 'ü', raw: ['k3', 'a'] })
      expect(
        await opened.query(`SELECT verified FROM items WHERE run = ${run} AND ordinal = 1`),
      ).toEqual([{ verified: 'equal' }])
      expect(await ledger.progress(run)).toMatchObject({ planned: 2 })
      await close(ledger, run)
      // What is held back is left over, and no retry takes it.
      const taken = await ledger.retryRows(run, {}, first)
      expect(taken.map(({ ordinal }) => ordinal)).toEqual([2, 4])
      expect(await countHeldBack(ledger, run)).toBe(1)
      expect(await accepted(ledger, [row(1, 'k1'), row(2, 'k2', 'old'), row(3, 'k3')])).toEqual([
        1, 2,
      ])
      const next = await reconcile([row(1, 'k1', 'b'), row(2, 'k2')])
      const known = (await ledger.uncompared(next.run, first)).map((item) => item.accepted)
      expect(await ledger.acceptedRecords(next.run, ['k9', 'k1'])).toEqual(
        new Map([['k1', { recordId: 'found 1', run, records: [] }]]),
      )
      expect(known).toEqual([
        { key: 'k1', recordId: 'found 1', hash: 'hash of a', marks: 'now 1', run, readBack: null },
        expect.objectContaining({ key: 'k2', marks: 'marks of 1' }),
      ])
    })

    it('is booked of what is still planned only', async () => {
      const claim = await reconcile(rows(4))
      await settle(ledger, claim, await send(ledger, claim, 2), ['created', 'in_flight'])
      const held = { reason: 'r', detail: 'd' }
      await ledger.recordCompared(claim.run, [equal(1), different(2), different(3, { held })])
      expect(await statesOf(ledger, claim.run)).toEqual({
        1: 'created',
        2: 'in_flight',
        3: 'not_sent',
        4: 'pending',
      })
      await ledger.recordCompared(claim.run, [equal(3), equal(1)])
      expect((await noted(claim.run)).map(({ ordinal }) => ordinal)).toEqual([3])
      expect(await ledger.progress(claim.run)).toMatchObject({ planned: 3 })
    })

    it('counts what is missing and still to be sent', async () => {
      const { run } = await reconcile(rows(4))
      const missing = (ordinal: number, more = {}) =>
        different(ordinal, {
          kind: 'missing',
          differences: [difference(ordinal, { kind: 'missing', field: null })],
          ...more,
        })
      expect(await ledger.plannedMissing(run)).toBe(0)
      const held = { reason: 'r', detail: 'd' }
      await ledger.recordCompared(run, [missing(1), missing(2, { held }), different(3), missing(4)])
      expect(await ledger.plannedMissing(run)).toBe(2)
    })

    it('takes the place of what was shown before', async () => {
      const { run } = await reconcile(rows(3))
      await ledger.recordCompared(run, [different(1), different(2)])
      const more = [difference(1, { field: 'a' }), difference(1, { field: 'b' })]
      await ledger.recordCompared(run, [different(1, { differences: more }), equal(2)])
      expect((await noted(run)).map(({ field }) => field)).toEqual(['a', 'b'])
      expect((await ledger.differenceCounts(run)).found).toEqual({ ...none, different: 1 })
    })

    it('of 1,000 rows in many fields is counted in its segments', async () => {
      const { id: run } = await openRun(ledger, 'run', 'contacts', 'import', asks.task)
      await stage(ledger, run, rows(3_000), { skipUnchanged: false, rowsPerSegment: 1_000 })
      const items = Array.from({ length: 1_000 }, (_, index) => {
        const ordinal = 501 + index
        const fields = ['a', 'b', 'c'].map((field) => difference(ordinal, { field }))
        return ordinal % 2 === 0 ? equal(ordinal) : different(ordinal, { differences: fields })
      })
      await ledger.recordCompared(run, items.toReversed())
      expect(await booked(ledger, run)).toEqual({ pending: 2_500, unchanged: 500 })
      expect(
        await opened.query(`SELECT planned FROM segments WHERE run = ${run} ORDER BY first`),
      ).toEqual([{ planned: 750 }, { planned: 750 }, { planned: 1_000 }])
      const { found } = await ledger.differenceCounts(run)
      expect(found).toEqual({ ...none, different: 500 })
      expect(await ledger.differenceGroups(run)).toMatchObject([
        { field: 'a', differences: 500, example: 501 },
        { field: 'b', differences: 500 },
        { field: 'c', differences: 500 },
      ])
    })

    it('is sent on: an equal record is not a twin of the one that is written', async () => {
      const claim = await reconcile(rows(3))
      await ledger.recordCompared(claim.run, [{ ...equal(3), recordId: 'same' }])
      await ledger.settle(
        claim.run,
        claim.segment,
        claim.fence,
        await send(ledger, claim),
        answered,
        [1, 2].map((ordinal) => outcome(ordinal, 'updated', { recordId: 'same' })),
      )
      const twins = await ledger.collisions(claim.run, { after: 0, limit: 10 })
      expect(twins.map(({ ordinal }) => ordinal)).toEqual([2])
    })

    it('goes with the items where staging begins anew', async () => {
      const { id: run } = await openRun(ledger, 'run', 'contacts', 'import', asks.task)
      await stage(ledger, run, rows(3), { skipUnchanged: false })
      await ledger.recordCompared(run, [different(2)])
      await stage(ledger, run, rows(3), { skipUnchanged: false })
      expect(await noted(run)).toEqual([])
      expect(await uncompared(run)).toEqual([1, 2, 3])
    })
  })

  describe('marks', () => {
    const marksOf = async (key: string) => {
      const { id } = await openRun(ledger, 'plan', 'contacts', 'import', asks.task)
      await stage(ledger, id, [row(1, key)], { skipUnchanged: false })
      const [item] = await ledger.uncompared(id, first)
      await ledger.discard(id)
      return item!.accepted?.marks
    }
    const read = (ordinal: number, verdict: 'equal' | 'different', marks?: string) => ({
      ordinal,
      verdict,
      recordId: `record ${ordinal}`,
      field: null,
      ...(marks !== undefined && { marks }),
    })

    it('are those of what was accepted last, also where it was read back', async () => {
      await accept(ledger, [row(1, 'k3', 'old'), row(2, 'k1', 'old')])
      const claim = await staged(ledger, rows(3))
      await settle(ledger, claim, await send(ledger, claim), ['created', 'refused', 'updated'])
      await ledger.recordVerified(claim.run, [read(1, 'equal'), read(3, 'different')])
      await close(ledger, claim.run)
      expect([await marksOf('k1'), await marksOf('k2'), await marksOf('k3')]).toEqual([
        'marks of 1',
        undefined,
        'marks of 3',
      ])
    })

    it('of what was in doubt and was found are those that are told, and none of older values', async () => {
      await accept(ledger, rows(2, 'old'))
      const claim = await staged(ledger, rows(2, 'new'))
      await settle(ledger, claim, await send(ledger, claim), 'in_flight')
      await ledger.recordVerified(claim.run, [read(1, 'equal'), read(2, 'equal', 'told')])
      await close(ledger, claim.run)
      expect([await marksOf('k1'), await marksOf('k2')]).toEqual([null, 'told'])
    })
  })

  describe('keys that the source lacks', () => {
    const absent = async (run: number, limit: number) => {
      const keys: string[] = []
      let pages = 0
      const reader = await opened.reopen()
      for (let after: string | null = null; ;) {
        const page = await reader.absentKeys(run, { after, limit })
        expect(page.keys.length).toBeLessThanOrEqual(limit)
        keys.push(...page.keys.map(({ key }) => key))
        pages++
        if (page.next === null) return { keys: keys.toSorted(), pages }
        after = page.next
      }
    }

    it('are those of its destination that no row of the run has, page by page', async () => {
      const keys = ['', 'A', 'a', "o'ü", 'o', 'ä', 'zz']
      await accept(
        ledger,
        keys.map((key, index) => row(index + 1, key)),
      )
      await accept(ledger, [row(1, 'elsewhere')], { orgId: 2 })
      const { run } = await reconcile([row(1, 'a'), badRow(2, 'o'), row(3, 'new'), badRow(4, null)])
      const gone = ['', 'A', "o'ü", 'ä', 'zz'].toSorted()
      expect(await absent(run, 100)).toEqual({ keys: gone, pages: 1 })
      expect(await absent(run, 1)).toEqual({ keys: gone, pages: 8 })
      expect(await absent(run, 3)).toEqual({ keys: gone, pages: 3 })
      const { keys: found } = await ledger.absentKeys(run, { after: null, limit: 100 })
      expect(found.find(({ key }) => key === 'zz')).toMatchObject({
        recordId: 'record 7',
        hash: 'hash of a',
        marks: 'marks of 7',
      })
    })

    it('may have several records, which stay noted until one is left', async () => {
      await accept(ledger, [row(1, "o'ü"), row(2, 'k2'), row(3, 'k3')])
      const next = await reconcile([row(1, "o'ü")])
      const noted = [
        { key: "o'ü", records: ['record 1', 'r"2'] },
        { key: 'k2', records: ['record 2', 'r4', 'r5'] },
        { key: 'k3', records: ['record 3'] },
        { key: 'unknown', records: ['a', 'b'] },
      ]
      await ledger.noteRecordsOfKeys(next.run, noted)
      const recordsOf = async () => {
        const known = await ledger.acceptedRecords(next.run, ["o'ü", 'k2', 'k3', 'unknown'])
        return Object.fromEntries([...known].map(([key, { records }]) => [key, records]))
      }
      expect(await recordsOf()).toEqual({
        "o'ü": ['record 1', 'r"2'],
        k2: ['record 2', 'r4', 'r5'],
        k3: [],
      })
      expect(await ledger.absentWithSeveral(next.run)).toBe(1)
      const { keys } = await ledger.absentKeys(next.run, { after: null, limit: 100 })
      expect(Object.fromEntries(keys.map(({ key, records }) => [key, records]))).toEqual({
        k2: ['record 2', 'r4', 'r5'],
        k3: undefined,
      })
      const [uncompared] = await ledger.uncompared(next.run, { after: 0, limit: 9 })
      expect(uncompared!.accepted).toMatchObject({ hash: null, records: ['record 1', 'r"2'] })
      await close(ledger, next.run)
      // Their rows are sent again, the others are not.
      const all = [row(1, "o'ü"), row(2, 'k2'), row(3, 'k3')]
      const { run } = await reconcile(all)
      await ledger.noteRecordsOfKeys(run, [{ key: 'k2', records: [] }])
      expect(await recordsOf()).toMatchObject({ k2: [] })
      await close(ledger, run)
      expect(await accepted(ledger, all)).toEqual([3])
    })

    it('may be of rows in doubt of a run whose key was changed on the way', async () => {
      const doubt = await staged(ledger, [row(1, 'k1')])
      await settle(ledger, doubt, await send(ledger, doubt), ['in_flight'])
      await ledger.saveStepState(doubt.run, OTHER_KEY, 'other')
      await close(ledger, doubt.run)
      const same = await staged(ledger, [row(1, 'k9')])
      expect(await ledger.runsInDoubt(same.run, { ofAnyKey: false })).toEqual([doubt.run])
    })

    it('may be of rows in doubt, which a run by another address of the org has left', async () => {
      const other = { origin: 'https://other.example.com' }
      const doubt = await staged(ledger, [row(1, 'k1')], { destination: other })
      await settle(ledger, doubt, await send(ledger, doubt), ['in_flight'])
      await close(ledger, doubt.run)
      const elsewhere = await staged(ledger, [row(1, 'k1')], {
        destination: { ...other, orgId: 8 },
      })
      expect(await ledger.runsInDoubt(elsewhere.run, { ofAnyKey: true })).toEqual([])
      await close(ledger, elsewhere.run)
      const here = await staged(ledger, [row(1, 'k1')])
      expect(await ledger.runsInDoubt(here.run, { ofAnyKey: true })).toEqual([doubt.run])
    })

    it('may be of rows in doubt, which runs with another key know', async () => {
      const doubt = await staged(ledger, [row(1, "o'ü"), row(2, 'k2'), row(3, 'k3')])
      const batch = await send(ledger, doubt)
      await settle(ledger, doubt, batch, ['in_flight', 'in_flight', 'created'])
      const read = { verdict: 'equal', recordId: 'found', field: null } as const
      await ledger.recordVerified(doubt.run, [{ ordinal: 2, ...read }])
      await close(ledger, doubt.run)
      await accept(ledger, [row(1, 'k4')], { keyFingerprint: 'other' })
      const same = await staged(ledger, [row(1, 'k9')])
      expect(await ledger.runsInDoubt(same.run, { ofAnyKey: false })).toEqual([])
      expect(await ledger.runsInDoubt(same.run, { ofAnyKey: true })).toEqual([doubt.run])
      await close(ledger, same.run)
      const next = await staged(ledger, [row(1, 'k9')], { keyFingerprint: 'other' })
      expect(await ledger.runsInDoubt(next.run, { ofAnyKey: false })).toEqual([doubt.run])
      expect(await ledger.sentInDoubt(doubt.run, ["o'ü", 'k2', 'k3', 'k9'])).toMatchObject([
        { key: "o'ü", hash: 'hash of a' },
      ])
    })

    it('are none where the run has no destination, or nothing was accepted there', async () => {
      const { id } = await openRun(ledger)
      expect(await ledger.absentKeys(id, { after: null, limit: 5 })).toEqual({
        keys: [],
        next: null,
      })
    })

    it('are found in many, none twice', async () => {
      await accept(ledger, rows(500))
      const { run } = await reconcile(
        rows(500)
          .filter(({ ordinal }) => ordinal % 50 !== 0)
          .map((item, index) => ({ ...item, ordinal: index + 1 })),
      )
      const { keys, pages } = await absent(run, 100)
      expect(keys).toEqual(
        Array.from({ length: 10 }, (_, index) => `k${(index + 1) * 50}`).toSorted(),
      )
      expect(pages).toBe(6)
    })
  })

  describe('keys that a correction brought in', () => {
    const retry = async (of: number, items: readonly (readonly [of: number, key: string])[]) => {
      const task = { purpose: 'retry', of } as const
      const again = items.map(([ordinal, key], index) => ({ ...row(index + 1, key), of: ordinal }))
      const claim = await staged(ledger, again, { skipUnchanged: false, task })
      await settle(ledger, claim, await send(ledger, claim), 'created')
      await close(ledger, claim.run)
      return claim.run
    }
    const corrected = async (run: number, ...keys: string[]) =>
      Object.fromEntries(await ledger.broughtByCorrection(run, keys))

    it('are told with the row that they are of, through retries of retries', async () => {
      const claim = await staged(ledger, [
        row(1, 'k1'),
        badRow(2, null),
        badRow(3, 'same'),
        row(4, 'mistyped'),
        badRow(5, null),
      ])
      await settle(ledger, claim, await send(ledger, claim), ['created', 'refused'])
      await close(ledger, claim.run)
      const of = claim.run
      await retry(of, [
        [2, 'k2'],
        [3, 'same'],
        [4, 'k4'],
      ])
      const { id: between } = await openRun(ledger, 'run', 'contacts', 'import', {
        purpose: 'retry',
        of,
      })
      await stage(ledger, between, [{ ...badRow(1, null), of: 5 }], { skipUnchanged: false })
      await close(ledger, between)
      await retry(between, [[1, 'k5']])
      const { run } = await reconcile([row(1, 'k1')])
      expect(await corrected(run, 'k1', 'k2', 'same', 'k4', 'k5', 'never')).toEqual({
        k2: { run: of, ordinal: 2 },
        k4: { run: of, ordinal: 4 },
        k5: { run: of, ordinal: 5 },
      })
      expect(await corrected(run)).toEqual({})
    })

    it('are those of the source once it has had a row of them itself', async () => {
      const of = (await staged(ledger, [badRow(1, null), badRow(2, null), row(3, 'a')])).run
      await close(ledger, of)
      await retry(of, [
        [1, 'k1'],
        [2, 'k2'],
      ])
      const { id: own } = await openRun(ledger)
      await stage(ledger, own, [row(1, 'k1')])
      expect(await statesOf(ledger, own)).toEqual({ 1: 'unchanged' })
      await close(ledger, own)
      const { run } = await reconcile([row(1, 'x')])
      expect(await corrected(run, 'k1', 'k2')).toEqual({ k2: { run: of, ordinal: 2 } })
    })

    it('are told also where the rows are not kept any more', async () => {
      const of = (await staged(ledger, [badRow(1, null), row(2, 'a')])).run
      await close(ledger, of)
      const by = await retry(of, [[1, 'k1']])
      for (let removed = 1; removed > 0;) removed = await ledger.prune(never)
      const { run } = await reconcile([row(1, 'x')])
      expect(await corrected(run, 'k1')).toEqual({ k1: { run: by, ordinal: null } })
    })
  })

  describe('differences', () => {
    const opening = async () => (await openRun(ledger, 'run', 'crm', 'mirror', asks.task)).id
    const ofRecord = (id: string, more: Partial<Difference> = {}): Difference =>
      difference(null, { key: null, recordId: id, ...more })

    it('come back as they were noted, in order, page by page', async () => {
      const run = await opening()
      const given = [
        difference(1, { key: "k'ü", ours: null, theirs: '"ü"' }),
        difference(2, { kind: 'missing', field: null, whose: 'unknown', recordId: null }),
        ofRecord('r1', { kind: 'extra' }),
        ofRecord('r2', { kind: 'stale' }),
      ]
      await ledger.noteDifferences(run, given.slice(0, 2), { repaired: false })
      await ledger.noteDifferences(run, given.slice(2), { repaired: true })
      await ledger.noteDifferences(await openRun(ledger).then(({ id }) => id), [difference(3)], {
        repaired: false,
      })
      expect(await noted(run)).toEqual(
        given.map((each, index) => ({ ...each, repaired: index >= 2 })),
      )
      const page = await ledger.differences(run, { after: 0, limit: 3 })
      expect(page.rows).toHaveLength(3)
      const last = await ledger.differences(run, { after: page.next!, limit: 3 })
      expect(last).toMatchObject({ rows: [{ recordId: 'r2' }], next: null })
      const some = async (choice: object) =>
        (await ledger.differences(run, { ...first, ...choice })).rows.map(({ kind }) => kind)
      expect(await some({ kind: 'extra' })).toEqual(['extra'])
      expect(await some({ isRepaired: false })).toEqual(['different', 'missing'])
      expect(await some({ isRepaired: true, kind: 'stale' })).toEqual(['stale'])
      expect(await some({ field: 'svc_name' })).toEqual(['different', 'extra', 'stale'])
      expect(await some({ field: 'nobody' })).toEqual([])
      expect(await some({ isRepaired: false, kind: 'stale' })).toEqual([])
    })

    it('take the place of those of the same record, of its stream only', async () => {
      const run = await opening()
      const other = ofRecord('r1', { stream: 'svc_deal' })
      const old = [ofRecord('r1', { field: 'a' }), ofRecord('r1', { field: 'b' }), other]
      await ledger.noteDifferences(run, [...old, ofRecord('r2')], { repaired: false })
      await ledger.noteDifferences(run, [ofRecord('r1', { field: 'c' })], { repaired: true })
      expect(await noted(run)).toEqual([
        { ...other, repaired: false },
        { ...ofRecord('r2'), repaired: false },
        { ...ofRecord('r1', { field: 'c' }), repaired: true },
      ])
    })

    it('stay single where two note the same at once', async () => {
      const run = await opening()
      const both = [ledger, await opened.reopen(), await opened.reopen()]
      const same = Array.from({ length: 100 }, (_, index) => ofRecord(`r${index}`))
      const often = Array.from({ length: 8 }, () => both).flat()
      await Promise.all(often.map((each) => each.noteDifferences(run, same, { repaired: false })))
      expect((await noted(run)).length).toBe(100)
    })

    it('are counted by record, by kind, and by what is left', async () => {
      const run = await opening()
      const { id: empty } = await openRun(ledger)
      expect(await ledger.differenceCounts(empty)).toEqual({ found: none, left: none })
      const open = [
        ...['a', 'b', 'c'].map((field) => ofRecord('r1', { field })),
        ofRecord('r1', { stream: 'svc_deal' }),
        ofRecord('r2', { kind: 'missing', field: null }),
      ]
      await ledger.noteDifferences(run, open, { repaired: false })
      const mended = [ofRecord('r3', { kind: 'missing', field: null }), ofRecord('r4')]
      await ledger.noteDifferences(run, mended, { repaired: true })
      expect(await ledger.differenceCounts(run)).toEqual({
        found: { ...none, missing: 2, different: 3 },
        left: { ...none, missing: 1, different: 2 },
      })
    })

    it('are grouped by kind, field and side, most frequent first, with an example', async () => {
      const run = await opening()
      await ledger.noteDifferences(
        run,
        [
          difference(9),
          difference(8),
          difference(7, { whose: 'both' }),
          ofRecord('r', { field: null }),
        ],
        { repaired: false },
      )
      await ledger.noteDifferences(run, [difference(6)], { repaired: true })
      const group = { stream: 'svc_contact', kind: 'different', repaired: 0 }
      expect(await ledger.differenceGroups(run)).toEqual([
        { ...group, field: 'svc_name', whose: 'service', differences: 3, repaired: 1, example: 6 },
        { ...group, field: null, whose: 'service', differences: 1, example: null },
        { ...group, field: 'svc_name', whose: 'both', differences: 1, example: 7 },
      ])
    })

    it('are mended where the item was written and did not read back otherwise', async () => {
      const claim = await reconcile(rows(6))
      await ledger.recordCompared(
        claim.run,
        [1, 2, 3, 4, 5, 6].map((ordinal) => different(ordinal)),
      )
      const { run } = claim
      await ledger.noteDifferences(run, [difference(null, { key: 'x', kind: 'extra' })], {
        repaired: false,
      })
      await settle(ledger, claim, await send(ledger, claim), [
        'created',
        'updated',
        'updated',
        'refused',
        'in_flight',
        'pending',
      ])
      const read = { recordId: null, field: null }
      await ledger.recordVerified(run, [
        { ordinal: 2, verdict: 'equal', ...read },
        { ordinal: 3, verdict: 'different', ...read },
        { ordinal: 5, verdict: 'missing', ...read },
      ])
      await ledger.settleDifferences(run)
      const mended = (await noted(run)).filter(({ repaired }) => repaired)
      expect(mended.map(({ ordinal }) => ordinal)).toEqual([1, 2])
      expect((await ledger.differenceCounts(run)).left).toEqual({ ...none, extra: 1, different: 4 })
    })

    it('of thousands of records are noted and mended as of one', async () => {
      const { id: run } = await openRun(ledger, 'run', 'contacts', 'import', asks.task)
      await stage(ledger, run, rows(1_200), { skipUnchanged: false })
      const all = rows(1_200).map(({ ordinal }) => difference(ordinal))
      await ledger.noteDifferences(run, all.slice(0, 1_000), { repaired: false })
      await ledger.noteDifferences(run, all.slice(200), { repaired: false })
      const [segment] = await ledger.openSegments(run)
      const claim = { run, segment: segment!, fence: await ledger.claimSegment(run, segment!) }
      while ((await booked(ledger, run)).pending)
        await settle(ledger, claim, await send(ledger, claim, 400), 'updated')
      await ledger.settleDifferences(run)
      expect(await ledger.differenceCounts(run)).toEqual({
        found: { ...none, different: 1_200 },
        left: none,
      })
    })

    it('of a record that was deleted are mended, and nothing is accepted for its key', async () => {
      await accept(ledger, rows(3))
      const { run } = await reconcile([row(1, 'k1')])
      const extra = (ordinal: number) => difference(null, { key: `k${ordinal}`, kind: 'extra' })
      await ledger.noteDifferences(run, [extra(2), extra(3)], { repaired: false })
      await ledger.recordDeleted(run, [{ key: 'k2', recordId: 'record 2' }])
      await ledger.recordDeleted(run, [])
      expect((await ledger.differenceCounts(run)).left).toEqual({ ...none, extra: 1 })
      const { keys } = await ledger.absentKeys(run, { after: null, limit: 10 })
      expect(keys.map(({ key }) => key)).toEqual(['k3'])
      await close(ledger, run)
      expect(await accepted(ledger, rows(3))).toEqual([1, 3])
    })

    it('of records that rows of the run have are known: found, written, or accepted for a key of a row', async () => {
      await accept(ledger, rows(7))
      const items = [row(1, 'n1'), row(2, 'n2'), row(3, 'n3'), badRow(4, 'k7')]
      const { run } = await reconcile(items)
      const found = difference(2, { key: 'n2', recordId: 'found otherwise' })
      await ledger.recordCompared(run, [equal(1), different(2, { differences: [found] })])
      const extra = difference(null, { key: 'k5', recordId: 'record 5', kind: 'extra' })
      const other = difference(null, {
        key: 'k6',
        recordId: 'record 6',
        kind: 'extra',
        version: 'v1',
      })
      await ledger.noteDifferences(run, [extra, other], { repaired: false })
      const ids = ['record 3', 'record 5', 'record 6', 'record 7', 'found 1', 'found otherwise']
      const own = async () => [...(await ledger.recordsOfRows(run, ids))].toSorted()
      expect(await own()).toEqual(['found 1', 'found otherwise', 'record 7'])
      const [segment] = await ledger.openSegments(run)
      const claim = { run, segment: segment!, fence: await ledger.claimSegment(run, segment!) }
      await settle(ledger, claim, await send(ledger, claim), 'updated')
      expect(await own()).toEqual(['found 1', 'found otherwise', 'record 3', 'record 7'])
      expect(await ledger.recordsOfRows(run, [])).toEqual(new Set())
      await ledger.dropExtra(run, [{ key: 'k5', recordId: 'record 5' }])
      await ledger.dropExtra(run, [])
      expect((await ledger.differenceCounts(run)).found).toEqual({
        ...none,
        extra: 1,
        different: 1,
      })
      expect((await noted(run)).map(({ key, version }) => [key, version])).toEqual([
        ['n2', undefined],
        ['k6', 'v1'],
      ])
    })

    it('of records that another sync has written are told, by key or by record', async () => {
      await accept(ledger, rows(4))
      const write = async (sync: string, items: readonly StagedItem[], more: object) => {
        const { id: run } = await openRun(ledger, 'run', sync)
        await stage(ledger, run, items, { skipUnchanged: false, destination: { sync, ...more } })
        const [segment] = await ledger.openSegments(run)
        const claim = { run, segment: segment!, fence: await ledger.claimSegment(run, segment!) }
        await settle(ledger, claim, await send(ledger, claim), 'updated')
        await close(ledger, run)
      }
      await write('by key', [row(1, 'k1')], {})
      await write('by record', [row(1, 'x'), row(2, 'other key')], {
        matchingProperty: 'svc_email',
      })
      await write('same key of another property', [row(1, 'k3')], { matchingProperty: 'svc_email' })
      const third = [row(1, 'x'), row(2, 'y'), row(3, 'k3')]
      await write('other org', third, { orgId: 99 })
      await write('other type', third, { objectType: 'svc_company' })
      const { run } = await reconcile([row(1, 'k4')])
      const records = [
        { key: 'k1', recordId: 'no record' },
        { key: 'k2', recordId: 'record 2' },
        { key: 'k3', recordId: 'record 3' },
      ]
      expect([...(await ledger.writtenElsewhere(run, records))].toSorted()).toEqual([
        ['k1', 'by key'],
        ['k2', 'by record'],
      ])
      expect(await ledger.writtenElsewhere(run, [])).toEqual(new Map())
      // Under the same key of the same property alone.
      expect(await ledger.recordsElsewhere(run, ['k1', 'k2', 'k3', 'x'])).toEqual(
        new Map([['k1', { recordId: 'record 1', run: run - 5, records: [] }]]),
      )
      await ledger.recordDeleted(run, records)
      const { id: next } = await openRun(ledger, 'plan', 'by record')
      const by = { destination: { sync: 'by record', matchingProperty: 'svc_email' } }
      await stage(ledger, next, [row(1, 'x'), row(2, 'other key')], by)
      expect(await statesOf(ledger, next)).toEqual({ 1: 'unchanged', 2: 'pending' })
    })

    it('go when old runs are pruned, also those of a mirror', async () => {
      const mirror = await opening()
      const many = Array.from({ length: 1_000 }, (_, index) => ofRecord(`r${index}`))
      await ledger.noteDifferences(mirror, many, { repaired: false })
      await ledger.noteDifferences(mirror, [ofRecord('one more')], { repaired: false })
      await ledger.closeRun(mirror, { state: 'complete', books: null })
      const { run } = await reconcile(rows(2))
      await ledger.recordCompared(run, [different(1)])
      const live = await opening()
      await ledger.noteDifferences(live, [ofRecord('live')], { repaired: false })
      await close(ledger, run)
      await ledger.prune(never)
      expect([await noted(mirror), await noted(run)]).toEqual([[], []])
      expect(await noted(live)).toHaveLength(1)
      expect(await ledger.prune(never)).toBe(0)
    })
  })

  describe('how a sync stands', () => {
    it('tells what was verified last', async () => {
      const never = { verifiedThrough: null }
      expect(await ledger.reconciled('contacts')).toEqual(never)
      await accept(ledger, rows(1))
      const at = '2026-01-31T08:15:00.123Z'
      const verified = await openRun(ledger, 'run', 'contacts', 'import', asks.task)
      expect(await ledger.reconciled('contacts')).toEqual(never)
      await ledger.closeRun(verified.id, { state: 'complete', books: null, verifiedThrough: at })
      expect(await ledger.run(verified.id)).toMatchObject({ verifiedThrough: at })
      expect(await ledger.reconciled('contacts')).toEqual({ verifiedThrough: at })
      const { id } = await openRun(ledger, 'run', 'contacts', 'import', asks.task)
      await ledger.closeRun(id, { state: 'failed', books: null })
      expect(await ledger.reconciled('contacts')).toEqual({ verifiedThrough: at })
      expect(await ledger.reconciled('others')).toEqual(never)
    })

    it('does not count retries and reconciliations as successes', async () => {
      const success = await accept(ledger, rows(1))
      const { closedAt } = (await ledger.run(success))!
      const others = ['reconcile', 'retry'] as const
      for (const purpose of others) {
        const { id } = await openRun(ledger, 'run', 'contacts', 'import', { purpose })
        await ledger.noteStream(id, stream('svc_contact', { state: 'complete' }))
        await new Promise((resolve) => setTimeout(resolve, 2))
        await ledger.closeRun(id, { state: 'complete', books: null })
      }
      expect(await ledger.syncHealth('contacts')).toMatchObject({
        succeededAt: closedAt,
        streams: new Map(),
      })
      const { id } = await openRun(ledger, 'run', 'contacts', 'import', { purpose: 'backfill' })
      await ledger.closeRun(id, { state: 'complete', books: null })
      const backfill = (await ledger.run(id))!
      expect(backfill.purpose).toBe('backfill')
      expect(await ledger.syncHealth('contacts')).toMatchObject({ succeededAt: backfill.closedAt })
    })
  })

  describe('the place of a stream', () => {
    it('is kept beside its books, before and after they are noted', async () => {
      const { id } = await openRun(ledger, 'run', 'crm', 'mirror', asks.task)
      expect(await ledger.loadStepState(id, 'svc_a')).toBeNull()
      await ledger.saveStepState(id, 'svc_a', 'here')
      expect(await ledger.streams(id)).toEqual([])
      expect(await ledger.loadStepState(id, 'svc_a')).toBe('here')
      await ledger.noteStream(id, stream('svc_a', { read: 3 }))
      await ledger.saveStepState(id, 'svc_a', 'there')
      await ledger.noteStream(id, stream('svc_b'))
      expect(await ledger.loadStepState(id, 'svc_a')).toBe('there')
      expect(await ledger.loadStepState(id, 'svc_b')).toBeNull()
      expect(await ledger.streams(id)).toEqual([stream('svc_a', { read: 3 }), stream('svc_b')])
    })

    it('has its own requests, which count as those of the run', async () => {
      const { id } = await openRun(ledger, 'run', 'contacts', 'import', asks.task)
      await ledger.noteRequests(id, '@one', 1)
      await ledger.saveStepState(id, '@one', 'here')
      await ledger.noteRequests(id, '@one', 2)
      await ledger.noteRequests(id, '@two', 4)
      expect(await ledger.loadStepState(id, '@one')).toBe('here')
      expect(await ledger.loadStepState(id, '@two')).toBeNull()
      expect(await ledger.progress(id)).toMatchObject({ requests: 7, planned: 0 })
      expect(await ledger.streams(id)).toEqual([])
      // Look-ups write nothing.
      expect(await ledger.progress(id)).not.toHaveProperty('lookUps')
      await ledger.noteRequests(id, LOOK_UPS_STEP, 5)
      expect(await ledger.progress(id)).toMatchObject({ requests: 7, lookUps: 5 })
      await ledger.closeRun(id, { state: 'complete', books: await ledger.books(id) })
      await ledger.noteRequests(id, '@two', 1)
      expect(await ledger.progress(id)).toMatchObject({ requests: 7 })
    })

    it('of a closed run stays as it was', async () => {
      const { id } = await openRun(ledger, 'run', 'crm', 'mirror', asks.task)
      await ledger.saveStepState(id, 'svc_a', 'here')
      await ledger.closeRun(id, { state: 'complete', books: null })
      await ledger.saveStepState(id, 'svc_a', 'late')
      await ledger.saveStepState(id, 'svc_b', 'late')
      expect(await ledger.loadStepState(id, 'svc_a')).toBe('here')
      expect(await ledger.loadStepState(id, 'svc_b')).toBeNull()
    })
  })

  it('what the service said of the properties is kept with the run', async () => {
    const { id } = await openRun(ledger)
    expect(await ledger.run(id)).toMatchObject({ schema: null })
    const schema = { svc_stage: { type: 'single_select', isMulti: false, options: ['ü', '"'] } }
    await ledger.bindDestination(id, destination, { keyFingerprint: 'fp', warnings: [], schema })
    expect(await ledger.run(id)).toMatchObject({ schema })
  })
}
