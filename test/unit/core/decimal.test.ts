// Decimals are exact: every function agrees with integers of any size, and with the doubles that people's numbers are.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  canonicalDecimal,
  compareDecimals,
  decimalOfNumber,
  exactDouble,
} from '../../../src/core/decimal.ts'

const scale = 40
/** A canonical decimal as an integer of 10^-40; only for at most 40 digits after the point. */
const scaled = (decimal: string): bigint => {
  const [whole = '', fraction = ''] = decimal.replace('-', '').split('.')
  const size = BigInt(whole + fraction.padEnd(scale, '0'))
  return decimal.startsWith('-') ? -size : size
}

const digits = (min: number, max: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: min, maxLength: max })
/** Decimals as people write them: signs, leading and trailing zeros, up to 30 + 30 digits. */
const written = fc
  .tuple(fc.constantFrom('', '-', '+'), digits(1, 30), fc.option(digits(1, 30)))
  .map(([sign, whole, fraction]) => sign + whole + (fraction === null ? '' : `.${fraction}`))
const canonical = written.map((text) => canonicalDecimal(text)!)
const double = fc.double({ noNaN: true, noDefaultInfinity: true })

describe('canonicalDecimal', () => {
  it.each([
    ['-12.50', '-12.5'],
    ['007', '7'],
    ['-0', '0'],
    ['-0.000', '0'],
    ['+5', '5'],
    ['0.10', '0.1'],
    ['00.010', '0.01'],
    ['100', '100'],
    ['98765432109876543210.0123456789', '98765432109876543210.0123456789'],
  ])('%s becomes %s', (text, expected) => {
    expect(canonicalDecimal(text)).toBe(expected)
  })

  it.each([
    '',
    ' ',
    '1 ',
    ' 1',
    '.',
    '.5',
    '5.',
    '+',
    '-',
    '--1',
    '+-1',
    '1e5',
    '0x10',
    '1,5',
    '1.2.3',
    '1_000',
    "1'000",
    '５',
    '٣',
    '∞',
    'NaN',
    'Infinity',
    '1\n',
    '(5)',
    '−5',
  ])('%j is not a decimal', (text) => {
    expect(canonicalDecimal(text)).toBeNull()
  })

  it('keeps the value, whatever zeros and signs it is written with', () => {
    fc.assert(
      fc.property(written, (text) => {
        const decimal = canonicalDecimal(text)!
        expect(decimal).toMatch(/^(0|-?(0\.\d*[1-9]|[1-9]\d*(\.\d*[1-9])?))$/)
        expect(scaled(decimal)).toBe(scaled(text.replace('+', '')))
        expect(canonicalDecimal(decimal)).toBe(decimal)
      }),
    )
  })
})

describe('decimalOfNumber', () => {
  it.each([
    [1e21, '1000000000000000000000'],
    [1.5e-7, '0.00000015'],
    [-1.25e22, '-12500000000000000000000'],
    [1e-7, '0.0000001'],
    [-0, '0'],
    [0.1 + 0.2, '0.30000000000000004'],
    [5e-324, `0.${'0'.repeat(323)}5`],
    [Number.MAX_SAFE_INTEGER, '9007199254740991'],
  ])('%d becomes %s', (value, expected) => {
    expect(decimalOfNumber(value)).toBe(expected)
  })

  it('is a canonical decimal that reads back as the same number', () => {
    fc.assert(
      fc.property(double, (value) => {
        const text = decimalOfNumber(value)
        expect(canonicalDecimal(text)).toBe(text)
        expect(Number(text) === value).toBe(true)
      }),
    )
  })
})

describe('exactDouble', () => {
  it.each([
    ['0', 0],
    ['-0', 0],
    ['0.1', 0.1],
    ['0010.50', 10.5],
    ['9007199254740991', 9007199254740991],
    ['123456789012345', 123456789012345],
    ['9007199254740993', null],
    ['12345678901234567890', null],
    ['0.10000000000000000001', null],
    [`1${'0'.repeat(400)}`, null],
    ['', null],
    ['1e5', null],
  ])('%s gives %s', (text, expected) => {
    expect(exactDouble(text)).toBe(expected)
  })

  it('never stands for another decimal', () => {
    fc.assert(
      fc.property(written, (text) => {
        const number = exactDouble(text)
        if (number !== null) expect(decimalOfNumber(number)).toBe(canonicalDecimal(text))
      }),
    )
  })

  it('holds every double and every decimal of 15 digits', () => {
    fc.assert(
      fc.property(double, (value) => {
        expect(exactDouble(decimalOfNumber(value))).toBe(value === 0 ? 0 : value)
      }),
    )
    fc.assert(
      fc.property(digits(1, 8), digits(1, 7), (whole, fraction) => {
        expect(exactDouble(`${whole}.${fraction}`)).not.toBeNull()
      }),
    )
  })
})

describe('compareDecimals', () => {
  it.each([
    ['2', '10', -1],
    ['-2', '-10', 1],
    ['-1', '1', -1],
    ['0.5', '0.45', 1],
    ['0.5', '0.55', -1],
    ['-0.5', '-0.55', 1],
    ['0', '-0.1', 1],
    ['1.1', '1.1', 0],
    // Each pair shares a double.
    ['9007199254740993', '9007199254740992', 1],
    ['9007199254740.993', '9007199254740.992', 1],
  ])('%s against %s is %d', (a, b, expected) => {
    expect(Math.sign(compareDecimals(a, b))).toBe(expected)
  })

  it('orders as integers do', () => {
    // Pairs that share a prefix, so that the difference is often far behind.
    const pair = fc.oneof(
      fc.tuple(canonical, canonical),
      fc
        .tuple(digits(1, 5), digits(1, 5), digits(0, 5), digits(0, 5), fc.constantFrom('', '-'))
        .map(([whole, prefix, a, b, sign]) =>
          [a, b].map((end) => canonicalDecimal(`${sign}${whole}.${prefix}${end}`)!),
        ),
    )
    fc.assert(
      fc.property(pair, ([a, b]) => {
        const difference = scaled(a!) - scaled(b!)
        const expected = difference === 0n ? 0 : difference < 0n ? -1 : 1
        expect(Math.sign(compareDecimals(a!, b!))).toBe(expected)
      }),
    )
  })
})
