// Which rows a statement is about: parts of a list, ranges of ordinals, a sample. Plain arithmetic, the same for every driver.

import { LEDGER_ROWS_MAX } from '../core/limits.ts'
import type { RetryChoice } from '../core/purpose.ts'

/** Rows that one transaction replaces: so many are deleted, and as many written. */
export const REPLACED_MAX = LEDGER_ROWS_MAX / 2

/** The list in order, in parts whose sizes sum up to at most `max`, or of one element that is larger. */
export function partition<Element>(
  list: readonly Element[],
  sizeOf: (element: Element) => number,
  max: number,
): Element[][] {
  const parts: Element[][] = []
  let room = 0
  for (const element of list) {
    const size = sizeOf(element)
    if (size > room || parts.length === 0) {
      parts.push([])
      room = max
    }
    parts.at(-1)!.push(element)
    room -= size
  }
  return parts
}

/** The highest ordinal that every ledger can hold. */
const ORDINAL_MAX = 2_147_483_647

/** The ordinals above `after` that are wanted, as ranges in order that do not overlap; all of them where none are named. */
export function remainingRanges(
  rows: RetryChoice['rows'],
  after: number,
): readonly (readonly [number, number])[] {
  const ranges: [number, number][] = []
  for (const [first, last] of (rows ?? [[1, ORDINAL_MAX]]).toSorted(([a], [b]) => a - b)) {
    const from = Math.max(first, after + 1, (ranges.at(-1)?.[1] ?? 0) + 1)
    const to = Math.min(last, ORDINAL_MAX)
    if (from <= to) ranges.push([from, to])
  }
  return ranges
}

// How a sample of a run is chosen. Rows are spread over 0 to SPREAD - 1, evenly in every part of the run, because the factor
// is the golden section of it; in every run from another beginning. Those below a bound are the sample.
const SPREAD = 2_147_483_647

/** SQL: where a row is, by its ordinal, an integer of 64 bits. */
export const sampleOrderSql = (ordinal: string, beginning: string): string =>
  `((${ordinal} * 1327217885 + ${beginning}) % ${SPREAD})`

export const sampleStart = (run: number): number =>
  (((run * 889_516_852) % SPREAD) + SPREAD) % SPREAD

/** The bound below which there are about `rows` of so many. */
export const sampleBound = (rows: number, of: number): number =>
  of <= rows ? SPREAD : Math.floor((SPREAD * rows) / of)
