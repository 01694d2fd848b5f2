// Whether a record has a value as a row writes it: the comparison of plans, before-images, protection and undo. Promise kept here: texts
// are the same only character for character, and lists only in their order; numbers, amounts and times are compared by what they mean.

import { ownValue, type Json } from '../../core/json.ts'
import { canonicalValue, isIdentical } from './compare.ts'
import type { PropertyValues } from './look-up.ts'

type TypeOf = (property: string) => string

/** Types whose texts may be written in several ways. */
const byMeaning = new Set(['number', 'currency', 'datetime'])

/** The one text of all values that are written the same; empty for no value. A list of one value is that value. */
function writtenText(value: Json | undefined, fieldType: string): string {
  if (Array.isArray(value)) {
    if (value.length === 1) return writtenText(value[0] as Json, fieldType)
    const parts = value.map((part) => writtenText(part as Json, fieldType))
    return parts.length > 1 ? JSON.stringify(parts) : ''
  }
  return typeof value === 'string' && !byMeaning.has(fieldType)
    ? value
    : canonicalValue(value, fieldType)
}

export const isWrittenSame = (
  one: Json | undefined,
  other: Json | undefined,
  fieldType: string,
): boolean =>
  isIdentical(one, other) || writtenText(one, fieldType) === writtenText(other, fieldType)

/** Names of the sent properties that a record has otherwise, if only in how they are written. */
export const changedFields = (
  sent: PropertyValues,
  held: PropertyValues,
  typeOf: TypeOf,
): readonly string[] =>
  Object.keys(sent).filter((name) => !isWrittenSame(sent[name], ownValue(held, name), typeOf(name)))
