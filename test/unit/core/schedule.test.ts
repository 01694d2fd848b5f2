// When a sync runs: what may be written, and what it is called.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { everyText, isCron, parseEvery, scheduleText } from '../../../src/core/domain/schedule.ts'

const spaces = fc.string({ unit: fc.constantFrom(' ', '\t'), maxLength: 3 })

describe('an interval', () => {
  it.each([
    ['15 minutes', 900_000],
    ['15minutes', 900_000],
    ['1 hour', 3_600_000],
    ['HOUR', 3_600_000],
    ['10 seconds', 10_000],
    ['2 weeks', 1_209_600_000],
    ['366 days', 31_622_400_000],
  ])('%s', (text, ms) => {
    expect(parseEvery(text)).toBe(ms)
  })

  it.each([
    '',
    '9 seconds',
    '0 minutes',
    '-5 minutes',
    '1.5 hours',
    '367 days',
    '5 months',
    '5 m',
    'minutes 5',
    '15 minutes and 1 second',
    '15',
    '9999999999 seconds',
    'minutess',
    '5 constructors',
  ])('is not %j', (text) => {
    expect(parseEvery(text)).toBeUndefined()
  })

  it('is read as it is said, whatever its length', () => {
    fc.assert(
      fc.property(fc.integer({ min: 10, max: 31_622_400 }), (seconds) => {
        const text = everyText(seconds * 1_000)
        expect(text).toMatch(/^every (\d+ )?(second|minute|hour|day|week)s?$/)
        expect(parseEvery(text.replace('every ', ''))).toBe(seconds * 1_000)
      }),
    )
  })

  it('is said with the largest unit that fits', () => {
    const texts = [60_000, 90_000, 86_400_000, 172_800_000, 604_800_000, 3_660_000, 1_500]
    expect(texts.map(everyText)).toEqual([
      'every minute',
      'every 90 seconds',
      'every day',
      'every 2 days',
      'every week',
      'every 61 minutes',
      'every 1.5 seconds',
    ])
  })
})

describe('a cron line', () => {
  const bounds = [
    [0, 59],
    [0, 23],
    [1, 31],
    [1, 12],
    [0, 7],
  ] as const
  const field = ([min, max]: readonly [number, number]) => {
    const value = fc.integer({ min, max })
    const range = fc.tuple(value, value).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`)
    const step = fc.option(fc.integer({ min: 1, max: 99 }), { nil: undefined })
    const part = fc
      .tuple(fc.oneof(fc.constant('*'), value.map(String), range), step)
      .map(([what, by]) => (by === undefined ? what : `${what}/${by}`))
    return fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(','))
  }
  const fields = fc.tuple(...bounds.map(field))

  it('is five fields within their bounds, however they are spaced', () => {
    fc.assert(
      fc.property(fields, spaces, spaces, (parts, before, between) => {
        expect(isCron(before + parts.join(` ${between}`) + between)).toBe(true)
      }),
    )
  })

  it('has no number beyond its bounds, in no field', () => {
    const beyond = fc.constantFrom(0, 1, 2, 3, 4).chain((at) => {
      const [min, max] = bounds[at]!
      const outside = fc.integer({ min: 0, max: 999 }).filter((n) => n < min || n > max)
      return fc.tuple(fc.constant(at), outside)
    })
    fc.assert(
      fc.property(fields, beyond, (parts, [at, number]) => {
        expect(isCron(parts.with(at, `${parts[at]},${number}`).join(' '))).toBe(false)
      }),
    )
  })

  it('is not four fields, nor six', () => {
    fc.assert(
      fc.property(fields, (parts) => {
        expect(isCron(parts.slice(1).join(' '))).toBe(false)
        expect(isCron([...parts, '*'].join(' '))).toBe(false)
      }),
    )
  })

  it('is told from any other text without an exception', () => {
    const text = fc.string({ unit: fc.constantFrom(...'0159*/-, ajnmosu@#'), maxLength: 30 })
    fc.assert(fc.property(text, (line) => void isCron(line)))
    expect(['0 6 * * MON-fri', '0 0 1 jan,Jul sun', '*/5 0-6/2 * * 7'].map(isCron)).toEqual([
      true,
      true,
      true,
    ])
  })

  it.each([
    '',
    '@daily',
    '60 * * * *',
    '* * * * fri-mon',
    '* * * * 6-0',
    '*/0 * * * *',
    '* * 0 * *',
    '* * * jan *,',
    'jan * * * *',
    'CRON_TZ=UTC 0 6 * * *',
    '0 6 * * * # daily',
    '1-2-3 * * * *',
    '1/2/3 * * * *',
    '5. * * * *',
    '* * * * ?',
    '* * L * *',
  ])('is not %j', (line) => {
    expect(isCron(line)).toBe(false)
  })
})

it('a schedule is said in words', () => {
  const schedules = [
    { every_ms: 900_000, time_zone: 'UTC' },
    { cron: '0 6 * * 1-5', time_zone: 'Europe/Berlin' },
  ]
  expect(schedules.map(scheduleText)).toEqual([
    'every 15 minutes',
    'cron 0 6 * * 1-5 in Europe/Berlin',
  ])
})
