// Corrections that stand: rows that are wrong in the source, and that a retry brought in as a person corrected them.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Ledger, StagedItem, KeptCorrection } from '../../../src/ledger/ledger.ts'
import {
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
  statesOf,
  type Open,
  type Opened,
} from './scene.ts'

export function correctedTests(open: Open): void {
  let opened: Opened
  let ledger: Ledger
  beforeEach(async () => {
    opened = await open()
    ledger = opened.ledger
  })
  afterEach(() => opened.cleanup())

  /** A closed run: 1 created, 2 without a key, 3 invalid with one, 4 and 5 refused. */
  async function leftOver() {
    const claim = await staged(ledger, [
      row(1, 'a'),
      badRow(2, null),
      badRow(3, 'k3'),
      row(4, 'k4'),
      row(5, 'k5'),
    ])
    await settle(ledger, claim, await send(ledger, claim), ['created', 'refused', 'refused'])
    await close(ledger, claim.run)
    return claim.run
  }

  /** A retry of rows of a run: with these cells, as a person corrected them, or as they are. */
  async function retry(
    of: number,
    items: readonly (readonly [of: number, key: string, content: string])[],
    { corrected = true, state = 'created' as 'created' | 'refused' } = {},
  ) {
    const rows = items.map(([ordinal, key, content]) => ({ ordinal, raw: [key, content] }))
    const correction = corrected ? await ledger.addCorrections(of, null, rows) : undefined
    const { id: run } = await openRun(ledger, 'run', 'contacts', 'import', {
      purpose: 'retry',
      of,
      ...(correction !== undefined && { correction }),
    })
    const again = items.map(([ordinal, key, content], index) => ({
      ...row(index + 1, key, content),
      of: ordinal,
    }))
    await stage(ledger, run, again, { skipUnchanged: false })
    const [segment] = await ledger.openSegments(run)
    const claim = { run, segment: segment!, fence: await ledger.claimSegment(run, segment!) }
    const batch = await send(ledger, claim)
    // Records of its own.
    const outcomes = batch.items.map(({ ordinal }) =>
      outcome(ordinal, state, state === 'created' ? { recordId: `record ${run} ${ordinal}` } : {}),
    )
    await ledger.settle(run, claim.segment, claim.fence, batch, answered, outcomes)
    await close(ledger, run)
    return run
  }

  /** What stands for a run that is staged next. */
  async function standing(limit = 10) {
    const { id: run } = await openRun(ledger, 'plan')
    await stage(ledger, run, [])
    const found: KeptCorrection[] = []
    let after: Parameters<Ledger['keptCorrections']>[1]['after'] = null
    do {
      const page: Awaited<ReturnType<Ledger['keptCorrections']>> = await ledger.keptCorrections(
        run,
        { after, limit },
      )
      found.push(...page.corrections)
      after = page.next
    } while (after !== null)
    await ledger.discard(run)
    return found
  }
  const hash = 'hash of mended'
  const rawOf = ({ raw }: StagedItem) => raw
  const met = (item: StagedItem, run: number, key: string) =>
    ({ ...item, valid: false, corrected: { run, key, hash } }) as StagedItem

  describe('corrections that stand', () => {
    it('are those that a retry brought in with other cells, by the cells that the source has', async () => {
      const of = await leftOver()
      expect(await standing()).toEqual([])
      const by = await retry(of, [
        [2, 'k2', 'mended'],
        [3, 'k3', 'mended'],
        // Read back from a file as it was.
        [4, 'k4', 'a'],
      ])
      const expected = [
        { raw: rawOf(badRow(2, null)), run: by, key: 'k2', hash },
        { raw: rawOf(badRow(3, 'k3')), run: by, key: 'k3', hash },
      ]
      expect(await standing()).toEqual(expected)
      expect(await standing(1)).toEqual(expected)
      // Without cells of a person.
      await retry(of, [[5, 'k5', 'a']], { corrected: false })
      expect(await standing()).toEqual(expected)
    })

    it('may be brought in by a later retry, of the run or of its retry', async () => {
      const of = await leftOver()
      const refused = await retry(
        of,
        [
          [2, 'k2', 'mended'],
          [3, 'k3', 'mended'],
          [4, 'k4', 'mended'],
        ],
        { state: 'refused' },
      )
      expect(await standing()).toEqual([])
      const again = await retry(of, [[2, 'k2', 'mended']], { corrected: false })
      const ofRetry = await retry(refused, [[2, 'k3', 'mended']], { corrected: false })
      const other = await retry(refused, [[3, 'k4', 'other']])
      expect((await standing()).map(({ raw, run, key }) => [raw, run, key])).toEqual([
        [rawOf(row(4, 'k4')), other, 'k4'],
        [rawOf(badRow(3, 'k3')), ofRetry, 'k3'],
        [rawOf(badRow(2, null)), again, 'k2'],
      ])
    })

    it('are over once another run has written the record, or it was deleted', async () => {
      const of = await leftOver()
      await retry(of, [
        [2, 'k2', 'mended'],
        [3, 'k3', 'mended'],
      ])
      const claim = await staged(ledger, [row(1, 'k2', 'newer')])
      await settle(ledger, claim, await send(ledger, claim), 'updated')
      await close(ledger, claim.run)
      expect((await standing()).map(({ key }) => key)).toEqual(['k3'])
      const { id: run } = await openRun(ledger, 'run', 'contacts', 'import', {
        purpose: 'reconcile',
      })
      await stage(ledger, run, [row(1, 'k2', 'newer')])
      const held = (await ledger.acceptedRecords(run, ['k3'])).get('k3')!
      await ledger.recordDeleted(run, [{ key: 'k3', recordId: held.recordId }])
      await close(ledger, run)
      expect(await standing()).toEqual([])
    })

    it('are met by rows that are not sent, not left, and not counted as keyless', async () => {
      const of = await leftOver()
      const by = await retry(of, [
        [2, 'k2', 'mended'],
        [3, 'k3', 'mended'],
      ])
      const { id: run } = await openRun(ledger)
      const { counts } = await stage(ledger, run, [
        row(1, 'k3', 'before'),
        met(badRow(2, null), by, 'k2'),
        met(badRow(3, 'k3'), by, 'k3'),
        row(4, 'z'),
        // The key of the row, not that of its correction.
        met(badRow(5, 'z'), by, 'k2'),
      ])
      // What is before the corrected row with its key must not be written over the correction.
      expect(counts).toMatchObject({ planned: 1, superseded: 1, invalid: 0 })
      expect(await statesOf(ledger, run)).toEqual({
        1: 'superseded',
        2: 'corrected',
        3: 'corrected',
        4: 'pending',
        5: 'corrected',
      })
      expect(await ledger.keyCounts(run)).toMatchObject({ keyless: 0 })
      await close(ledger, run)
      expect(
        (await ledger.retryRows(run, {}, { after: 0, limit: 10 })).map(({ ordinal }) => ordinal),
      ).toEqual([4])
      expect((await ledger.run(run))!.counts!.states).toMatchObject({ corrected: 3, invalid: 0 })
      expect(await ledger.rejectGroups(run)).toHaveLength(1)
    })

    it('are known as long as each reading meets them, also where the first rows are gone', async () => {
      const of = await leftOver()
      const by = await retry(of, [
        [2, 'k2', 'mended'],
        [3, 'k3', 'mended'],
      ])
      const { id: run } = await openRun(ledger)
      await stage(ledger, run, [met(badRow(1, null), by, 'k2'), met(badRow(2, 'k3'), by, 'k3')])
      await close(ledger, run)
      await opened.query(`DELETE FROM payloads WHERE run = ${of}`)
      expect((await standing(1)).map(({ raw, run, key }) => [raw, run, key])).toEqual([
        [rawOf(badRow(1, null)), by, 'k2'],
        [rawOf(badRow(2, 'k3')), by, 'k3'],
      ])
      for (let removed = 1; removed > 0;) removed = await ledger.prune(never)
      expect(await standing()).toEqual([])
    })
  })
}
