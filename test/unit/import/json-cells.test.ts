// Cells that are no text: each says itself what it is, so that what one service holds is what another is sent.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { FieldTypeWire, PropertyWire } from '../../../src/contract/index.ts'
import { MappingError } from '../../../src/core/errors.ts'
import type { Json } from '../../../src/core/json.ts'
import type { ImportConfig, PropertyMapping } from '../../../config/index.ts'
import {
  coerceCell,
  coercionFor,
  sourceCellText,
  type CoercionContext,
} from '../../../src/import/mapping/coerce.ts'
import { compileMapping } from '../../../src/import/mapping/map.ts'

const shapes: Readonly<Record<string, string>> = {
  number: 'number',
  currency: 'object',
  boolean: 'boolean',
  blob: 'object',
  tags: 'array',
}

function coerce(
  fieldType: string,
  cell: Json,
  mapping: PropertyMapping = {},
  units = ['EUR', 'USD'],
) {
  const valueType = shapes[fieldType] ?? 'string'
  const context: CoercionContext = {
    mapping,
    valueType,
    options: new Map(),
    units: new Set(units),
  }
  return coerceCell(coercionFor(fieldType, valueType), cell, context)
}
const ok = (value: Json) => ({ ok: true, value })
const money = { amount: '12.5', unit: 'EUR' }

describe('a cell that is no text', () => {
  it.each<[string, Json, Json, PropertyMapping?]>([
    ['number', 1.5, 1.5, { decimal: ',' }],
    ['number', 1e21, 1e21],
    ['number', 1e-7, 1e-7],
    ['number', -0, 0],
    ['text', 1e21, '1000000000000000000000'],
    ['boolean', true, true, { true: ['ja'], false: ['nein'] }],
    ['boolean', false, false, { true: ['ja'], false: ['nein'] }],
    ['text', false, 'false'],
    ['currency', money, money],
    ['currency', { ...money, more: 1 }, money],
    ['currency', { amount: 12.5, unit: 'EUR' }, money, { decimal: ',' }],
    ['currency', money, money, { unit: 'EUR' }],
    ['currency', money, money, { unit: '' }],
    ['currency', 12.5, money, { unit: 'EUR', decimal: ',' }],
    ['email', ['ada@example.com'], 'ada@example.com'],
    ['currency', [money], money],
    ['blob', { b: 1e21, a: [null] }, { a: [null], b: 1e21 }],
    ['tags', ['x', ['y']], ['x', ['y']]],
  ])('%s %j becomes %j', (fieldType, cell, value, mapping) => {
    expect(coerce(fieldType, cell, mapping)).toEqual(ok(value))
  })

  it.each<[string, Json, string, PropertyMapping?]>([
    ['currency', { amount: '12.5' }, 'not_an_amount'],
    ['currency', { amount: true, unit: 'EUR' }, 'not_an_amount'],
    ['currency', { amount: '12,5', unit: 'EUR' }, 'not_an_amount', { decimal: ',' }],
    ['currency', { amount: '12.5', unit: 'eur' }, 'unit_unknown'],
    ['currency', { amount: '12.5', unit: 'GBP' }, 'unit_unknown'],
    ['currency', money, 'unit_differs', { unit: 'USD' }],
    ['currency', 12.5, 'unit_missing'],
    ['email', ['ada@example.com', 'bo@example.com'], 'not_single'],
    ['text', ['a', 'b'], 'not_single'],
    ['text', [['a']], 'not_single'],
    ['text', [null], 'not_a_value'],
    ['number', { amount: 1 }, 'not_a_number'],
    ['blob', ['x'], 'not_json'],
    ['tags', { x: 1 }, 'not_json'],
    ['tags', true, 'not_json'],
  ])('%s %j is refused as %s', (fieldType, cell, reason, mapping) => {
    const coerced = coerce(fieldType, cell, mapping)
    expect(coerced).toMatchObject({ ok: false, reason })
    expect(!coerced.ok && coerced.expected.length > 0).toBe(true)
  })

  it('any number that a service can hold is sent as it is', () => {
    const numbers = fc
      .tuple(fc.maxSafeInteger(), fc.integer({ min: -300, max: 290 }))
      .map(([digits, exponent]) => Number(`${digits}e${exponent}`))
      .filter(Number.isFinite)
    fc.assert(
      fc.property(numbers, (number) => {
        expect(coerce('number', number)).toEqual(ok(number === 0 ? 0 : number))
        expect(sourceCellText(number)).not.toMatch(/e/)
      }),
    )
  })

  it('any amount keeps its unit and its value', () => {
    const amounts = fc
      .tuple(fc.bigInt({ min: -(10n ** 28n), max: 10n ** 28n }), fc.integer({ min: 1, max: 999 }))
      .map(([whole, part]) => `${whole}.${String(part).padStart(4, '0')}`.replace(/0+$/, ''))
    fc.assert(
      fc.property(amounts, fc.constantFrom('EUR', 'USD'), (amount, unit) => {
        expect(coerce('currency', { amount, unit })).toEqual(ok({ amount, unit }))
      }),
    )
  })
})

const property = (name: string, field_type: string, is_multi = false): PropertyWire => ({
  name,
  label: name,
  field_type,
  writability: 'writable',
  operators: [],
  is_multi,
  is_unique: name === 'code',
  options: [],
  description: '',
  default_value: null,
})
const fieldType = (name: string): FieldTypeWire => ({
  name,
  label: name,
  value_type: shapes[name] ?? 'string',
  operators: [],
  aggregations: [],
  sortable: false,
  units: name === 'currency' ? ['EUR', 'USD'] : [],
  description: '',
})

function compile(from: ImportConfig['from'], properties: ImportConfig['properties']) {
  const config: ImportConfig = {
    from,
    to: 'crm',
    object_type: 'sample',
    matching_property: 'code',
    mode: 'upsert',
    empty: 'omit',
    verify: 'none',
    properties: { code: { column: 'code' }, ...properties },
  }
  const schema = {
    name: 'sample',
    label: 'Sample',
    label_plural: 'Samples',
    kinds: [],
    is_system: false,
    allows_custom_properties: true,
    writable_operations: ['create' as const, 'update' as const],
    description: '',
    icon: '',
    properties: [
      property('code', 'text'),
      property('prices', 'currency', true),
      property('price', 'currency'),
      property('scores', 'number', true),
      property('mails', 'email', true),
    ],
  }
  const fieldTypes = ['text', 'currency', 'number', 'email'].map(fieldType)
  const target = { self: { org_id: 1, reach: 'org' as const }, schema, fieldTypes }
  return compileMapping('copy', config, target, ['code', 'cell'])
}
const records = { records: { connection: 'a', object_type: 'sample' } }

function sent(name: string, cell: Json, mapping: PropertyMapping = {}) {
  const plan = compile(records, { [name]: { column: 'cell', ...mapping } })
  const item = plan.map({ ordinal: 1, line: 1, cells: ['c-1', cell] })
  if (!item.valid) return item.reason
  return (JSON.parse(item.payload) as { properties: Record<string, Json> }).properties[name]
}

describe('a row of records', () => {
  it.each<[string, Json, Json | undefined, PropertyMapping?]>([
    ['prices', [money, { amount: '-1', unit: 'USD' }], [money, { amount: '-1', unit: 'USD' }]],
    ['scores', [1e21, 0, -2.5], [1e21, 0, -2.5]],
    ['scores', 7, [7]],
    // What is a list already is not split.
    ['mails', ['a@x.de', 'b@x.de'], ['a@x.de', 'b@x.de'], { split: '@' }],
    ['mails', [], undefined],
    ['price', [], undefined],
    ['price', null, undefined],
    ['mails', ['a@x.de', null], 'not_a_value'],
    ['prices', [money, 'x'], 'not_an_amount'],
  ])('with %s %j sends %j', (name, cell, value, mapping) => {
    expect(sent(name, cell, mapping)).toEqual(value)
  })

  it('needs no unit for a currency; a row of a file does', () => {
    const mapping = { price: { column: 'cell' } }
    expect(compile(records, mapping).warnings).toEqual([])
    expect(() => compile({ csv: '/rows.csv' }, mapping)).toThrow(MappingError)
  })
})
