// When a value that is sent is the one that a test expects: numbers as numbers, all else letter by letter.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { WrittenText } from '../../../config/index.ts'
import type { Json } from '../../../src/core/json.ts'
import { parseJson } from '../../../src/core/json.ts'
import { isAsExpected, shownValue } from '../../../src/mapping-tests/expected-value.ts'

const is = (sent: Json | undefined, expected: WrittenText, type = 'text', split?: string) =>
  isAsExpected(sent, expected, { type, split })

const EUR = { amount: '1200.5', unit: 'EUR' }

test.each<[Json | undefined, WrittenText, string, string?]>([
  [undefined, '(not sent)', 'text'],
  [null, '(cleared)', 'text'],
  ['a', 'a', 'text'],
  ['0012', '0012', 'text'],
  ['1.50', '1.5', 'number'],
  [1.5, '1.50', 'number'],
  [parseJson('12345678901234567891'), '12345678901234567891.0', 'number'],
  [true, 'TRUE', 'boolean'],
  [false, 'false', 'boolean'],
  [EUR, '1200.50 EUR', 'currency'],
  [EUR, { amount: '1200.50', unit: 'EUR' }, 'currency'],
  [['a'], 'a', 'email'],
  [['a', 'b'], ['a', 'b'], 'email'],
  [['a', 'b'], 'a; b;', 'email', ';'],
  [['a', ' b'], 'a; b', 'text', ';'],
  [['a;b'], 'a;b', 'text'],
  [{ a: [1, { b: null }] }, '{"a": [1.0, {"b": null}]}', 'json'],
])('%j is what %j expects', (sent, expected, type, split) => {
  expect(is(sent, expected, type, split)).toBe(true)
})

test.each<[Json | undefined, WrittenText, string, string?]>([
  [undefined, '(cleared)', 'text'],
  [undefined, '', 'text'],
  [null, '(not sent)', 'text'],
  [null, '', 'text'],
  ['12', '0012', 'text'],
  ['1.50', '1.5', 'text'],
  ['a', 'A', 'email'],
  ['a', ' a', 'text'],
  ['a', ['a'], 'text'],
  [1.5, '1.51', 'number'],
  [parseJson('12345678901234567891'), '12345678901234567890', 'number'],
  [true, '1', 'boolean'],
  [EUR, '1200.51 EUR', 'currency'],
  [EUR, '1200.50 USD', 'currency'],
  [EUR, '1200.50', 'currency'],
  [EUR, { amount: '1200.50' }, 'currency'],
  [['a', 'b'], ['b', 'a'], 'email'],
  [['a', 'b'], 'a', 'email'],
  [['a'], ['a', 'b'], 'email'],
  [{ a: 1 }, '{"a": 2}', 'json'],
  [{ a: 1 }, 'a 1', 'json'],
])('%j is not what %j expects', (sent, expected, type, split) => {
  expect(is(sent, expected, type, split)).toBe(false)
})

test('a text is only what it is, letter by letter', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (sent, expected) => {
      expect(is(sent, expected)).toBe(sent === expected)
    }),
  )
})

test('a value is shown as it may be written', () => {
  expect([undefined, null, 1.5, true, EUR, ['a', 'b'], { a: 1 }].map(shownValue)).toEqual([
    '(not sent)',
    '(cleared)',
    '1.5',
    'true',
    '1200.5 EUR',
    '[a, b]',
    '{"a":1}',
  ])
})
