// The canonical text depends on the value alone, so that hashes and digests do.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PropertyValue } from '../../../src/contract/schemas/representations.ts'
import {
  canonicalJson,
  isJsonObject,
  isTooDeep,
  JSON_DEPTH_MAX,
  type Json,
  writeJson,
} from '../../../src/core/json.ts'
import { LosslessNumber } from '../../../src/core/lossless-number.ts'

/** The same value with the keys of every object in another order. */
function turned(value: Json): Json {
  if (Array.isArray(value)) return value.map((part) => turned(part as Json))
  if (!isJsonObject(value)) return value
  // `fromEntries` defines own members, `__proto__` too.
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, part]) => [key, turned(part)]),
  )
}

const value = fc.jsonValue().map((any) => JSON.parse(JSON.stringify(any)) as Json)

describe('of any depth', () => {
  const SHAPES: readonly (readonly [string, string, string])[] = [
    ['lists', '[', ']'],
    ['lists with a value before', '[1,', ']'],
    ['objects', '{"a":', '}'],
    ['objects with a member after', '{"a":', ',"b":2}'],
    ['lists in objects', '{"a":[', ']}'],
  ]
  const cases = SHAPES.flatMap(([name, open, close]) =>
    [1, 10, 499, 501, 3_000, 40_000].map((levels) => [name, levels, open, close] as const),
  )
  it.each(cases)('%s, %i levels: the text is the same', (_, levels, open, close) => {
    for (const leaf of ['1', '9007199254740993']) {
      let value: Json = leaf === '1' ? 1 : new LosslessNumber(leaf)
      for (let level = 0; level < levels; level++) value = within(open, close, value)
      const text = `${open.repeat(levels)}${leaf}${close.repeat(levels)}`
      expect(canonicalJson(value) === text).toBe(true)
      expect(writeJson(value) === text).toBe(true)
      const depth = levels * (open.match(/[[{]/g) ?? []).length
      expect(isTooDeep(value)).toBe(depth > JSON_DEPTH_MAX)
      expect(PropertyValue.safeParse(value).success).toBe(true)
    }
  })

  /** The value inside one level of the shape. */
  const within = (open: string, close: string, value: Json): Json => {
    const list = open.includes('[') ? (open === '[1,' ? [1, value] : [value]) : value
    if (!open.includes('{')) return list
    return close.includes('b') ? { a: list, b: 2 } : { a: list }
  }
})

describe('canonicalJson', () => {
  it('orders keys by code unit, at every depth, without white space', () => {
    const nested = { b: [{ z: 1, a: null }], a: 'x y', B: true, é: 1, 10: 1, 9: 2 }
    expect(canonicalJson(nested)).toBe(
      '{"10":1,"9":2,"B":true,"a":"x y","b":[{"a":null,"z":1}],"é":1}',
    )
  })

  it('keeps the order of arrays', () => {
    expect(canonicalJson(['b', 'a'])).not.toBe(canonicalJson(['a', 'b']))
  })

  it('keeps a member named __proto__', () => {
    expect(canonicalJson(JSON.parse('{"b":1,"__proto__":{"a":1}}') as Json)).toBe(
      '{"__proto__":{"a":1},"b":1}',
    )
  })

  it('depends on the value, not on the order in which keys arrived', () => {
    fc.assert(fc.property(value, (any) => canonicalJson(turned(any)) === canonicalJson(any)))
  })

  it('is JSON of the same value', () => {
    fc.assert(
      fc.property(value, (any) => {
        const text = canonicalJson(any)
        expect(JSON.parse(text)).toEqual(any)
        expect(canonicalJson(JSON.parse(text) as Json)).toBe(text)
      }),
    )
  })

  it('differs where values differ', () => {
    fc.assert(
      fc.property(value, value, (a, b) => {
        let same = true
        try {
          expect(a).toEqual(b)
        } catch {
          same = false
        }
        expect(canonicalJson(a) === canonicalJson(b)).toBe(same)
      }),
    )
  })
})

describe('isJsonObject', () => {
  it.each([
    [{}, true],
    [[], false],
    [null, false],
    ['{}', false],
    [undefined, false],
  ])('%j: %s', (any, expected) => {
    expect(isJsonObject(any)).toBe(expected)
  })
})

it('a text is written as JSON.stringify writes it, every character of it', () => {
  for (let code = 0; code < 0x1_0000; code++) {
    const text = `a${String.fromCharCode(code)}`
    if (writeJson(text) !== JSON.stringify(text)) expect.fail(`U+${code.toString(16)}`)
  }
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => writeJson(text) === JSON.stringify(text)),
  )
})
