// Values become cells exactly, or misfits: one table per field type, then what must hold for any value.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalDecimal } from '../../../src/core/decimal.ts'
import { canonicalJson, parseJson, type Json } from '../../../src/core/json.ts'
import { compileRow, columnFieldType, columnShapes } from '../../../src/mirror/columns.ts'
import type { MirrorCell, MirrorColumn } from '../../../src/warehouses/mirror-tables.ts'
import { property } from './property.ts'
import { runs } from '../../runs.ts'

/** The columns of a property that is called `p`, or otherwise. */
function columnsOf(fieldType: string, isMulti = false, name = 'p'): MirrorColumn[] {
  const wire = property(name, fieldType, isMulti)
  return columnShapes(wire).map((shape) => ({
    name: `${name} ${shape.part}`,
    property: name,
    fieldType: columnFieldType(wire),
    live: true,
    ...shape,
  }))
}

/** The row of a record with these properties. */
function row(columns: readonly MirrorColumn[], properties: Record<string, Json>, version?: string) {
  return compileRow({ columns }, { version: version ?? null })({ id: '1', properties })
}

const MISFIT = Symbol('misfit')
type Case = readonly [value: Json, cells: MirrorCell | readonly MirrorCell[] | typeof MISFIT]

/** One column: its cell. Two columns: both cells. */
function table(name: string, columns: readonly MirrorColumn[], cases: readonly Case[]): void {
  it.each(cases)(`${name}: %j`, (value, expected) => {
    const { cells, misfits } = row(columns, { p: value })
    if (expected === MISFIT) {
      expect(cells).toEqual(columns.map(() => null))
      expect(JSON.parse(misfits!)).toEqual({ p: value })
    } else {
      expect(cells).toEqual(columns.length === 1 ? [expected] : expected)
      expect(misfits).toBe(null)
    }
  })
}

const misfits = (...values: readonly Json[]): Case[] => values.map((value) => [value, MISFIT])
const same = (...values: readonly (string | boolean)[]): Case[] =>
  values.map((value) => [value, value])

describe('columns', () => {
  it.each([
    ['text', false, ['value text']],
    ['long_text', false, ['value text']],
    ['email', true, ['value text[]']],
    ['phone', false, ['value text']],
    ['url', false, ['value text']],
    ['select', false, ['value text']],
    ['user', true, ['value text[]']],
    ['multi_select', true, ['value text[]']],
    ['multi_select', false, ['value text[]']],
    ['number', false, ['value decimal']],
    ['number', true, ['value decimal[]']],
    ['boolean', false, ['value boolean']],
    ['boolean', true, ['value boolean[]']],
    ['date', true, ['value date[]']],
    ['datetime', false, ['value instant']],
    ['datetime', true, ['value instant[]']],
    ['currency', false, ['value decimal', 'unit text']],
    ['currency', true, ['value json']],
    ['geo_point', false, ['value json']],
    ['geo_point', true, ['value json']],
    ['constructor', false, ['value json']],
  ])('of %s (multi: %s) are %j', (fieldType, isMulti, expected) => {
    const shapes = columnShapes(property('p', fieldType, isMulti))
    const found = shapes.map(({ part, type }) => `${part} ${type.holds}${type.list ? '[]' : ''}`)
    expect(found).toEqual(expected)
    expect(columnFieldType(property('p', fieldType, isMulti))).toBe(
      isMulti ? `${fieldType}[]` : fieldType,
    )
  })
})

describe('cells', () => {
  table('text', columnsOf('text'), [
    ...same('', ' a ', 'NULL', 'Zoë 😀', '\t\n\r\\"{}', '\u0001\uFEFF\uFFFF', '12', 'true'),
    ...misfits(1, true, ['a'], {}, []),
  ])

  table('number', columnsOf('number'), [
    [0, '0'],
    [-0, '0'],
    [12.5, '12.5'],
    [-1, '-1'],
    [9007199254740991, '9007199254740991'],
    [9007199254740992, '9007199254740992'],
    [1e-9, '0.000000001'],
    [-1.5e-7, '-0.00000015'],
    [1e28, `1${'0'.repeat(28)}`],
    [-1e28, `-1${'0'.repeat(28)}`],
    [0.123456789, '0.123456789'],
    // A text that is exactly a number.
    ['66.8', '66.8'],
    ['0', '0'],
    ['-0', '0'],
    ['-12.50', '-12.5'],
    ['1e3', '1000'],
    ['1.5E-2', '0.015'],
    ['9007199254740993', '9007199254740993'],
    ...misfits(1e29, -1e29, 1e300, 1e-10, 0.1234567891, 0.1 + 0.2, '', true, [1], {}),
    ...misfits(
      '1e300',
      '007',
      '+5',
      '.5',
      '5.',
      ' 5',
      '5 ',
      '1,000',
      '1_000',
      '0x10',
      'NaN',
      '5 €',
    ),
  ])

  table('boolean', columnsOf('boolean'), [
    [true, true],
    [false, false],
    ['true', true],
    ['false', false],
    ...misfits('True', 'FALSE', ' true', '', '1', 'yes', 0, 1, [true], {}),
  ])

  table('date', columnsOf('date'), [
    ...same('0001-01-01', '9999-12-31', '2024-02-29', '2000-02-29', '2026-04-30'),
    ...misfits(
      '0000-12-31',
      '10000-01-01',
      '2023-02-29',
      '1900-02-29',
      '2026-04-31',
      '2026-00-10',
      '2026-13-10',
      '2026-01-00',
      '2026-01-32',
      '2026-1-31',
      '2026-01-3x',
      'x026-01-31',
      '20a6-01-31',
      '-001-01-01',
      '２０26-01-31',
      '2026/01/31',
      '2026-01-31 ',
      '2026-01-31T00:00:00Z',
      '',
      20260131,
      ['2026-01-31'],
    ),
  ])

  table('datetime', columnsOf('datetime'), [
    ...same(
      '2026-01-31T08:15:00Z',
      '2026-01-31T08:15:00.5Z',
      '2026-01-31T08:15:00.123456Z',
      '0001-01-01T00:00:00Z',
      '0001-01-01T00:00:00.000001Z',
      '9999-12-31T23:59:59.999999Z',
    ),
    ['2026-01-31T08:15:00.500Z', '2026-01-31T08:15:00.5Z'],
    ['2026-01-31T08:15:00.000Z', '2026-01-31T08:15:00Z'],
    ['2026-01-31T08:15:00.050000Z', '2026-01-31T08:15:00.05Z'],
    ['2026-01-31T08:15:00.123456000Z', '2026-01-31T08:15:00.123456Z'],
    ['2026-01-31T08:15:00.1234560Z', '2026-01-31T08:15:00.123456Z'],
    ['2026-01-31T08:15:00+02:00', '2026-01-31T06:15:00Z'],
    ['2026-01-31T23:30:00.25-05:30', '2026-02-01T05:00:00.25Z'],
    ['2024-02-29t08:15:00z', '2024-02-29T08:15:00Z'],
    // ISO 8601 beyond RFC 3339.
    ['2026-01-31T08:15:00+0530', '2026-01-31T02:45:00Z'],
    ['2026-01-31T08:15:00.5-0800', '2026-01-31T16:15:00.5Z'],
    ['2026-01-31T08:15:00+0000', '2026-01-31T08:15:00Z'],
    ['2026-01-31T08:15:00+05', '2026-01-31T03:15:00Z'],
    ['2026-01-31 08:15:00Z', '2026-01-31T08:15:00Z'],
    ['2026-01-31 08:15:00.25+01:00', '2026-01-31T07:15:00.25Z'],
    ...misfits(
      '2026-01-31T08:15:00',
      '2026-01-31T08:15:00.1234567Z',
      '2026-01-31T08:15:00.Z',
      '2026-01-31T08:15Z',
      '2026-01-31T24:00:00Z',
      '2026-01-31T08:60:00Z',
      '2026-01-31T08:15:60Z',
      '2026-01-31T08:15:0xZ',
      '2026-01-31T0x:15:00Z',
      '2026-01-31T08:15:00.xZ',
      '2023-02-29T08:15:00Z',
      '2026-02-30T08:15:00+02:00',
      '0000-12-31T23:59:59Z',
      '0001-01-01T00:00:00+00:01',
      '9999-12-31T23:59:59-00:01',
      '2026-01-31T08:15:00+24:00',
      '2026-01-31',
      '',
      1769847300,
      {},
    ),
  ])

  table('currency', columnsOf('currency'), [
    [{ amount: '12.50', unit: 'EUR' }, ['12.5', 'EUR']],
    [{ amount: '-0.00', unit: '' }, ['0', '']],
    [{ amount: '007', unit: 'JPY', rate: 1 }, ['7', 'JPY']],
    [{ amount: 12.5, unit: 'EUR' }, ['12.5', 'EUR']],
    [{ amount: '9'.repeat(29), unit: 'EUR' }, ['9'.repeat(29), 'EUR']],
    [{ amount: '0.1234567890', unit: 'EUR' }, ['0.123456789', 'EUR']],
    ...misfits(
      { amount: '9'.repeat(30), unit: 'EUR' },
      { amount: '0.1234567891', unit: 'EUR' },
      { amount: '1e3', unit: 'EUR' },
      { amount: '12,50', unit: 'EUR' },
      { amount: '', unit: 'EUR' },
      { amount: null, unit: 'EUR' },
      { amount: true, unit: 'EUR' },
      { unit: 'EUR' },
      { amount: '12.50' },
      { amount: '12.50', unit: null },
      { amount: '12.50', unit: 7 },
      { amount: '12.50', unit: ['EUR'] },
      {},
      [],
      [{ amount: '12.50', unit: 'EUR' }],
      '12.50',
      12.5,
    ),
  ])

  table('text list', columnsOf('select', true), [
    [[], []],
    [['a'], ['a']],
    [
      ['b', 'a', 'b', '', 'NULL', '"\\,{}'],
      ['b', 'a', 'b', '', 'NULL', '"\\,{}'],
    ],
    ...misfits('a', [null], ['a', null], ['a', 1], [['a']], {}, 1),
  ])

  table('number list', columnsOf('number', true), [
    [
      [1, 2.5],
      ['1', '2.5'],
    ],
    [
      [1, '2'],
      ['1', '2'],
    ],
    ...misfits(1, [1, 'two'], [1, 1e300]),
  ])

  table('datetime list', columnsOf('datetime', true), [
    [['2026-01-31T08:15:00+00:00'], ['2026-01-31T08:15:00Z']],
    ...misfits(['2026-01-31T08:15:00Z', '2026-01-31']),
  ])

  table('a type that is not known', columnsOf('geo_point'), [
    ['x', '"x"'],
    [0, '0'],
    [false, 'false'],
    [[], '[]'],
    [{ b: [1, null], a: { c: '\n' } }, '{"a":{"c":"\\n"},"b":[1,null]}'],
    ['\\u0000 \\ud800 are six characters each', '"\\\\u0000 \\\\ud800 are six characters each"'],
  ])

  table('a list of amounts', columnsOf('currency', true), [
    [[{ unit: 'EUR', amount: '1.50' }], '[{"amount":"1.50","unit":"EUR"}]'],
  ])
})

/** What the client makes of a JSON text. */
const read = parseJson

describe('a number that JavaScript does not hold', () => {
  const RUNS_DRY = '99999999999999999999999999999.999999999'

  table('number', columnsOf('number'), [
    [read('9007199254740993'), '9007199254740993'],
    [read('-12345678901234567890'), '-12345678901234567890'],
    [read('123456789012345.123456789'), '123456789012345.123456789'],
    [read('1.5000000000000000000e20'), '150000000000000000000'],
    [read(RUNS_DRY), RUNS_DRY],
  ])

  table('number list', columnsOf('number', true), [
    [read('[1, 9007199254740993]'), ['1', '9007199254740993']],
  ])

  table('currency', columnsOf('currency'), [
    [read('{"amount": 9007199254740993, "unit": "EUR"}'), ['9007199254740993', 'EUR']],
  ])

  table('a type that is not known', columnsOf('integer'), [
    [read('90071992547409931'), '90071992547409931'],
    [read('12345678901234567890123'), '12345678901234567890123'],
    [read('{"b": [1e400], "a": 0.1}'), '{"a":0.1,"b":[1e+400]}'],
  ])

  it.each([
    ['number', '1e400', '{"p":1e+400}'],
    ['number', '-1e-400', '{"p":-1e-400}'],
    ['number', '1.0000000000000000001', '{"p":1.0000000000000000001}'],
    ['number', '123456789012345678901234567890', '{"p":123456789012345678901234567890}'],
    ['number', '[9007199254740993]', '{"p":[9007199254740993]}'],
    // More digits than PostgreSQL's JSON takes.
    ['number', '1e999999', '{"p":"1e+999999"}'],
    ['integer', '[1e-20000]', '{"p":"[1e-20000]"}'],
    ['integer', `[1e${'9'.repeat(30)}]`, `{"p":"[1e${'9'.repeat(30)}]"}`],
  ])('is a misfit of %s with its digits: %s', (type, value, expected) => {
    const { cells, misfits: text } = row(columnsOf(type), { p: read(value) })
    expect([cells, text]).toEqual([[null], expected])
  })
})

describe('a row', () => {
  const columns = [
    ...columnsOf('text', false, 'a'),
    ...columnsOf('currency', false, 'b'),
    ...columnsOf('number', false, 'c'),
  ]

  it('has a null for what is null or absent, and nothing for what has no column', () => {
    expect(row(columns, { a: null, other: 'x' })).toEqual({
      id: '1',
      version: null,
      cells: [null, null, null, null],
      misfits: null,
    })
  })

  it('has cells for live columns only, and by what the column is', () => {
    const [a, amount, unit, c] = columns as [MirrorColumn, MirrorColumn, MirrorColumn, MirrorColumn]
    const old = {
      ...c,
      name: 'c as text',
      type: { holds: 'text', list: false },
      live: false,
    } as const
    expect(
      row([c, unit, amount, old], { a: 'x', b: { amount: '1', unit: 'EUR' }, c: 7 }).cells,
    ).toEqual(['7', 'EUR', '1'])
    // With `ignore` a property of another type keeps its column.
    expect(row([a], { a: 7 })).toMatchObject({ cells: [null], misfits: '{"a":7}' })
  })

  it('has all that did not fit in its misfits, and the rest in its cells', () => {
    const { cells, misfits: text } = row(columns, {
      c: 'seven',
      b: { unit: 7, amount: '1' },
      a: 'x',
      more: 1,
    })
    expect(cells).toEqual(['x', null, null, null])
    expect(text).toBe('{"b":{"amount":"1","unit":7},"c":"seven"}')
  })

  it('keeps what no database can hold as the text of its JSON', () => {
    for (const value of ['a\0b', '\uD83D', ['x', '\uDE00'], { 'a\0': 1 }]) {
      const held = { p: canonicalJson(value as Json) }
      for (const fieldType of ['text', 'number', 'geo_point']) {
        const { cells, misfits: text } = row(columnsOf(fieldType), { p: value as Json })
        expect(cells).toEqual([null])
        expect(JSON.parse(text!)).toEqual(held)
      }
    }
    const { misfits: others } = row(columns, { a: 7, c: 'a\0b' })
    expect(JSON.parse(others!)).toEqual({ a: 7, c: '"a\\u0000b"' })
    const unit = { amount: '1', unit: 'E\0' }
    expect(row(columnsOf('currency'), { p: unit }).cells).toEqual([null, null])
    const name = 'p\0'
    const { misfits: named } = row(columnsOf('number', false, name), { [name]: 'x' })
    expect(JSON.parse(named!)).toEqual({ '"p\\u0000"': 'x' })
  })

  it('refuses a number that is not finite, which JSON cannot write', () => {
    for (const value of [Infinity, -Infinity, NaN]) {
      const { cells, misfits: text } = row(columnsOf('number'), { p: value })
      expect([cells, text]).toEqual([[null], '{"p":null}'])
    }
  })

  it('knows names that every object has, and those with a meaning', () => {
    for (const name of ['constructor', 'toString', '__proto__']) {
      const named = columnsOf('text', false, name)
      expect(row(named, {}).misfits).toBe(null)
      const properties = JSON.parse(`{"${name}":"x"}`) as Record<string, Json>
      expect(row(named, properties).cells).toEqual(['x'])
      const wrong = JSON.parse(`{"${name}":7}`) as Record<string, Json>
      expect(row(named, wrong).misfits).toBe(`{"${name}":7}`)
    }
  })

  it.each([
    ['2026-01-31T08:15:00.500Z', '2026-01-31T08:15:00.5Z'],
    ['2026-01-31T08:15:00+02:00', '2026-01-31T06:15:00Z'],
    ['2026-01-31T08:15:00.123456789Z', '2026-01-31T08:15:00.123456Z'],
    ['yesterday', null],
    [7, null],
    [null, null],
  ])('has the version %j as %s, with a column or without', (value, version) => {
    expect(row([], { changed: value }, 'changed').version).toBe(version)
    expect(row([], {}, 'changed').version).toBe(null)
  })
})

describe('any value', () => {
  const fieldTypes = [
    'text',
    'number',
    'boolean',
    'date',
    'datetime',
    'currency',
    'multi_select',
    'geo_point',
  ]
  const likely = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.double({ noDefaultInfinity: true, noNaN: true }),
    fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
    fc.date({ noInvalidDate: true }).map((date) => date.toISOString().slice(0, 10)),
    fc.record({
      amount: fc.oneof(fc.double().map(String), fc.integer().map(String)),
      unit: fc.string(),
    }),
    fc.boolean(),
  )
  const value = fc.oneof(
    likely,
    fc.array(likely, { maxLength: 3 }),
    fc.jsonValue(),
  ) as fc.Arbitrary<Json>

  const FORMS: Readonly<Record<string, (cell: string | boolean) => boolean>> = {
    text: (cell) => typeof cell === 'string' && !/[\0\p{Surrogate}]/u.test(cell),
    decimal: (cell) =>
      canonicalDecimal(String(cell)) === cell && /^-?\d{1,29}(\.\d{1,9})?$/.test(cell),
    boolean: (cell) => typeof cell === 'boolean',
    date: (cell) =>
      /^\d{4}-\d\d-\d\d$/.test(String(cell)) && !Number.isNaN(Date.parse(String(cell))),
    instant: (cell) =>
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,5}[1-9])?Z$/.test(String(cell)) &&
      !Number.isNaN(Date.parse(String(cell))),
    json: (cell) => canonicalJson(JSON.parse(String(cell)) as Json) === cell,
  }

  it('is in its cells in their one form, or in the misfits, or null', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...fieldTypes),
        fc.boolean(),
        value,
        (fieldType, isMulti, drawn) => {
          const columns = columnsOf(fieldType, isMulti)
          const { cells, misfits: text } = row(columns, { p: drawn })
          const filled = cells.filter((cell) => cell !== null)
          if (drawn === null) expect([filled, text]).toEqual([[], null])
          else expect(filled.length).toBe(text === null ? columns.length : 0)
          for (const [index, { type }] of columns.entries()) {
            const cell = cells[index]!
            if (cell === null) continue
            expect(Array.isArray(cell)).toBe(type.list)
            for (const one of [cell].flat() as (string | boolean)[])
              expect({ one, isOk: FORMS[type.holds]!(one) }).toEqual({ one, isOk: true })
          }
          if (text === null) return
          const held = (JSON.parse(text) as { p: Json }).p
          if (canonicalJson(held) !== canonicalJson(drawn)) expect(held).toBe(canonicalJson(drawn))
        },
      ),
      { numRuns: runs(2_000) },
    )
  })

  it('that is an instant is the same instant as its cell', () => {
    const offset = fc.tuple(fc.constantFrom('+', '-'), fc.integer({ min: 0, max: 23 }), fc.nat(59))
    fc.assert(
      fc.property(
        fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true }),
        offset,
        (date, [sign, hours, minutes]) => {
          const two = (number: number) => String(number).padStart(2, '0')
          const local = date.toISOString().slice(0, -1)
          const text = `${local}${sign}${two(hours)}:${two(minutes)}`
          const [cell] = row(columnsOf('datetime'), { p: text }).cells
          expect(Date.parse(cell as string)).toBe(Date.parse(text))
        },
      ),
    )
  })
})
