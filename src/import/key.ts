// The key of an item: the canonical matching value (design section 3). Two rows with one key mean one record.

import { canonicalDecimal, decimalOfNumber } from '../core/decimal.ts'
import type { Json } from '../core/json.ts'
import { LosslessNumber, canonicalNumber } from '../core/lossless-number.ts'

const caseless = new Set(['email', 'url'])

/**
 * The canonical text of a matching value: trimmed, NFC, case-folded for e-mail and url types, numbers as canonical
 * decimals. Null where the value cannot be a key: empty, not a scalar, or not exactly one value.
 */
export function keyOf(value: Json | undefined, fieldType: string): string | null {
  if (Array.isArray(value)) return value.length === 1 ? keyOf(value[0] as Json, fieldType) : null
  if (typeof value === 'number') return decimalOfNumber(value)
  if (value instanceof LosslessNumber) return canonicalNumber(value.text)
  if (typeof value === 'boolean') return String(value)
  if (typeof value !== 'string') return null
  const text = value.trim().normalize('NFC')
  if (text === '') return null
  if (fieldType === 'number') return canonicalDecimal(text) ?? text
  // Folding can leave a letter and its accent apart that have a composed form: J with a caron has none, its small letter has.
  return caseless.has(fieldType) ? text.toLowerCase().normalize('NFC') : text
}
