// What plan and run say of the time that requests take, from rows that the real OrgQuota made.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readQuotaView } from '../../../src/client/pacer/view.ts'
import { forecast } from '../../../src/cli/shared/forecast.ts'
import { quotaRow, type Work } from './quota-row.ts'

const unknown = { limit: null, reserve: 0 }
const viewOf = (work: Work, later = 0) => {
  const { state, nowMs } = quotaRow(work)
  return readQuotaView('https://api.example.com org 1', state, nowMs + later)
}
const alone = { users: { worker: { import: 5 } } }

test('without a row: the limit as an answer told it, less the reserve as it is configured', () => {
  const told = (limit: number | null, reserve = 0) =>
    forecast(6_720, 'import', null, { limit, reserve })
  expect(told(null).text).toBe('6,720 requests')
  expect(told(null)).toMatchObject({ minutes: null, perMinute: null })
  expect(told(600).text).toBe('6,720 requests, about 12 minutes: all 600 requests a minute')
  expect(told(600, 0.2).text).toBe(
    '6,720 requests, about 14 minutes: 480 of 600 requests a minute, 20 % is kept for others',
  )
  expect(told(600, 0.2)).toMatchObject({ requests: 6_720, minutes: 14, perMinute: 480 })
  expect(told(600, 0.125).text).toContain('525 of 600 requests a minute, 12.5 % is kept for others')
  expect(told(1_000_000).text).toBe('6,720 requests; the service sets no limit')
  expect(told(1_000_000)).toMatchObject({ minutes: 0, perMinute: null })
  expect(told(10).text).toContain('about 11 h 12 min')
  expect(told(0).text).toBe('6,720 requests, for an unknown time: all 0 requests a minute')
  expect(told(0).minutes).toBeNull()
})

test('few requests, one, and none', () => {
  const told = (requests: number) =>
    forecast(requests, 'import', null, { limit: 600, reserve: 0 }).text
  expect(told(599)).toContain('599 requests, less than a minute: ')
  expect(told(600)).toContain('600 requests, about a minute: ')
  expect(told(601)).toContain('601 requests, about 2 minutes: ')
  expect(told(1)).toContain('1 request, less than a minute: ')
  expect(told(0)).toBe('0 requests')
})

test('the row goes before what is known otherwise, once it has a limit', () => {
  const view = viewOf({ limit: 600, seconds: 70, settings: { reserve: 0.5 }, ...alone })
  expect(forecast(3_000, 'import', view, { limit: 60, reserve: 0 }).text).toBe(
    '3,000 requests, about 10 minutes: 300 of 600 requests a minute, 50 % is kept for others',
  )
  const empty = viewOf({ limit: 600, seconds: 0, ...alone })
  expect(empty.limitPerMinute).toBeNull()
  expect(forecast(3_000, 'import', empty, { limit: 60, reserve: 0 }).perMinute).toBe(60)
  expect(forecast(3_000, 'import', empty, unknown).text).toBe('3,000 requests')
})

test('others count where they use more than the reserve', () => {
  const others = { model: 'sliding', limit: 600, seconds: 150, others: 3, ...alone } as const
  const busy = viewOf(others)
  expect(busy.lastMinute.others).toBeGreaterThan(120)
  const { perMinute, text } = forecast(3_000, 'import', busy, unknown)
  expect(perMinute).toBe(600 - busy.lastMinute.others)
  expect(text).toContain(`${perMinute} of 600 requests a minute, others use ${600 - perMinute!}`)
  const kept = viewOf({ ...others, settings: { reserve: 0.5 } })
  expect(forecast(3_000, 'import', kept, unknown).text).toMatch(
    /300 of 600 requests a minute, 50 % is kept for others$/,
  )
})

test('other work that waits takes its share, and a Retry-After its time', () => {
  const users = { one: { import: 5 }, two: { backfill: 5 } }
  const view = viewOf({ limit: 700, seconds: 70, users })
  expect(forecast(6_000, 'import', view, unknown).text).toBe(
    '6,000 requests, about 10 minutes: 600 of 700 requests a minute, shared with backfill',
  )
  expect(forecast(6_000, 'backfill', view, unknown).text).toBe(
    '6,000 requests, about 60 minutes: 100 of 700 requests a minute, shared with import',
  )
  // Nobody waits any more.
  const idle = viewOf({ limit: 700, seconds: 70, users }, 60_000)
  expect(forecast(6_000, 'backfill', idle, unknown).perMinute).toBe(700)
  const last = { status: 503, retryAfter: '90' }
  const closed = viewOf({ limit: 700, seconds: 48, ...alone, last })
  expect(forecast(6_000, 'import', closed, unknown).text).toMatch(
    /about 9 minutes: all 700 requests a minute, from 14:02:30 UTC on$/,
  )
})

test('whatever the numbers: finite, and minutes times requests a minute are the requests', () => {
  const views = [
    null,
    viewOf({ limit: 60, seconds: 30, others: 0.5, ...alone }),
    viewOf({ limit: null, seconds: 5, ...alone }),
    viewOf({ limit: 1, seconds: 20, settings: { reserve: 0.9 }, ...alone }),
  ]
  const known = fc.record({
    limit: fc.option(fc.nat(2_000_000)),
    reserve: fc.integer({ min: 0, max: 90 }).map((percent) => percent / 100),
  })
  fc.assert(
    fc.property(
      fc.nat(10_000_000),
      fc.constantFrom('import', 'mirror', 'backfill'),
      fc.constantFrom(...views),
      known,
      (requests, priority, view, rests) => {
        const { minutes, perMinute, text } = forecast(requests, priority, view, rests)
        expect(text).not.toMatch(/NaN|Infinity|undefined|null/)
        if (minutes === null || perMinute === null) return
        expect(Number.isFinite(minutes)).toBe(true)
        expect(minutes * perMinute).toBeCloseTo(requests, 3)
      },
    ),
  )
})
