// The rank of a row: the value of its watermark's column, as a text. Promise kept here: two ranks of one column and order compare by their
// bytes as their values do, so that a database compares them.

import { canonicalDecimal, trimTrailingZeros } from '../decimal.ts'
import { isGreater, watermarkProblem, type ColumnOrder, type Watermark } from './watermark.ts'

/** Characters at the beginning of a rank that say of which column and order it is. */
export const RANK_HEAD = 9
/** A longer rank is not kept. */
const RANK_CHARS_MAX = 1_100

const LETTERS = { number: 'n', time: 't', text: 'x' } as const satisfies Record<ColumnOrder, string>

/** Null for a value that has no place in the order. */
export function rankOf({ column, order, value }: Watermark): string | null {
  if (watermarkProblem(order, value) !== undefined) return null
  const place =
    order === 'number' ? placeOfNumber(value) : order === 'time' ? withoutZ(value) : value
  if (place === null || place.length > RANK_CHARS_MAX) return null
  return checksum(column) + LETTERS[order] + place
}

/** Whether `a` is the rank of a greater value than `b`; false where the two cannot be compared. */
export const isRankAfter = (a: string | undefined, b: string | undefined): boolean =>
  a !== undefined &&
  b !== undefined &&
  a.slice(0, RANK_HEAD) === b.slice(0, RANK_HEAD) &&
  isGreater('text', a, b)

/** Without the Z the longer text is the later time. */
const withoutZ = (time: string): string => time.replace('Z', '')

/** Eight digits of FNV-1a. */
function checksum(text: string): string {
  let sum = 0x811c9dc5
  for (const byte of new TextEncoder().encode(text)) sum = Math.imul(sum ^ byte, 0x01000193)
  return (sum >>> 0).toString(16).padStart(8, '0')
}

/** Sign, length of the whole part and digits; of a negative number each digit is taken from nine. */
function placeOfNumber(value: string): string | null {
  const decimal = canonicalDecimal(value)
  if (decimal === null || decimal === '0') return decimal === null ? null : '5'
  const [whole = '', fraction = ''] = decimal.replace('-', '').split('.')
  const small = fraction.replace(/^0+/, '')
  const point = whole === '0' ? small.length - fraction.length : whole.length
  const digits = whole === '0' ? small : trimTrailingZeros(whole + fraction)
  const place = String(5_000_000 + point).padStart(7, '0') + digits
  if (!decimal.startsWith('-')) return `6${place}`
  return `4${place.replaceAll(/\d/g, (digit) => String(9 - Number(digit)))}~`
}
