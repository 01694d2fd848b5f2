// What is known of links holds while both records are those that were linked, and while the source asks for the link.

import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import {
  knownTexts,
  linkedRun,
  linkTexts,
  ONE_SOURCE,
  ONE_TARGET,
  pushRows,
  sendLinks,
  stagedLinks,
  type LinkedRow,
} from './link-scene.ts'
import { close, destination, type Open, type Opened } from './scene.ts'

const COMPANY = 'svc_company'
const OTHERS = { destination: { sync: 'others' } }

export function knownLinkTests(open: Open): void {
  let opened: Opened
  let ledger: Ledger
  beforeEach(async () => {
    opened = await open()
    ledger = opened.ledger
  })
  afterEach(() => opened.cleanup())

  /** The record at the beginning of the links of a key. */
  const sourceOf = async (run: number, key: string) =>
    (await ledger.knownLinksOf(run, [key])).get(key)![0]!.sourceId!

  it('links to a record that is gone are waiting, whichever sync made them, and are sent again', async () => {
    const { run: own } = await linkedRun(ledger, [
      ['a', 'x', 'y'],
      ['b', 'x'],
    ])
    const { run: other } = await linkedRun(ledger, [['c', 'x']], undefined, OTHERS)
    const { run: elsewhere } = await linkedRun(ledger, [['d', 'x']], undefined, {
      destination: { sync: 'elsewhere' },
      orgId: 99,
    })
    expect(await ledger.recordsGone(own, 'svc_deal', ['id of x'])).toEqual({
      waiting: 0,
      forgotten: 0,
    })
    expect(await ledger.recordsGone(own, COMPANY, ['id of x', 'id of z'])).toEqual({
      waiting: 3,
      forgotten: 0,
    })
    expect(await knownTexts(ledger, own)).toEqual([
      'a→x target_missing',
      'a→y linked',
      'b→x target_missing',
    ])
    expect(await knownTexts(ledger, other)).toEqual(['c→x target_missing'])
    expect(await knownTexts(ledger, elsewhere)).toEqual(['d→x linked'])
    expect((await ledger.recordsGone(own, COMPANY, ['id of x'])).waiting).toBe(0)
    const next = await stagedLinks(ledger, [['a', 'x', 'y']])
    expect(await linkTexts(ledger, next.run)).toEqual(['a→x pending', 'a→y unchanged'])
    const task = await stagedLinks(ledger, [], { ...OTHERS, task: { purpose: 'links' } })
    expect(await ledger.carryLinks(task.run, task.stageFence, { of: 'all left' })).toBe(1)
  })

  it('links from a record that is gone are forgotten; of a sync that writes no record they are waiting', async () => {
    const { run } = await linkedRun(ledger, [
      ['a', 'x'],
      ['b', 'x'],
    ])
    const source = await sourceOf(run, 'a')
    const linking = await stagedLinks(ledger, [['a', 'x']], OTHERS)
    const fence = await ledger.claimLinks(linking.run)
    const place = { ordinal: 1, number: 1, sourceId: source, targetId: 'id of x' }
    await ledger.recordLinksSent(linking.run, fence, [place])
    await sendLinks(ledger, linking.run)
    const blank = { httpStatus: 201, requestId: null, code: null, reason: null, detail: null }
    const again = await ledger.claimLinks(linking.run)
    await ledger.settleLinks(linking.run, again, [{ ...place, ...blank, state: 'linked' }], {
      oneTarget: [],
      oneSource: [],
    })
    const { objectType } = destination
    expect(await ledger.recordsGone(run, objectType, [source])).toEqual({
      waiting: 1,
      forgotten: 1,
    })
    expect(await knownTexts(ledger, run)).toEqual(['b→x linked'])
    expect(await knownTexts(ledger, linking.run)).toEqual(['a→x target_missing'])
  })

  it('a link that has left the source waits for no record that is gone', async () => {
    const read = async (source: readonly LinkedRow[], of: typeof OTHERS | undefined) => {
      const { run } = await stagedLinks(ledger, source, of)
      await pushRows(ledger, run)
      const { fence } = await sendLinks(ledger, run)
      await ledger.forgetLinks(run, fence, { of: 'all' })
      await close(ledger, run)
      return run
    }
    const both: LinkedRow[] = [
      ['a', 'x'],
      ['b', 'x'],
    ]
    await read(both, undefined)
    await read(both, OTHERS)
    const own = await read([['b', 'x']], undefined)
    const other = await read([['b', 'x']], OTHERS)
    expect(await knownTexts(ledger, own)).toEqual(['a→x linked', 'b→x linked'])
    const gone = { waiting: 2, forgotten: 2 }
    expect(await ledger.recordsGone(own, COMPANY, ['id of x'])).toEqual(gone)
    expect(await knownTexts(ledger, own)).toEqual(['b→x target_missing'])
    expect(await knownTexts(ledger, other)).toEqual(['b→x target_missing'])
  })

  it('2,500 links to one record are waiting in slices', async () => {
    const rows = Array.from({ length: 2_500 }, (_, at): LinkedRow => [`k${at}`, 'x'])
    const { run } = await linkedRun(ledger, rows)
    expect(await ledger.recordsGone(run, COMPANY, ['id of x'])).toEqual({
      waiting: 2_500,
      forgotten: 0,
    })
  })

  it('an unchanged link whose record is gone meanwhile is planned again', async () => {
    await linkedRun(ledger, [
      ['a', 'x'],
      ['b', 'y'],
    ])
    const { run } = await stagedLinks(ledger, [
      ['a', 'x'],
      ['b', 'y'],
    ])
    await pushRows(ledger, run)
    await ledger.recordsGone(run, COMPANY, ['id of x'])
    expect(await ledger.reopenLinks(run, await ledger.claimLinks(run))).toBe(1)
    expect(await linkTexts(ledger, run)).toEqual(['a→x pending', 'b→y unchanged'])
  })

  it('two syncs of an association that allows one target take the place of each other', async () => {
    const bounds = ONE_TARGET
    const ids = { sourceId: 'r', httpStatus: 201, requestId: null }
    const link = async (sync: string, target: string, key = 'a') => {
      const { run } = await stagedLinks(ledger, [[key, target]], { bounds, destination: { sync } })
      const [staged] = await linkTexts(ledger, run)
      const fence = await ledger.claimLinks(run)
      const place = { ordinal: 1, number: 1, targetId: `id of ${target}`, ...ids }
      const blank = { code: null, reason: null, detail: null }
      const { replaced } = await ledger.settleLinks(
        run,
        fence,
        [{ ...place, ...blank, state: 'linked' }],
        bounds,
      )
      await close(ledger, run)
      return [staged, replaced, (await ledger.books(run)).links?.replaced ?? 0]
    }
    expect(await link('one', 'x')).toEqual(['a→x pending', 0, 0])
    expect(await link('two', 'y', 'b')).toEqual(['b→y pending', 1, 1])
    // Neither is known to be there after the other one was made.
    expect(await link('one', 'x')).toEqual(['a→x pending', 1, 1])
    expect(await link('two', 'y', 'b')).toEqual(['b→y pending', 1, 1])
    expect(await link('two', 'y', 'b')).toEqual(['b→y unchanged', 0, 0])
  })

  it('and of one that allows one source', async () => {
    const bounds = ONE_SOURCE
    await linkedRun(ledger, [['a', 'x']], undefined, { bounds })
    const { replaced } = await linkedRun(ledger, [['c'], ['b', 'x']], undefined, {
      bounds,
      ...OTHERS,
    })
    expect(replaced).toBe(1)
    const next = await stagedLinks(ledger, [['a', 'x']], { bounds })
    expect(await linkTexts(ledger, next.run)).toEqual(['a→x pending'])
  })

  it('a new record of a row takes the place of nothing', async () => {
    const bounds = ONE_TARGET
    await linkedRun(ledger, [['a', 'x']], undefined, { bounds })
    const { run } = await stagedLinks(ledger, [['a', 'y']], { bounds })
    const fence = await ledger.claimLinks(run)
    const place = { ordinal: 1, number: 1, sourceId: 'another', targetId: 'id of y' }
    const blank = { httpStatus: 201, requestId: null, code: null, reason: null, detail: null }
    const { replaced } = await ledger.settleLinks(
      run,
      fence,
      [{ ...place, ...blank, state: 'linked' }],
      bounds,
    )
    expect(replaced).toBe(0)
    expect(await knownTexts(ledger, run)).toEqual(['a→y linked'])
  })

  it('what has left the source is sent again when it comes back, and is known for a reconciliation', async () => {
    const read = async (source: readonly LinkedRow[]) => {
      const { run } = await stagedLinks(ledger, source)
      const staged = await linkTexts(ledger, run)
      await pushRows(ledger, run)
      const { fence } = await sendLinks(ledger, run)
      await ledger.forgetLinks(run, fence, { of: 'all' })
      await close(ledger, run)
      return { run, staged }
    }
    await read([
      ['a', 'x', 'y'],
      ['b', 'x'],
      ['c', 'x'],
    ])
    const { run } = await read([
      ['a', 'y'],
      ['c', 'x'],
    ])
    expect(await knownTexts(ledger, run)).toEqual([
      'a→x linked',
      'a→y linked',
      'b→x linked',
      'c→x linked',
    ])
    const back = await read([
      ['a', 'x', 'y'],
      ['b', 'x'],
      ['c', 'x'],
    ])
    expect(back.staged).toEqual(['a→x pending', 'a→y unchanged', 'b→x pending', 'c→x unchanged'])
    expect(
      (
        await read([
          ['a', 'x', 'y'],
          ['b', 'x'],
          ['c', 'x'],
        ])
      ).staged,
    ).toEqual(['a→x unchanged', 'a→y unchanged', 'b→x unchanged', 'c→x unchanged'])
    // Of a part of the source only the rows that it has say something.
    const part = await stagedLinks(ledger, [['a', 'y']])
    const fence = await ledger.claimLinks(part.run)
    await ledger.forgetLinks(part.run, fence, { of: 'read keys' })
    await close(ledger, part.run)
    const next = await stagedLinks(ledger, [
      ['a', 'x'],
      ['b', 'x'],
    ])
    expect(await linkTexts(ledger, next.run)).toEqual(['a→x pending', 'b→x unchanged'])
  })

  it('says of which links the edges of the record were compared', async () => {
    await linkedRun(ledger, [
      ['a', 'x'],
      ['b', 'y'],
    ])
    const { run } = await stagedLinks(ledger, [['a', 'z'], ['b']], { skipUnchanged: false })
    const { links } = await ledger.knownLinks(run, { after: null, limit: 10 })
    expect(links.map(({ key, isCompared }) => `${key} ${isCompared}`).toSorted()).toEqual([
      'a true',
      'b false',
    ])
  })

  it('what was left before the ledger was restored waits for its row', async () => {
    await linkedRun(ledger, [['a', 'x']], () => 'target_missing')
    const restored = await opened.restored()
    const task = await stagedLinks(restored, [], { task: { purpose: 'links' } })
    expect(await restored.carryLinks(task.run, task.stageFence, { of: 'all left' })).toBe(0)
    const waiting = { after: null, limit: 10, isParked: true } as const
    expect((await restored.knownLinks(task.run, waiting)).links).toEqual([])
    await close(restored, task.run)
    const { run } = await linkedRun(restored, [['a', 'x']], () => 'target_missing')
    expect((await restored.knownLinks(run, waiting)).links).toMatchObject([{ key: 'a' }])
  })
}
