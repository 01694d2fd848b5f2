import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FieldTypeWire, ObjectSchema } from '../../../src/contract/index.ts'
import { compareMoney } from '../../../src/service/schema/currency.ts'
import { FIELD_TYPES, isStoredEqual } from '../../../src/service/schema/field-types.ts'
import type { StoredValue } from '../../../src/service/schema/field-types.ts'
import { SYSTEM_TYPES } from '../../../src/service/schema/system-types.ts'

const parse = (name: string, raw: unknown) => FIELD_TYPES.get(name)!.parse(raw)

describe('a written value', () => {
  it.each([
    ['text', ' as it is ', ' as it is '],
    ['email', '  Ada.B@Example.COM ', 'ada.b@example.com'],
    ['phone', '+49 (30) 123-45 x6', '+49 (30) 123-45 x6'],
    ['url', ' https://example.com/A?b=C ', 'https://example.com/A?b=C'],
    ['number', 123456789.012345, 123456789.012345],
    ['number', 1e300, 1e300],
    ['number', 5e-7, 5e-7],
    ['boolean', false, false],
    ['date', '2024-02-29', '2024-02-29'],
    ['datetime', '2024-02-29T23:30:00.123-01:00', '2024-03-01T00:30:00.123Z'],
    ['datetime', '2024-02-29T23:30:00.120000000000Z', '2024-02-29T23:30:00.120Z'],
    ['datetime', '2026-01-01t00:00:00z', '2026-01-01T00:00:00.000Z'],
    ['user', 'usr_1', 'usr_1'],
  ])('of type %s: %j is stored as %j', (name, raw, stored) => {
    expect(parse(name, raw)).toBe(stored)
  })

  it('of type number has no negative zero', () => {
    expect(Object.is(parse('number', -0), 0)).toBe(true)
  })

  it('of type currency is a canonical decimal', () => {
    expect(parse('currency', { amount: '-007.50', unit: 'EUR' })).toEqual({
      amount: '-7.5',
      unit: 'EUR',
    })
  })

  it.each([
    ['text', 1],
    ['email', 'ada'],
    ['email', 'ada@example'],
    ['email', 'ada@@example.com'],
    ['email', 'ada b@example.com'],
    ['phone', 'call me'],
    ['phone', '()'],
    ['url', 'example.com'],
    ['url', 'ftp://example.com'],
    ['url', 'javascript:alert(1)'],
    ['number', '1'],
    ['number', 0.1 + 0.2],
    ['number', Number.MAX_SAFE_INTEGER],
    ['boolean', 'true'],
    ['date', '2023-02-29'],
    ['date', '1900-02-29'],
    ['date', '2026-04-31'],
    ['date', '2026-13-01'],
    ['date', '2026-1-1'],
    ['date', '2026-01-01T00:00:00Z'],
    ['datetime', '2026-01-01'],
    ['datetime', '2026-01-01T00:00:00'],
    ['datetime', '2026-02-30T00:00:00Z'],
    ['datetime', '2026-01-01T24:00:00Z'],
    ['datetime', '2024-01-01T00:00:00.123456789Z'],
    ['datetime', '2024-01-01T00:00:00.1230001Z'],
    ['datetime', '9999-12-31T23:59:59-01:00'],
    ['datetime', '0001-01-01T00:00:00+01:00'],
    ['currency', '1 EUR'],
    ['currency', { amount: 1, unit: 'EUR' }],
    ['currency', { amount: '1', unit: 'XXX' }],
    ['currency', { amount: '1', unit: 'toString' }],
    ['currency', { amount: '1e3', unit: 'EUR' }],
    ['currency', { amount: '9'.repeat(31), unit: 'EUR' }],
    ['currency', { amount: '1', unit: 'EUR', note: '' }],
    ['user', 'somebody else'],
  ])('of type %s cannot be %j', (name, raw) => {
    expect(parse(name, raw)).toBeUndefined()
  })

  it('is among the options of its property', () => {
    const stage = SYSTEM_TYPES.get('svc_deal')!.properties.get('svc_stage')!
    expect(stage.parse('won')).toBe('won')
    expect(stage.parse('lost for ever')).toBeUndefined()
    const tags = SYSTEM_TYPES.get('svc_deal')!.properties.get('svc_tags')!
    expect(tags.parse(['vip', 'press'])).toEqual(['vip', 'press'])
    expect(tags.parse(['vip', 'nobody'])).toBeUndefined()
    expect(tags.parse('vip')).toBeUndefined()
  })
})

describe('stored values', () => {
  it('keep their form when they are written again', () => {
    const raw: [string, fc.Arbitrary<unknown>][] = [
      ['email', fc.emailAddress()],
      ['url', fc.webUrl()],
      ['number', fc.double({ noNaN: true })],
      [
        'datetime',
        fc
          .tuple(
            fc.date({
              min: new Date('0001-01-01T00:00:00Z'),
              max: new Date('9999-12-31T23:59:59Z'),
              noInvalidDate: true,
            }),
            fc.constantFrom('Z', '+23:59', '-23:59'),
          )
          .map(([date, offset]) => date.toISOString().replace('Z', offset)),
      ],
      [
        'currency',
        fc.record({
          amount: fc.stringMatching(/^-?\d{1,5}(\.\d{1,4})?$/),
          unit: fc.constant('EUR'),
        }),
      ],
    ]
    for (const [name, values] of raw) {
      fc.assert(
        fc.property(values, (value) => {
          const stored = parse(name, value)
          if (stored === undefined) return
          expect(parse(name, stored)).toEqual(stored)
        }),
      )
    }
  })

  it('compare currencies by worth, exactly', () => {
    const euro = (amount: string) => ({ amount, unit: 'EUR' })
    expect(compareMoney(euro('10'), { amount: '10', unit: 'USD' })).toBeGreaterThan(0)
    expect(compareMoney(euro('0.92'), { amount: '1', unit: 'USD' })).toBe(0)
    expect(
      compareMoney(euro('0.920000000000000000001'), { amount: '1', unit: 'USD' }),
    ).toBeGreaterThan(0)
    expect(compareMoney(euro('-1'), { amount: '-0.5', unit: 'GBP' })).toBeLessThan(0)
    const money = fc.record({
      amount: fc
        .bigInt({ min: -(10n ** 20n), max: 10n ** 20n })
        .map((each) => `${each}.25`.replace('-0.', '0.')),
      unit: fc.constantFrom('EUR', 'USD', 'JPY'),
    })
    fc.assert(
      fc.property(money, money, money, (a, b, c) => {
        const sign = (x: typeof a, y: typeof a) => Math.sign(compareMoney(x, y))
        expect(sign(a, b) + sign(b, a)).toBe(0)
        if (sign(a, b) <= 0 && sign(b, c) <= 0) expect(sign(a, c)).toBeLessThanOrEqual(0)
      }),
    )
  })

  it('are equal when every part is', () => {
    const money = { amount: '1', unit: 'EUR' }
    const pairs: [StoredValue, StoredValue, boolean][] = [
      [money, { ...money }, true],
      [money, { amount: '1', unit: 'USD' }, false],
      [['a', 'b'], ['a', 'b'], true],
      [['a', 'b'], ['b', 'a'], false],
      [['a'], 'a', false],
      [null, ['a'], false],
    ]
    for (const [a, b, equal] of pairs) {
      expect(isStoredEqual(a, b)).toBe(equal)
      expect(isStoredEqual(b, a)).toBe(equal)
    }
  })
})

describe('the schema', () => {
  it('keeps to the contract, and names only field types that exist', () => {
    for (const type of FIELD_TYPES.values()) FieldTypeWire.parse(type.wire)
    expect([...FIELD_TYPES.keys()]).toHaveLength(13)
    for (const type of SYSTEM_TYPES.values()) {
      const { properties } = ObjectSchema.parse(type.schema)
      for (const property of properties) {
        const field = FIELD_TYPES.get(property.field_type)!
        expect(property.operators).toEqual(field.wire.operators)
        const isChoice = ['select', 'multi_select'].includes(property.field_type)
        expect(property.options.length > 0).toBe(isChoice)
      }
    }
  })
})
