// Rows that a run wrote and has not read back, because it ended before: what is kept of them for the next run, and how long.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { RunState } from '../../../src/core/domain/books.ts'
import type { Ledger, StagedItem } from '../../../src/ledger/ledger.ts'
import {
  accept,
  close,
  destination,
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
  type OpenTask,
} from './scene.ts'

export function unreadTests(open: Open): void {
  let opened: Opened
  let ledger: Ledger
  beforeEach(async () => {
    opened = await open()
    ledger = opened.ledger
  })
  afterEach(() => opened.cleanup())

  const closed = async (run: number, state: RunState) => {
    await ledger.settleLeftovers(run)
    await ledger.closeRun(run, { state, books: await ledger.books(run) })
  }
  /** A run that has written its rows, and ends so. */
  async function wrote(items: readonly StagedItem[], state: RunState, task: OpenTask) {
    const claim = await staged(ledger, items, { skipUnchanged: false, task })
    await settle(ledger, claim, await send(ledger, claim), 'created')
    await closed(claim.run, state)
    return claim.run
  }
  /** The run that a retry is of. */
  const left = async () => {
    const { id } = await openRun(ledger)
    await stage(ledger, id, rows(3))
    await close(ledger, id)
    return id
  }
  const retried = async (state: RunState = 'failed', verify: 'all' | null = 'all') => {
    const of = await left()
    const items = rows(3, 'b').map((item) => ({ ...item, of: item.ordinal }))
    const task = { purpose: 'retry', of, ...(verify && { verify }) } as const
    return await wrote(items, state, task)
  }
  /** Those that a run finds, which is open afterwards. */
  async function found(limit = 100, of: object = {}) {
    const { id: run } = await openRun(ledger, 'run', 'contacts', 'import', { verify: 'all' })
    await stage(ledger, run, [], { destination: of })
    const pages = []
    for (let after: Parameters<Ledger['unreadRows']>[1]['after'] = null; ;) {
      const page = await ledger.unreadRows(run, { after, limit })
      pages.push(...page.rows)
      after = page.next
      if (after === null) return { run, rows: pages }
    }
  }
  const keysFound = async (...of: Parameters<typeof found>) => {
    const { run, rows: unread } = await found(...of)
    await close(ledger, run)
    return unread.map(({ key }) => key)
  }

  describe('what a run has not read back', () => {
    it('is kept as it was sent, of a run that was to read all and ended before', async () => {
      const run = await retried()
      const { rows: unread, run: next } = await found()
      expect(unread[0]).toEqual({
        run,
        ordinal: 1,
        key: 'k1',
        raw: ['k1', 'b'],
        payload: '{"properties":{"id":"k1","name":"b"}}',
        hash: 'hash of b',
      })
      await close(ledger, next)
      expect(await keysFound(1)).toEqual(['k1', 'k2', 'k3'])
      expect(await keysFound(2)).toEqual(['k1', 'k2', 'k3'])
    })

    it.each<[string, RunState, 'all' | null]>([
      ['came to its end', 'complete_with_rejects', 'all'],
      ['was to read none', 'cancelled', null],
    ])('is not kept of a run that %s', async (_, state, verify) => {
      await retried(state, verify)
      expect(await keysFound()).toEqual([])
    })

    it('is kept of what came again itself, and not of what the source gives again', async () => {
      const items = [row(1, 'given'), { ...row(2, 'again'), line: 0 }]
      await wrote(items, 'cancelled', { verify: 'all' })
      expect(await keysFound()).toEqual(['again'])
      await wrote([row(1, 'undone')], 'cancelled', { purpose: 'undo', of: 1, verify: 'all' })
      await wrote([row(1, 'window')], 'cancelled', { purpose: 'backfill', verify: 'all' })
      expect(await keysFound()).toEqual(['window', 'again'])
    })

    it('is less by what was read back in time, and by what was written or is in flight since', async () => {
      const of = await left()
      const task = { purpose: 'retry', of, verify: 'all' } as const
      const items = rows(4, 'b').map((item) => ({ ...item, of: item.ordinal }))
      const claim = await staged(ledger, items, { skipUnchanged: false, task })
      await settle(ledger, claim, await send(ledger, claim), 'created')
      await ledger.recordVerified(claim.run, [
        { ordinal: 1, verdict: 'equal', recordId: 'record 1', field: null },
      ])
      await closed(claim.run, 'failed')
      await accept(ledger, [row(1, 'k2', 'c')])
      const lost = await staged(ledger, [row(1, 'k3', 'c')])
      await send(ledger, lost)
      await close(ledger, lost.run)
      expect(await keysFound()).toEqual(['k4'])
    })

    it('does not count once a later run wrote elsewhere, or the ledger was put back', async () => {
      await retried()
      expect(await keysFound(9, { origin: 'https://other.example.com' })).toEqual([])
      expect(await keysFound()).toEqual(['k1', 'k2', 'k3'])
      await accept(ledger, [row(1, 'x')], {
        destination: { ...destination, origin: 'https://other.example.com' },
      })
      expect(await keysFound()).toEqual([])
      await retried()
      ledger = await opened.restored()
      expect(await keysFound()).toEqual([])
    })

    it('is let go once a run has read it, which leaves it accepted as it was', async () => {
      const writer = await retried()
      const { run, rows: unread } = await found()
      const again = unread.map(({ raw, key, payload, hash }, index): StagedItem => ({
        ordinal: index + 1,
        line: 0,
        raw: JSON.stringify(raw),
        valid: true,
        key,
        payload,
        hash,
        held: true,
      }))
      const fence = await ledger.beginStage(run, ['id', 'name'])
      await ledger.stageItems(run, fence, again)
      const source = { rows: 3, digest: 'd', rowsPerSegment: 9, unread: 'read' } as const
      expect(await ledger.finishStage(run, fence, source)).toMatchObject({ planned: 0 })
      expect(await statesOf(ledger, run)).toEqual({
        1: 'unchanged',
        2: 'unchanged',
        3: 'unchanged',
      })
      expect(await ledger.openSegments(run)).toEqual([])
      const read = await ledger.written(run, { after: 0, every: 1, limit: 9 })
      expect(read.map(({ key, isHeld }) => [key, isHeld])).toEqual([
        ['k1', true],
        ['k2', true],
        ['k3', true],
      ])
      const seen = { recordId: 'record', isHeld: true } as const
      await ledger.recordVerified(run, [
        { ...seen, ordinal: 1, verdict: 'equal', field: null },
        { ...seen, ordinal: 2, verdict: 'different', field: '/properties/name', readBack: 'x' },
      ])
      await close(ledger, run)
      const held = await opened.query(
        "SELECT key, run, hash FROM accepted WHERE key IN ('k1', 'k2') ORDER BY key",
      )
      expect(held.map((each) => [each['key'], Number(each['run']), each['hash']])).toEqual([
        ['k1', writer, 'hash of b'],
        ['k2', writer, null],
      ])
      expect(await keysFound()).toEqual(['k3'])
    })
  })
}
