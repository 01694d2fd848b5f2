// Whether a value that is sent is the one that a test expects. Promise kept here: numbers are compared as numbers, digit by digit, and
// everything else exactly: what passes is what would be on the wire.

import { CLEARED, NOT_SENT, type WrittenText } from '../../config/index.ts'
import { canonicalDecimal, decimalOfNumber } from '../core/decimal.ts'
import { canonicalJson, isJsonObject, ownValue, parseJson, type Json } from '../core/json.ts'
import { LosslessNumber, plainDecimal } from '../core/lossless-number.ts'

/** What a comparison needs to know of a property. */
export interface ComparedProperty {
  /** Type that its cells are read as. */
  readonly type: string
  /** Separator of the values in a text, for a property that holds several. */
  readonly split: string | undefined
}

const NUMERIC = ['number', 'currency']

/** @param sent undefined: the property is left out; null: it is cleared */
export function isAsExpected(
  sent: Json | undefined,
  expected: WrittenText,
  property: ComparedProperty,
): boolean {
  if (sent === undefined) return expected === NOT_SENT
  if (sent === null) return expected === CLEARED
  return isSame(sent, expected, property)
}

function isSame(sent: Json, expected: WrittenText, property: ComparedProperty): boolean {
  if (Array.isArray(sent)) return isSameList(sent as readonly Json[], expected, property)
  if (typeof expected === 'string') return isSameText(sent, expected, property)
  if (isList(expected) || !isJsonObject(sent)) return false
  const names = Object.keys(expected)
  return (
    names.length === Object.keys(sent).length &&
    names.every((name) => {
      const part = ownValue(sent, name)
      return part !== undefined && part !== null && isSame(part, expected[name]!, property)
    })
  )
}

/** A text that is not a list stands for a list of one, or for as many as `split` makes of it. */
function isSameList(
  sent: readonly Json[],
  expected: WrittenText,
  property: ComparedProperty,
): boolean {
  const { split } = property
  const isText = split !== undefined && typeof expected === 'string'
  const parts = isText ? partsOf(expected, split) : isList(expected) ? expected : [expected]
  return (
    parts.length === sent.length &&
    parts.every(
      (part, index) =>
        isSame(sent[index]!, part, property) ||
        (isText && isSame(sent[index]!, (part as string).trim(), property)),
    )
  )
}

const partsOf = (text: string, split: string): readonly string[] =>
  text.split(split).filter((part) => part.trim() !== '')

function isSameText(sent: Json, expected: string, property: ComparedProperty): boolean {
  if (isJsonObject(sent)) {
    const [, amount, unit] = /^(\S+) (\S+)$/.exec(expected.trim()) ?? []
    const isAmount = Object.hasOwn(sent, 'amount') && Object.hasOwn(sent, 'unit')
    return isAmount && amount !== undefined
      ? isSame(sent, { amount, unit: unit! }, property)
      : isJsonText(sent, expected)
  }
  const text = scalarText(sent)
  if (text === expected) return true
  if (typeof sent === 'boolean') return expected.toLowerCase() === text
  if (typeof sent === 'string' && !NUMERIC.includes(property.type)) return false
  const number = canonicalDecimal(text)
  return number !== null && number === canonicalDecimal(expected)
}

/** A value of any shape, against JSON that is written as a text. */
function isJsonText(sent: Json, expected: string): boolean {
  try {
    return canonicalJson(parseJson(expected)) === canonicalJson(sent)
  } catch {
    return false
  }
}

const isList = (text: WrittenText): text is readonly WrittenText[] => Array.isArray(text)

function scalarText(value: Json): string {
  if (typeof value === 'number') return decimalOfNumber(value)
  if (value instanceof LosslessNumber) return plainDecimal(value) ?? value.text
  return typeof value === 'object' && value !== null ? canonicalJson(value) : String(value)
}

/** A value as a person reads it: `1200.50 EUR`, `[a, b]`. */
export function shownValue(value: Json | WrittenText | undefined): string {
  if (value === undefined) return NOT_SENT
  if (value === null) return CLEARED
  if (Array.isArray(value)) return `[${value.map((part) => shownValue(part as Json)).join(', ')}]`
  if (isJsonObject(value as Json)) {
    const { amount, unit, ...others } = value as Readonly<Record<string, Json>>
    if (amount !== undefined && unit !== undefined && Object.keys(others).length === 0)
      return `${shownValue(amount)} ${shownValue(unit)}`
  }
  return scalarText(value as Json)
}
