// The rank of a watermark's value sorts as a text the way the values sort.

import { expect, test } from 'vitest'
import { isRankAfter, rankOf } from '../../../src/core/domain/watermark-rank.ts'
import { isGreater, type ColumnOrder } from '../../../src/core/domain/watermark.ts'

const VALUES: Readonly<Record<ColumnOrder, readonly string[]>> = {
  number: [
    '0',
    '-0',
    '1',
    '-1',
    '1.5',
    '-1.5',
    '10',
    '100',
    '1000',
    '-1000',
    '-999.999',
    '0.1',
    '0.01',
    '0.009',
    '-0.1',
    '-0.01',
    '9007199254740993',
    '9007199254740992',
    '123456789012345678901234567890',
    '-123456789012345678901234567890',
    '007',
    '12.50',
    '12.5',
    '99',
    '0.000000000000000000001',
    `1${'0'.repeat(309)}`,
  ],
  time: [
    '2026-01-01',
    '2026-01-01T00:00:00Z',
    '2026-01-01T00:00:00.5Z',
    '2026-01-01T00:00:00.51Z',
    '2025-12-31',
    '0001-01-01',
    '9999-12-31T23:59:59.999999Z',
    '2026-02-01',
    '2026-01-01T00:00:01Z',
    '2026-01-01T00:00:00.000001Z',
  ],
  text: [
    '',
    'a',
    'A',
    'ab',
    'b',
    'é',
    'e\u0301',
    'z',
    '10',
    '9',
    '\uFFFD',
    '😀',
    '\u{10FFFF}',
    ' ',
    '~',
    'ß',
    'ss',
  ],
}

const PAIRS = Object.entries(VALUES).flatMap(([order, values]) =>
  values.flatMap((a) => values.map((b) => [order as ColumnOrder, a, b] as const)),
)

test('is greater exactly where the value is, by bytes too', () => {
  expect(PAIRS.length).toBeGreaterThan(900)
  for (const [order, a, b] of PAIRS) {
    const [one, other] = [a, b].map((value) => rankOf({ column: 'at', order, value })!)
    const expected = isGreater(order, a, b)
    expect([order, a, b, isRankAfter(one!, other!)]).toEqual([order, a, b, expected])
    expect([order, a, b, Buffer.compare(Buffer.from(one!), Buffer.from(other!)) > 0]).toEqual([
      order,
      a,
      b,
      expected,
    ])
  }
})

test('of another column, or in another order, is not compared', () => {
  const one = rankOf({ column: 'at', order: 'number', value: '2' })!
  for (const other of [
    rankOf({ column: 'on', order: 'number', value: '1' })!,
    rankOf({ column: 'at', order: 'text', value: '1' })!,
    undefined,
  ])
    expect([isRankAfter(one, other), isRankAfter(other, one)]).toEqual([false, false])
})

test.each([
  ['time', '10000-01-01'],
  ['time', 'infinity'],
  ['text', 'a\0b'],
  ['text', 'x'.repeat(1_001)],
  ['number', 'NaN'],
  ['number', '1'.repeat(2_000)],
] as const)('a %s such as %s has none', (order, value) => {
  expect(rankOf({ column: 'at', order, value })).toBeNull()
})
