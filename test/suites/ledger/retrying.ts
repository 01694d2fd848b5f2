// Retries: which rows of a closed run they take, and which of these are mended.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { RetryChoice } from '../../../src/core/domain/purpose.ts'
import { ITEM_STATES } from '../../../src/core/domain/outcomes.ts'
import type { Ledger, StagedItem } from '../../../src/ledger/ledger.ts'
import {
  accept,
  answered,
  badRow,
  close,
  never,
  openRun,
  outcome,
  row,
  send,
  settle,
  stage,
  staged,
  type Open,
  type Opened,
} from './scene.ts'

export function retryingTests(open: Open): void {
  let opened: Opened
  let ledger: Ledger
  beforeEach(async () => {
    opened = await open()
    ledger = opened.ledger
  })
  afterEach(() => opened.cleanup())

  const ordinalsIn = async (view: string, run: number) =>
    (await opened.query(`SELECT ordinal FROM ${view} WHERE run = ${run} ORDER BY ordinal`)).map(
      (each) => Number(each['ordinal']),
    )
  const mendedBy = async (run: number) =>
    (
      await opened.query(
        `SELECT ordinal, mended_by FROM results WHERE run = ${run} AND mended_by IS NOT NULL ORDER BY ordinal`,
      )
    ).map((each) => [Number(each['ordinal']), Number(each['mended_by'])])
  /** What a retry of a run takes; of the whole run, the view of what is to be mended has the same rows. */
  const taken = async (run: number, choice: RetryChoice = {}, after = 0, limit = 100) => {
    const rows = await ledger.retryRows(run, choice, { after, limit })
    const ordinals = rows.map(({ ordinal }) => ordinal)
    if (Object.keys(choice).length === 0 && after === 0 && limit === 100)
      expect(await ordinalsIn('rejects', run)).toEqual(ordinals)
    return ordinals
  }
  const leftOf = async (run: number) =>
    (await ledger.report(run, { states: ITEM_STATES, after: 0, limit: 100, isLeft: true })).map(
      ({ ordinal }) => ordinal,
    )

  /** A closed run: 1 created, 2 and 3 rejected, 4 invalid with a key, 5 without, 6 in doubt, 7 unsent, 8 reads back otherwise. */
  async function leftOver() {
    const claim = await staged(ledger, [
      row(1, 'created'),
      row(2, 'refused'),
      row(3, 'conflict'),
      badRow(4, 'bad'),
      badRow(5, null, 'key_missing'),
      row(6, 'doubtful'),
      row(7, 'not_sent'),
      row(8, 'differs'),
    ])
    const batch = await send(ledger, claim, 50, ({ ordinal }) => ordinal !== 7)
    await ledger.settle(claim.run, claim.segment, claim.fence, batch, answered, [
      outcome(1, 'created'),
      outcome(2, 'refused'),
      outcome(3, 'refused', { httpStatus: 409, code: 'conflict', reason: null }),
      outcome(6, 'in_flight', { reason: null }),
      outcome(8, 'updated'),
    ])
    await ledger.recordVerified(claim.run, [
      { ordinal: 8, verdict: 'different', recordId: null, field: 'name' },
    ])
    await close(ledger, claim.run)
    return claim.run
  }

  /** A retry of a run that stages these rows, each of another one, and gets these outcomes for those that are sent. */
  async function retry(
    of: number,
    items: readonly (readonly [of: number, key: string | null])[],
    state: 'created' | 'updated' | 'refused' = 'created',
  ) {
    const again: StagedItem[] = items.map(([ordinal, key], index) => ({
      ...(key === null ? badRow(index + 1, null) : row(index + 1, key, 'mended')),
      of: ordinal,
    }))
    const { id: run } = await openRun(ledger, 'run', 'contacts', 'import', { purpose: 'retry', of })
    await stage(ledger, run, again, { skipUnchanged: false })
    const [segment] = await ledger.openSegments(run)
    if (segment) {
      const claim = { run, segment, fence: await ledger.claimSegment(run, segment) }
      await settle(ledger, claim, await send(ledger, claim), state)
    }
    await close(ledger, run)
    return run
  }

  describe('a retry', () => {
    it('names the run that it is of, which knows its retries and theirs, oldest first', async () => {
      const of = await leftOver()
      expect(await ledger.run(of)).toMatchObject({ purpose: 'sync', of: null })
      expect(await ledger.laterRuns(of, 'retry')).toEqual([])
      const first = await retry(of, [[2, 'refused']])
      const plan = await openRun(ledger, 'plan', 'contacts', 'import', { purpose: 'retry', of })
      await ledger.discard(plan.id)
      await openRun(ledger, 'plan', 'contacts', 'import', { purpose: 'retry', of })
      const second = await retry(of, [[3, 'conflict']])
      expect(await ledger.run(second)).toMatchObject({ purpose: 'retry', of })
      expect((await ledger.laterRuns(of, 'retry')).map(({ id }) => id)).toEqual([first, second])
      // A retry of a retry takes rows of the first run as well.
      const third = await retry(first, [[1, 'refused']])
      expect((await ledger.laterRuns(of, 'retry')).map(({ id }) => id)).toEqual([
        first,
        second,
        third,
      ])
      expect((await ledger.laterRuns(first, 'retry')).map(({ id }) => id)).toEqual([third])
      const [item] = await ledger.report(second, { states: ['created'], after: 0, limit: 1 })
      expect(item).toMatchObject({ ordinal: 1, of: 3 })
    })

    it('takes what is left over, also what has no key, as it was read', async () => {
      const run = await leftOver()
      expect(await ledger.retryRows(run, {}, { after: 0, limit: 100 })).toEqual([
        { ordinal: 2, line: 3, raw: ['refused', 'a'] },
        { ordinal: 3, line: 4, raw: ['conflict', 'a'] },
        { ordinal: 4, line: 5, raw: ['bad', 'x'] },
        { ordinal: 5, line: 6, raw: [null, 'x'] },
        { ordinal: 6, line: 7, raw: ['doubtful', 'a'] },
        { ordinal: 7, line: 8, raw: ['not_sent', 'a'] },
        { ordinal: 8, line: 9, raw: ['differs', 'a'] },
      ])
      expect(await taken(run, {}, 3, 2)).toEqual([4, 5])
      expect(await taken(run, {}, 8)).toEqual([])
      expect(await leftOf(run)).toEqual(await taken(run))
    })

    it.each<[string, RetryChoice, number[]]>([
      ['a code', { codes: ['conflict'] }, [3]],
      ['codes', { codes: ['conflict', 'row_invalid'] }, [3, 4, 5]],
      ['a reason', { reasons: ['schema_invalid'] }, [2]],
      ['a doubt', { reasons: ['in_doubt', 'key_missing'] }, [5, 6]],
      ['a state', { reasons: ['not_sent'] }, [7]],
      ['both', { codes: ['row_invalid'], reasons: ['key_missing'] }, [5]],
      ['no code at all', { codes: [] }, []],
      [
        'rows',
        {
          rows: [
            [7, 20],
            [1, 3],
            [3, 4],
          ],
        },
        [2, 3, 4, 7, 8],
      ],
      ['rows and a code', { rows: [[1, 4]], codes: ['row_invalid'] }, [4]],
    ])('takes what %s chooses', async (_, choice, ordinals) => {
      const run = await leftOver()
      expect(await taken(run, choice)).toEqual(ordinals)
      const paged: number[] = []
      for (let after = 0; ;) {
        const page = await taken(run, choice, after, 2)
        if (page.length === 0) break
        paged.push(...page)
        after = page.at(-1)!
      }
      expect(paged).toEqual(ordinals)
    })

    it('leaves what it did not bring in; what it brought in is left no more', async () => {
      const run = await leftOver()
      await retry(
        run,
        [
          [2, 'refused'],
          [5, 'found'],
          [4, 'bad'],
        ],
        'refused',
      )
      expect(await taken(run)).toEqual([2, 3, 4, 5, 6, 7, 8])
      await retry(run, [
        [2, 'refused'],
        [5, 'found'],
      ])
      expect(await taken(run)).toEqual([3, 4, 6, 7, 8])
      // Corrected, a row may have another key.
      await retry(
        run,
        [
          [4, 'good'],
          [6, 'doubtful'],
        ],
        'updated',
      )
      expect(await taken(run)).toEqual([3, 7, 8])
      expect(await leftOf(run)).toEqual([3, 7, 8])
      expect(
        (await ledger.leftRows(run, { after: 0, limit: 9 })).map((left) => left.ordinal),
      ).toEqual([3, 7, 8])
      const views = await opened.query(
        `SELECT ordinal, raw IS NOT NULL AS kept FROM rejects WHERE run = ${run} ORDER BY ordinal`,
      )
      expect(views.map((view) => Number(view['ordinal']))).toEqual([3, 7, 8])
    })

    it('leaves the newest attempt of a row, through retries of retries and beside them', async () => {
      const run = await leftOver()
      const left = async (of: number) =>
        (await ledger.report(of, { states: ITEM_STATES, after: 0, limit: 100, isLeft: true })).map(
          ({ ordinal, raw, state, attempt }) => [ordinal, raw?.[0], state, attempt],
        )
      const [two, three] = [
        [2, 'refused', 'refused', null],
        [3, 'conflict', 'refused', null],
      ]
      expect((await left(run)).slice(0, 2)).toEqual([two, three])
      // The first retry corrects the keys of 2 and 5, and takes 4 as it was: none is brought in.
      const first = await retry(
        run,
        [
          [5, 'five'],
          [2, 'twice'],
          [4, null],
        ],
        'refused',
      )
      const once = [
        [2, 'twice', 'refused', { run: first, ordinal: 2 }],
        three,
        [4, null, 'invalid', { run: first, ordinal: 3 }],
        [5, 'five', 'refused', { run: first, ordinal: 1 }],
      ]
      expect((await left(run)).slice(0, 4)).toEqual(once)
      expect(
        (await ledger.retryRows(run, {}, { after: 0, limit: 4 })).map(({ raw }) => raw[0]),
      ).toEqual(['twice', 'conflict', null, 'five'])
      expect(await taken(run, { reasons: ['schema_invalid'] })).toEqual([2, 5])
      // A retry of the retry brings one in and corrects another one; so the first run knows, and so does its retry.
      const second = await retry(first, [[2, 'thrice']])
      expect(await taken(run)).toEqual([3, 4, 5, 6, 7, 8])
      const third = await retry(first, [[1, 'fifth']], 'refused')
      expect((await left(run)).slice(1, 3)).toEqual([
        [4, null, 'invalid', { run: first, ordinal: 3 }],
        [5, 'fifth', 'refused', { run: third, ordinal: 1 }],
      ])
      // A second retry of the first run takes what a retry of its retry left.
      const fourth = await retry(run, [[5, 'sixth']], 'refused')
      for (const [of, ordinal] of [
        [run, 5],
        [first, 1],
        [third, 1],
        [fourth, 1],
      ] as const)
        expect((await left(of)).find(([own]) => own === ordinal)?.slice(1)).toEqual([
          'sixth',
          'refused',
          of === fourth ? null : { run: fourth, ordinal: 1 },
        ])
      await retry(fourth, [[1, 'sixth']])
      for (const of of [first, third, fourth]) expect(await taken(of)).not.toContain(1)
      expect(await taken(run)).toEqual([3, 4, 6, 7, 8])
      expect(await taken(second)).toEqual([])
      expect(await ledger.leftByRun(run)).toEqual([
        { run, rows: 4 },
        { run: first, rows: 1 },
      ])
      const groups = await ledger.rejectGroups(run, { isLeft: true })
      expect(groups.reduce((sum, { items }) => sum + items, 0)).toBe(5)
      const fifth = fourth + 1
      expect(await mendedBy(run)).toEqual([
        [2, second],
        [5, fifth],
      ])
      expect(await mendedBy(first)).toEqual([
        [1, fifth],
        [2, second],
      ])
      expect(await mendedBy(third)).toEqual([[1, fifth]])
      expect(await mendedBy(fourth)).toEqual([[1, fifth]])
      expect(await mendedBy(fifth)).toEqual([])
    })

    it('that was read back otherwise again does not mend; in doubt is what no attempt settled', async () => {
      const run = await leftOver()
      const first = await retry(run, [[6, 'corrected']], 'refused')
      const { id: second } = await openRun(ledger, 'run', 'contacts', 'import', {
        purpose: 'retry',
        of: run,
      })
      await stage(ledger, second, [{ ...row(1, 'differs'), of: 8 }], { skipUnchanged: false })
      const [segment] = await ledger.openSegments(second)
      const claim = {
        run: second,
        segment: segment!,
        fence: await ledger.claimSegment(second, segment!),
      }
      await settle(ledger, claim, await send(ledger, claim), 'updated')
      await ledger.recordVerified(second, [
        { ordinal: 1, verdict: 'different', recordId: null, field: 'name' },
      ])
      await close(ledger, second)
      expect(await taken(run)).toEqual([2, 3, 4, 5, 6, 7, 8])
      expect(await taken(second)).toEqual([1])
      expect(await ordinalsIn('in_doubt', run)).toEqual([6])
      const third = await retry(first, [[1, 'corrected']])
      await retry(second, [[1, 'differs']])
      expect(await ordinalsIn('in_doubt', run)).toEqual([])
      expect(await taken(run)).toEqual([2, 3, 4, 5, 7])
      expect(await mendedBy(run)).toEqual([
        [6, third],
        [8, third + 1],
      ])
    })

    it('whose key an earlier row of its run has taken is left, and its old key is not asked for', async () => {
      const run = await leftOver()
      // 2 gets another key and is rejected; 3 gets the key that 2 had, and is brought in by the next retry.
      const first = await retry(run, [[2, 'other']], 'refused')
      await retry(run, [[3, 'refused']])
      expect(await taken(run)).toEqual([2, 4, 5, 6, 7, 8])
      expect(await taken(first)).toEqual([1])
      await accept(ledger, [row(1, 'other', 'b')])
      expect(await taken(run)).toEqual([4, 5, 6, 7, 8])
      expect(await taken(first)).toEqual([])
    })

    it('that is still at work, or in which a later row had the key, leaves what was there', async () => {
      const run = await leftOver()
      const { id } = await openRun(ledger, 'run', 'contacts', 'import', {
        purpose: 'retry',
        of: run,
      })
      await stage(ledger, id, [{ ...row(1, 'corrected'), of: 2 }])
      const [live] = await ledger.report(run, {
        states: ITEM_STATES,
        after: 0,
        limit: 1,
        isLeft: true,
      })
      expect(live).toMatchObject({ ordinal: 2, attempt: null, raw: ['refused', 'a'] })
      await close(ledger, id)
      // Both rows get one key: the later one is sent for both.
      await retry(run, [
        [2, 'same'],
        [3, 'same'],
      ])
      expect(await taken(run)).toEqual([4, 5, 6, 7, 8])
    })

    it('that is accepted already mends too, but not the retry of another run, or a plan', async () => {
      const run = await leftOver()
      await accept(ledger, [row(1, 'elsewhere', 'mended')])
      const other = await leftOver()
      await retry(other, [[5, 'elsewhere']])
      expect(await taken(run)).toContain(5)
      expect(await taken(other)).not.toContain(5)
      const plan = await openRun(ledger, 'plan', 'contacts', 'import', {
        purpose: 'retry',
        of: run,
      })
      await stage(ledger, plan.id, [{ ...row(1, 'elsewhere', 'mended'), of: 5 }])
      expect(await taken(run)).toContain(5)
      await retry(run, [[5, 'elsewhere']])
      expect(await taken(run)).not.toContain(5)
    })

    it('does not take what a later run of any kind brought in', async () => {
      const run = await leftOver()
      await accept(ledger, [row(1, 'refused', 'b'), row(2, 'doubtful', 'b')])
      expect(await taken(run)).toEqual([3, 4, 5, 7, 8])
      expect(await leftOf(run)).toEqual([3, 4, 5, 7, 8])
      expect(await opened.query(`SELECT ordinal FROM in_doubt WHERE run = ${run}`)).toEqual([])
    })
  })

  describe('a row that is retried', () => {
    /** A run in which 1 and 4 are `same`, 2 and 3 are invalid, and 5 is rejected. */
    async function twice() {
      const claim = await staged(ledger, [
        row(1, 'same', 'first'),
        badRow(2, 'same'),
        badRow(3, null),
        row(4, 'same', 'last'),
        row(5, 'other'),
      ])
      const batch = await send(ledger, claim)
      await ledger.settle(claim.run, claim.segment, claim.fence, batch, answered, [
        outcome(4, 'created'),
        outcome(5, 'refused'),
      ])
      await close(ledger, claim.run)
      return claim.run
    }
    const statesOf = async (run: number) =>
      (await ledger.report(run, { states: ITEM_STATES, after: 0, limit: 9 })).map(
        ({ state }) => state,
      )

    it('gives way to a later row with its key that its run brought in', async () => {
      const run = await twice()
      const again = await retry(run, [
        [2, 'same'],
        [3, 'same'],
        [5, 'other'],
      ])
      expect(await statesOf(again)).toEqual(['superseded', 'superseded', 'created'])
      expect(await taken(run)).toEqual([])
      expect((await ledger.run(again))?.counts?.states).toMatchObject({ superseded: 2, created: 1 })
    })

    it('gives way to a later row of which another retry, or a retry of one, brought the key in', async () => {
      const run = await twice()
      const rejected = await retry(run, [[5, 'other']], 'refused')
      await retry(rejected, [[1, 'fifth']])
      expect(await statesOf(await retry(run, [[3, 'fifth']]))).toEqual(['superseded'])
      expect(await taken(run)).toEqual([2])
    })

    it('is sent over an older row with its key, although that one was retried later', async () => {
      const run = await twice()
      await retry(run, [[2, 'fourth']])
      // 5 gets that key, is rejected, and is left: what was brought in is older.
      const again = await retry(run, [[5, 'fourth']], 'refused')
      await retry(run, [[3, 'fourth']])
      expect(await taken(run)).toEqual([5])
      expect(await taken(again)).toEqual([1])
      expect(await statesOf(await retry(run, [[5, 'fourth']], 'updated'))).toEqual(['updated'])
      expect(await taken(run)).toEqual([])
    })

    it('gives way to a row of a later run that was unchanged, and to no older run that was retried', async () => {
      const claim = await staged(ledger, [row(1, 'bad', 'was')])
      const sent = await send(ledger, claim)
      await ledger.settle(claim.run, claim.segment, claim.fence, sent, answered, [
        outcome(1, 'created', { recordId: 'of another key' }),
      ])
      await close(ledger, claim.run)
      const one = await leftOver()
      const { id: two } = await openRun(ledger)
      await stage(ledger, two, [row(1, 'bad', 'was'), badRow(2, 'found')])
      await close(ledger, two)
      expect(await statesOf(two)).toEqual(['unchanged', 'invalid'])
      expect(
        await statesOf(
          await retry(one, [
            [4, 'bad'],
            [5, 'found'],
          ]),
        ),
      ).toEqual(['superseded', 'created'])
      // 5 of the older run came in last; the row of the newer run is still left, and is sent.
      expect(await taken(two)).toEqual([2])
      expect(await statesOf(await retry(two, [[2, 'found']], 'updated'))).toEqual(['updated'])
      expect(await taken(two)).toEqual([])
    })

    it('gives way to a row that was read later and whose answer was lost, but to none with its values', async () => {
      const one = await leftOver()
      const later = await staged(ledger, [
        row(1, 'refused', 'newer'),
        row(2, 'conflict', 'mended'),
        row(3, 'not_sent', 'newer'),
        badRow(4, 'differs'),
      ])
      await send(ledger, later, 50, ({ ordinal }) => ordinal !== 3)
      await close(ledger, later.run)
      const again = await retry(one, [
        [2, 'refused'],
        [3, 'conflict'],
        [7, 'not_sent'],
        [8, 'differs'],
      ])
      expect(await statesOf(again)).toEqual(['superseded', 'created', 'created', 'created'])
      // It was brought in by nothing, as long as the newer one was not.
      expect(await taken(one)).toContain(2)
      expect(await taken(again)).toEqual([])
      expect(await statesOf(await retry(one, [[2, 'refused']]))).toEqual(['superseded'])
      const newer = await retry(later.run, [[1, 'refused']], 'updated')
      expect(await statesOf(newer)).toEqual(['updated'])
      expect(await taken(one)).not.toContain(2)
      // What a retry of the row itself lost is no other row.
      const { id: lost } = await openRun(ledger, 'run', 'contacts', 'import', {
        purpose: 'retry',
        of: one,
      })
      await stage(ledger, lost, [{ ...row(1, 'doubtful', 'c'), of: 6 }], { skipUnchanged: false })
      const [segment] = await ledger.openSegments(lost)
      const fence = await ledger.claimSegment(lost, segment!)
      await send(ledger, { run: lost, segment: segment!, fence })
      await close(ledger, lost)
      expect(await statesOf(await retry(one, [[6, 'doubtful']]))).toEqual(['created'])
    })
  })

  describe('corrections', () => {
    it('are rows as a person corrected them, of which only those are taken that are left', async () => {
      const run = await leftOver()
      const first = await ledger.addCorrections(run, null, [
        { ordinal: 5, raw: ['k5', 'ü\0'] },
        { ordinal: 2, raw: ['two', 'a'] },
      ])
      expect(await ledger.addCorrections(run, first, [{ ordinal: 4, raw: ['four', null] }])).toBe(
        first,
      )
      await ledger.addCorrections(run, first, [{ ordinal: 4, raw: ['four', 'b'] }])
      await ledger.addCorrections(run, first, [{ ordinal: 1, raw: ['accepted', 'already'] }])
      const second = await ledger.addCorrections(run, null, [{ ordinal: 2, raw: ['2', 'z'] }])
      expect(second).not.toBe(first)
      const all = [
        { correction: second, rows: 1 },
        { correction: first, rows: 4 },
      ]
      expect(await ledger.correctionsOf(run, 9)).toEqual(all)
      expect(await ledger.correctionsOf(run, 1)).toEqual(all.slice(0, 1))
      expect(await ledger.retryRows(run, { correction: first }, { after: 0, limit: 10 })).toEqual([
        { ordinal: 2, line: 3, raw: ['two', 'a'] },
        { ordinal: 4, line: 5, raw: ['four', 'b'] },
        { ordinal: 5, line: 6, raw: ['k5', 'ü\0'] },
      ])
      expect(await taken(run, { correction: first, rows: [[4, 9]] }, 4)).toEqual([5])
      await retry(run, [[2, 'two']])
      expect(await taken(run, { correction: first })).toEqual([4, 5])
      expect(await taken(run, { correction: second })).toEqual([])
    })

    it('get a number each, whoever begins one at the same time', async () => {
      const run = await leftOver()
      const others = [ledger, await opened.reopen(), await opened.reopen()]
      const numbers = await Promise.all(
        others.map((each) => each.addCorrections(run, null, [{ ordinal: 2, raw: ['2'] }])),
      )
      expect(new Set(numbers).size).toBe(3)
    })

    it('go with the items of the run', async () => {
      const run = await leftOver()
      const rows = Array.from({ length: 1_000 }, (_, index) => ({ ordinal: index + 1, raw: ['x'] }))
      for (const correction of [null, 1, null, 2])
        await ledger.addCorrections(run, correction, rows)
      await ledger.prune(never)
      expect(await opened.query('SELECT ordinal FROM corrections LIMIT 1')).toEqual([])
      expect(await taken(run)).toEqual([])
    })
  })
}
