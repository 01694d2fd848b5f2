// The key of an item: the matching value as it is compared, and as it is sent (design section 3). Two rows with one key mean one
// record. Promise kept here: what is one key for us is one value on the wire.

import { canonicalDecimal, decimalOfNumber } from '../../core/decimal.ts'
import type { Json } from '../../core/json.ts'
import { composed, seenText } from '../../core/look.ts'
import { LosslessNumber, canonicalNumber } from '../../core/lossless-number.ts'

/** Types whose values may mean the same in capitals and in small letters; whether they do, the service shows (folding.ts). */
const foldable = new Set(['email', 'url'])

export const isCaseFoldable = (fieldType: string): boolean => foldable.has(fieldType)

/** The text in small letters. Folding can leave a letter and its accent apart that have a composed form: J with a caron has none. */
export const foldCase = (text: string): string => composed(text.toLowerCase())

/**
 * The canonical text of a matching value: how it looks, numbers as canonical decimals; e-mails and urls in small letters if
 * `folds`. Null if the value cannot be a key: empty, not a scalar, or not exactly one value.
 */
export function itemKey(
  value: Json | undefined,
  fieldType: string,
  folds: boolean = isCaseFoldable(fieldType),
): string | null {
  if (Array.isArray(value))
    return value.length === 1 ? itemKey(value[0] as Json, fieldType, folds) : null
  if (typeof value === 'number') return decimalOfNumber(value)
  if (value instanceof LosslessNumber) return canonicalNumber(value.text)
  if (typeof value === 'boolean') return String(value)
  if (typeof value !== 'string') return null
  const text = seenText(value)
  if (text === '') return null
  if (fieldType === 'number') return canonicalDecimal(text) ?? text
  return folds && isCaseFoldable(fieldType) ? foldCase(text) : text
}

/** A matching value as it is sent. */
export function normaliseValue(value: Json): Json {
  if (Array.isArray(value)) return value.map((part) => normaliseValue(part as Json))
  return typeof value === 'string' ? seenText(value) : value
}
