// Watermarks: greater is what the warehouse means by it.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isGreater, watermarkProblem } from '../../../src/core/domain/watermark.ts'

describe('a watermark', () => {
  it.each([
    ['number', '10', '9'],
    ['number', '-9', '-10'],
    ['number', '0.10', '0.09'],
    ['number', '9223372036854775807', '9223372036854775806'],
    ['time', '2026-02-01', '2026-01-31'],
    ['time', '2026-01-31T08:15:00.5Z', '2026-01-31T08:15:00Z'],
    ['time', '2026-01-31T08:15:00.123456Z', '2026-01-31T08:15:00.12345Z'],
    ['time', '2026-01-31T08:15:01Z', '2026-01-31T08:15:00.9Z'],
    ['time', '2026-01-31T00:00:00Z', '2026-01-31'],
    ['text', '9', '10'],
    ['text', 'a', 'Z'],
    ['text', 'ab', 'a'],
    ['text', '\u{1f98a}', '\uffee'],
  ] as const)('of %s: %s is greater than %s', (order, a, b) => {
    expect([isGreater(order, a, b), isGreater(order, b, a), isGreater(order, a, a)]).toEqual([
      true,
      false,
      false,
    ])
  })

  it('of texts is ordered like their bytes', () => {
    const text = fc.string({ unit: 'binary' })
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(isGreater('text', a, b)).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)) > 0)
      }),
    )
  })

  it('of numbers that are equal is not greater, however they are written', () => {
    expect([isGreater('number', '1.50', '1.5'), isGreater('number', '1.5', '1.50')]).toEqual([
      false,
      false,
    ])
  })

  it.each([
    ['time', '10000-01-01', 'a time of the years 1 to 9999'],
    ['time', '0044-03-15 (BC)', 'a time of the years 1 to 9999'],
    ['time', '0044-03-15T00:00:00 BCZ', 'a time of the years 1 to 9999'],
    ['text', 'a\0', 'a text of at most 1000 characters without U+0000'],
    ['text', 'a'.repeat(1_001), 'a text of at most 1000 characters without U+0000'],
    ['text', 'a'.repeat(1_000), undefined],
    ['time', '2026-01-31', undefined],
    ['time', '2026-01-31T08:15:00.123456789Z', undefined],
    ['number', '-12.50', undefined],
  ] as const)('of %s: what %j must be', (order, value, expected) => {
    expect(watermarkProblem(order, value)).toBe(expected)
  })
})
