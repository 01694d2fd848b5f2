// Header texts become finite, sane numbers or nothing.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  RETRY_AFTER_MAX_MS,
  parseLimit,
  parseRetryAfter,
} from '../../../src/client/pacer/headers.ts'
import { runs } from '../../runs.ts'

const nowMs = Date.UTC(2026, 10, 21, 12, 0, 0, 250)

test.each([
  ['0', 0],
  ['7', 7_000],
  [' 7\t', 7_000],
  ['0120', 120_000],
  ['99999999999', RETRY_AFTER_MAX_MS],
  ['9'.repeat(400), RETRY_AFTER_MAX_MS],
  ['Sat, 21 Nov 2026 12:00:01 GMT', 750],
  ['Saturday, 21-Nov-26 12:00:30 GMT', 29_750],
  ['Sat Nov 21 12:01:00 2026', 59_750],
  ['Tue Dec  1 12:00:00 2026', RETRY_AFTER_MAX_MS],
  ['Sun, 06 Nov 1994 08:49:37 GMT', 0],
  ['Sunday, 06-Nov-94 08:49:37 GMT', 0],
  ['Fri, 31 Dec 9999 23:59:59 GMT', RETRY_AFTER_MAX_MS],
  ...[
    '',
    ' ',
    '-5',
    '+5',
    '1.5',
    '120junk',
    '1e3',
    '0x10',
    'NaN',
    'Infinity',
    '1, 2',
    '٣',
    '2026-11-21',
    'Sat, 30 Feb 2026 12:00:00 GMT',
    'Sat, 00 Nov 2026 12:00:00 GMT',
    'Sat, 21 Nov 2026 25:00:00 GMT',
    'Sat, 21 Nov 2026 12:00:00 PST',
    'Sat, 21 Nov 2026 12:00:00',
    'tomorrow',
  ].map((text): [string, null] => [text, null]),
])('Retry-After %j is %j ms', (text, expected) => {
  expect(parseRetryAfter(text, nowMs)).toBe(expected)
})

test('absent headers are nothing', () => {
  expect([
    parseRetryAfter(undefined, nowMs),
    parseRetryAfter(null, nowMs),
    parseLimit(undefined),
  ]).toEqual([null, null, null])
})

const texts = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.stringMatching(/^[0-9 .,eE+-]{0,30}$/),
  fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
)

test('any text: a whole number of milliseconds up to five minutes, or null', () => {
  fc.assert(
    fc.property(texts, fc.integer({ min: 0, max: 2 ** 42 }), (text, now) => {
      const waitMs = parseRetryAfter(text, now)
      if (waitMs === null) return
      expect(Number.isInteger(waitMs)).toBe(true)
      expect(waitMs).toBeGreaterThanOrEqual(0)
      expect(waitMs).toBeLessThanOrEqual(RETRY_AFTER_MAX_MS)
    }),
    { numRuns: runs(5_000) },
  )
})

test('every HTTP-date of the next five minutes is exact to the millisecond', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 299 }), (seconds) => {
      const at = Math.floor(nowMs / 1_000) * 1_000 + seconds * 1_000
      expect(parseRetryAfter(new Date(at).toUTCString(), nowMs)).toBe(at - nowMs)
    }),
  )
})

test('an HTTP-date counts from the Date of its answer, where that is one', () => {
  const dates = (aheadMs: number, waitMs: number) => [
    new Date(nowMs + aheadMs + waitMs).toUTCString(),
    new Date(nowMs + aheadMs).toUTCString(),
  ]
  for (const aheadMs of [-3_600_000, -1_000, 0, 300_000]) {
    const [retryAt, date] = dates(aheadMs, 17_000)
    expect(parseRetryAfter(retryAt, nowMs, date)).toBe(17_000)
    // A number of seconds needs no date.
    expect(parseRetryAfter('17', nowMs, date)).toBe(17_000)
  }
  expect(parseRetryAfter('Sat, 21 Nov 2026 12:00:01 GMT', nowMs, 'yesterday')).toBe(750)
})

test('RateLimit-Limit and -Remaining are whole numbers, or nothing', () => {
  fc.assert(
    fc.property(texts, (text) => {
      const count = parseLimit(text)
      if (count === null) expect(text.trim()).not.toMatch(/^\d{1,15}$/)
      else expect(count).toBe(Number(text.trim()))
    }),
    { numRuns: runs(2_000) },
  )
  expect([parseLimit('600'), parseLimit('0'), parseLimit('6, 6'), parseLimit('-1')]).toEqual([
    600,
    0,
    null,
    null,
  ])
})
