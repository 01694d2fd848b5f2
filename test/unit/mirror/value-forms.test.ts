// The values of a property that do not fit its column are named with their number and form, and never quoted.

import { expect, test } from 'vitest'
import type { Json } from '../../../src/core/json.ts'
import { LosslessNumber } from '../../../src/core/lossless-number.ts'
import { compileRow, columnFieldType, columnShapes } from '../../../src/mirror/columns.ts'
import { misfitText, type ReadValues } from '../../../src/mirror/value-forms.ts'
import { property } from './property.ts'

/** Arrays and objects in each other, so many of them. */
function deep(levels: number): Json {
  let value: Json = 1
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

/** What is said of these values of a property. */
function said(fieldType: string, isMulti: boolean, values: readonly Json[]): string | null {
  const wire = property('p', fieldType, isMulti)
  const columns = columnShapes(wire).map((shape) => ({
    name: `p ${shape.part}`,
    property: 'p',
    fieldType: columnFieldType(wire),
    live: true,
    ...shape,
  }))
  const read: ReadValues = {}
  const rowOf = compileRow({ columns }, { version: null, values: read, isCounted: () => true })
  for (const [index, value] of values.entries()) rowOf({ id: `${index}`, properties: { p: value } })
  return misfitText(columns[0]!, read['p']!)
}

test.each([
  ['number', false, ['7 EUR', 'x'], 'none of 2 values is a number: they are texts'],
  ['number', false, ['x'], 'none of 1 value is a number: they are texts'],
  ['number', false, [''], 'none of 1 value is a number: they are empty texts'],
  ['number', false, [' ', ''], 'none of 2 values is a number: they are empty texts'],
  ['number', false, ['007', '+5'], 'none of 2 values is a number: they are texts of digits'],
  ['number', false, [true], 'none of 1 value is a number: they are booleans'],
  ['number', false, [[1]], 'none of 1 value is a number: they are lists'],
  ['number', false, [{ a: 1 }], 'none of 1 value is a number: they are objects'],
  ['number', false, [1, 'x', 2], '1 of 3 values is not a number: texts'],
  ['number', false, [1, 'x', ''], '2 of 3 values are not a number: texts or empty texts'],
  ['number', false, ['1.5', '2', 3], null],
  ...[
    0.1234567890123,
    1e-12,
    '0.1234567890123',
    -1.0000000001,
    new LosslessNumber('0.12345678901234567890'),
  ].map((one): [string, boolean, Json[], string] => [
    'number',
    false,
    [1, one],
    '1 of 2 values is not a number: numbers with more than 9 digits after the point',
  ]),
  ...[1e30, '1234567890123456789012345678901', new LosslessNumber('1e400')].map(
    (one): [string, boolean, Json[], string] => [
      'number',
      false,
      [one],
      'none of 1 value is a number: they are numbers with more than 29 digits before the point',
    ],
  ),
  [
    'number',
    true,
    [[1, 0.1234567890123]],
    'none of 1 value is a list of numbers: they are numbers with more than 9 digits after the point',
  ],
  [
    'currency',
    false,
    [{ amount: '0.1234567890123', unit: 'EUR' }],
    'none of 1 value is an amount with its unit: they are numbers with more than 9 digits after the point',
  ],
  [
    'currency',
    false,
    [{ amount: 1, unit: 2 }],
    'none of 1 value is an amount with its unit: they are objects',
  ],
  ['boolean', false, [0.1234567890123], 'none of 1 value is a boolean: they are numbers'],
  ['number', true, ['1;2'], 'none of 1 value is a list of numbers: they are texts'],
  ['number', true, [7], 'none of 1 value is a list of numbers: they are numbers'],
  ['boolean', false, ['yes', 'no'], 'none of 2 values is a boolean: they are texts'],
  ['boolean', false, [0, 1], 'none of 2 values is a boolean: they are numbers'],
  ['boolean', false, ['true', 'false', true], null],
  ['date', false, ['31.01.2026'], 'none of 1 value is a date: they are texts'],
  ['date', false, ['2026-01-31T00:00:00Z'], 'none of 1 value is a date: they are times'],
  ['datetime', false, [1769847300000], 'none of 1 value is a time with a zone: they are numbers'],
  [
    'datetime',
    false,
    ['1769847300000'],
    'none of 1 value is a time with a zone: they are texts of digits',
  ],
  [
    'datetime',
    false,
    ['2026-01-31T08:15:00'],
    'none of 1 value is a time with a zone: they are times without a zone',
  ],
  [
    'datetime',
    false,
    ['2026-01-31 08:15:00'],
    'none of 1 value is a time with a zone: they are times without a zone',
  ],
  ['datetime', false, ['2026-01-31'], 'none of 1 value is a time with a zone: they are dates'],
  ['datetime', false, ['2026-01-31T08:15:00+0530'], null],
  [
    'datetime',
    true,
    ['2026-01-31T08:15:00Z'],
    'none of 1 value is a list of times with a zone: they are times',
  ],
  ['text', false, [7], 'none of 1 value is a text: they are numbers'],
  ['text', true, ['a;b'], 'none of 1 value is a list of texts: they are texts'],
  ['multi_select', false, ['a;b'], 'none of 1 value is a list of texts: they are texts'],
  [
    'currency',
    false,
    [7, '7'],
    'none of 2 values is an amount with its unit: they are numbers or texts of digits',
  ],
  [
    'number',
    false,
    ['x', true, [], {}],
    'none of 4 values is a number: they are texts or booleans or lists',
  ],
  ['number', false, [null], null],
] as [string, boolean, Json[], string | null][])(
  '%s, list %s: %j',
  (type, isMulti, values, expected) => {
    expect(said(type, isMulti, values)).toBe(expected && `p: ${expected}`)
  },
)

test('a property with the name of what every object has is counted nowhere', () => {
  const wire = property('__proto__', 'number')
  const columns = columnShapes(wire).map((shape) => ({
    name: 'x',
    property: '__proto__',
    fieldType: 'number',
    live: true,
    ...shape,
  }))
  const rowOf = compileRow({ columns }, { version: null, values: {}, isCounted: () => true })
  rowOf({ id: '1', properties: JSON.parse('{"__proto__": "x"}') as Record<string, Json> })
  expect(({} as { misfit?: unknown }).misfit).toBe(undefined)
})

test.each([400, 501, 3_000, 20_000])('JSON of %i levels', (levels) => {
  const isHeld = levels <= 500
  const text = 'JSON that is nested in more than 500 levels'
  expect(said('other', false, [1, deep(levels)])).toBe(
    isHeld ? null : `p: 1 of 2 values is not a value that the warehouse can hold: ${text}`,
  )
  expect(said('text', false, ['x', deep(levels)])).toBe(
    `p: 1 of 2 values is not a text: ${isHeld ? 'objects' : text}`,
  )
})
