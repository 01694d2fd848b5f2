// Cells become values exactly or are refused: one table per field type, then what must hold for any cell.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalDecimal } from '../../../src/core/decimal.ts'
import type { Json } from '../../../src/core/json.ts'
import type { PropertyMapping } from '../../../config/index.ts'
import { isCalendarDay } from '../../../src/core/calendar.ts'
import { COERCIONS, coercionFor, type CoercionContext } from '../../../src/import/mapping/coerce.ts'
import { dateFormatProblem } from '../../../src/core/date-format.ts'
import { runs } from '../../runs.ts'

type Setting = PropertyMapping & {
  valueType?: string
  options?: Record<string, string>
  units?: string[]
}

function coerce(fieldType: string, cell: string, setting: Setting = {}) {
  const { valueType = 'string', options = {}, units = [], ...mapping } = setting
  const context: CoercionContext = {
    mapping,
    valueType,
    options: new Map(Object.entries(options)),
    units: new Set(units),
  }
  return coercionFor(fieldType, valueType)(cell, context)
}

type Row = [cell: string, expected: Json | { refused: string }, setting?: Setting]
const refused = (reason: string) => ({ refused: reason })

function table(fieldType: string, rows: readonly Row[]): void {
  it.each(rows)(`${fieldType} %j gives %j`, (cell, expected, setting) => {
    const result = coerce(fieldType, cell, setting)
    const reason = (expected as { refused?: string } | null)?.refused
    if (result.ok || reason === undefined) expect(result).toEqual({ ok: true, value: expected })
    else expect([result.reason, result.expected.length > 0]).toEqual([reason, true])
  })
}

describe('numbers on the wire as text', () => {
  const no = refused('not_a_number')
  table('number', [
    ['12.50', '12.5'],
    [' 7 ', '7'],
    ['-0', '0'],
    ['+3', '3'],
    ['007', '7'],
    ['12345678901234567890', '12345678901234567890'],
    ['0.12345678901234567890', '0.1234567890123456789'],
    ...[
      '',
      ' ',
      '0x10',
      '1e',
      'e5',
      '1e999',
      '1,234.50',
      '1 234',
      '(5)',
      '５',
      '5−',
      '5 €',
      '1.2.3',
      '.',
      'NaN',
    ].map((cell): Row => [cell, no]),
    ['1,5', no],
    ['1,5', '1.5', { decimal: ',' }],
    ['-0,50', '-0.5', { decimal: ',' }],
    ['1234', '1234', { decimal: ',' }],
    ['1.234,5', no, { decimal: ',' }],
    ['1.5', no, { decimal: ',' }],
    ['1,234,5', no, { decimal: ',' }],
  ])
})

describe('numbers on the wire as JSON numbers', () => {
  const asNumber = { valueType: 'number' }
  table('number', [
    ['12.50', 12.5, asNumber],
    ['-0', 0, asNumber],
    ['0.1', 0.1, asNumber],
    ['9007199254740991', 9007199254740991, asNumber],
    ['9007199254740993', refused('number_not_exact'), asNumber],
    ['12345678901234567890', refused('number_not_exact'), asNumber],
    ['', refused('not_a_number'), asNumber],
    ['0x10', refused('not_a_number'), asNumber],
    ['1e5', 100_000, asNumber],
    ['1e-7', 1e-7, asNumber],
    ['.5', 0.5, asNumber],
    ['-5.', -5, asNumber],
    ['1.25E+1', 12.5, asNumber],
    ['.', refused('not_a_number'), asNumber],
    ['1,5', 1.5, { ...asNumber, decimal: ',' }],
  ])
})

describe('currencies', () => {
  const no = refused('not_an_amount')
  table('currency', [
    ['1234.50', { amount: '1234.5', unit: 'EUR' }, { unit: 'EUR' }],
    ['-3', { amount: '-3', unit: 'USD' }, { unit: 'USD', units: ['EUR', 'USD'] }],
    [
      '99999999999999999999.99',
      { amount: '99999999999999999999.99', unit: 'EUR' },
      { unit: 'EUR' },
    ],
    ['1,5', { amount: '1.5', unit: 'EUR' }, { unit: 'EUR', decimal: ',' }],
    ['€5', no, { unit: 'EUR' }],
    ['5 EUR', no, { unit: 'EUR' }],
    ['', no, { unit: 'EUR' }],
    ['1,234.50', no, { unit: 'EUR' }],
    ['(5)', no, { unit: 'EUR' }],
    ['5', refused('unit_missing')],
    ['5', refused('unit_missing'), { unit: '' }],
    ['5', refused('unit_missing'), { unit: ' ' }],
    ['5', refused('unit_unknown'), { unit: 'eur' }],
    ['5', refused('unit_unknown'), { unit: 'EURO' }],
    ['5', refused('unit_unknown'), { unit: 'XXX', units: ['EUR', 'USD'] }],
  ])
})

it('a label that two options have is refused, and their values are not', () => {
  const options = { a: 'Other', b: 'Other', Other2: 'x' }
  expect(coerce('select', 'Other', { options })).toMatchObject({
    ok: false,
    reason: 'not_an_option',
    expected: 'the value of an option: the label is that of a, b',
  })
  expect(coerce('select', 'b', { options })).toEqual({ ok: true, value: 'b' })
})

describe('a decimal comma', () => {
  const HINT = '`decimal: ","` of the mapping reads 1234,50'
  const expectedOf = (type: string, cell: string, mapping: PropertyMapping = {}): string => {
    const coerced = coerce(type, cell, { unit: 'EUR', ...mapping })
    return coerced.ok ? '' : coerced.expected
  }

  it.each([
    ['number', '2,50'],
    ['number', ' -1234,5 '],
    ['currency', '1234,50'],
    ['currency', '0,1234'],
  ])('in a %s, %j, names the setting that reads it', (type, cell) => {
    expect(expectedOf(type, cell)).toContain(HINT)
  })

  it.each([
    ['number', '2,5,0', {}],
    ['currency', '2,50 zł', {}],
    ['number', '2.50', { decimal: ',' }],
  ] as const)('is not seen in a %s, %j', (type, cell, mapping) => {
    const expected = expectedOf(type, cell, mapping)
    expect(expected).not.toBe('')
    expect(expected).not.toContain('of the mapping')
  })
})

describe('booleans', () => {
  const no = refused('not_a_boolean')

  // A word that the mapping states is not what it means by default.
  table('boolean', [
    ['1', false, { false: ['1'] }],
    ['yes', true, { false: ['1'] }],
    ['0', true, { true: ['0'] }],
    ['no', false, { true: ['0'] }],
  ])
  const ja = { true: ['Ja', 'x'], false: ['Nein'] }
  table('boolean', [
    ...['true', 'TRUE', ' yes ', 'Yes', '1'].map((cell): Row => [cell, true]),
    ...['false', 'False', 'no', '0'].map((cell): Row => [cell, false]),
    ...['', ' ', 'ja', 'y', 't', '2', 'null', 'on', '1.0'].map((cell): Row => [cell, no]),
    ['JA', true, ja],
    ['X', true, ja],
    ['nein', false, ja],
    ['true', no, ja],
    ['0', no, ja],
  ])
})

describe('dates', () => {
  const no = refused('not_a_date')
  const german = { format: 'DD.MM.YYYY' }
  const american = { format: 'M/D/YYYY' }
  table('date', [
    ['2026-01-31', '2026-01-31'],
    [' 2026-01-31 ', '2026-01-31'],
    ['2024-02-29', '2024-02-29'],
    ['2000-02-29', '2000-02-29'],
    ['1000-01-01', '1000-01-01'],
    ['9999-12-31', '9999-12-31'],
    ...['2024-02-30', '2023-02-29', '1900-02-29', '2026-04-31', '2026-13-01', '2026-00-10'].map(
      (cell): Row => [cell, no],
    ),
    ...['2026-01-00', '0000-01-01', '2026-1-31', '26-01-31', '2026/01/31', '20260131'].map(
      (cell): Row => [cell, no],
    ),
    ...['2026-01-31T00:00:00Z', '2026-01-31 x', '', 'today', '45000', '２０２６-01-31'].map(
      (cell): Row => [cell, no],
    ),
    ['31.01.2026', '2026-01-31', german],
    ['29.02.2024', '2024-02-29', german],
    ['1.1.2026', no, german],
    ['01.31.2026', no, german],
    ['2026-01-31', no, german],
    ['31x01x2026', no, german],
    ['1/31/2026', '2026-01-31', american],
    ['01/31/2026', '2026-01-31', american],
    ['12/1/2026', '2026-12-01', american],
    ['31/1/2026', no, american],
    ['2/29/2023', no, american],
    ['1/31/26', no, american],
    ['20260131', '2026-01-31', { format: 'YYYYMMDD' }],
    ['2026.01+31', '2026-01-31', { format: 'YYYY.MM+DD' }],
    ['2026a01+31', no, { format: 'YYYY.MM+DD' }],
    ['1012026', '2026-01-01', { format: 'DMMYYYY' }],
  ])

  it.each(['DMYYYY', 'YYYYMD', 'DYYYYM'])('format %j has days of two meanings', (format) => {
    expect(dateFormatProblem(format)).not.toBeNull()
  })

  it.each(['YYYY-MM', 'MM/DD', 'YYYY-MM-M-DD', 'YYYY-MM-DD YYYY', '', 'date'])(
    'format %j lacks or doubles a part',
    (format) => {
      expect(dateFormatProblem(format)).not.toBeNull()
    },
  )
})

describe('datetimes', () => {
  const no = refused('not_a_datetime')
  table('datetime', [
    ['2026-01-31T08:15:00Z', '2026-01-31T08:15:00Z'],
    ['2026-01-31t08:15:00z', '2026-01-31T08:15:00Z'],
    ['2026-01-31 08:15:00+01:00', '2026-01-31T08:15:00+01:00'],
    ['2026-01-31T08:15Z', '2026-01-31T08:15:00Z'],
    ['2026-01-31T08:15:00.123-11:30', '2026-01-31T08:15:00.123-11:30'],
    ['2024-02-29T23:59:59Z', '2024-02-29T23:59:59Z'],
    // Without a zone nobody knows which moment is meant.
    ...['2026-01-31T08:15:00', '2026-01-31 08:15', '2026-01-31', '08:15:00Z'].map((cell): Row => [
      cell,
      no,
    ]),
    ...[
      '2026-02-30T00:00:00Z',
      '0000-01-01T00:00:00Z',
      '2026-01-31T24:00:00Z',
      '2026-01-31T08:60:00Z',
    ].map((cell): Row => [cell, no]),
    ...['2026-01-31T08:15:60Z', '2026-01-31T08:15:00+24:00', '2026-01-31T08:15:00+01:60'].map(
      (cell): Row => [cell, no],
    ),
    ['2026-01-31T08:15:00+0100', '2026-01-31T08:15:00+01:00'],
    ['2026-01-31 08:15:00 +01', '2026-01-31T08:15:00+01:00'],
    ['2026-01-31 8:15 UTC', '2026-01-31T08:15:00Z'],
    ...['2026-01-31T08:15:00 CET', '2026-01-31T13:15 PMZ', '1769847300', '', 'now'].map(
      (cell): Row => [cell, no],
    ),
  ])
})

describe('e-mails, phones, urls, users and text', () => {
  const no = refused('not_an_email')
  table('email', [
    ['ada@example.com', 'ada@example.com'],
    [' Ada@Example.com ', 'Ada@Example.com'],
    ['jürgen@exämple.de', 'jürgen@exämple.de'],
    ...['', 'ada', 'ada@example', '@example.com', 'ada@', 'a b@example.com', 'a@b@example.com'].map(
      (cell): Row => [cell, no],
    ),
    ['ada@example.com, bob@example.com', no],
  ])
  table('phone', [[' +49 30 1234 ', '+49 30 1234']])
  table('url', [[' https://example.com/A ', 'https://example.com/A']])
  table('user', [[' 12 ', '12']])
  table('text', [
    [' kept as it is ', ' kept as it is '],
    ['00123', '00123'],
    ['=1+1', '=1+1'],
    ['null', 'null'],
  ])
  table('long_text', [['a\r\nb', 'a\r\nb']])
})

describe('options', () => {
  const options = { lead: 'Lead', won: 'Closed won', Lead: 'Something else' }
  const no = refused('not_an_option')
  for (const type of ['select', 'multi_select'])
    table(type, [
      ['lead', 'lead', { options }],
      [' won ', 'won', { options }],
      ['Closed won', 'won', { options }],
      // A value goes before a label.
      ['Lead', 'Lead', { options }],
      ['closed won', no, { options }],
      ['', no, { options }],
      ['lead,won', no, { options }],
      ['constructor', no, { options }],
      ['anything', 'anything'],
    ])
})

describe('JSON shapes', () => {
  const no = refused('not_json')
  table('address', [
    ['{"b":1,"a":[2]}', { a: [2], b: 1 }, { valueType: 'object' }],
    ...['[]', '1', 'null', '"a"', '{', '', "{'a':1}", '{"a":1} x'].map((cell): Row => [
      cell,
      no,
      { valueType: 'object' },
    ]),
    ['[1,"a",null]', [1, 'a', null], { valueType: 'array' }],
    ...['{}', 'a;b', 'null', '[', ''].map((cell): Row => [cell, no, { valueType: 'array' }]),
  ])

  const inexact = refused('number_not_exact')
  table('point', [
    ['[1.50,-0.1,900719925474099]', [1.5, -0.1, 900719925474099], { valueType: 'array' }],
    ['["12345678901234567890","1e999"]', ['12345678901234567890', '1e999'], { valueType: 'array' }],
    ['[12345678901234567890]', inexact, { valueType: 'array' }],
    ['{"a":1e999}', inexact, { valueType: 'object' }],
    ['{"a\\"b":0.1234567890123456789}', inexact, { valueType: 'object' }],
  ])

  it('refuses JSON that is nested too deep to be handled, instead of failing', () => {
    const deep = '['.repeat(200_000) + ']'.repeat(200_000)
    expect(coerce('blob', deep, { valueType: 'array' })).toMatchObject({
      ok: false,
      reason: 'not_json',
    })
  })
})

describe('types that have no coercion of their own', () => {
  table('rating', [
    ['4', 4, { valueType: 'number' }],
    ['4', 4, { valueType: 'integer' }],
    ['4.5', refused('not_a_number'), { valueType: 'integer' }],
    ['four', refused('not_a_number'), { valueType: 'number' }],
    ['yes', true, { valueType: 'boolean' }],
    [' a ', ' a ', { valueType: 'string' }],
    [' a ', ' a ', { valueType: 'something new' }],
  ])
  for (const name of ['constructor', '__proto__', 'toString'])
    table(name, [
      ['a', 'a', { valueType: 'string' }],
      ['a', 'a', { valueType: name }],
    ])
})

describe('for any cell', () => {
  const settings: readonly Setting[] = [
    {},
    { valueType: 'number' },
    { valueType: 'array' },
    { decimal: ',' },
    { unit: 'EUR' },
    { format: 'D.M.YYYY' },
    { options: { a: 'b' } },
  ]
  const cellOf = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom(...'0123456789-+.,:TZ/e {}[]"') }),
  )

  it('gives a value or a reason, and never throws', () => {
    const types = fc.constantFrom(...Object.keys(COERCIONS), 'unheard_of')
    fc.assert(
      fc.property(types, cellOf, fc.constantFrom(...settings), (type, cell, setting) => {
        const result = coerce(type, cell, setting)
        if (result.ok) expect(JSON.parse(JSON.stringify(result.value))).toEqual(result.value)
        else expect([result.reason, result.expected].every((text) => text.length > 0)).toBe(true)
      }),
    )
  })

  it('a number never differs from the decimal that the cell shows', () => {
    const cells = fc.oneof(
      cellOf,
      fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
      fc.tuple(fc.bigInt(), fc.nat()).map(([whole, part]) => `${whole}.${part}`),
    )
    fc.assert(
      fc.property(cells, fc.constantFrom('number', 'string'), (cell, valueType) => {
        const result = coerce('number', cell, { valueType })
        const text = cell.trim()
        const isShort = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text)
        const shown = canonicalDecimal(text)
        if (shown === null && isShort) {
          if (result.ok) expect(Number(result.value)).toBe(Number(text))
          return
        }
        // The number, as the wire will show it, in plain digits.
        if (result.ok)
          expect(typeof result.value === 'number' ? plain(result.value) : result.value).toBe(shown)
        else if (shown === null) expect(result.reason).toBe('not_a_number')
        else expect([valueType, result.reason]).toEqual(['number', 'number_not_exact'])
      }),
    )
  })

  it('a date is a real day: the calendar of the platform agrees, for right and for wrong days', () => {
    const two = (part: number) => String(part).padStart(2, '0')
    const day = fc.tuple(fc.integer({ min: 0, max: 9999 }), fc.nat(13), fc.nat(32))
    fc.assert(
      fc.property(
        day,
        fc.constantFrom('YYYY-MM-DD', 'DD.MM.YYYY', 'M/D/YYYY'),
        ([y, m, d], format) => {
          const iso = `${String(y).padStart(4, '0')}-${two(m)}-${two(d)}`
          const cell = format.replace(/YYYY|MM|DD|M|D/g, (part) => {
            const number = part.startsWith('Y') ? y : part.startsWith('M') ? m : d
            return String(number).padStart(part.length, '0')
          })
          const time = new Date(0)
          time.setUTCFullYear(y, m - 1, d)
          const isReal = y > 0 && time.toISOString().startsWith(iso)
          expect(isCalendarDay(y, m, d)).toBe(isReal)
          const result = coerce('date', cell, { format })
          expect(result.ok ? result.value : null).toBe(isReal && y >= 1000 ? iso : null)
        },
      ),
      { numRuns: runs(1_000) },
    )
  })

  it('a datetime that is accepted is a moment that the platform reads', () => {
    const moment = fc.date({
      min: new Date('1000-01-01T00:00:00Z'),
      max: new Date('9999-12-30T00:00:00Z'),
      noInvalidDate: true,
    })
    fc.assert(
      fc.property(moment, (time) => {
        const result = coerce('datetime', time.toISOString())
        expect(result.ok && Date.parse(result.value as string)).toBe(time.getTime())
      }),
    )
  })
})

/** Digits of a number without an exponent, by the platform's integers. */
function plain(value: number): string {
  const [mantissa = '', exponentText = '0'] = value.toExponential().split('e')
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.')
  const shift = Number(exponentText) - fraction.length
  const digits = whole + fraction
  const text =
    shift >= 0
      ? digits + '0'.repeat(shift)
      : `${digits.padStart(1 - shift, '0').slice(0, shift)}.${digits.padStart(1 - shift, '0').slice(shift)}`
  return canonicalDecimal((value < 0 ? '-' : '') + text)!
}
