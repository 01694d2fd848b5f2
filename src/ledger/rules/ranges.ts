// Which rows a statement is about: slices, parts of a list, ranges of ordinals, a sample. Plain arithmetic, the same for every
// engine.

import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import type { RetryChoice } from '../../core/domain/purpose.ts'
import type { ItemPlace, RunSegment } from '../roles/outbox.ts'

/** The numbers from 1 to `end`, in slices of at most `rows`. */
export function* ordinalSlices(end: number, rows: number = LEDGER_ROWS_MAX): Generator<RunSegment> {
  for (let first = 1; first <= end; first += rows)
    yield { first, last: Math.min(first + rows - 1, end) }
}

/** Items of which each has the ordinal behind that of the one before. */
export interface Stretch<Item> extends RunSegment {
  readonly items: readonly Item[]
}

/** Items in the order of their ordinals, in stretches without a gap, of items that are alike. */
export function stretches<Item extends ItemPlace>(
  items: readonly Item[],
  areAlike: (a: Item, b: Item) => boolean = () => true,
): readonly Stretch<Item>[] {
  const found: Stretch<Item>[] = []
  for (let from = 0, to = 1; to <= items.length; to++) {
    const [item, next] = [items[to - 1]!, items[to]]
    if (next?.ordinal === item.ordinal + 1 && areAlike(item, next)) continue
    found.push({ first: items[from]!.ordinal, last: item.ordinal, items: items.slice(from, to) })
    from = to
  }
  return found
}

/** Rows that one transaction replaces: it deletes so many, and writes as many. */
export const REPLACED_MAX = LEDGER_ROWS_MAX / 2

/** The highest ordinal that every ledger can hold. */
const ORDINAL_MAX = 2_147_483_647

/** The wanted ordinals above `after`, as ranges in order that do not overlap; all ordinals if none are named. */
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
// is its golden section; in every run with another start. Those below a bound are the sample.
const SPREAD = 2_147_483_647

/** SQL: the place of a row in this order, by its ordinal, an integer of 64 bits. */
export const sampleOrderSql = (ordinal: string, start: string): string =>
  `((${ordinal} * 1327217885 + ${start}) % ${SPREAD})`

export const sampleStart = (run: number): number =>
  (((run * 889_516_852) % SPREAD) + SPREAD) % SPREAD

/** The bound below which there are about `rows` of the rows. */
export const sampleBound = (rows: number, of: number): number =>
  of <= rows ? SPREAD : Math.floor((SPREAD * rows) / of)
