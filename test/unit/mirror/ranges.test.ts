// Ranges of a listing: together they are the whole type, and no record is in two of them, however often they are cut.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { FilterNode } from '../../../src/contract/index.ts'
import { rangeFilter, initialRanges, createRange, splitRange } from '../../../src/mirror/ranges.ts'

const START = Date.UTC(2026, 0, 1)
const at = (ms: number) => new Date(START + ms).toISOString()

/** Whether a record with this value matches, by the rules of the specification. */
function matches(filter: FilterNode | null, value: string | null): boolean {
  if (filter === null) return true
  if ('$and' in filter) return filter.$and.every((node) => matches(node, value))
  if (!('op' in filter)) throw new Error('no such filter here')
  if (filter.op === 'is_null') return (value === null) === filter.value
  if (value === null) return false
  const bound = String(filter.value)
  return filter.op === 'gte' ? value >= bound : value < bound
}

const moments = fc.array(fc.integer({ min: -10, max: 100_000 }), { minLength: 1, maxLength: 40 })

test('every record is in one range, one without a value too', () => {
  fc.assert(
    fc.property(
      moments,
      fc.integer({ min: 1, max: 50_000 }),
      fc.integer({ min: 1, max: 16 }),
      fc.integer({ min: 0, max: 30 }),
      (times, records, parts, splits) => {
        const edges = { low: at(0), high: at(90_000) }
        const ranges = initialRanges(records, edges, { rowsPerRange: 1_000, parts })
        const isCut = ranges.length > 1
        expect(isCut).toBe(records > 1_000 && parts > 1)
        // What is being read has come somewhere.
        for (const one of ranges) if (isCut && !one.without) one.reached = one.from ?? at(-10)
        for (let time = 0; isCut && time < splits; time++) {
          const half = splitRange(ranges, at(90_000))
          if (half === null) break
          ranges.push(half)
        }
        for (const one of ranges) one.reached = null
        for (const value of [null, ...times.map(at)])
          expect(ranges.filter((one) => matches(rangeFilter('made', one), value))).toHaveLength(1)
      },
    ),
  )
})

test('a small type is one listing without a filter', () => {
  expect(
    initialRanges(1_000, { low: at(0), high: at(9) }, { rowsPerRange: 1_000, parts: 8 }),
  ).toEqual([createRange(null, null)])
})

test('what is cut is what is left of the longest, and never what is done', () => {
  const short = { ...createRange(at(0), at(1_000)), reached: at(0) }
  const long = { ...createRange(at(1_000), at(9_000)), reached: at(3_000) }
  const done = { ...createRange(at(9_000), at(99_000)), reached: at(9_000), done: true }
  expect(splitRange([short, long, done], at(99_000))).toEqual(createRange(at(6_000), at(9_000)))
  expect(long.to).toBe(at(6_000))
})

test('nothing is cut where no record lies any more', () => {
  const open = { ...createRange(at(0), at(9_000_000)), reached: at(1_000) }
  expect(splitRange([open], at(3_000))).toEqual(createRange(at(2_000), at(9_000_000)))
  expect(open.to).toBe(at(2_000))
  const beyond = { ...createRange(at(0), at(9_000_000)), reached: at(4_000) }
  expect(splitRange([beyond], at(3_000))).toBeNull()
})

test('a moment is not cut in two', () => {
  expect(splitRange([{ ...createRange(at(0), at(1)), reached: at(0) }], at(1))).toBeNull()
})

test('a range goes on from where it was, that moment included', () => {
  const one = { ...createRange(at(0), at(9)), reached: at(5) }
  expect(matches(rangeFilter('made', one), at(5))).toBe(true)
  expect(matches(rangeFilter('made', one), at(4))).toBe(false)
})
