// Values to write into scratch records, and values that cannot be right, told from what the service says of a property. The
// specification does not show the names of field types, so that these are guesses: the bench drops what is refused.

import type { Json } from '../core/json.ts'
import type { ProbedProperty } from './types.ts'

const kinds = [
  ['email', /mail/],
  ['phone', /phone|tel/],
  ['url', /url|link|website|uri/],
  ['datetime', /date_?time|timestamp/],
  ['date', /date/],
  // What refers to something else cannot be made up.
  ['reference', /user|owner|reference|relation|lookup|file|image|id$/],
] as const

export type ValueKind =
  | (typeof kinds)[number][0]
  | 'option'
  | 'money'
  | 'number'
  | 'boolean'
  | 'text'
  | 'other'

export function kindOfProperty({ options, field }: ProbedProperty): ValueKind {
  if (options.length > 0) return 'option'
  if (field.units.length > 0) return 'money'
  const valueType = field.valueType.toLowerCase()
  if (/number|integer|decimal|float/.test(valueType)) return 'number'
  if (valueType.startsWith('bool')) return 'boolean'
  const named = kinds.find(([, form]) => form.test(field.name.toLowerCase()))
  if (named) return named[0]
  return valueType.startsWith('str') || valueType === 'text' ? 'text' : 'other'
}

/** What a second value of a list is numbered by, so that no other record has it as its first. */
const SECOND = 500_000_000

/** The `n`th value, another for each `n`, or undefined where none can be told. Texts begin with the marker. */
export function valueFor(property: ProbedProperty, marker: string, n: number): Json | undefined {
  const one = single(property, marker, n)
  if (one === undefined || !property.isMulti) return one
  const second = single(property, marker, n + (property.isUnique ? SECOND : 1))
  // Of an even number, lists of two: a list of one shows less.
  return n % 2 === 0 && second !== undefined && second !== one ? [one, second] : [one]
}

function single(property: ProbedProperty, marker: string, n: number): Json | undefined {
  const day = String((n % 28) + 1).padStart(2, '0')
  // What cannot carry the marker, and may be there only once, is numbered by it: other records have small numbers.
  const number = n + (property.isUnique ? Number.parseInt(marker.slice(-6), 16) * 1_000 : 0)
  switch (kindOfProperty(property)) {
    case 'option':
      return property.options[n % property.options.length]
    case 'money':
      return { amount: `${10 + number}.25`, unit: property.field.units[0]! }
    case 'number':
      return 10 + number
    case 'boolean':
      return n % 2 === 0
    case 'email':
      return `${marker}-${n}@example.com`
    case 'phone':
      return `+49${String(30_000_000 + number)}`
    case 'url':
      return `https://example.com/${marker}/${n}`
    case 'datetime':
      return `2026-03-${day}T10:00:00Z`
    case 'date':
      return `2026-03-${day}`
    case 'text':
      return `${marker}-${n}`
    default:
      return undefined
  }
}

/** A value that no property of this kind can take, or undefined. */
export function wrongValueFor(property: ProbedProperty): Json | undefined {
  const kind = kindOfProperty(property)
  if (kind === 'other' || kind === 'reference') return undefined
  return { conform: ['no such value'] }
}
