// Numbers of a JSON text keep their digits: what JavaScript holds is a number, what it does not hold is a LosslessNumber, and
// the oracle is integers of any size.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decimalOfNumber } from '../../../src/core/decimal.ts'
import { canonicalJson, parseJson, writeJson, type Json } from '../../../src/core/json.ts'
import {
  LosslessNumber,
  canonicalNumber,
  plainDecimal,
  isExactDouble,
  numberFromDecimal,
  digitCounts,
} from '../../../src/core/lossless-number.ts'
import { runs } from '../../runs.ts'

/** A number of JSON as an integer of 10^-`SCALE`. */
const SCALE = 2_000
function scaled(text: string): bigint {
  const [, sign, whole = '', fraction = '', power = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const size = BigInt(whole + fraction) * 10n ** BigInt(SCALE + Number(power) - fraction.length)
  return sign === '-' ? -size : size
}

const digits = (min: number, max: number) =>
  fc.string({ unit: fc.constantFrom(...'0001234567899'), minLength: min, maxLength: max })
const whole = digits(1, 25).map((text) => text.replace(/^0+(?=\d)/, ''))
/** Numbers as JSON may write them. */
const number = fc
  .tuple(
    fc.constantFrom('', '-'),
    whole,
    fc.option(digits(1, 25)),
    fc.option(fc.tuple(fc.constantFrom('e', 'E', 'e+', 'e-'), fc.integer({ min: 0, max: 450 }))),
  )
  .map(([sign, before, after, power]) =>
    [sign, before, after === null ? '' : `.${after}`, power === null ? '' : power.join('')].join(
      '',
    ),
  )
const asRead = (text: string) => parseJson(`[${text}]`) as readonly Json[]

describe('parseJson', () => {
  it('gives every number as what it is', () => {
    fc.assert(
      fc.property(number, (text) => {
        const [read] = asRead(text)
        if (typeof read === 'number') expect(scaled(decimalOfNumber(read))).toBe(scaled(text))
        else {
          expect(read).toEqual(new LosslessNumber(text))
          const value = Number(text)
          if (Number.isFinite(value)) expect(scaled(decimalOfNumber(value))).not.toBe(scaled(text))
        }
      }),
      { numRuns: runs(2_000) },
    )
  })

  it.each([
    '9007199254740993',
    '-0.1000000000000000055',
    '1e400',
    '5E-400',
    '123456789.0123456789',
  ])('finds %s wherever it is in a text', (written) => {
    for (let before = 0; before < 40; before++) {
      const text = `{"a":"${'x'.repeat(before)}","b":[1,${written}]}`
      expect(parseJson(text)).toEqual({
        a: 'x'.repeat(before),
        b: [1, new LosslessNumber(written)],
      })
    }
  })

  it('reads all else as JSON.parse does, and writes it again', () => {
    const leaf = fc.oneof(
      number
        .map((text) => ({ text, value: asRead(text)[0]! }))
        // JSON.stringify writes -0 as 0.
        .filter(({ value }) => !Object.is(value, -0)),
      fc
        .oneof(
          fc.string(),
          number,
          fc.constantFrom('n1', 's', '"', '\\"', '\u2028', ', 12e5', ':12e5'),
        )
        .map((value) => ({ text: JSON.stringify(value), value: value as Json })),
      fc.constantFrom(null, true, false).map((value) => ({ text: String(value), value })),
    )
    type Part = { text: string; value: Json }
    const space = fc.constantFrom('', ' ', '\n\t')
    const { tree } = fc.letrec<{ tree: Part }>((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small' },
        leaf,
        fc.array(tie('tree'), { maxLength: 5 }).map((parts) => ({
          text: `[${parts.map(({ text }) => text).join(' ,')}]`,
          value: parts.map(({ value }) => value),
        })),
        fc
          .tuple(
            fc.uniqueArray(fc.tuple(fc.string(), tie('tree')), { selector: ([name]) => name }),
            space,
          )
          .map(([members, gap]) => ({
            text: `{${members.map(([name, { text }]) => `${JSON.stringify(name)}${gap}:${gap}${text}`).join()}}`,
            value: Object.fromEntries(members.map(([name, { value }]) => [name, value])),
          })),
      ),
    }))
    fc.assert(
      fc.property(tree, ({ text, value }) => {
        const read = parseJson(text)
        expect(read).toEqual(value)
        expect(parseJson(writeJson(read))).toEqual(value)
        expect(canonicalJson(parseJson(canonicalJson(read)))).toBe(canonicalJson(value))
      }),
      { numRuns: runs(500) },
    )
  })

  it.each(['{', '[1,]', '[9007199254740993', '[0123456789012345678]', '[1e]', ''])(
    'refuses %j as JSON.parse does',
    (text) => expect(() => parseJson(text)).toThrow(SyntaxError),
  )

  it('keeps a number that is the whole text', () => {
    expect(parseJson(' 9007199254740993 ')).toEqual(new LosslessNumber('9007199254740993'))
    expect(parseJson('12')).toBe(12)
  })

  it('is fast where a number has very many zeros', () => {
    const zeros = '0'.repeat(1_000_000)
    const [read] = asRead(`0.${zeros}1`)
    expect(read).toBeInstanceOf(LosslessNumber)
    expect(canonicalNumber((read as LosslessNumber).text)).toBe('1e-1000001')
  })
})

describe('canonicalNumber', () => {
  it('is the same text for the same value, and only for that', () => {
    fc.assert(
      fc.property(number, number, fc.integer({ min: 0, max: 400 }), (a, b, zeros) => {
        const same = canonicalNumber(a) === canonicalNumber(b)
        expect(same).toBe(scaled(a) === scaled(b))
        expect(scaled(canonicalNumber(a)!)).toBe(scaled(a))
        // The same value in another form.
        const moved = /[.e]/i.test(a) ? a : `${a}.${'0'.repeat(zeros + 1)}`
        expect(canonicalNumber(moved)).toBe(canonicalNumber(a))
        const plain = `1${'0'.repeat(zeros)}`
        expect(canonicalNumber(plain)).toBe(canonicalNumber(`1e${zeros}`))
      }),
      { numRuns: runs(2_000) },
    )
  })

  it.each([
    ['9007199254740993', '9007199254740993'],
    ['12345678901234567890123.50', '12345678901234567890123.5'],
    ['1E400', '1e+400'],
    ['-12.50e-400', '-1.25e-399'],
    ['-0.000', '0'],
    ['0e9999999999999999999', '0'],
    ['1e9999999999999999999', '1e9999999999999999999'],
    ['abc', null],
  ])('%s is %s', (text, expected) => expect(canonicalNumber(text)).toBe(expected))
})

describe('LosslessNumber', () => {
  it('is its text', () => {
    const long = new LosslessNumber('9007199254740993')
    expect([String(long), JSON.stringify({ long }), writeJson({ long })]).toEqual([
      '9007199254740993',
      '{"long":"9007199254740993"}',
      '{"long":9007199254740993}',
    ])
  })

  it.each(['', '01', '1.', '.5', '+1', '1 ', 'NaN', '1,"x":2'])('cannot be %j', (text) =>
    expect(() => new LosslessNumber(text)).toThrow(TypeError),
  )

  it('has a plain decimal where that says something', () => {
    expect(plainDecimal(new LosslessNumber('1.5e20'))).toBe('150000000000000000000')
    expect(plainDecimal(new LosslessNumber('1e400'))).toBeNull()
    expect(numberFromDecimal('12.5')).toBe(12.5)
    expect(numberFromDecimal('9007199254740993')).toEqual(new LosslessNumber('9007199254740993'))
  })

  it('has a width', () => {
    expect(digitCounts(new LosslessNumber('1e400'))).toEqual({ whole: 401, fraction: 0 })
    expect(digitCounts(new LosslessNumber('12.345e-2'))).toEqual({ whole: 2, fraction: 5 })
  })

  it.each([
    ['9007199254740991', true],
    ['9007199254740993', false],
    ['1e400', false],
    ['1e-400', false],
    ['5e-324', true],
    ['1.0000000000000000001', false],
    ['0.1', true],
    ['1e+29', true],
    ['99999999999999999999999999999.999999999', false],
  ])('JavaScript holds %s: %s', (text, held) => expect(isExactDouble(text)).toBe(held))
})
