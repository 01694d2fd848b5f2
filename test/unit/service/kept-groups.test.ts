// Who gets which groups, when several readers page the same aggregate while others write. Over HTTP: aggregates.slow.test.ts.

import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { VisibleRecords } from '../../../src/service/store/visible-records.ts'
import type { Groups } from '../../../src/service/store/kept-groups.ts'
import { KeptGroups } from '../../../src/service/store/kept-groups.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** The groups of one type, by number, and what readers see of them. */
class Stored {
  readonly kept = new KeptGroups()
  readonly groups = new Set<number>()
  /** How many groups there are said to be, if it is set. */
  size: number | null = null
  type: object = { name: 'svc_contact' }
  version = 0
  computed = 0

  /** Takes out the group, or brings it in. */
  write(group?: number): void {
    this.version += 1
    if (group !== undefined && !this.groups.delete(group)) this.groups.add(group)
  }

  get sorted(): number[] {
    return [...this.groups].toSorted((a, b) => a - b)
  }

  async page(
    { key, connection }: Who,
    limit: number,
    offset: number,
    op: 'count' | 'sum' = 'count',
  ) {
    const view = { store: this, reader: 'all' } as unknown as VisibleRecords
    const reader = { key, connection: new WeakRef(connection) }
    const query = { op, property: null, groupBy: [], filter: null }
    return await this.kept.page(view, query, { reader, limit, offset }, async () => this.compute())
  }

  private compute(): Groups {
    this.computed += 1
    const all = this.sorted
    const total = this.size ?? all.length
    return {
      total,
      page: (limit, offset) => ({
        total_groups: total,
        results: all.slice(offset, offset + limit).map((n) => ({ group_by: {}, value: n })),
        has_more: offset + limit < total,
      }),
    }
  }
}

interface Who {
  key: string
  connection: object
}
const who = (key: string): Who => ({ key, connection: {} })
const proxy = {}

/** One who pages from the first group to the last, again and again. */
interface Pager {
  readonly who: Who
  readonly limit: number
  /** The groups that were there since the first page of this round; null: no round has begun. */
  there: Set<number> | null
  seen: number[]
  total: number
}

async function nextPage(pager: Pager, stored: Stored): Promise<void> {
  const offset = pager.seen.length
  if (offset === 0) pager.there = new Set(stored.groups)
  const page = await stored.page(pager.who, pager.limit, offset)
  const values = page.results.map(({ value }) => value as number)
  if (offset === 0) expect(values).toEqual(stored.sorted.slice(0, pager.limit))
  else expect(page.total_groups).toBe(pager.total)
  pager.total = page.total_groups
  pager.seen.push(...values)
  if (page.has_more) return
  expect(new Set(pager.seen).size).toBe(pager.seen.length)
  expect(pager.seen.filter((group) => pager.there!.has(group))).toEqual(
    [...pager.there!].toSorted((one, other) => one - other),
  )
  pager.seen = []
  pager.there = null
}

type Step = { page: number } | { write: number } | { waitMs: number }
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ page: fc.nat(5) }) },
  { weight: 3, arbitrary: fc.record({ write: fc.nat(19) }) },
  { weight: 1, arbitrary: fc.record({ waitMs: fc.nat(500) }) },
)
const steps = fc.array(step, { minLength: 20, maxLength: 100 })
const limits = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 6, maxLength: 6 })

describe('several readers of one aggregate, while others write', () => {
  it.each<[string, (index: number) => Who]>([
    ['with keys of their own', (index) => who(`key-${index}`)],
    ['with one key, and connections of their own', () => who('key')],
    [
      'with keys of their own over the connection of a proxy',
      (index) => ({ key: `key-${index}`, connection: proxy }),
    ],
  ])('%s: each sees every group that stays, once', async (_name, whoOf) => {
    await fc.assert(
      fc.asyncProperty(steps, limits, async (all, sizes) => {
        const stored = new Stored()
        for (let group = 0; group < 20; group += 2) stored.write(group)
        const pagers = sizes.map((limit, index): Pager => ({
          who: whoOf(index),
          limit,
          there: null,
          seen: [],
          total: 0,
        }))
        for (const each of all) {
          if ('page' in each) await nextPage(pagers[each.page]!, stored)
          else if ('waitMs' in each) vi.advanceTimersByTime(each.waitMs)
          else {
            stored.write(each.write)
            for (const { there } of pagers) there?.delete(each.write)
          }
        }
        for (const each of pagers) while (each.there !== null) await nextPage(each, stored)
      }),
    )
  })

  it('with one key and connection: the one who asked last goes on, then the others', async () => {
    const stored = new Stored()
    for (const group of [1, 2, 3, 4, 5, 6]) stored.write(group)
    const both = who('key')
    const page = async (offset: number) =>
      (await stored.page(both, 2, offset)).results.map(({ value }) => value)
    expect(await page(0)).toEqual([1, 2])
    stored.write(1)
    expect(await page(0)).toEqual([2, 3])
    expect(await page(2)).toEqual([4, 5])
    expect(await page(2)).toEqual([3, 4])
    expect(await page(4)).toEqual([5, 6])
    expect(await page(4)).toEqual([6])
    // Each end is continued once.
    expect(await page(4)).toEqual([6])
    stored.write(2)
    expect(await page(2)).toEqual([5, 6])
  })

  it('with one key, over another connection: the page that was sent last goes on', async () => {
    const stored = new Stored()
    for (const group of [1, 2, 3]) stored.write(group)
    await stored.page(who('key'), 1, 0)
    stored.write(1)
    await stored.page(who('key'), 1, 0)
    stored.write(2)
    expect((await stored.page(who('key'), 1, 1)).total_groups).toBe(2)
    expect((await stored.page(who('key'), 1, 1)).total_groups).toBe(3)
  })

  it('who ask for another aggregate do not go on with the groups of this one', async () => {
    const stored = new Stored()
    for (const group of [1, 2, 3]) stored.write(group)
    await stored.page(who('key'), 1, 0)
    stored.write(1)
    expect((await stored.page(who('key'), 1, 1, 'sum')).total_groups).toBe(2)
  })

  it('share the groups while nothing is written', async () => {
    const stored = new Stored()
    for (const group of [1, 2, 3]) stored.write(group)
    for (const key of ['a', 'b']) await stored.page(who(key), 1, 0)
    await Promise.all(['c', 'd'].map(async (key) => await stored.page(who(key), 1, 1)))
    expect(stored.computed).toBe(1)
    await stored.page(who('a'), 1, 0, 'sum')
    expect(stored.computed).toBe(2)
  })

  it('of another key do not go on with the groups of a page that they did not get', async () => {
    const stored = new Stored()
    for (const group of [1, 2, 3]) stored.write(group)
    await stored.page(who('a'), 1, 0)
    stored.write(1)
    expect((await stored.page(who('b'), 1, 1)).total_groups).toBe(2)
    expect((await stored.page(who('a'), 1, 1)).total_groups).toBe(3)
  })
})

describe('what is kept', () => {
  /** Begins by each reader, with a write after each; then counts those whose second page is of the groups of their first. */
  async function continued(stored: Stored, readers: Who[], sizes: number[]): Promise<number[]> {
    const totals: number[] = []
    for (const [index, reader] of readers.entries()) {
      stored.size = sizes[index % sizes.length]!
      await stored.page(reader, 1, 0)
      totals.push(stored.size)
      stored.write()
    }
    stored.size = 1
    const found: number[] = []
    // The latest first: a page keeps nothing that drives another list out.
    for (const [index, reader] of [...readers.entries()].toReversed()) {
      const { total_groups } = await stored.page(reader, 1, 1)
      if (total_groups === totals[index]) found.push(total_groups)
    }
    return found
  }
  const readers = (count: number) => Array.from({ length: count }, (_, index) => who(`k${index}`))

  it('is 256 lists of an org at most, the least recently used dropped first', async () => {
    expect(await continued(new Stored(), readers(300), [5])).toHaveLength(256)
  })

  it('is 4,000,000 groups of an org at most', async () => {
    const sizes = fc.array(fc.integer({ min: 2, max: 2_500_000 }), { minLength: 1, maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(sizes, async (all) => {
        const found = await continued(new Stored(), readers(all.length), all)
        expect(found.length).toBeGreaterThan(0)
        expect(found.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(4_000_000)
      }),
    )
  })

  it('leaves out a list that is too long, and keeps the others', async () => {
    const [own, other] = [who('a'), who('b')]
    expect(await continued(new Stored(), [own, other], [9, 4_000_001])).toEqual([9])
  })

  it('is 32 pages of a key that only begins, and those of others', async () => {
    const stored = new Stored()
    const other = who('other')
    const polling = Array.from({ length: 300 }, () => who('polls'))
    expect(await continued(stored, [other, ...polling], [5])).toHaveLength(33)
  })

  it('is what was asked for in the last minute', async () => {
    const stored = new Stored()
    const [slow, quick] = [who('slow'), who('quick')]
    stored.size = 5
    for (const reader of [slow, quick]) await stored.page(reader, 1, 0)
    stored.write()
    stored.size = 6
    vi.advanceTimersByTime(59_999)
    expect((await stored.page(quick, 1, 1)).total_groups).toBe(5)
    vi.advanceTimersByTime(1)
    expect((await stored.page(slow, 1, 1)).total_groups).toBe(6)
    expect((await stored.page(quick, 1, 2)).total_groups).toBe(5)
    vi.advanceTimersByTime(200_000)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('is one list for readers who begin at once', async () => {
    const stored = new Stored()
    const both = [who('a'), who('b')]
    stored.size = 2_500_000
    await Promise.all(both.map(async (reader) => await stored.page(reader, 1, 0)))
    stored.write()
    stored.size = 1
    for (const reader of both)
      expect((await stored.page(reader, 1, 1)).total_groups).toBe(2_500_000)
  })

  it('is for those who go on, rather than for those who began later and stopped', async () => {
    const stored = new Stored()
    const [goesOn, stopped, begins] = [who('a'), who('b'), who('c')]
    for (const [size, reader, offset] of [
      [1_500_001, goesOn, 0],
      [1_500_002, stopped, 0],
      [1_500_003, goesOn, 1],
      [1_500_004, begins, 0],
    ] as const) {
      stored.size = size
      stored.write()
      await stored.page(reader, 1, offset)
    }
    stored.size = 1
    stored.write()
    expect((await stored.page(goesOn, 1, 2)).total_groups).toBe(1_500_001)
    expect((await stored.page(stopped, 1, 1)).total_groups).toBe(1)
    expect((await stored.page(begins, 1, 1)).total_groups).toBe(1_500_004)
  })

  it('is of the present properties', async () => {
    const stored = new Stored()
    stored.size = 5
    await stored.page(who('a'), 1, 0)
    const reader = who('b')
    await stored.page(reader, 1, 0)
    stored.type = { name: 'svc_contact' }
    stored.write()
    stored.size = 6
    expect((await stored.page(reader, 1, 1)).total_groups).toBe(6)
  })
})
