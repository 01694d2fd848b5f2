// The field types: the form of a value of each, and how it is stored, compared and filtered (section 2.4).
// Promise kept here: a stored value is always in its one normal form, so equal values are equal text.

import { decimalOfNumber } from '../../core/decimal.ts'
import { isEmail } from '../../core/email.ts'
import { withoutUnseen } from '../../core/look.ts'
import type { FieldTypeWire, FilterOperator } from '../../contract/index.ts'
import { parseDate, parseDatetime } from './calendar.ts'
import { CURRENCY_UNITS, compareMoney, parseMoney, type CurrencyValue } from './currency.ts'
import { USER_ID } from '../auth/keys.ts'

export type Scalar = string | number | boolean | CurrencyValue
/** What a property holds; null is "no value", a list belongs to a multi-value property and is never empty. */
export type StoredValue = Scalar | Scalar[] | null

export interface FieldType {
  readonly wire: FieldTypeWire
  /** The form of a valid value, for messages. */
  readonly expected: string
  /** The stored form of a value that is written, or undefined if it is invalid. */
  readonly parse: (raw: unknown) => Scalar | undefined
  /** The form in which a filter compares: normalised as on writing, but only the shape must be right. */
  readonly operand: (raw: unknown) => Scalar | undefined
  readonly compare: (a: never, b: never) => number
}

const significantDigitsMax = 15
const presence: FilterOperator[] = ['eq', 'neq', 'is_null', 'in', 'not_in']
const ordered: FilterOperator[] = [...presence, 'gt', 'gte', 'lt', 'lte']
const substring: FilterOperator[] = ['contains', 'not_contains', 'contains_any', 'not_contains_any']
const textual: FilterOperator[] = [...presence, 'starts_with', 'ends_with', ...substring]

const asString = (raw: unknown) => (typeof raw === 'string' ? raw : undefined)
const asTrimmed = (raw: unknown) =>
  typeof raw === 'string' ? withoutUnseen(raw).trim() : undefined
const asEmail = (raw: unknown) => asTrimmed(raw)?.toLowerCase()
const asBoolean = (raw: unknown) => (typeof raw === 'boolean' ? raw : undefined)
const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
const byNumber = (a: number, b: number) => a - b
const byBoolean = (a: boolean, b: boolean) => Number(a) - Number(b)

function parseEmail(raw: unknown): string | undefined {
  const text = asEmail(raw)
  return text !== undefined && isEmail(text) ? text : undefined
}

function parsePhone(raw: unknown): string | undefined {
  return typeof raw === 'string' && /^\+?[\d ()./x-]{3,40}$/.test(raw) && /\d/.test(raw)
    ? raw
    : undefined
}

function parseUrl(raw: unknown): string | undefined {
  const text = asTrimmed(raw)
  return text !== undefined && /^https?:\/\/\S+$/i.test(text) && URL.canParse(text)
    ? text
    : undefined
}

function parseNumber(raw: unknown): number | undefined {
  if (typeof raw !== 'number' || !Number.isFinite(raw)) return undefined
  if (Number.isInteger(raw) && Math.abs(raw) < 1e15) return raw + 0
  const digits = decimalOfNumber(raw)
    .replace(/[-.]/g, '')
    .replace(/^0+|0+$/g, '')
  return digits.length <= significantDigitsMax ? raw : undefined
}

function parseUser(raw: unknown): string | undefined {
  return typeof raw === 'string' && USER_ID.test(raw) ? raw : undefined
}

/** `operand` is `parse` if it is left out. */
type Rules = Pick<FieldType, 'expected' | 'parse' | 'compare'> &
  Pick<FieldTypeWire, 'label' | 'operators' | 'sortable'> &
  Partial<Pick<FieldType, 'operand'> & FieldTypeWire>

function fieldType(name: string, rules: Rules): FieldType {
  const { label, operators, sortable, expected, parse, operand = parse, compare } = rules
  const { value_type = 'string', aggregations = ['count'], units = [] } = rules
  const description = `${expected.charAt(0).toUpperCase()}${expected.slice(1)}.`
  const said = { name, label, value_type, operators, aggregations, sortable, units, description }
  return { wire: said, expected, parse, operand, compare }
}

const all = ['count', 'sum', 'avg', 'min', 'max']
const span = ['count', 'min', 'max']
const text = { operators: textual, parse: asString, operand: asString, compare: byText }
const choice = { operators: presence, parse: asString, operand: asString, compare: byText }
const time = { operators: ordered, aggregations: span, sortable: true, compare: byText }

export const FIELD_TYPES: ReadonlyMap<string, FieldType> = new Map(
  [
    fieldType('text', { ...text, label: 'Text', sortable: true, expected: 'a text' }),
    fieldType('long_text', {
      ...text,
      label: 'Long text',
      operators: ['is_null', ...substring],
      sortable: false,
      expected: 'a text',
    }),
    fieldType('email', {
      ...text,
      label: 'E-mail',
      sortable: false,
      expected: 'an e-mail address',
      parse: parseEmail,
      operand: asEmail,
    }),
    fieldType('phone', {
      ...text,
      label: 'Phone',
      sortable: false,
      expected: 'a phone number of digits, spaces and + ( ) . / - x, 3 to 40 characters',
      parse: parsePhone,
    }),
    fieldType('url', {
      ...text,
      label: 'URL',
      sortable: false,
      expected: 'an http or https URL',
      parse: parseUrl,
      operand: asTrimmed,
    }),
    fieldType('number', {
      label: 'Number',
      value_type: 'number',
      operators: ordered,
      aggregations: all,
      sortable: true,
      expected: 'a finite number of at most 15 significant digits',
      parse: parseNumber,
      compare: byNumber,
    }),
    fieldType('currency', {
      label: 'Currency',
      value_type: 'object',
      operators: ordered,
      aggregations: all,
      sortable: true,
      units: [...CURRENCY_UNITS],
      expected: 'an object {amount, unit} of a decimal string and an accepted currency code',
      parse: parseMoney,
      compare: compareMoney,
    }),
    fieldType('boolean', {
      label: 'Yes or no',
      value_type: 'boolean',
      operators: ['eq', 'neq', 'is_null'],
      sortable: true,
      expected: 'true or false',
      parse: asBoolean,
      compare: byBoolean,
    }),
    fieldType('date', {
      ...time,
      label: 'Date',
      expected: 'a calendar day YYYY-MM-DD',
      parse: parseDate,
    }),
    fieldType('datetime', {
      ...time,
      label: 'Date and time',
      expected: 'an RFC 3339 date and time with an offset or Z, to the millisecond at most',
      parse: parseDatetime,
    }),
    fieldType('select', { ...choice, label: 'Choice', sortable: true, expected: 'an option' }),
    fieldType('multi_select', {
      ...choice,
      label: 'Choices',
      sortable: false,
      expected: 'an option',
    }),
    fieldType('user', {
      ...choice,
      label: 'User',
      sortable: true,
      expected: 'the id of a user',
      parse: parseUser,
    }),
  ].map((type) => [type.wire.name, type]),
)

/** A value as text: equal values, and only those, have equal text. */
export function valueKey(value: Scalar): string {
  return typeof value === 'object' ? `${value.amount} ${value.unit}` : String(value)
}

/** The text of each single value that a property holds. */
export function valueKeys(value: StoredValue): string[] {
  if (value === null) return []
  return Array.isArray(value) ? value.map(valueKey) : [valueKey(value)]
}

/** True if two stored values of one property are equal; lists compare in order. */
export function isStoredEqual(a: StoredValue, b: StoredValue): boolean {
  if (a === b) return true
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false
  if (!Array.isArray(a)) return !Array.isArray(b) && valueKey(a) === valueKey(b)
  return (
    Array.isArray(b) &&
    a.length === b.length &&
    a.every((item, index) => valueKey(item) === valueKey(b[index]!))
  )
}
