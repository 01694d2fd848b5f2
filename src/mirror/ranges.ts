// A complete listing in ranges of a property that never or rarely changes: several are read at the same time, and none takes nearly
// the 24 hours that a cursor lives. A reader that is done takes half of the rest of another one, so that nothing has to be counted
// and records may be distributed unevenly.

import { allFilter, spanFilter, type FilterNode } from '../contract/index.ts'
import { earlierInstant, formatInstant } from './instant.ts'
import type { ListingRange } from './position.ts'

/** Shortest time that is cut in two, ms. */
const SPAN_MIN_MS = 2

export const createRange = (
  from: string | null,
  to: string | null,
  without = false,
): ListingRange => ({
  from,
  to,
  without,
  reached: null,
  cursor: null,
  done: false,
})

/** The whole type, or, if it is large, `parts` equal parts of the time between its lowest and highest value. */
export function initialRanges(
  records: number,
  edges: { readonly low: string; readonly high: string } | null,
  size: { readonly rowsPerRange: number; readonly parts: number },
): ListingRange[] {
  if (edges === null || records <= size.rowsPerRange) return [createRange(null, null)]
  const low = Date.parse(edges.low)
  const span = Date.parse(edges.high) - low
  const parts = Math.max(
    1,
    Math.min(size.parts, Math.ceil(records / size.rowsPerRange), Math.floor(span / SPAN_MIN_MS)),
  )
  if (parts === 1) return [createRange(null, null)]
  const cuts = Array.from({ length: parts - 1 }, (_, index) =>
    formatInstant(low + Math.round((span * (index + 1)) / parts)),
  )
  // The first has no lower bound: a record with a lower value may have come since.
  const ranges = cuts.map((to, index) => createRange(index === 0 ? null : cuts[index - 1]!, to))
  return [...ranges, createRange(cuts.at(-1) ?? null, null), createRange(null, null, true)]
}

/**
 * Cuts the range with the longest time left in two, and returns the new one; null if none is long enough.
 * @param high few records are above it
 */
export function splitRange(ranges: readonly ListingRange[], high: string): ListingRange | null {
  let longest: { one: ListingRange; middle: string; span: number } | null = null
  for (const one of ranges) {
    if (one.done || one.without || one.reached === null) continue
    const to = one.to === null ? high : earlierInstant(one.to, high)
    const middle = midpoint(one.reached, to)
    const span = Date.parse(to) - Date.parse(one.reached)
    if (middle !== null && span > (longest?.span ?? 0)) longest = { one, middle, span }
  }
  if (longest === null) return null
  const { one, middle } = longest
  const half = createRange(middle, one.to)
  one.to = middle
  return half
}

/** The moment in the middle; null if there is hardly any time in between. */
export function midpoint(from: string, to: string): string | null {
  const low = Date.parse(from)
  const high = Date.parse(to)
  return high - low >= SPAN_MIN_MS ? formatInstant(Math.ceil((low + high) / 2)) : null
}

/** The filter for the rest of a range; null for everything. */
export function rangeFilter(
  by: string | null,
  { from, to, without, reached }: ListingRange,
): FilterNode | null {
  if (by === null) return null
  if (without) return { property: by, op: 'is_null', value: true }
  return allFilter(spanFilter(by, reached ?? from, to))
}
