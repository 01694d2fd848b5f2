// Values to write into scratch records, and values that cannot be valid, inferred from what the service says about a property.
// The specification does not list the names of field types, so these are guesses: ScratchRecords drops what is refused.

import type { Json } from '../core/json.ts'
import type { ProbedProperty } from './types.ts'

const kinds = [
  ['email', /mail/],
  ['phone', /phone|tel/],
  ['url', /url|link|website|uri/],
  ['datetime', /date_?time|timestamp/],
  ['date', /date/],
  // A reference to something else cannot be invented.
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

/** Added to the number of a list's second value, so that no other record has it as its first. */
const SECOND = 500_000_000

/** The `n`th value, different for each `n`, or undefined if none can be inferred. Texts begin with the marker. */
export function valueFor(property: ProbedProperty, marker: string, n: number): Json | undefined {
  const one = single(property, marker, n)
  if (one === undefined || !property.isMulti) return one
  const second = single(property, marker, n + (property.isUnique ? SECOND : 1))
  // If the number is even, a list of two: a list of one shows less.
  return n % 2 === 0 && second !== undefined && second !== one ? [one, second] : [one]
}

function single(property: ProbedProperty, marker: string, n: number): Json | undefined {
  const day = String((n % 28) + 1).padStart(2, '0')
  // A unique value that cannot carry the marker is numbered from it: the numbers of other records are small.
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

/** A value that no property of this kind can accept, or undefined. */
export function wrongValueFor(property: ProbedProperty): Json | undefined {
  const kind = kindOfProperty(property)
  if (kind === 'other' || kind === 'reference') return undefined
  return { conform: ['no such value'] }
}
