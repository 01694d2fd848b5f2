// Numbers as files write them, where the mapping says how: a separator of thousands, and a sign before or behind the digits. Promise
// kept here: both are taken away only where they have to be; a separator in another place is no separator, and behind a zero it is
// one of decimals.

import { canonicalDecimal, isCanonicalDecimal } from '../../core/decimal.ts'
import type { PropertyMapping } from '../../../config/index.ts'

export type NumberForm = Pick<PropertyMapping, 'decimal' | 'thousands' | 'symbol' | 'negative'>

/** What may stand for a separator that is written as a space or an apostrophe. */
const SAME: Readonly<Record<string, string>> = { ' ': ' \\u00a0\\u202f', "'": "'\\u2019" }

/** The canonical decimal of a cell in the form that its mapping states, or null. */
export function decimalOfCell(cell: string, form: NumberForm): string | null {
  const separator = form.decimal ?? '.'
  const isPlain = separator === '.' && form.thousands === undefined && form.symbol === undefined
  if (isPlain && isCanonicalDecimal(cell)) return cell
  const text = bareNumber(cell, form)
  if (text === null) return null
  if (separator === '.') return canonicalDecimal(plainText(text))
  return text.includes('.') ? null : canonicalDecimal(plainText(text.replace(separator, '.')))
}

const EXPONENT_MAX = 400

/** `1e3`, `1e-7`, `.5` and `5.`, which programs write for data frames, in plain digits: the same value, exactly. */
function plainText(text: string): string {
  const match = /^([+-]?)(\d*)\.?(\d*)(?:e([+-]?\d{1,3}))?$/i.exec(text)
  if (!match || match[2]! + match[3]! === '') return text
  const [, sign, whole, fraction, exponent = '0'] = match
  const shift = Number(exponent)
  if (Math.abs(shift) > EXPONENT_MAX) return text
  const digits = whole! + fraction!
  const point = whole!.length + shift
  const before = point > 0 ? digits.slice(0, point).padEnd(point, '0') : '0'
  const after = point < 0 ? digits.padStart(digits.length - point, '0') : digits.slice(point)
  return `${sign}${before || '0'}${after === '' ? '' : `.${after}`}`
}

/** Without its sign and its separators of thousands; null if it has separators in other places. */
export function bareNumber(cell: string, form: NumberForm): string | null {
  const { thousands, decimal = '.', symbol } = form
  const written = cell.trim().replaceAll(MINUS, '-')
  const signed = signFirst(written, form)
  const bare = symbol === undefined ? signed : withoutSymbol(signed, symbol)
  // The sign may stand inside of the symbol, as in `$(30)` and `30- €`.
  const text = symbol === undefined || signed !== written ? bare : signFirst(bare, form)
  if (thousands === undefined) return text
  const { marks, grouped } = patternsOf(thousands, decimal)
  if (!marks.test(text)) return text
  return grouped.test(text) ? text.replaceAll(new RegExp(marks, 'g'), '') : null
}

/** The minus of typography. */
const MINUS = '\u2212'

/** `(30)` and `30-` as `-30`, where the mapping allows it; a number that has a sign already stays. */
function signFirst(text: string, { negative }: NumberForm): string {
  const form = negative === 'parentheses' ? /^\(([^()+-]*)\)$/ : /^([^()+-]*)-$/
  const [, number] = (negative === undefined ? null : form.exec(text)) ?? []
  return number === undefined ? text : `-${number.trim()}`
}

const patterns = new Map<string, { readonly marks: RegExp; readonly grouped: RegExp }>()

/** What is a separator of thousands, and a number with some: its first group does not begin with 0. */
function patternsOf(thousands: string, decimal: string) {
  const name = thousands + decimal
  let found = patterns.get(name)
  if (found === undefined) {
    const mark = `[${SAME[thousands] ?? `\\${thousands}`}]`
    const plain = String.raw`[1-9]\d{0,2}(?:${mark}\d{3})+`
    // Lakhs and crores, as India writes them: 12,34,567.
    const indian = String.raw`[1-9]\d?(?:,\d{2})+,\d{3}`
    const groups = thousands === ',' ? `(?:${plain}|${indian})` : plain
    found = {
      marks: new RegExp(mark),
      grouped: new RegExp(String.raw`^[+-]?${groups}(?:[${decimal}]\d*)?$`),
    }
    patterns.set(name, found)
  }
  return found
}

/** `-€5`, `€-5` and `5 €` are -5, -5 and 5. */
function withoutSymbol(text: string, symbol: string): string {
  const [, sign = '', rest = ''] = /^([+-]?)\s*(.*)$/s.exec(text)!
  const bare = rest.startsWith(symbol)
    ? rest.slice(symbol.length)
    : rest.endsWith(symbol)
      ? rest.slice(0, -symbol.length)
      : null
  // A point behind letters is a part of them: `Rs.1500` is not 0.15.
  const isCut = bare !== null && /\p{L}$/u.test(symbol) && /^\.\d/.test(bare)
  return bare === null || isCut ? text : `${sign}${bare.trim()}`
}
