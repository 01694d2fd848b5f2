// What a service may normalise is equal, and nothing else is: a difference that is called equal would hide a lost value.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalDecimal, decimalOfNumber } from '../../../src/core/decimal.ts'
import type { Json } from '../../../src/core/json.ts'
import { differingFields, isSameMeaning } from '../../../src/import/look/compare.ts'
import { runs } from '../../runs.ts'

type Pair = [type: string, sent: Json, held: Json | undefined]

describe('equal', () => {
  it.each<Pair>([
    ['text', 'a', ' a '],
    ['text', 'Ju\u0308rgen', 'J\u00fcrgen'],
    ['text', null, undefined],
    ['text', null, ''],
    ['text', [], null],
    ['text', ['a'], 'a'],
    ['email', 'Ada@Example.com', 'ada@example.com'],
    ['email', 'J\u030c@example.com', '\u01f0@example.com'],
    ['email', ['B@x.de', 'a@x.de'], ['a@x.de', 'b@x.de']],
    ['url', 'HTTPS://Example.com', 'https://example.com/'],
    ['url', 'HTTPS://Example.com/Path?Q=1#A', 'https://example.com/Path?Q=1#A'],
    ['url', 'Example.com/A/', 'example.com/A'],
    ['number', '10.5', '10.50'],
    ['number', '10.5', 10.5],
    ['number', '-0', 0],
    ['number', 1e21, '1000000000000000000000'],
    ['currency', { amount: '10.5', unit: 'EUR' }, { unit: 'EUR', amount: '10.500' }],
    ['currency', { amount: '10', unit: 'EUR' }, { amount: 10, unit: 'EUR' }],
    ['datetime', '2026-01-31T08:15:00+01:00', '2026-01-31T07:15:00.000Z'],
    ['datetime', '2026-01-31T08:15:00.1234500+01:00', '2026-01-31T07:15:00.12345Z'],
    ['boolean', true, true],
    ['multi_select', ['b', 'a'], ['a', 'b']],
    ['address', { a: 1, b: [2] }, { b: [2], a: 1 }],
  ])('%s %j and %j', (type, sent, held) => {
    expect(isSameMeaning(sent, held, type)).toBe(true)
    expect(isSameMeaning(held, sent, type)).toBe(true)
  })
})

describe('different', () => {
  it.each<Pair>([
    ['text', 'a', 'A'],
    ['text', 'a', null],
    ['text', 'null', null],
    ['text', ['null'], []],
    ['text', 'a b', 'a  b'],
    ['text', '007', '7'],
    ['text', '10.5', '10.50'],
    ['text', ['a,b', 'c'], ['a', 'b,c']],
    ['text', ['a', 'b'], ['a']],
    ['text', ['a'], ['a', 'b']],
    ['address', { a: 1 }, { a: 1, b: 2 }],
    ['email', 'a@x.de', 'b@x.de'],
    ['url', 'https://example.com/A', 'https://example.com/a'],
    ['url', 'https://example.com?q=A', 'https://example.com?q=a'],
    ['url', 'https://Ada@example.com/', 'https://ada@example.com/'],
    ['number', '10.5', '10.51'],
    ['number', '0', null],
    ['number', '12345678901234567890', '12345678901234567891'],
    ['currency', { amount: '10', unit: 'EUR' }, { amount: '10', unit: 'USD' }],
    ['currency', { amount: '10', unit: 'EUR' }, { amount: '11', unit: 'EUR' }],
    ['currency', { amount: '10', unit: 'EUR' }, null],
    ['date', '2026-01-31', '2026-02-01'],
    ['datetime', '2026-01-31T08:15:00Z', '2026-01-31T08:15:01Z'],
    ['datetime', '2026-01-31T08:15:00.123456Z', '2026-01-31T08:15:00.123Z'],
    ['datetime', '2026-01-31T08:15:00Z', '2026-01-31T08:15:00+01:00'],
    ['boolean', true, false],
    ['boolean', false, null],
    ['address', { a: 1 }, { a: 2 }],
    ['address', { a: 1 }, {}],
  ])('%s %j and %j', (type, sent, held) => {
    expect(isSameMeaning(sent, held, type)).toBe(false)
    expect(isSameMeaning(held, sent, type)).toBe(false)
    expect(differingFields({ a: sent }, { a: held as Json }, () => type)).toEqual(['a'])
    expect(differingFields({ a: held as Json }, { a: sent }, () => type)).toEqual(['a'])
  })
})

describe('any value', () => {
  const types = [
    'text',
    'email',
    'url',
    'number',
    'currency',
    'date',
    'datetime',
    'select',
    'address',
  ]
  const type = fc.constantFrom(...types)
  const word = fc.string({ unit: fc.constantFrom(...'abAB,[]" \u00fc'), maxLength: 5 })
  const value = fc.jsonValue({ maxDepth: 2 }).map((any) => JSON.parse(JSON.stringify(any)) as Json)

  it('equals itself', () => {
    fc.assert(fc.property(value, type, (any, fieldType) => isSameMeaning(any, any, fieldType)))
  })

  it('a number equals the same number with zeros added, and no other', () => {
    const number = fc.double({ noNaN: true, noDefaultInfinity: true })
    fc.assert(
      fc.property(number, number, fc.nat(3), fc.nat(3), (a, b, left, right) => {
        const decimal = decimalOfNumber(a)
        const [whole = '', fraction = ''] = decimal.replace('-', '').split('.')
        const sign = decimal.startsWith('-') ? '-' : ''
        const padded = `${sign}${'0'.repeat(left)}${whole}.${fraction}${'0'.repeat(right + 1)}`
        expect(canonicalDecimal(padded)).toBe(decimal)
        expect(isSameMeaning(decimal, padded, 'number')).toBe(true)
        const money = (amount: string) => ({ amount, unit: 'EUR' })
        expect(isSameMeaning(money(decimal), money(padded), 'currency')).toBe(true)
        expect(isSameMeaning(decimal, decimalOfNumber(b), 'number')).toBe(a === b)
      }),
    )
  })

  it('a moment equals itself in any zone, and no other moment', () => {
    const moment = fc.date({
      min: new Date('1970-01-02T00:00:00Z'),
      max: new Date('2999-12-30T00:00:00Z'),
      noInvalidDate: true,
    })
    const minutes = fc.integer({ min: -14 * 60, max: 14 * 60 })
    fc.assert(
      fc.property(moment, minutes, fc.nat(3), (time, offset, later) => {
        const local = new Date(time.getTime() + offset * 60_000).toISOString().slice(0, -1)
        const two = (part: number) => String(Math.floor(part)).padStart(2, '0')
        const size = Math.abs(offset)
        const zoned = `${local}${offset < 0 ? '-' : '+'}${two(size / 60)}:${two(size % 60)}`
        const held = new Date(time.getTime() + later).toISOString()
        expect(isSameMeaning(zoned, held, 'datetime')).toBe(later === 0)
      }),
    )
  })

  it('texts are equal exactly where they differ by white space around them alone', () => {
    fc.assert(
      fc.property(word, word, (a, b) => {
        expect(isSameMeaning(a, b, 'text')).toBe(a.trim() === b.trim())
      }),
      { numRuns: runs(1_000) },
    )
  })

  it('lists are equal exactly where they hold the same values, in any order', () => {
    const list = fc.array(
      word.map((text) => `x${text.trim()}`),
      { minLength: 2, maxLength: 3 },
    )
    const sorted = (values: string[]) => JSON.stringify(values.toSorted())
    fc.assert(
      fc.property(list, list, (a, b) => {
        expect(isSameMeaning(a, a.toReversed(), 'text')).toBe(true)
        expect(isSameMeaning(a, b, 'text')).toBe(sorted(a) === sorted(b))
      }),
      { numRuns: runs(1_000) },
    )
  })
})

describe('differences', () => {
  it('names what was sent and is held otherwise, and ignores what was not sent', () => {
    const sent = { a: '1', b: 'x', c: 'M@x.de', gone: 'y' }
    const held = { a: '1.0', b: 'y', c: 'm@x.de', more: 'z' }
    const typeOf = (name: string) => ({ a: 'number', c: 'email' })[name] ?? 'text'
    expect(differingFields(sent, held, typeOf)).toEqual(['b', 'gone'])
  })

  it('does not find an inherited member in what is held', () => {
    expect(differingFields({ constructor: null }, {}, () => 'text')).toEqual([])
  })
})
