// What a plan takes for a change: texts character for character, lists in their order, numbers and times by what they mean.

import { describe, expect, it } from 'vitest'
import type { Json } from '../../../src/core/json.ts'
import { changedFields, isWrittenSame } from '../../../src/import/look/as-written.ts'

type Pair = [type: string, one: Json, other: Json | undefined]

describe('the same', () => {
  it.each<Pair>([
    ['text', null, undefined],
    ['text', [], null],
    ['text', '', null],
    ['text', ['a'], 'a'],
    ['text', '10', 10],
    ['email', ['a@x.de', 'b@x.de'], ['a@x.de', 'b@x.de']],
    ['number', '10.5', '10.50'],
    ['number', 10.5, '10.5'],
    ['currency', { amount: '10.5', unit: 'EUR' }, { unit: 'EUR', amount: '10.500' }],
    ['datetime', '2026-01-31T08:15:00+01:00', '2026-01-31T07:15:00.000Z'],
    [
      'datetime',
      ['2026-01-31T08:15:00+01:00', '2026-02-01T00:00:00Z'],
      ['2026-01-31T07:15:00Z', '2026-02-01T00:00:00Z'],
    ],
    ['date', '2026-01-31', '2026-01-31'],
    ['boolean', true, true],
    ['address', { a: 1, b: [2] }, { b: [2], a: 1 }],
  ])('%s %j and %j', (type, one, other) => {
    expect(isWrittenSame(one, other, type)).toBe(true)
    expect(isWrittenSame(other, one, type)).toBe(true)
  })
})

describe('another value', () => {
  it.each<Pair>([
    ['text', 'a', 'A'],
    ['text', 'a', ' a'],
    ['text', 'Ju\u0308rgen', 'J\u00fcrgen'],
    ['text', '1', '1.0'],
    ['text', ['a', 'b'], ['b', 'a']],
    ['text', ['a', 'b'], 'a'],
    ['text', 'a', null],
    ['text', ['a","b'], ['a', 'b']],
    ['email', 'Ada@example.com', 'ada@example.com'],
    ['phone', '+49 30 1', '+49301'],
    ['url', 'https://x.example/A', 'https://x.example/a'],
    ['url', 'https://X.example', 'https://x.example'],
    ['multi_select', ['a', 'b'], ['b', 'a']],
    ['number', '10.5', '10.51'],
    ['currency', { amount: '10', unit: 'EUR' }, { amount: '10', unit: 'USD' }],
    ['datetime', '2026-01-31T08:15:00Z', '2026-01-31T08:15:00+01:00'],
    ['boolean', true, false],
  ])('%s %j and %j', (type, one, other) => {
    expect(isWrittenSame(one, other, type)).toBe(false)
    expect(changedFields({ a: one }, { a: other as Json }, () => type)).toEqual(['a'])
  })
})
