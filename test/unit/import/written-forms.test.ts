// Numbers, times and domains in the forms that a mapping states: read exactly, or refused.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalDecimal } from '../../../src/core/decimal.ts'
import type { PropertyMapping } from '../../../config/index.ts'
import { bareNumber, decimalOfCell } from '../../../src/import/mapping/amounts.ts'
import { dayReader } from '../../../src/core/date-format.ts'
import { domainOf } from '../../../src/import/mapping/domain.ts'
import { numberAdvice } from '../../../src/import/mapping/number-advice.ts'
import { readTime } from '../../../src/import/mapping/times.ts'
import { runs } from '../../runs.ts'

describe('separators and signs', () => {
  const german = { decimal: ',', thousands: '.', symbol: '€' } as const
  it.each([
    ['1.234,50 €', german, '1234,50'],
    ['€ 1.234.567', german, '1234567'],
    ['-€5', german, '-5'],
    ['€-5', german, '-5'],
    ['12345,6', german, '12345,6'],
    ['1.23', german, null],
    ['1.2345', german, null],
    ['1.234.56', german, null],
    ['.234', german, null],
    ['5 $', german, '5 $'],
    ['€5€', german, '5€'],
    ["1'234’567.5", { thousands: "'" }, '1234567.5'],
    ['1 234\u00a0567', { thousands: ' ' }, '1234567'],
    ['1,234', {}, '1,234'],
    // Behind a zero it is a decimal separator of another custom.
    ['0.500', german, null],
    ['-0.500 €', german, null],
    ['00.500', german, null],
    ['000.123', german, null],
    ['0.123.456', german, null],
    ['01.234', german, null],
    ['0.005 %', { ...german, symbol: '%' }, null],
    ['0,123', { thousands: ',' }, null],
    ["0'123", { thousands: "'" }, null],
    ['0\u00a0123', { thousands: ' ' }, null],
    ['0,5', german, '0,5'],
    ['0005', german, '0005'],
    ['1_234.567', german, null],
  ] as const)('%s', (cell, form, expected) => {
    expect(bareNumber(cell, form)).toBe(expected)
  })

  it('what a program groups comes back', () => {
    fc.assert(
      fc.property(fc.integer(), fc.constantFrom('en-US', 'de-DE', 'fr-FR'), (number, language) => {
        const text = new Intl.NumberFormat(language).format(number)
        const thousands = ({ 'en-US': ',', 'de-DE': '.', 'fr-FR': ' ' } as const)[language]!
        const decimal = language === 'en-US' ? '.' : ','
        expect(bareNumber(text, { thousands, decimal })).toBe(String(number))
      }),
    )
  })
})

describe('amounts', () => {
  const forms = fc.record({
    decimal: fc.constantFrom('.', ','),
    thousands: fc.constantFrom(undefined, '.', ',', ' ', "'"),
    symbol: fc.constantFrom(undefined, '€', '%', 'EUR'),
  })
  const distinct = forms.filter(({ decimal, thousands }) => decimal !== thousands)

  it('a number that is written in a form reads back as itself', () => {
    const numbers = fc.tuple(fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n }), fc.nat(999))
    fc.assert(
      fc.property(distinct, numbers, fc.boolean(), (form, [whole, fraction], isBefore) => {
        const { decimal, thousands = '', symbol = '' } = form
        const digits = `${whole < 0n ? -whole : whole}`.replace(/\B(?=(\d{3})+$)/g, thousands)
        const sign = whole < 0n ? '-' : ''
        const body = `${digits}${decimal}${String(fraction).padStart(3, '0')}`
        const cell = isBefore ? `${sign}${symbol}${body}` : `${sign}${body} ${symbol}`
        const expected = canonicalDecimal(`${whole}.${String(fraction).padStart(3, '0')}`)
        expect(decimalOfCell(cell, form)).toBe(expected)
      }),
    )
  })

  it('a cell that is accepted has one reading: that of its digits and its decimal separator', () => {
    const marks = fc.constantFrom(..."0001234567.,' +-_€%()−".split(''))
    const cells = fc.string({ unit: marks, minLength: 1, maxLength: 9 })
    let accepted = 0
    fc.assert(
      fc.property(distinct, cells, (form, cell) => {
        const number = decimalOfCell(cell, form)
        if (number === null) return
        accepted += 1
        const { decimal, thousands, symbol = '' } = form
        const bare = cell
          .replace('−', '-')
          .replace(symbol, '')
          .trim()
          .replaceAll(/\s/g, thousands === ' ' ? ' ' : '')
        expect(bare).not.toMatch(/[_()−]/)
        const [whole = '', fraction = '', ...more] = bare.split(decimal)
        expect(more).toEqual([])
        const groups = whole
          .replace(/^[+-]/, '')
          .trim()
          .split(thousands ?? 'none')
        if (groups.length > 1)
          // Of India's groups all but the last have two digits.
          expect(groups.join()).toMatch(
            thousands === ','
              ? /^(?:[1-9]\d{0,2}(?:,\d{3})+|[1-9]\d?(?:,\d{2})+,\d{3})$/
              : /^[1-9]\d{0,2}(?:,\d{3})+$/,
          )
        const sign = whole.includes('-') ? '-' : ''
        expect(number).toBe(canonicalDecimal(`${sign}${groups.join('') || '0'}.${fraction || '0'}`))
      }),
      { numRuns: runs(3_000) },
    )
    expect(accepted).toBeGreaterThan(runs(100))
  })
})

describe('what a refused number says', () => {
  const german = { decimal: ',', thousands: '.' } as const
  const cases: readonly [string, PropertyMapping, string][] = [
    ['1.234,50', {}, '; `decimal: ","` and `thousands: "."` of the mapping read 1.234,50'],
    ['1,234.50', {}, '; `thousands: ","` of the mapping reads 1,234.50'],
    ["1'234.50", {}, '; `thousands: "\'"` of the mapping reads 1\'234.50'],
    ['5,50 €', {}, '; `decimal: ","` and `symbol: "€"` of the mapping read 1234,50 €'],
    ['EUR 5', { unit: 'EUR' }, '; `symbol: "EUR"` of the mapping reads 1234.50 EUR'],
    ['5,50 €', german, '; `symbol: "€"` of the mapping reads 1.234,50 €'],
    [
      '1,234',
      {},
      '; a `,` in it may separate decimals or thousands: `decimal: ","` or `thousands: ","` of the mapping says which',
    ],
    [
      '0.500',
      german,
      '; `thousands: "."` and `decimal: ","` of the mapping fit no number that begins with 0 and has `.` in it',
    ],
    ['1.23', german, ''],
    ['n/a', {}, ''],
    ['', {}, ''],
  ]
  it.each(cases)('%s under %j', (cell, mapping, expected) => {
    expect(decimalOfCell(cell, mapping)).toBeNull()
    expect(numberAdvice(cell, mapping)).toBe(expected)
  })
})

describe('times', () => {
  const iso = dayReader('YYYY-MM-DD')
  it.each([
    ['2024-03-01 14:22', 'Europe/Berlin', '2024-03-01T14:22:00+01:00'],
    ['2024-07-01T14:22:11.5', 'Europe/Berlin', '2024-07-01T14:22:11.5+02:00'],
    ['2024-07-01 2:22 PM', 'America/New_York', '2024-07-01T14:22:00-04:00'],
    ['2024-07-01, 12:05 am', 'UTC', '2024-07-01T00:05:00Z'],
    ['2024-07-01 08:00', '-03:30', '2024-07-01T08:00:00-03:30'],
    ['2024-07-01 08:00', 'Asia/Kathmandu', '2024-07-01T08:00:00+05:45'],
    // The cell's own zone counts.
    ['2024-07-01 08:00 +0900', 'Europe/Berlin', '2024-07-01T08:00:00+09:00'],
    // Clocks that were put forward, and back.
    ['2024-03-31 02:30', 'Europe/Berlin', null],
    ['2024-10-27 02:30', 'Europe/Berlin', null],
    ['2024-10-27 01:59', 'Europe/Berlin', '2024-10-27T01:59:00+02:00'],
    ['2024-10-27 03:00', 'Europe/Berlin', '2024-10-27T03:00:00+01:00'],
    ['2024-07-01 08:00', undefined, null],
    ['2024-02-30 08:00', 'UTC', null],
    ['2024-07-01 13:00 PM', 'UTC', null],
    ['2024-07-01 24:00', 'UTC', null],
    ['2024-07-01', 'UTC', null],
    ['2024-07-01 10:00+14:00', 'UTC', '2024-07-01T10:00:00+14:00'],
    // No clocks are so far from UTC: it is something else.
    ['2024-07-01 10:00-2024', 'UTC', null],
  ] as const)('%s in %s is %s', (cell, zone, expected) => {
    expect(readTime(cell, iso, zone)).toBe(expected)
  })

  it('what the clocks of a zone show is read as the moment that they show', () => {
    const zones = fc.constantFrom('Europe/Berlin', 'America/St_Johns', 'Australia/Lord_Howe', 'UTC')
    const moments = fc.date({
      min: new Date('1990-01-01T00:00:00Z'),
      max: new Date('2037-01-01T00:00:00Z'),
      noInvalidDate: true,
    })
    let read = 0
    fc.assert(
      fc.property(moments, zones, (moment, zone) => {
        const cell = new Intl.DateTimeFormat('sv', {
          timeZone: zone,
          dateStyle: 'short',
          timeStyle: 'medium',
        }).format(moment)
        const time = readTime(cell, iso, zone)
        if (time === null) return
        read += 1
        expect(Date.parse(time)).toBe(Math.floor(moment.getTime() / 1_000) * 1_000)
      }),
    )
    expect(read).toBeGreaterThan(80)
  })
})

it.each([
  ['https://www.Example.com/', 'example.com'],
  ['example.com', 'example.com'],
  ['WWW.example.co.uk', 'example.co.uk'],
  ['http://shop.example.com:8080/a?b#c', 'shop.example.com'],
  ['//münchen.example.', 'münchen.example'],
  ['www.com', null],
  ['info@example.com', null],
  ['Example Ltd', null],
  ['localhost', null],
  ['10.12.2024', null],
  ['1.234', null],
  ['127.0.0.1', null],
  ['3m.com', '3m.com'],
  ['example.xn--p1ai', 'example.xn--p1ai'],
  ['', null],
])('the domain of %j is %j', (cell, expected) => {
  expect(domainOf(cell)).toBe(expected)
})
