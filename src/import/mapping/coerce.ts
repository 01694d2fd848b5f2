// Cells become property values: one table, by field type. Nothing is guessed, rounded or cut: what does not fit exactly
// is refused with what was expected. `Number('')`, `Date.parse` and binary floats never decide.

import { decimalOfNumber, exactDouble } from '../../core/decimal.ts'
import {
  canonicalJson,
  isJsonObject,
  isTooDeep,
  JSON_DEPTH_MAX,
  parseJson,
  type Json,
} from '../../core/json.ts'
import { EMAIL_PATTERN, hasEmail, isEmail } from '../../core/email.ts'
import { hasUnseen, seenText, withoutUnseen } from '../../core/look.ts'
import { LosslessNumber, plainDecimal, numberFromDecimal } from '../../core/lossless-number.ts'
import { digitsOfAnyScript } from '../../core/digits.ts'
import type { PropertyMapping } from '../../../config/index.ts'
import { decimalOfCell } from './amounts.ts'
import type { Coerced, Coercion, CoercionContext } from './coercion.ts'
import { asDate, asDatetime } from './days.ts'
import { domainOf } from './domain.ts'
import { allowedForms, numberAdvice } from './number-advice.ts'
import { isUnit, meantUnit } from './units.ts'

export type { Coerced, Coercion, CoercionContext } from './coercion.ts'

const value = (of: Json): Coerced => ({ ok: true, value: of })
const refuse = (reason: string, expected: string): Coerced => ({ ok: false, reason, expected })

/** The text of a cell of any shape: numbers in plain decimals, objects and lists as canonical JSON. */
export function sourceCellText(cell: Json): string {
  if (typeof cell === 'string') return cell
  if (cell instanceof LosslessNumber) return plainDecimal(cell) ?? cell.text
  return typeof cell === 'number' ? decimalOfNumber(cell) : canonicalJson(cell)
}

const asText: Coercion = (cell) => value(cell)
const asTrimmed: Coercion = (cell) => value(cell.trim())
const asPhone: Coercion = (cell) => value(cell.trim())

const asNumber: Coercion = (cell, { mapping, valueType }) => {
  const separator = mapping.decimal ?? '.'
  const decimal = decimalOfCell(cell, mapping)
  if (decimal === null)
    return refuse(
      'not_a_number',
      `a plain decimal number such as 1234${separator}50, ${allowedForms(mapping) || 'without other separators'}${numberAdvice(cell, mapping)}`,
    )
  if (valueType === 'integer' && decimal.includes('.'))
    return refuse('not_a_number', 'a whole number such as 1234')
  if (valueType !== 'number' && valueType !== 'integer') return value(decimal)
  const number = exactDouble(decimal)
  return number === null
    ? refuse('number_not_exact', 'a number that a JSON number holds exactly (about 15 digits)')
    : value(number)
}

const ISO_UNIT = 'an ISO 4217 code such as EUR'

const asCurrency: Coercion = (cell, { mapping, units }) => {
  const separator = mapping.decimal ?? '.'
  const amount = decimalOfCell(cell, mapping)
  if (amount === null)
    return refuse(
      'not_an_amount',
      `a plain decimal amount such as 1234${separator}50, ${allowedForms(mapping) || 'without symbol or separators'}${numberAdvice(cell, mapping)}`,
    )
  const unit = mapping.unit ?? ''
  const refuseUnit = (reason: string, expected: string): Coerced => ({
    ok: false,
    reason,
    expected,
    isOfUnit: true,
  })
  if (unit.trim() === '') return refuseUnit('unit_missing', `${ISO_UNIT} in the unit column`)
  if (!/^[A-Z]{3}$/.test(unit) || !isUnit(unit, units)) {
    const some = [...units].slice(0, 20).join(', ')
    const expected = units.size > 0 ? `one of the units ${some}` : ISO_UNIT
    const meant = meantUnit(unit, units)
    return refuseUnit(
      'unit_unknown',
      meant === undefined ? expected : `${expected}; did you mean \`${meant}\`?`,
    )
  }
  return value({ amount, unit })
}

const truths = ['true', 'yes', '1']
const falsehoods = ['false', 'no', '0']

/** A word that the mapping states for one meaning does not have the other one, which it would have by default. */
function wordsOf({
  true: yes,
  false: no,
}: PropertyMapping): Record<'yes' | 'no', readonly string[]> {
  const without = (words: readonly string[], stated: readonly string[] = []) => {
    const taken = new Set(stated.map((word) => word.toLowerCase()))
    return words.filter((word) => !taken.has(word))
  }
  return { yes: yes ?? without(truths, no), no: no ?? without(falsehoods, yes) }
}

const asBoolean: Coercion = (cell, { mapping }) => {
  const meant = (word: string) => seenText(word).toLowerCase()
  const text = meant(cell)
  const { yes, no } = wordsOf(mapping)
  if (yes.some((word) => meant(word) === text)) return value(true)
  if (no.some((word) => meant(word) === text)) return value(false)
  return refuse(
    'not_a_boolean',
    `one of ${[...yes, ...no].join(', ')}; \`true:\` and \`false:\` of the mapping name other words`,
  )
}

const asEmail: Coercion = (cell) => {
  const text = cell.trim()
  if (isEmail(text)) return value(text)
  const inside = hasEmail(text)
    ? `, and nothing else; \`pattern: '${EMAIL_PATTERN}'\` of the mapping reads the one in it`
    : ''
  return refuse('not_an_email', `an e-mail address such as name@example.com${inside}`)
}

const asDomain: Coercion = (cell) => {
  const domain = domainOf(cell)
  return domain === null
    ? refuse('not_a_domain', 'a domain such as example.com, or a URL of it')
    : value(domain)
}

const asOption: Coercion = (cell, { options }) => {
  const text = cell.trim()
  if (options.size === 0) return value(withoutUnseen(text).trim())
  if (options.has(text)) return value(text)
  const look = seenText(text)
  const of = (meant: (option: string, label: string) => string) =>
    [...options].flatMap(([option, label]) =>
      seenText(meant(option, label)) === look ? [option] : [],
    )
  const [option, other] = of((one) => one)
  if (option !== undefined && other === undefined) return value(option)
  const labelled = of((_, label) => label)
  if (labelled.length === 1) return value(labelled[0]!)
  if (labelled.length > 1)
    return refuse(
      'not_an_option',
      `the value of an option: the label is that of ${labelled.slice(0, 20).join(', ')}`,
    )
  return refuse('not_an_option', `one of ${[...options.keys()].slice(0, 20).join(', ')}`)
}

/** Whether every number of a JSON text is one that a binary double holds exactly, in plain decimals. */
function hasExactNumbers(json: string): boolean {
  const outsideStrings = json.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""')
  const numbers = outsideStrings.match(/-?\d[\d.eE+-]*/g) ?? []
  return numbers.every((number) => exactDouble(number) !== null)
}

const asJson: Coercion = (cell, { valueType }) => {
  if (!hasExactNumbers(cell))
    return refuse(
      'number_not_exact',
      'numbers in plain decimals that a JSON number holds exactly (about 15 digits)',
    )
  try {
    return shaped(JSON.parse(cell) as Json, valueType)
  } catch {
    return refuse('not_json', `JSON of the shape ${valueType}`)
  }
}

/** Canonical, so that equal values have equal hashes. */
function shaped(json: Json, valueType: string): Coerced {
  if (isTooDeep(json))
    return refuse(
      'not_json',
      `JSON of the shape ${valueType}, nested in ${JSON_DEPTH_MAX} levels at most`,
    )
  if (valueType === 'array' ? Array.isArray(json) : isJsonObject(json))
    return value(parseJson(canonicalJson(json)))
  return refuse('not_json', `JSON of the shape ${valueType}`)
}

/** The coercions by field type. A type that is not here is read by its JSON shape. */
export const COERCIONS: Readonly<Record<string, Coercion>> = {
  text: asText,
  long_text: asText,
  email: asEmail,
  phone: asPhone,
  url: asTrimmed,
  number: asNumber,
  currency: asCurrency,
  boolean: asBoolean,
  date: asDate,
  datetime: asDatetime,
  select: asOption,
  multi_select: asOption,
  user: asTrimmed,
}

/** Coercions that take a cell as it is: free texts keep what cannot be seen, and options are compared by how they look. */
const TAKEN_AS_IT_IS: ReadonlySet<Coercion> = new Set([asText, asJson, asOption])

const isReadByLook = (coercion: Coercion): boolean => !TAKEN_AS_IT_IS.has(coercion)

/** Coercions that take digits of any script. */
const OF_DIGITS: ReadonlySet<Coercion> = new Set([
  asNumber,
  asCurrency,
  asDate,
  asDatetime,
  asPhone,
])

/** Whether characters of a cell are left out because nobody sees them. */
export const leavesOut = (coercion: Coercion, cell: Json): boolean =>
  typeof cell === 'string' && (isReadByLook(coercion) || coercion === asOption) && hasUnseen(cell)

const byShape: Readonly<Record<string, Coercion>> = {
  string: asText,
  number: asNumber,
  integer: asNumber,
  boolean: asBoolean,
  object: asJson,
  array: asJson,
}

/**
 * The value of a cell of any shape. A text is read as the mapping says; anything else says itself what it is: a number needs
 * no separator, a boolean no words, an `{amount, unit}` no other unit, and a list of one is that one.
 */
export function coerceCell(coercion: Coercion, cell: Json, context: CoercionContext): Coerced {
  const { mapping, valueType } = context
  if (typeof cell === 'string') {
    const text = isReadByLook(coercion) ? withoutUnseen(cell) : cell
    return coercion(
      OF_DIGITS.has(coercion) ? digitsOfAnyScript(text, mapping.decimal) : text,
      context,
    )
  }
  if (coercion === asJson) return shaped(cell, valueType)
  if (Array.isArray(cell)) {
    const [only] = cell as readonly Json[]
    if (only === undefined || cell.length > 1 || Array.isArray(only))
      return refuse('not_single', 'one value, not a list')
    return coerceCell(coercion, only, context)
  }
  if (cell === null) return refuse('not_a_value', 'a value, not null')
  // The service returns it as a number, so a number can hold it: it is sent as it came.
  if (cell instanceof LosslessNumber && coercion === asNumber && valueType === 'number') {
    const decimal = plainDecimal(cell)
    if (decimal !== null) return value(numberFromDecimal(decimal))
  }
  const unset = {
    thousands: undefined,
    symbol: undefined,
    negative: undefined,
    true: undefined,
    false: undefined,
  }
  const plain = { ...mapping, decimal: '.' as const, ...unset }
  if (coercion !== asCurrency || !isJsonObject(cell))
    return coercion(sourceCellText(cell), { ...context, mapping: plain })
  const { amount, unit } = cell
  const isAmount =
    typeof amount === 'string' || typeof amount === 'number' || amount instanceof LosslessNumber
  if (!isAmount || typeof unit !== 'string')
    return refuse('not_an_amount', 'an amount with its unit, {"amount": "1234.50", "unit": "EUR"}')
  if (mapping.unit && mapping.unit !== unit)
    return refuse('unit_differs', `an amount in ${mapping.unit}, as the mapping says`)
  return asCurrency(sourceCellText(amount), { ...context, mapping: { ...plain, unit } })
}

/** How else the shapes of JSON are called. */
const otherNames: Readonly<Record<string, string>> = {
  bool: 'boolean',
  int: 'integer',
  long: 'integer',
  float: 'number',
  double: 'number',
  str: 'string',
  list: 'array',
  map: 'object',
  dict: 'object',
}

/** The shape that a service names, in the words of JSON Schema if they are known. */
export function jsonShapeOf(valueType: string): string {
  const name = valueType.toLowerCase()
  return Object.hasOwn(otherNames, name) ? otherNames[name]! : name
}

/**
 * How cells of a field type are read whose name is not known, if the cells may well hold something else; null if it is known, or
 * takes texts.
 */
export function readWithoutType(fieldType: string, valueType: string): string | null {
  if (Object.hasOwn(COERCIONS, fieldType)) return null
  const shape = jsonShapeOf(valueType)
  if (shape === 'object' || shape === 'array') return `JSON of the shape ${shape}`
  return Object.hasOwn(byShape, shape) ? null : `text (its shape is called ${valueType})`
}

/** Types that only a mapping names: no field type of a service is read so. */
export const READ_AS: Readonly<Record<string, Coercion>> = { domain: asDomain }

/** The coercion of a field type, by its name, else by its JSON shape, else as text. */
export function coercionFor(fieldType: string, valueType: string): Coercion {
  // The names are the service's: one such as `constructor` must not find what every object inherits.
  if (Object.hasOwn(COERCIONS, fieldType)) return COERCIONS[fieldType]!
  return Object.hasOwn(byShape, valueType) ? byShape[valueType]! : asText
}

/** The type that cells are read as: one of the names that a mapping may give, or that of a shape. */
export function readsAs(fieldType: string, valueType: string): string {
  if (Object.hasOwn(READ_AS, fieldType) || Object.hasOwn(COERCIONS, fieldType)) return fieldType
  const shape = jsonShapeOf(valueType)
  if (shape === 'integer') return 'number'
  return ['number', 'boolean', 'object', 'array'].includes(shape) ? shape : 'text'
}
