// Records whose rows are gone, or ask for it: which they are, what becomes of them, and what is no longer accepted then.

import { afterEach, beforeEach, expect, it } from 'vitest'
import { FenceLost } from '../../../src/core/errors.ts'
import { finalState, isBalanced } from '../../../src/core/domain/books.ts'
import { DELETION_STATES } from '../../../src/core/domain/outcomes.ts'
import type { Ledger, NewRemoval, StagedItem } from '../../../src/ledger/ledger.ts'
import {
  accept,
  accepted,
  badRow,
  booked,
  close,
  destination,
  openRun,
  row,
  rows,
  send,
  settle,
  stage,
  staged,
  withdrawn,
  type Open,
  type Opened,
} from './scene.ts'
import { removalGroups } from '../../removal-groups.ts'

const PAGE = { after: 0, limit: 1_000 }
const ALL = { ...PAGE, states: DELETION_STATES }

export function removingTests(open: Open): void {
  let opened: Opened
  let ledger: Ledger
  beforeEach(async () => {
    opened = await open()
    ledger = opened.ledger
  })
  afterEach(() => opened.cleanup())

  const missing = async (run: number, earlier: number, limit = 1_000) => {
    const keys: { key: string; recordId: string | null }[] = []
    // Bounded by the items of the run.
    for (let after: number | null = 0; after !== null;) {
      const page: Awaited<ReturnType<Ledger['missingKeys']>> = await ledger.missingKeys(run, {
        earlier,
        after,
        limit,
      })
      keys.push(...page.keys)
      after = page.next
    }
    return keys.map(({ key, recordId }) => [key, recordId])
  }

  const sending = (...numbers: number[]) => numbers.map((number) => ({ number, before: null }))
  const planned = (number: number, key: string, more: Partial<NewRemoval> = {}): NewRemoval => ({
    number,
    key,
    recordId: `record of ${key}`,
    cause: 'missing',
    state: 'pending',
    reason: null,
    ...more,
  })

  const statesOf = async (run: number) =>
    Object.fromEntries((await ledger.removals(run, ALL)).rows.map(({ key, state }) => [key, state]))

  /** A run with these items, staged, and the fence of its staging. */
  async function fenced(items: readonly StagedItem[]) {
    const { id: run } = await openRun(ledger)
    const { fence } = await stage(ledger, run, items)
    return { run, fence }
  }

  it('finds keys that a run has no item of, each once, with the record that is accepted', async () => {
    const first = await staged(ledger, [
      ...rows(5),
      row(6, 'k1', 'again'),
      badRow(7, 'bad'),
      badRow(8, null),
      row(9, "o'ü\u0000", 'ü'),
    ])
    const batch = await send(ledger, first)
    await settle(ledger, first, batch, 'created')
    await close(ledger, first.run)
    const next = await fenced([row(1, 'k2'), badRow(2, 'k3'), withdrawn(3, 'k4')])
    const all = [
      ['k1', 'record 6'],
      ['k5', 'record 5'],
      ['bad', null],
      ["o'ü\u0000", 'record 9'],
    ]
    expect((await missing(next.run, first.run)).toSorted()).toEqual(all.toSorted())
    expect((await missing(next.run, first.run, 2)).toSorted()).toEqual(all.toSorted())
    await ledger.addRemovals(next.run, next.fence, [planned(1, 'k5')])
    expect(await missing(next.run, first.run)).not.toContainEqual(['k5', 'record 5'])
  })

  it('knows of keys that it has no item of whether their last row asked for the deletion', async () => {
    const first = await fenced([
      row(1, 'left', 'a'),
      withdrawn(2, 'left'),
      withdrawn(3, 'asking'),
      withdrawn(4, 'asking'),
      withdrawn(5, 'back'),
      row(6, 'back', 'a'),
      row(7, 'plain', 'a'),
    ])
    await close(ledger, first.run)
    const next = await fenced([row(1, 'other')])
    const { keys } = await ledger.missingKeys(next.run, { ...PAGE, earlier: first.run })
    expect(Object.fromEntries(keys.map(({ key, isWithdrawn }) => [key, isWithdrawn]))).toEqual({
      left: true,
      asking: true,
      back: false,
      plain: false,
    })
  })

  it('finds the newest complete regular run of the destination, and whether it is kept', async () => {
    const { run: none } = await fenced(rows(1))
    expect(await ledger.previousReading(none)).toBeNull()
    await close(ledger, none)
    const task = { purpose: 'reconcile' } as const
    const { run: compared } = await staged(ledger, rows(1, 'c'), { task })
    await close(ledger, compared)
    const { run: stopped } = await fenced(rows(2))
    await ledger.settleLeftovers(stopped)
    await ledger.closeRun(stopped, { state: 'cancelled', books: await ledger.books(stopped) })
    await accept(ledger, rows(3), { destination: { objectType: 'svc_other' } })
    const { run: next } = await fenced(rows(1))
    expect(await ledger.previousReading(next)).toEqual({ run: none, isKept: true })
    await ledger.discard(next)
    const { id: plan } = await openRun(ledger, 'plan')
    await stage(ledger, plan, rows(1))
    expect(await ledger.previousReading(plan)).toEqual({ run: none, isKept: true })
    await opened.query(`DELETE FROM items WHERE run = ${none}`)
    expect(await ledger.previousReading(next)).toEqual({ run: none, isKept: false })
  })

  it('has rows that ask for a deletion as an outcome of their own, the last row of a key counts', async () => {
    await accept(ledger, rows(4))
    const { run } = await fenced([
      row(1, 'k1'),
      withdrawn(2, 'k1'),
      withdrawn(3, 'k2'),
      row(4, 'k2'),
      withdrawn(5, 'k3'),
      withdrawn(6, 'never'),
    ])
    expect(await booked(ledger, run)).toEqual({
      superseded: 2,
      unchanged: 1,
      deletion_requested: 3,
    })
    const asked = await ledger.askedKeys(run, PAGE)
    expect(asked).toEqual([
      { ordinal: 2, key: 'k1', recordId: 'record 1', isTracked: true },
      { ordinal: 5, key: 'k3', recordId: 'record 3', isTracked: true },
    ])
    expect(await ledger.askedKeys(run, { after: 2, limit: 1 })).toHaveLength(1)
    expect(await ledger.openSegments(run)).toEqual([])
    await close(ledger, run)
    const report = await ledger.report(run, { states: ['deletion_requested'], after: 0, limit: 9 })
    expect(report.map(({ raw }) => raw)).toEqual([null, null, null])
  })

  it('shows their keys as absent to a reconciliation', async () => {
    await accept(ledger, rows(3))
    const { run } = await fenced([withdrawn(1, 'k1'), row(2, 'k2')])
    const { keys } = await ledger.absentKeys(run, { after: null, limit: 100 })
    expect(keys.map(({ key }) => key).toSorted()).toEqual(['k1', 'k3'])
    const own = await ledger.recordsOfRows(run, ['record 1', 'record 2', 'record 3'])
    expect([...own]).toEqual(['record 2'])
  })

  it('keeps what became of each, and accepts nothing more for what is gone', async () => {
    const first = await accept(ledger, rows(5))
    const { run, fence: staging } = await fenced([row(1, 'k5')])
    const keys = ['k1', 'k2', 'k3', 'k4']
    const removals = keys.map((key, at) => planned(at + 1, key, { recordId: `record ${at + 1}` }))
    await ledger.addRemovals(run, staging, removals)
    expect(await ledger.trackedRecords(run)).toBe(5)
    const fence = await ledger.claimRemovals(run)
    await ledger.recordRemovals(run, fence, sending(1, 2, 3))
    const flying = await (await opened.reopen()).openRemovals(run, PAGE)
    expect(flying.map(({ isSent, attempts }) => [isSent, attempts])).toEqual([
      [true, 1],
      [true, 1],
      [true, 1],
      [false, 0],
    ])
    expect(flying[0]).toMatchObject({
      number: 1,
      key: 'k1',
      cause: 'missing',
      accepted: { recordId: 'record 1', run: first, marks: 'marks of 1', seen: null },
    })
    await ledger.settleRemovals(run, fence, [
      { number: 1, key: 'k1', state: 'deleted', recordId: 'record 1', httpStatus: 204 },
      { number: 2, key: 'k2', state: 'cleared', recordId: 'record 2' },
      { number: 3, key: 'k3', state: 'refused', recordId: 'record 3', code: 'conflict' },
      {
        number: 4,
        key: 'k4',
        state: 'changed_since',
        recordId: 'record 4',
        reason: 'values_changed',
      },
    ])
    expect(await ledger.openRemovals(run, PAGE)).toEqual([])
    expect(await ledger.removalCounts(run)).toEqual({
      deleted: 1,
      cleared: 1,
      refused: 1,
      changed_since: 1,
    })
    expect(await removalGroups(ledger, run)).toContainEqual({
      state: 'refused',
      cause: 'missing',
      code: 'conflict',
      reason: null,
      records: 1,
    })
    const page = await ledger.removals(run, { states: ['deleted', 'refused'], after: 0, limit: 1 })
    expect(page.rows).toMatchObject([
      { number: 1, key: 'k1', recordId: 'record 1', state: 'deleted', httpStatus: 204 },
    ])
    expect(page.next).toBe(1)
    expect(await ledger.trackedRecords(run)).toBe(3)
    await close(ledger, run)
    // What was removed or changed is sent again when it comes back.
    expect(await accepted(ledger, rows(5))).toEqual([3, 4, 5])
  })

  it('forgets a record under every key and sync that has it', async () => {
    await accept(ledger, [row(1, 'one')])
    await accept(ledger, [row(1, 'two')], { destination: { matchingProperty: 'svc_email' } })
    const { run, fence } = await fenced([])
    await ledger.addRemovals(run, fence, [planned(1, 'one', { recordId: 'record 1' })])
    const claimed = await ledger.claimRemovals(run)
    await ledger.settleRemovals(run, claimed, [
      { number: 1, key: 'one', state: 'already_gone', recordId: 'record 1' },
    ])
    const left = await opened.query('SELECT key FROM accepted')
    expect(left).toEqual([])
  })

  it('is settled by its holder alone, in a live run', async () => {
    await accept(ledger, rows(2))
    const { run, fence } = await fenced([row(1, 'k2')])
    await ledger.addRemovals(run, fence, [planned(1, 'k1')])
    const old = await ledger.claimRemovals(run)
    const now = await ledger.claimRemovals(run)
    const outcome = { number: 1, key: 'k1', state: 'deleted', recordId: 'record 1' } as const
    await expect(ledger.recordRemovals(run, old, sending(1))).rejects.toThrow(FenceLost)
    await expect(ledger.settleRemovals(run, old, [outcome])).rejects.toThrow(FenceLost)
    await expect(ledger.addRemovals(run, fence, [planned(2, 'k9')])).rejects.toThrow(FenceLost)
    await ledger.recordRemovals(run, now, sending(1))
    await close(ledger, run)
    await expect(ledger.settleRemovals(run, now, [outcome])).rejects.toThrow(FenceLost)
    await expect(ledger.claimRemovals(run)).rejects.toThrow(FenceLost)
    expect(await statesOf(run)).toEqual({ k1: 'outcome_unknown' })
    expect((await ledger.removals(run, ALL)).rows[0]).toMatchObject({ inDoubt: true })
  })

  it.each(['in flight at the end', 'outcome_unknown'] as const)(
    'takes no row for unchanged whose removal is %s, and may remove its record later',
    async (how) => {
      await accept(ledger, rows(3))
      const { run, fence } = await fenced([row(1, 'k3')])
      await ledger.addRemovals(run, fence, [
        planned(1, 'k1', { recordId: 'record 1' }),
        planned(2, 'k2'),
      ])
      const claimed = await ledger.claimRemovals(run)
      await ledger.recordRemovals(run, claimed, sending(1))
      const failed = {
        number: 1,
        key: 'k1',
        state: 'outcome_unknown',
        recordId: 'record 1',
      } as const
      if (how === 'outcome_unknown') await ledger.settleRemovals(run, claimed, [failed])
      expect(await accepted(ledger, rows(3))).toEqual(
        how === 'outcome_unknown' ? [2, 3] : [1, 2, 3],
      )
      await ledger.settleLeftovers(run)
      await close(ledger, run)
      expect(await accepted(ledger, rows(3))).toEqual([2, 3])
      const next = await fenced([row(1, 'k3')])
      await ledger.addRemovals(next.run, next.fence, [planned(1, 'k1')])
      const [open] = await ledger.openRemovals(next.run, { after: 0, limit: 10 })
      expect(open!.accepted).toMatchObject({
        recordId: 'record 1',
        hash: expect.any(String) as string,
      })
      await ledger.settleLeftovers(next.run)
      await close(ledger, next.run)
      await accept(ledger, rows(1))
      expect(await accepted(ledger, rows(3))).toEqual([1, 2, 3])
    },
  )

  it('is in the books: what is open keeps them from balance, what is left over from complete', async () => {
    await accept(ledger, rows(3))
    const { run, fence } = await fenced([row(1, 'k3')])
    await ledger.addRemovals(run, fence, [planned(1, 'k1'), planned(2, 'k2')])
    expect(isBalanced(await ledger.books(run))).toBe(false)
    const claimed = await ledger.claimRemovals(run)
    await ledger.settleRemovals(run, claimed, [
      { number: 1, key: 'k1', state: 'changed_since', recordId: null },
    ])
    await ledger.settleLeftovers(run)
    const books = await ledger.books(run)
    expect(books.removals).toEqual({ changed_since: 1, not_sent: 1 })
    expect(isBalanced(books)).toBe(true)
    expect(finalState(books)).toBe('complete_with_rejects')
    expect(finalState({ ...books, removals: { changed_since: 1 } })).toBe(
      'complete_with_differences',
    )
    expect(finalState({ ...books, removals: { deleted: 1, not_owned: 1, still_wanted: 1 } })).toBe(
      'complete',
    )
  })

  it('is looked at again by the next run, if it was left open', async () => {
    await accept(ledger, rows(5))
    const { run, fence } = await fenced([row(1, 'k5')])
    const removals = ['k1', 'k2', 'k3', 'k4'].map((key, at) => planned(at + 1, key))
    await ledger.addRemovals(run, fence, removals)
    const claimed = await ledger.claimRemovals(run)
    await ledger.settleRemovals(run, claimed, [
      { number: 1, key: 'k1', state: 'deleted', recordId: 'record 1' },
      { number: 2, key: 'k2', state: 'unproven', recordId: 'record 2' },
      { number: 3, key: 'k3', state: 'changed_since', recordId: 'record 3' },
    ])
    await close(ledger, run)
    const next = await fenced([row(1, 'k5')])
    const carried = (await ledger.carriedKeys(next.run, { ...PAGE, earlier: run })).map(
      ({ key, recordId, cause }) => [key, recordId, cause],
    )
    expect(carried).toEqual([
      ['k2', 'record 2', 'missing'],
      ['k4', 'record 4', 'missing'],
    ])
    const known = await ledger.removedSince(next.run, run, ['k1', 'k2', 'k9'])
    expect([...known]).toEqual(['k1'])
    await close(ledger, next.run)
    const back = await fenced([row(1, 'k4'), row(2, 'k5')])
    const still = await ledger.carriedKeys(back.run, { ...PAGE, earlier: run })
    expect(still.map(({ key }) => key)).toEqual(['k2'])
  })

  it('goes when its run is staged again, discarded or pruned; the last reading stays if it is compared with', async () => {
    const open = async (settings: object) => {
      const { destination: _, ...config } = {
        destination,
        name: 'contacts',
        kind: 'import',
        import: {
          from: { csv: '/rows.csv' },
          to: 'crm',
          object_type: 'svc_contact',
          matching_property: 'svc_external_id',
          properties: {},
          ...settings,
        },
      }
      const run = await ledger.openRun({
        sync: 'contacts',
        kind: 'import',
        mode: 'run',
        workflowId: 'w',
        workflowRunId: `r${Math.random()}`,
        config,
      })
      return 'run' in run ? run.run.id : 0
    }
    const first = await open({ missing_rows: 'delete' })
    const { fence } = await stage(ledger, first, rows(2))
    await ledger.addRemovals(first, fence, [planned(1, 'x')])
    await stage(ledger, first, rows(2))
    expect(await statesOf(first)).toEqual({})
    await close(ledger, first)
    const later = '9999-01-01T00:00:00.000Z'
    await ledger.prune(later)
    expect(await ledger.previousReading(first + 1)).toBeNull()
    const second = await open({ missing_rows: 'delete' })
    const again = await stage(ledger, second, rows(2))
    await ledger.addRemovals(second, again.fence, [planned(1, 'x')])
    expect(await ledger.previousReading(second)).toEqual({ run: first, isKept: true })
    await close(ledger, second)
    await ledger.prune(later)
    const third = await open({})
    await stage(ledger, third, rows(2))
    expect(await ledger.previousReading(third)).toEqual({ run: second, isKept: true })
    expect((await ledger.report(first, { states: ['not_sent'], after: 0, limit: 9 })).length).toBe(
      0,
    )
    await close(ledger, third)
    await ledger.prune(later)
    expect(await statesOf(second)).toEqual({})
    const fourth = await open({})
    await stage(ledger, fourth, rows(1))
    expect(await ledger.previousReading(fourth)).toEqual({ run: third, isKept: false })
  })
}
