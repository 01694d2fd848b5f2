// The watermark of an import: the greatest value of one column that its query has given. Promise kept here: "greater" means
// the same here as in the warehouse.

import { canonicalDecimal, compareDecimals } from '../decimal.ts'

/** How the values of a column are ordered: as numbers, as dates or times, or as texts, by their characters' code points. */
export type ColumnOrder = 'number' | 'time' | 'text'

export interface Watermark {
  readonly column: string
  readonly order: ColumnOrder
  /** The cell, as `Reading` gives it. */
  readonly value: string
}

/** A window, `from` included and `to` not; null: it has no such end. For a query: the values of `:from` and `:to`. */
export interface Window {
  readonly from: string | null
  readonly to: string | null
}

/** A text with more characters cannot be a watermark. */
export const WATERMARK_CHARS_MAX = 1_000

const TIME = /^\d{4}-\d{2}-\d{2}(?:T[\d:.]+Z)?$/

/** What a value must be to be a watermark, or undefined if it is that. */
export function watermarkProblem(order: ColumnOrder, value: string): string | undefined {
  if (order === 'time' && !TIME.test(value)) return 'a time of the years 1 to 9999'
  if (order === 'text' && (value.length > WATERMARK_CHARS_MAX || value.includes('\0')))
    return `a text of at most ${WATERMARK_CHARS_MAX} characters without U+0000`
  return undefined
}

/** Whether `a` is greater than `b`; both values fit the order. */
export function isGreater(order: ColumnOrder, a: string, b: string): boolean {
  switch (order) {
    case 'number':
      return compareDecimals(canonicalDecimal(a)!, canonicalDecimal(b)!) > 0
    case 'time':
      // Without the Z the longer text is the later time: it has more digits of the second.
      return a.replace('Z', '') > b.replace('Z', '')
    case 'text':
      return isAfter(a, b)
  }
}

/** By code points, as UTF-8 sorts; JavaScript's own order compares the halves of a surrogate pair as characters. */
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
