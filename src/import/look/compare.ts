// Whether the service holds what was sent, under the comparison of each type: a service may normalise
// (lower-case an e-mail, keep 10.5 as 10.50, return a time in UTC), and that is not a difference.

import { canonicalDecimal, decimalOfNumber, trimTrailingZeros } from '../../core/decimal.ts'
import { canonicalJson, isJsonObject, ownValue, type Json } from '../../core/json.ts'
import { LosslessNumber } from '../../core/lossless-number.ts'
import { composed } from '../../core/look.ts'
import { foldCase } from '../mapping/key.ts'

const URL_PARTS = /^([a-z][a-z0-9+.-]*:\/\/)?([^/?#@]*@)?([^/?#]*)(.*)$/is

/**
 * The one text of all values that mean the same under the field type's comparison; empty for no value.
 * @param urlText of a url. Default: scheme and host in small letters
 */
export function canonicalValue(
  value: Json | undefined,
  fieldType: string,
  urlText: (text: string) => string = canonicalUrl,
): string {
  if (value === undefined || value === null) return ''
  if (Array.isArray(value)) {
    if (value.length === 1) return canonicalValue(value[0] as Json, fieldType, urlText)
    const parts = value.map((part) => canonicalValue(part as Json, fieldType, urlText)).toSorted()
    return parts.length > 1 ? JSON.stringify(parts) : ''
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
  const text = composed(String(value).trim())
  if (fieldType === 'number') return canonicalDecimal(text) ?? text
  if (fieldType === 'datetime') {
    // JavaScript's times end with milliseconds; what a text has beyond them counts as well.
    const finer = text.includes('.') ? (/:\d\d\.\d{3}(\d+)/.exec(text)?.[1] ?? '') : ''
    const time = Date.parse(text)
    const rest = trimTrailingZeros(finer)
    return Number.isNaN(time) ? text : rest === '' ? String(time) : `${time}+${rest}`
  }
  if (fieldType === 'url') return urlText(text)
  return fieldType === 'email' ? foldCase(text) : text
}

/** Scheme and host in small letters; what follows may tell one page from another by them. */
function canonicalUrl(text: string): string {
  const [, scheme = '', user = '', host = '', rest = ''] = URL_PARTS.exec(text) ?? []
  return `${foldCase(scheme)}${user}${foldCase(host)}${rest}`.replace(/\/$/, '')
}

/** Whether both are one value, written the same: then they mean the same under any comparison. False proves nothing. */
export function isIdentical(sent: Json | undefined, held: Json | undefined): boolean {
  if (sent === held) return true
  if (Array.isArray(sent))
    return (
      Array.isArray(held) &&
      sent.length === held.length &&
      sent.every((part, at) => isIdentical(part as Json, held[at] as Json))
    )
  if (!isJsonObject(sent) || !isJsonObject(held)) return false
  const names = Object.keys(sent)
  return (
    names.length === Object.keys(held).length &&
    names.every((name) => Object.hasOwn(held, name) && isIdentical(sent[name], held[name]))
  )
}

/** True if both values mean the same under the field type's comparison. */
export function isSameMeaning(
  sent: Json | undefined,
  held: Json | undefined,
  fieldType: string,
): boolean {
  return canonicalValue(sent, fieldType) === canonicalValue(held, fieldType)
}

/** Whether the service holds a sent property otherwise. */
export function isFieldDifferent(
  sent: Readonly<Record<string, Json>>,
  held: Readonly<Record<string, Json>>,
  property: string,
  fieldTypeOf: (property: string) => string,
): boolean {
  const ours = sent[property]
  const theirs = ownValue(held, property)
  // Most are the same, and to see that costs a tenth of what canonical texts do.
  return !isIdentical(ours, theirs) && !isSameMeaning(ours, theirs, fieldTypeOf(property))
}

/** Names of the sent properties that the service holds otherwise. */
export const differingFields = (
  sent: Readonly<Record<string, Json>>,
  held: Readonly<Record<string, Json>>,
  fieldTypeOf: (property: string) => string,
): string[] =>
  Object.keys(sent).filter((property) => isFieldDifferent(sent, held, property, fieldTypeOf))
