// Whether the service holds what was sent, under the comparison of each type: a service may normalise
// (lower-case an e-mail, keep 10.5 as 10.50, return a time in UTC), and that is not a difference.

import { canonicalDecimal, decimalOfNumber, trimTrailingZeros } from '../../core/decimal.ts'
import { canonicalJson, isJsonObject, ownValue, type Json } from '../../core/json.ts'
import { LosslessNumber } from '../../core/lossless-number.ts'

const caseless = new Set(['email', 'url'])

/** The one text of all values that mean the same under the field type's comparison; empty for no value. */
export function canonicalValue(value: Json | undefined, fieldType: string): string {
  if (value === undefined || value === null) return ''
  if (Array.isArray(value)) {
    const parts = value.map((part) => canonicalValue(part as Json, fieldType)).toSorted()
    return parts.length > 1 ? JSON.stringify(parts) : (parts[0] ?? '')
  }
  if (isJsonObject(value)) {
    const { amount } = value
    if (
      typeof amount === 'string' ||
      typeof amount === 'number' ||
      amount instanceof LosslessNumber
    )
      return `${canonicalValue(amount, 'number')} ${String(value['unit'])}`
    return canonicalJson(value)
  }
  if (typeof value === 'number') return decimalOfNumber(value)
  if (value instanceof LosslessNumber) return canonicalJson(value)
  if (typeof value === 'boolean') return String(value)
  const text = String(value).trim().normalize('NFC')
  if (fieldType === 'number') return canonicalDecimal(text) ?? text
  if (fieldType === 'datetime') {
    // JavaScript's times end with milliseconds; what a text has beyond them counts as well.
    const [, finer = ''] = /:\d\d\.\d{3}(\d+)/.exec(text) ?? []
    const time = Date.parse(text)
    const rest = trimTrailingZeros(finer)
    return Number.isNaN(time) ? text : rest === '' ? String(time) : `${time}+${rest}`
  }
  return caseless.has(fieldType) ? text.toLowerCase().normalize('NFC').replace(/\/$/, '') : text
}

/** True if both values mean the same under the field type's comparison. */
export function isSameMeaning(
  sent: Json | undefined,
  held: Json | undefined,
  fieldType: string,
): boolean {
  return canonicalValue(sent, fieldType) === canonicalValue(held, fieldType)
}

/** Names of the sent properties that the service holds otherwise. */
export function differingFields(
  sent: Readonly<Record<string, Json>>,
  held: Readonly<Record<string, Json>>,
  fieldTypeOf: (property: string) => string,
): string[] {
  return Object.keys(sent).filter(
    (property) => !isSameMeaning(sent[property], ownValue(held, property), fieldTypeOf(property)),
  )
}
