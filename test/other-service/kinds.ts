// The kinds of values, the names that a service may give them, and what each takes, compares and stores.

import { compareDecimals, decimal } from './decimal.ts'
import { isNumber, isObject, textOf } from './json.ts'
import type { Json } from './json.ts'
import type { Habits, Naming } from './habits.ts'

export type Kind =
  | 'text'
  | 'email'
  | 'url'
  | 'number'
  | 'integer'
  | 'boolean'
  | 'date'
  | 'datetime'
  | 'select'
  | 'currency'
  | 'json'

interface Names {
  readonly name: string
  readonly value: string
}

const PLAIN: Readonly<Record<Kind, Names>> = {
  text: { name: 'text', value: 'string' },
  email: { name: 'email', value: 'string' },
  url: { name: 'url', value: 'string' },
  number: { name: 'number', value: 'number' },
  integer: { name: 'integer', value: 'integer' },
  boolean: { name: 'boolean', value: 'boolean' },
  date: { name: 'date', value: 'string' },
  datetime: { name: 'datetime', value: 'string' },
  select: { name: 'select', value: 'string' },
  currency: { name: 'currency', value: 'object' },
  json: { name: 'json', value: 'any' },
}

const OTHER: Readonly<Record<Kind, Names>> = {
  text: { name: 'string_short', value: 'string' },
  email: { name: 'mail_address', value: 'string' },
  url: { name: 'web_address', value: 'string' },
  number: { name: 'decimal', value: 'number' },
  integer: { name: 'whole', value: 'number' },
  boolean: { name: 'bool', value: 'bool' },
  date: { name: 'day', value: 'date' },
  datetime: { name: 'timestamp', value: 'date-time' },
  select: { name: 'choice', value: 'string' },
  currency: { name: 'money', value: 'object' },
  json: { name: 'free', value: 'any' },
}

export const KINDS = Object.keys(PLAIN) as Kind[]

export const namesOf = (kind: Kind, { fieldTypes }: Naming): Names =>
  (fieldTypes === 'plain' ? PLAIN : OTHER)[kind]

export const UNITS = ['EUR', 'USD', 'GBP']

const TEXT_OPS = ['eq', 'neq', 'is_null', 'in', 'not_in']
const PART_OPS = [
  'starts_with',
  'ends_with',
  'contains',
  'not_contains',
  'contains_any',
  'not_contains_any',
]
const ORDER_OPS = ['gt', 'gte', 'lt', 'lte']

export function operatorsOf(kind: Kind): readonly string[] {
  switch (kind) {
    case 'text':
    case 'email':
    case 'url':
      return [...TEXT_OPS, ...PART_OPS]
    case 'number':
    case 'integer':
    case 'date':
    case 'datetime':
      return [...TEXT_OPS, ...ORDER_OPS]
    case 'select':
      return TEXT_OPS
    case 'boolean':
      return ['eq', 'neq', 'is_null']
    case 'currency':
      return ['eq', 'neq', 'is_null', ...ORDER_OPS]
    case 'json':
      return ['is_null']
  }
}

export function aggregationsOf(kind: Kind): readonly string[] {
  if (kind === 'number' || kind === 'integer') return ['count', 'sum', 'avg', 'min', 'max']
  if (kind === 'currency') return ['count', 'sum', 'avg', 'min', 'max']
  return kind === 'date' || kind === 'datetime' ? ['count', 'min', 'max'] : ['count']
}

export const isSortable = (kind: Kind): boolean => kind !== 'json' && kind !== 'currency'
export const isText = (kind: Kind): boolean => ['text', 'email', 'url', 'select'].includes(kind)

const DATE = /^\d{4}-\d\d-\d\d$/
const DATETIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d+))?(?:Z|[+-]\d\d:\d\d)$/

const instants = new Map<string, number | null>()

/** Milliseconds of a point in time; null where the text is none. */
export function instant(text: string): number | null {
  const known = instants.get(text)
  if (known !== undefined) return known
  if (instants.size > 100_000) instants.clear()
  const time = readInstant(text)
  instants.set(text, time)
  return time
}

function readInstant(text: string): number | null {
  const found = DATETIME.exec(text)
  const time = found && (found[1] ?? '').length <= 3 ? Date.parse(text) : Number.NaN
  return Number.isNaN(time) || !isDay(text.slice(0, 10)) ? null : time
}

function isDay(text: string): boolean {
  const time = DATE.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text)
}

export function formatInstant(time: number, { times }: Pick<Habits, 'times'>): string {
  const text = new Date(time).toISOString()
  if (times === 'millis') return text
  const short = text.replace('.000Z', 'Z')
  return times === 'short' ? short : short.replace('Z', '+00:00')
}

export interface Field {
  readonly kind: Kind
  readonly options?: readonly string[]
}

/** What is wrong with one value, in words; null where it fits. */
export function fault(value: Json, { kind, options = [] }: Field): string | null {
  switch (kind) {
    case 'text':
      return typeof value === 'string' ? null : 'a string is expected'
    case 'email':
      return typeof value === 'string' && /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(value.trim())
        ? null
        : 'an e-mail address is expected'
    case 'url':
      return typeof value === 'string' && /^\s*https?:\/\/\S+\s*$/i.test(value)
        ? null
        : 'an http or https address is expected'
    case 'number':
      return isNumber(value) ? null : 'a number is expected'
    case 'integer':
      return isNumber(value) && /^-?\d+$/.test(textOf(value)) ? null : 'an integer is expected'
    case 'boolean':
      return typeof value === 'boolean' ? null : 'a boolean is expected'
    case 'date':
      return typeof value === 'string' && isDay(value) ? null : 'a date is expected'
    case 'datetime':
      return typeof value === 'string' && instant(value) !== null
        ? null
        : 'a date and time with an offset, to the millisecond, is expected'
    case 'select':
      return typeof value === 'string' && options.includes(value) ? null : 'not an option'
    case 'currency':
      return moneyFault(value)
    case 'json':
      return null
  }
}

function moneyFault(value: Json): string | null {
  if (!isObject(value)) return 'an object of amount and unit is expected'
  const { amount, unit } = value
  const text = typeof amount === 'string' ? amount : isNumber(amount) ? textOf(amount) : ''
  if (!/^-?\d{1,20}(\.\d{1,10})?$/.test(text)) return 'amount is not a decimal'
  return typeof unit === 'string' && UNITS.includes(unit) ? null : 'unit is not one of the units'
}

/** The value as it is stored. */
export function stored(value: Json, kind: Kind, habits: Habits): Json {
  if (kind === 'currency' && isObject(value)) {
    const { amount, unit } = value
    return { amount: isNumber(amount) ? textOf(amount) : amount!, unit: unit! }
  }
  if (typeof value !== 'string') return value
  if (kind === 'datetime') return formatInstant(instant(value)!, habits)
  let text = value
  if (habits.trim) text = text.trim()
  if (habits.lowerEmails && kind === 'email') text = text.toLowerCase()
  return habits.normalise && isText(kind) ? habits.normalise(text, kind) : text
}

/** The text by which two texts are the same. */
export function comparable(text: string, { matching }: Pick<Habits, 'matching'>): string {
  if (matching === 'exact') return text
  const trimmed = text.trim().normalize('NFC')
  return matching === 'trimmed' ? trimmed : trimmed.toLowerCase()
}

/** Below, at or above 0; NaN where the two cannot be compared. */
export function order(a: Json, b: Json, kind: Kind): number {
  if (isNumber(a) && isNumber(b)) {
    const [left, right] = [decimal(textOf(a)), decimal(textOf(b))]
    return left && right ? compareDecimals(left, right) : Number(textOf(a)) - Number(textOf(b))
  }
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b)
  if (isObject(a) && isObject(b)) {
    if (a['unit'] !== b['unit']) return Number.NaN
    return compareDecimals(decimal(String(a['amount']))!, decimal(String(b['amount']))!)
  }
  if (typeof a !== 'string' || typeof b !== 'string') return Number.NaN
  if (kind === 'datetime') return (instant(a) ?? Number.NaN) - (instant(b) ?? Number.NaN)
  return a < b ? -1 : a > b ? 1 : 0
}
