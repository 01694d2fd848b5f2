// Numbers, times and domains in the forms that a mapping states: read exactly, or refused.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bareNumber } from '../../../src/import/mapping/amounts.ts'
import { dateFormatPattern } from '../../../src/import/mapping/coerce.ts'
import { domainOf } from '../../../src/import/mapping/domain.ts'
import { readTime } from '../../../src/import/mapping/times.ts'

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

describe('times', () => {
  const iso = dateFormatPattern('YYYY-MM-DD')!
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
  ['', null],
])('the domain of %j is %j', (cell, expected) => {
  expect(domainOf(cell)).toBe(expected)
})
