// Rows of a megabyte: a call takes and gives as many as have LEDGER_CHARS_MAX characters, and at least one.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ITEM_STATES } from '../../../src/core/domain/outcomes.ts'
import { LEDGER_CHARS_MAX } from '../../../src/core/limits.ts'
import type { Ledger, StagedItem } from '../../../src/ledger/ledger.ts'
import {
  close,
  row,
  send,
  settle,
  stage,
  staged,
  openRun,
  type Open,
  type Opened,
} from './scene.ts'

const PAGE = 3
/** Three of them fill a page: the cells, and what is sent of them. */
const chars = Math.ceil(LEDGER_CHARS_MAX / PAGE)
const large = (ordinal: number, valid = true): StagedItem => {
  const item = { ...row(ordinal, `k${ordinal}`, 'x'.repeat(chars)), hash: 'x' }
  return item.valid && !valid
    ? {
        ...item,
        valid,
        reason: 'not_a_date',
        column: 'born',
        field: 'svc_born',
        value: 'x',
        detail: 'expected a day',
      }
    : item
}
const COUNT = 7
const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index)
const all = numbers(1, COUNT)

/** The pages of what `read` gives, as ordinals, until one is empty. */
async function pagesOf(
  read: (after: number) => Promise<readonly { readonly ordinal: number }[]>,
): Promise<readonly (readonly number[])[]> {
  const pages: number[][] = []
  for (let after = 0; ;) {
    const page = (await read(after)).map(({ ordinal }) => ordinal)
    if (page.length === 0) return pages
    pages.push(page)
    after = page.at(-1)!
  }
}

const WHOLE_PAGES = [numbers(1, PAGE), numbers(PAGE + 1, 2 * PAGE), [COUNT]]
const limit = 1_000

export function largeRowTests(open: Open): void {
  let opened: Opened
  let ledger: Ledger
  beforeEach(async () => {
    opened = await open()
    ledger = opened.ledger
  })
  afterEach(() => opened.cleanup())

  describe('a page ends with the row that fills it', () => {
    it('of what is planned, of what has no record, and of what is not compared', async () => {
      const { run, segment } = await staged(
        ledger,
        all.map((ordinal) => large(ordinal)),
      )
      const planned = { attemptsBelow: 1, limit }
      expect(
        await pagesOf((after) => ledger.nextPlanned(run, segment, { after, ...planned })),
      ).toEqual(WHOLE_PAGES)
      expect(await pagesOf((after) => ledger.keysWithoutRecord(run, { after, limit }))).toEqual(
        WHOLE_PAGES,
      )
      expect(await pagesOf((after) => ledger.uncompared(run, { after, limit }))).toEqual(
        WHOLE_PAGES,
      )
    })

    it('of one row that is larger than a page', async () => {
      const { run, segment } = await staged(ledger, [
        row(1, 'a', 'x'.repeat(LEDGER_CHARS_MAX + 1)),
        row(2, 'b'),
      ])
      const planned = { attemptsBelow: 1, limit }
      expect(
        await pagesOf((after) => ledger.nextPlanned(run, segment, { after, ...planned })),
      ).toEqual([[1], [2]])
    })

    it('of what was written, and is read back', async () => {
      const claim = await staged(
        ledger,
        all.map((ordinal) => large(ordinal)),
      )
      for (const _ of all) await settle(ledger, claim, await send(ledger, claim, 1), 'created')
      expect(
        await pagesOf((after) => ledger.written(claim.run, { after, every: 1, limit })),
      ).toEqual(WHOLE_PAGES)
    })

    it('of batches whose answer was lost', async () => {
      const claim = await staged(
        ledger,
        all.map((ordinal) => large(ordinal)),
      )
      const lost = []
      for (const _ of all) lost.push(await send(ledger, claim, 1))
      const pages = []
      for (let after = 0; ;) {
        const page = await ledger.unsettledBatches(claim.run, claim.segment, after)
        if (page.length === 0) break
        pages.push(page)
        after = page.at(-1)!.batch
      }
      expect(pages.map((page) => page.length)).toEqual([PAGE, PAGE, 1])
      expect(pages.flat()).toEqual(lost)
    })
  })

  describe('a page of cells ends with the row that fills it', () => {
    it('of rejects, of what is left, and of what is retried', async () => {
      const { id: run } = await openRun(ledger)
      await stage(
        ledger,
        run,
        all.map((ordinal) => large(ordinal, false)),
      )
      await close(ledger, run)
      const report = { states: ITEM_STATES, limit }
      expect(await pagesOf((after) => ledger.report(run, { ...report, after }))).toEqual(
        WHOLE_PAGES,
      )
      expect(
        await pagesOf((after) => ledger.report(run, { ...report, after, isLeft: true })),
      ).toEqual(WHOLE_PAGES)
      expect(await pagesOf((after) => ledger.leftRows(run, { after, limit }))).toEqual(WHOLE_PAGES)
      expect(await pagesOf((after) => ledger.retryRows(run, {}, { after, limit }))).toEqual(
        WHOLE_PAGES,
      )
      const apart = { rows: all.map((ordinal) => [ordinal, ordinal] as const) }
      expect(await pagesOf((after) => ledger.retryRows(run, apart, { after, limit }))).toEqual(
        WHOLE_PAGES,
      )
    })
  })
}
