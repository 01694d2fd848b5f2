// A ledger that was put back from a backup: what it holds as accepted may be older than what the service holds.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Watermark } from '../../../src/core/domain/watermark.ts'
import {
  accept,
  accepted,
  close,
  destination,
  openRun,
  row,
  rows,
  stage,
  type Open,
  type Opened,
} from './scene.ts'

const watermark: Watermark = { column: 'id', order: 'number', value: '3' }

export function restoringTests(open: Open): void {
  let opened: Opened
  beforeEach(async () => {
    opened = await open()
  })
  afterEach(() => opened.cleanup())

  describe('a ledger that was put back from a backup', () => {
    it('believes nothing that was accepted before, and everything that is accepted after', async () => {
      expect(await opened.ledger.restoredAfter()).toBe(0)
      const last = await accept(opened.ledger, rows(3))
      expect(await accepted(opened.ledger, rows(3))).toEqual([1, 2, 3])
      const ledger = await opened.restored()
      expect(await ledger.restoredAfter()).toBe(last)
      expect(await accepted(ledger, rows(3))).toEqual([])
      const { id } = await openRun(ledger)
      const { counts } = await stage(ledger, id, [...rows(3), row(4, 'new'), row(5, 'k1', 'b')])
      // Of k1 the later row is sent, and it is another one than was accepted.
      expect(counts).toMatchObject({ planned: 4, unchanged: 0, distrusted: 2 })
      await close(ledger, id)
      await accept(ledger, rows(2))
      expect(await accepted(ledger, rows(3))).toEqual([1, 2])
    })

    it('reads a source with a watermark from its beginning once', async () => {
      const before = await accept(opened.ledger, rows(3), { watermark })
      expect(await opened.ledger.lastReading(destination)).toMatchObject({ run: before })
      const ledger = await opened.restored()
      expect(await ledger.lastReading(destination)).toBeNull()
      const after = await accept(ledger, rows(3), { watermark })
      expect(await ledger.lastReading(destination)).toMatchObject({ run: after })
    })

    it('does not count what was never in doubt: a reconciliation sends what differs anyway', async () => {
      await accept(opened.ledger, rows(3))
      const ledger = await opened.restored()
      const { id } = await openRun(ledger)
      const { counts } = await stage(ledger, id, rows(3), { skipUnchanged: false })
      expect(counts.distrusted).toBeUndefined()
      await close(ledger, id)
    })
  })
}
