// Rows that the mode of an import does not write, records that updates are sent to, and rows whose lost answer was looked up.

import { afterEach, beforeEach, expect, it } from 'vitest'
import { FenceLost } from '../../../src/core/errors.ts'
import { isBalanced } from '../../../src/core/domain/books.ts'
import type { ItemComparison, Ledger } from '../../../src/ledger/ledger.ts'
import {
  accepted,
  badRow,
  booked,
  close,
  openRun,
  outcome,
  row,
  rows,
  send,
  stage,
  staged,
  type Open,
  type Opened,
} from './scene.ts'

export function sparingTests(open: Open): void {
  let opened: Opened
  let ledger: Ledger
  beforeEach(async () => {
    opened = await open()
    ledger = opened.ledger
  })
  afterEach(() => opened.cleanup())

  /** Without an answer: no status, and nothing accepted but what `more` says. */
  const found = (
    ordinal: number,
    state: 'created' | 'exists' | 'not_found' | 'pending' | 'in_flight',
  ) =>
    outcome(ordinal, state, {
      httpStatus: null,
      code: null,
      reason: null,
      field: null,
      detail: null,
      recordId: state === 'created' || state === 'exists' ? `record ${ordinal}` : null,
    })

  it('have states of their own, without a request', async () => {
    const { run, segment, fence } = await staged(ledger, rows(5))
    await ledger.settleUnanswered(run, segment, fence, [found(1, 'exists'), found(3, 'not_found')])
    expect(await booked(ledger, run)).toEqual({ exists: 1, not_found: 1, pending: 3 })
    expect(await ledger.progress(run)).toMatchObject({ planned: 5, skipped: 2, requests: 0 })
    const choice = { states: ['exists', 'not_found'] as const, after: 0, limit: 9 }
    expect(await ledger.report(run, choice)).toMatchObject([
      { ordinal: 1, state: 'exists', recordId: 'record 1', inDoubt: false },
      { ordinal: 3, state: 'not_found', recordId: null },
    ])
    // Neither is accepted: the next run plans them again.
    expect(await accepted(ledger, rows(5))).toEqual([])
  })

  it('leave nothing accepted for a key that no record has any more', async () => {
    const { run, segment, fence } = await staged(ledger, rows(2))
    await ledger.settleUnanswered(run, segment, fence, [found(1, 'created'), found(2, 'created')])
    await close(ledger, run)
    expect(await accepted(ledger, rows(2))).toEqual([1, 2])
    const next = await staged(ledger, [row(1, 'k1', 'other'), row(2, 'k2', 'other')])
    await ledger.settleUnanswered(next.run, next.segment, next.fence, [found(1, 'not_found')])
    await close(ledger, next.run)
    expect(await accepted(ledger, rows(2))).toEqual([2])
  })

  it('are written by the holder of the segment alone', async () => {
    const { run, segment, fence } = await staged(ledger, rows(2))
    await ledger.claimSegment(run, segment)
    const spare = ledger.settleUnanswered(run, segment, fence, [found(1, 'exists')])
    await expect(spare).rejects.toThrow(FenceLost)
    expect(await booked(ledger, run)).toEqual({ pending: 2 })
  })

  it('close a run as complete, are no rejects, and leave no payload to a retry', async () => {
    const { run, segment, fence } = await staged(ledger, rows(2))
    await ledger.settleUnanswered(run, segment, fence, [found(1, 'exists'), found(2, 'not_found')])
    await ledger.settleLeftovers(run)
    const books = await ledger.books(run)
    expect(isBalanced(books)).toBe(true)
    await ledger.closeRun(run, { state: 'complete', books })
    expect(await ledger.rejectGroups(run)).toEqual([])
    expect(await ledger.retryRows(run, {}, { after: 0, limit: 9 })).toEqual([])
    expect(await ledger.leftRows(run, { after: 0, limit: 9 })).toEqual([])
    const choice = { states: ['exists', 'not_found'] as const, after: 0, limit: 9 }
    expect((await ledger.report(run, choice)).map(({ raw }) => raw)).toEqual([null, null])
  })

  it('of a retry are done: the run that left them over no longer does', async () => {
    const first = await openRun(ledger)
    const unmapped = [badRow(1, null, 'key_missing'), badRow(2, 'b'), badRow(3, 'c')]
    await stage(ledger, first.id, unmapped)
    await close(ledger, first.id)
    const again = (ordinal: number, key: string) => ({ ...row(ordinal, key), of: ordinal })
    const task = { purpose: 'retry', of: first.id } as const
    const { id } = await openRun(ledger, 'run', 'contacts', 'import', task)
    await stage(ledger, id, [again(1, 'a'), again(2, 'b'), again(3, 'c')])
    const [segment] = await ledger.openSegments(id)
    const fence = await ledger.claimSegment(id, segment!)
    await ledger.settleUnanswered(id, segment!, fence, [found(1, 'exists'), found(2, 'not_found')])
    await close(ledger, id)
    const left = await ledger.retryRows(first.id, {}, { after: 0, limit: 9 })
    expect(left.map(({ ordinal }) => ordinal)).toEqual([3])
    expect(await ledger.leftByRun(first.id)).toEqual([{ run: id, rows: 1 }])
    const rejects = await opened.query(`SELECT ordinal FROM rejects WHERE run = ${first.id}`)
    expect(rejects.map((reject) => Number(reject['ordinal']))).toEqual([3])
  })

  it('keep the records that a batch of updates is sent to', async () => {
    const claim = await staged(ledger, rows(3))
    const { run, segment, fence } = claim
    const planned = await ledger.nextPlanned(run, segment, { after: 0, attemptsBelow: 1, limit: 3 })
    const items = planned.map((item) => ({ ...item, recordId: `r${item.ordinal}` }))
    const batch = { operation: 'batchUpdate', digest: 'd', items }
    await ledger.recordSend(run, segment, fence, batch)
    const other = await opened.reopen()
    const [lost] = await other.unsettledBatches(run, segment)
    expect(lost!.items).toEqual(items)
  })

  it('are settled by a look-up after a lost answer, and the books say so', async () => {
    const claim = await staged(ledger, rows(4))
    const { run, segment, fence } = claim
    await send(ledger, claim, 3)
    await ledger.settleUnanswered(run, segment, fence, [found(1, 'created'), found(2, 'pending')])
    const books = await ledger.books(run)
    expect(books).toMatchObject({ states: { created: 1, pending: 2, in_flight: 1 }, lookedUp: 1 })
    // It may be written: only the one that was found is sure.
    expect(books.replayed).toBe(1)
    expect(await accepted(ledger, rows(4))).toEqual([1])
    const [lost] = await ledger.unsettledBatches(run, segment)
    expect(lost!.items.map(({ ordinal }) => ordinal)).toEqual([3])
  })

  it('are flagged as sent again only if they may have been written', async () => {
    const claim = await staged(ledger, rows(2))
    const { run, segment, fence } = claim
    const batch = await send(ledger, claim)
    const gone = (ordinal: number, httpStatus: number) =>
      outcome(ordinal, 'pending', { httpStatus, code: null })
    const ended = { status: 200, requestId: null, durationMs: 1 }
    await ledger.settle(run, segment, fence, batch, ended, [gone(1, 404), gone(2, 500)])
    expect((await ledger.books(run)).replayed).toBe(1)
  })

  it('are created, if a look-up at the end finds what a create sent', async () => {
    const claim = await staged(ledger, rows(2))
    const { run } = claim
    await send(ledger, claim)
    const read = { recordId: 'r', field: null, marks: 'm', found: 'created' } as const
    await ledger.recordVerified(run, [
      { ...read, ordinal: 1, verdict: 'equal' },
      { ...read, ordinal: 2, verdict: 'missing' },
    ])
    expect(await ledger.books(run)).toMatchObject({
      states: { created: 1, outcome_unknown: 1 },
      lookedUp: 1,
      inDoubt: 1,
    })
  })

  it('are left as they are by a reconciliation', async () => {
    const task = { purpose: 'reconcile' } as const
    const { run } = await staged(ledger, rows(3), { skipUnchanged: false, task })
    const spared = (ordinal: number, state: 'exists' | 'not_found'): ItemComparison => ({
      ordinal,
      recordId: state === 'exists' ? `found ${ordinal}` : null,
      kind: null,
      spared: state,
      marks: 'm',
      held: null,
      differences: [],
    })
    await ledger.recordCompared(run, [spared(1, 'exists'), spared(2, 'not_found')])
    expect(await booked(ledger, run)).toEqual({ exists: 1, not_found: 1, pending: 1 })
    expect(await ledger.progress(run)).toMatchObject({ planned: 1 })
    expect(await accepted(ledger, rows(3))).toEqual([])
    expect(
      (await ledger.uncompared(run, { after: 0, limit: 9 })).map((one) => one.ordinal),
    ).toEqual([3])
  })
}
