// The watermark of an import: the greatest value of one column that its query has given. Promise kept here: greater means
// here what it means in the warehouse.

import { canonicalDecimal, compareDecimals } from './decimal.ts'

/** How the values of a column are ordered: as numbers, as dates or times, or as texts, by their characters' code points. */
export type ColumnOrder = 'number' | 'time' | 'text'

export interface Watermark {
  /** Name of the column. */
  readonly column: string
  readonly order: ColumnOrder
  /** The cell, as `Reading` gives it. */
  readonly value: string
}

/** A window, `from` included and `to` not; null where it has no such end. Of a query: what `:from` and `:to` are. */
export interface Window {
  readonly from: string | null
  readonly to: string | null
}

/** A text that can be a watermark has at most so many characters. */
export const WATERMARK_CHARS_MAX = 1_000

const TIME = /^\d{4}-\d{2}-\d{2}(?:T[\d:.]+Z)?$/

/** What a value must be to be a watermark, or undefined where it is that. */
export function watermarkProblem(order: ColumnOrder, value: string): string | undefined {
  if (order === 'time' && !TIME.test(value)) return 'a time of the years 1 to 9999'
  if (order === 'text' && (value.length > WATERMARK_CHARS_MAX || value.includes('\0')))
    return `a text of at most ${WATERMARK_CHARS_MAX} characters without U+0000`
  return undefined
}

/** Whether `a` is greater than `b`; both fit. */
export function isGreater(order: ColumnOrder, a: string, b: string): boolean {
  switch (order) {
    case 'number':
      return compareDecimals(canonicalDecimal(a)!, canonicalDecimal(b)!) > 0
    case 'time':
      // Without the Z what is longer is later: it has more of the second.
      return a.replace('Z', '') > b.replace('Z', '')
    case 'text':
      return isAfter(a, b)
  }
}

/** By code points, as UTF-8 sorts; JavaScript's own order takes the halves of a pair for characters. */
function isAfter(a: string, b: string): boolean {
  const length = Math.min(a.length, b.length)
  for (let index = 0; index < length; index++) {
    const [one, other] = [a.charCodeAt(index), b.charCodeAt(index)]
    if (one !== other) return rank(one) > rank(other)
  }
  return a.length > b.length
}

/** Code units in the order of the code points that they begin: surrogates last. */
const rank = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit)
