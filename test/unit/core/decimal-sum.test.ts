// Sums and averages agree with integers of any size, whatever mixture of fast and slow addends they are made of.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalDecimal, decimalOfNumber } from '../../../src/core/decimal.ts'
import { AVERAGE_DIGITS, DecimalSum } from '../../../src/core/decimal-sum.ts'

type Addend = string | number

const sumOf = (addends: Addend[]): DecimalSum => {
  const sum = new DecimalSum()
  for (const each of addends) sum.add(each)
  return sum
}

/** Enough fractional digits for every double, and for dividing by a power of two after that. */
const scale = 1_100
const scaled = (addend: Addend): bigint => {
  const text = typeof addend === 'number' ? decimalOfNumber(addend) : addend
  const [whole = '', fraction = ''] = text.split('.')
  return BigInt(whole + fraction.padEnd(scale, '0'))
}
const fractionDigits = (addend: Addend): number =>
  (typeof addend === 'number' ? decimalOfNumber(addend) : addend).split('.')[1]?.length ?? 0

const digits = (max: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: max })
const decimal = fc
  .tuple(fc.constantFrom('', '-'), digits(20), digits(20))
  .map(([sign, whole, fraction]) => canonicalDecimal(`${sign}${whole}.${fraction}`)!)
/** Where the fast path ends: 10^15 units of 10^-4, 15 characters, the greatest safe integer. */
const edge = fc
  .tuple(
    fc.constantFrom(1e11, 1e14, 1e15, 2 ** 53, 9.00719925474e11, 0.0001, 0.00005, 0.1),
    fc.integer({ min: -3, max: 3 }),
    fc.constantFrom(0, 0.0001, 0.5, 1),
    fc.constantFrom(1, -1),
  )
  .map(([base, steps, step, sign]) => sign * (base + steps * step))
const addends = fc.array(
  fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.double({ noNaN: true, min: -1e6, max: 1e6 }),
    fc.integer(),
    fc.integer({ min: -99_999_999, max: 99_999_999 }).map((cents) => cents / 100),
    edge,
    decimal,
  ),
  { maxLength: 30 },
)

it('sums that were made apart are added as if they were one', () => {
  fc.assert(
    fc.property(addends, addends, (some, others) => {
      const sum = sumOf(some)
      sum.addSum(sumOf(others))
      const whole = sumOf([...some, ...others])
      expect([sum.total(), sum.average()]).toEqual([whole.total(), whole.average()])
    }),
  )
})

describe('total', () => {
  it.each<[Addend[], string | null]>([
    [[], null],
    [[0], '0'],
    [[-0], '0'],
    [[0.1, 0.2], '0.3'],
    [['0.1', 0.2, '-0.3'], '0'],
    [[1e308, 1e308, -1e308], `1${'0'.repeat(308)}`],
    [[5e-324, 1], `1.${'0'.repeat(323)}5`],
    [[Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER], '18014398509481982'],
    [Array.from({ length: 100 }, () => 99_999_999_999.9999), '9999999999999.99'],
    [['98765432109876543210.0123456789', '0.0000000001'], '98765432109876543210.012345679'],
    [[0.30000000000000004], '0.30000000000000004'],
  ])('of %j is %s', (list, expected) => {
    expect(sumOf(list).total()).toBe(expected)
  })

  it('is exact', () => {
    fc.assert(
      fc.property(addends, (list) => {
        fc.pre(list.length > 0)
        const total = sumOf(list).total()!
        expect(canonicalDecimal(total)).toBe(total)
        expect(scaled(total)).toBe(list.reduce((sum, each) => sum + scaled(each), 0n))
      }),
    )
  })

  it('may be asked in between', () => {
    const sum = sumOf([0.1])
    expect(sum.total()).toBe('0.1')
    sum.add('123456789012345678.00001')
    expect(sum.total()).toBe('123456789012345678.10001')
    sum.add(-0.1)
    expect(sum.total()).toBe('123456789012345678.00001')
  })
})

describe('average', () => {
  const tiny = `0.${'0'.repeat(19)}1`
  it.each<[Addend[], string | null]>([
    [[], null],
    [[7], '7'],
    [[1, 2], '1.5'],
    [[1, 1, 0], '0.66666666666666666667'],
    [[-1, 0, 0], '-0.33333333333333333333'],
    // Half of the last digit goes to the even one.
    [[tiny, 0], '0'],
    [[tiny, tiny, tiny, 0, 0, 0], '0'],
    [[`0.${'0'.repeat(19)}3`, 0], `0.${'0'.repeat(19)}2`],
    [[`-0.${'0'.repeat(19)}3`, 0], `-0.${'0'.repeat(19)}2`],
    [[`-0.${'0'.repeat(19)}5`, 0], `-0.${'0'.repeat(19)}2`],
    // An addend that has more digits keeps them.
    [[1e-30], `0.${'0'.repeat(29)}1`],
    [[1e-30, 3e-30], `0.${'0'.repeat(29)}2`],
  ])('of %j is %s', (list, expected) => {
    expect(sumOf(list).average()).toBe(expected)
  })

  it('is the nearest decimal of its digits, the even one of two', () => {
    fc.assert(
      fc.property(addends, (list) => {
        fc.pre(list.length > 0)
        const average = sumOf(list).average()!
        expect(canonicalDecimal(average)).toBe(average)
        const places = Math.max(AVERAGE_DIGITS, ...list.map(fractionDigits))
        expect(fractionDigits(average)).toBeLessThanOrEqual(places)
        const unit = 10n ** BigInt(scale - places)
        const count = BigInt(list.length)
        const total = list.reduce((sum, each) => sum + scaled(each), 0n)
        const error = 2n * (total - scaled(average) * count)
        const size = error < 0n ? -error : error
        expect(size <= unit * count).toBe(true)
        if (size === unit * count) expect((scaled(average) / unit) % 2n).toBe(0n)
      }),
    )
  })

  it('lies between the least and the greatest addend', () => {
    fc.assert(
      fc.property(addends, (list) => {
        fc.pre(list.length > 0)
        const average = scaled(sumOf(list).average()!)
        const sizes = list.map(scaled)
        expect(sizes.some((each) => each <= average)).toBe(true)
        expect(sizes.some((each) => each >= average)).toBe(true)
      }),
    )
  })
})
