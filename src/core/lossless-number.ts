// Numbers of a JSON text that no JavaScript number holds: 9007199254740993, 1e400, 0.1000000000000000055.
// Promise kept here: such a number keeps its text, and is never rounded unless the reading code rounds it explicitly.

import { canonicalDecimal, exactDouble, plainDigits, trimTrailingZeros } from './decimal.ts'

export const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** A JSON number, as its text. `String(number)` and `JSON.stringify` give the text. */
export class LosslessNumber {
  /** As the other side wrote it: a JSON number, such as `9007199254740993` or `-1.5E+400`. */
  readonly text: string

  /** @throws TypeError for a text that is not a JSON number */
  constructor(text: string) {
    if (!JSON_NUMBER.test(text)) throw new TypeError('A number as JSON writes it was expected')
    this.text = text
  }

  toString(): string {
    return this.text
  }

  /** A text, because `JSON.stringify` can write JavaScript's numbers only. */
  toJSON(): string {
    return this.text
  }
}

const FORM = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/
/** Zeros that a plain decimal may have in addition to the given digits. */
const ZEROS_MAX = 64
/** Digits of an exponent that the code can calculate with. */
const EXPONENT_DIGITS_MAX = 15

/**
 * The one text of a number's value: the plain decimal, or `1.5e+400` if the plain decimal would add more than 64 zeros.
 * Null if `text` is not a JSON number.
 */
export function canonicalNumber(text: string): string | null {
  const match = FORM.exec(text)
  if (!match) return null
  const [, sign, whole, fraction = '', power = '0'] = match
  const digits = `${whole!}${fraction}`.replace(/^0+/, '')
  const significant = trimTrailingZeros(digits)
  if (significant === '') return '0'
  const exponent = power.replace(/^([+-]?)0+(?=\d)/, '$1')
  if (exponent.length > EXPONENT_DIGITS_MAX) return text.toLowerCase()
  // The value is 0.significant × 10^point.
  const point = Number(exponent) + digits.length - fraction.length
  const zeros = point <= 0 ? -point : point - significant.length
  if (zeros <= ZEROS_MAX) return `${sign}${plainDigits(significant, point)}`
  const rest = significant.length > 1 ? `.${significant.slice(1)}` : ''
  const scale = point - 1
  return `${sign}${significant[0]}${rest}e${scale < 0 ? '-' : '+'}${Math.abs(scale)}`
}

/** The plain decimal of a number; null if it would be mostly zeros, such as that of `1e400`. */
export function plainDecimal(number: LosslessNumber): string | null {
  const canonical = canonicalNumber(number.text)
  return canonical === null ? null : canonicalDecimal(canonical)
}

/** Digits before and after the point of the plain decimal; `whole` is never less than in the text itself. */
export function digitCounts({ text }: LosslessNumber): { whole: number; fraction: number } {
  const [, , whole = '', fraction = '', power = '0'] = FORM.exec(text) ?? []
  const exponent = Number(power)
  return {
    whole: Math.max(whole.length, whole.length + exponent),
    fraction: Math.max(0, fraction.length - exponent),
  }
}

/** A decimal as a JSON number: JavaScript's own if it holds the decimal exactly. */
export function numberFromDecimal(decimal: string): number | LosslessNumber {
  return exactDouble(decimal) ?? new LosslessNumber(decimal)
}

/** Whether JavaScript reads the number of a JSON text without loss. */
export function isExactDouble(text: string): boolean {
  const canonical = canonicalNumber(text)
  const value = Number(text)
  return (
    canonical !== null &&
    Number.isFinite(value) &&
    // Exact as a plain decimal; a number whose own text has an exponent is compared in canonical form.
    (exactDouble(canonical) !== null || canonicalNumber(String(value)) === canonical)
  )
}

/** An exponent, or what looks like one. */
const EXPONENT = /\d[eE][-+\d]/

/**
 * Whether the text may have a number that a double does not hold: of 16 characters or more, or with an exponent. It also finds
 * some that are inside strings, and misses none outside them. Most texts have none, which two quick looks show.
 */
const mayHoldLong = (text: string): boolean =>
  (hasLongRun(text) || EXPONENT.test(text)) && hasLongNumber(text)

/** Whether it has 16 digits or points in a row. Of 16 characters in a row one is looked at, whatever its place is. */
function hasLongRun(text: string): boolean {
  const { length } = text
  for (let index = LONG_CHARS - 1; index < length; index += LONG_CHARS) {
    if (!isDigitOrPoint(text.charCodeAt(index))) continue
    let [start, end] = [index, index + 1]
    while (start > 0 && isDigitOrPoint(text.charCodeAt(start - 1))) start--
    while (end < length && isDigitOrPoint(text.charCodeAt(end))) end++
    if (end - start >= LONG_CHARS) return true
  }
  return false
}

const isDigitOrPoint = (code: number): boolean => (code >= ZERO && code <= NINE) || code === POINT

/** The same, exactly: looks at each character. */
function hasLongNumber(text: string): boolean {
  const { length } = text
  for (let index = 0; index < length; index++) {
    let code = text.charCodeAt(index)
    if (code < ZERO || code > NINE) continue
    const start = index
    do code = text.charCodeAt(++index)
    while (isDigitOrPoint(code))
    if (index - start < LONG_CHARS && code !== SMALL_E && code !== LARGE_E) continue
    let before = text.charCodeAt(start - 1)
    if (before === MINUS) before = text.charCodeAt(start - 2)
    if (before === COLON || before === COMMA || before === BRACKET || before <= SPACE) return true
  }
  return false
}

/**
 * Like `JSON.parse`, except that numbers that JavaScript does not hold exactly become `LosslessNumber`.
 * @throws SyntaxError; RangeError for what is nested too deep
 */
export function parseLossless(text: string): unknown {
  const value: unknown = JSON.parse(text)
  if (typeof value !== 'number' && !mayHoldLong(text)) return value
  const marked = markedNumbers(text)
  return marked === null ? value : JSON.parse(marked, unmarked)
}

/** Before the text of a number, and before every string that is a value. */
const NUMBER = 'n'
const STRING = 's'

function unmarked(_name: string, value: unknown): unknown {
  if (typeof value !== 'string') return value
  return value.startsWith(STRING) ? value.slice(1) : new LosslessNumber(value.slice(1))
}

/**
 * The same JSON with strings in place of the numbers that JavaScript does not hold, and a mark before each string that is a
 * value; null if there are no such numbers. The text is valid JSON.
 */
function markedNumbers(text: string): string | null {
  const parts: string[] = []
  let isMarked = false
  let copied = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === QUOTE) {
      const end = endOfString(text, index)
      if (!isName(text, end)) {
        parts.push(text.slice(copied, index + 1), STRING)
        copied = index + 1
      }
      index = end - 1
    } else if (code === MINUS || (code >= ZERO && code <= NINE)) {
      const end = endOfNumber(text, index)
      const number = text.slice(index, end)
      if (isLossy(number)) {
        isMarked = true
        parts.push(text.slice(copied, index), `"${NUMBER}${number}"`)
        copied = end
      }
      index = end - 1
    }
  }
  if (!isMarked) return null
  parts.push(text.slice(copied))
  return parts.join('')
}

/** A number of fewer characters, without an exponent, has at most 15 digits: a double holds it. */
const LONG_CHARS = 16

const SPACE = 0x20
const QUOTE = 0x22
const COMMA = 0x2c
const MINUS = 0x2d
const POINT = 0x2e
const ZERO = 0x30
const NINE = 0x39
const COLON = 0x3a
const LARGE_E = 0x45
const BRACKET = 0x5b
const BACKSLASH = 0x5c
const SMALL_E = 0x65

/** Whether JavaScript rounds the number of a JSON text. */
export const isLossy = (number: string): boolean =>
  (number.length >= LONG_CHARS || /[eE]/.test(number)) && !isExactDouble(number)

/** The index after the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  for (let index = start + 1; ; index++) {
    const code = text.charCodeAt(index)
    if (code === BACKSLASH) index++
    else if (code === QUOTE) return index + 1
  }
}

function endOfNumber(text: string, start: number): number {
  let end = start + 1
  while (end < text.length && '0123456789.eE+-'.includes(text[end]!)) end++
  return end
}

/** Whether the string that ends before `index` is the name of a member. */
function isName(text: string, index: number): boolean {
  let next = index
  while (next < text.length && text.charCodeAt(next) <= SPACE) next++
  return text.charCodeAt(next) === COLON
}
