// What a run says of its quota: that every request is refused, and how long the rest takes at least.

import { expect, test } from 'vitest'
import { refusalsText, quotaText } from '../../../src/cli/shared/run-quota.ts'
import { quotaLeft, quotaLeftMs, quotaWaitUntil } from '../../../src/resources/run-quota.ts'
import { paceOf, paceText, progressLine } from '../../../src/cli/views/progress-line.ts'
import { RateMeter } from '../../../src/report/rate.ts'
import type { LiveProgress } from '../../../src/report/live-progress.ts'
import { readQuotaView, type QuotaView } from '../../../src/client/pacer/view.ts'
import { quotaRow } from './quota-row.ts'

const nowMs = Date.UTC(2026, 10, 21, 14, 30)
const since = { sinceMs: Date.UTC(2026, 10, 21, 14, 3, 2), requests: 27, retryAfterMs: 60_000 }

test('says that the service refuses every request, since when, and its Retry-After', () => {
  const text = (more: object) => refusalsText({ refusals: { ...since, ...more } }, nowMs)
  expect(text({})).toBe(
    'the service refuses every request (429) since 14:03:02 UTC: 27 refusals, Retry-After 1 min 00 s',
  )
  expect(text({ requests: 1, retryAfterMs: null })).toMatch(/: 1 refusal, no Retry-After$/)
  expect(refusalsText({ refusals: null }, nowMs)).toBeNull()
})

/** Of a service that allows 60 requests a minute, after a minute of work. */
function viewOf(more: Partial<QuotaView> = {}): QuotaView {
  const row = quotaRow({ limit: 60, seconds: 60, users: { w: { import: 5 } } })
  return { ...readQuotaView('org', row.state, row.nowMs), closedUntilMs: null, ...more }
}

const run = { kind: 'import', purpose: 'sync' } as const

/** Of a service that allows 5 requests a minute, while an import waits. */
function smallQuota(seconds = 130): { readonly view: QuotaView; readonly atMs: number } {
  const users = { w: { import: 5 } }
  const row = quotaRow({ model: 'sliding', limit: 5, seconds, users })
  return { view: readQuotaView('org', row.state, row.nowMs), atMs: row.nowMs }
}

test('says that a run waits for a small quota, how small it is, and when it goes on', () => {
  const { view, atMs } = smallQuota()
  const waiting = { ...view, closedUntilMs: null, nextMs: atMs + 12_000 }
  const next = new Date(atMs + 12_000).toISOString().slice(11, 19)
  expect(quotaText(waiting, run, atMs)).toBe(
    `waits for the quota: 5 requests a minute, next at ${next} UTC`,
  )
  expect(quotaWaitUntil(waiting, atMs)).toBe(atMs + 12_000)
  // The next request may go in a moment.
  expect(quotaText({ ...waiting, nextMs: null }, run, atMs)).toBe(
    'waits for the quota: 5 requests a minute',
  )
  const available = { import: 3, mirror: 1, backfill: 0 }
  expect(quotaText({ ...waiting, available }, run, atMs)).toMatch(/: 3 of 5 requests a minute,/)
  // Nobody waits, or for parts of a second only.
  expect(quotaText({ ...waiting, users: [] }, run, atMs)).toMatch(/^quota 5 of 5 a minute/)
  expect(quotaText(viewOf(), run, nowMs)).toMatch(/^quota /)
})

test('the pacer says when the next request may go', () => {
  const { view, atMs } = smallQuota()
  expect(view.users[0]!.waiting.import).toBe(5)
  expect((view.closedUntilMs ?? view.nextMs)! - atMs).toBeGreaterThan(0)
  expect((view.closedUntilMs ?? view.nextMs)! - atMs).toBeLessThanOrEqual(60_000)
})

test('what is left of a run that looks its rows up takes its look-ups too, before the first row is sent', () => {
  const { view } = smallQuota()
  const looking = { ...sending(0, 0), looksFirst: true } as const
  const left = quotaLeft(view, { ...looking, work: { done: 0, total: 600 } }, run)!
  // 12 batches, each with half a look-up, two that are repeated, and a write. In the simulator such a run takes 9 min 20 s.
  expect(view.available!.import).toBe(5)
  expect(left.requests).toBe(42)
  expect(left.ms).toBe((42 / 5) * 60_000)
  const meter = new RateMeter()
  expect(paceOf(meter, 0, looking, left.ms).leftMs).toBe(left.ms)
  expect(paceText({ rate: null, leftMs: left.ms })).toMatch(/^at least \d+ min .* left$/)
  // A request that has written nothing says nothing of the others.
  expect(quotaLeft(view, { ...sending(0, 7), work: { done: 0, total: 600 } }, run)).toMatchObject({
    requests: 12,
  })
})

test('says both what the run waits for, and that all is refused', () => {
  expect(quotaText(viewOf({ refusals: since, closedUntilMs: nowMs + 5_000 }), run, nowMs)).toMatch(
    /^waits for the quota until 14:30:05 UTC: the service refuses every request/,
  )
  expect(quotaText(viewOf({ refusals: since }), run, nowMs)).toMatch(/^the service refuses every/)
})

const zeroCounters = {
  read: 1_000,
  planned: 0,
  created: 0,
  updated: 0,
  rejected: 0,
  skipped: 0,
  requests: 0,
}

const sending = (done: number, requests: number): LiveProgress => ({
  phase: 'sending',
  percent: null,
  counters: { requests } as LiveProgress['counters'],
  amount: '',
  work: { done, total: 100_000 },
  details: [],
})
test('the time that is left after a pause is no shorter than the quota allows', () => {
  const view = viewOf()
  const perMinute = view.available!.import
  expect(perMinute).toBeLessThanOrEqual(60)
  const meter = new RateMeter()
  meter.reset()
  const pace = (ms: number, done: number) =>
    paceOf(meter, ms, sending(done, done / 50), quotaLeftMs(view, sending(done, done / 50), run))
  pace(0, 10_000)
  // What was saved up during the pause goes at once.
  const { rate, leftMs } = pace(1_000, 12_000)
  expect(rate).toBe(2_000)
  expect(leftMs).toBe((Math.ceil(88_000 / 50) / perMinute) * 60_000)
  // A run that is slower than the quota allows keeps its own measure.
  const slow = new RateMeter()
  paceOf(slow, 0, sending(10_000, 200), 0)
  expect(paceOf(slow, 10_000, sending(10_010, 201), 5_000).leftMs).toBe(89_990_000)
})

test('rows a request are those of the run so far', () => {
  const view = viewOf()
  const minutes = (done: number, requests: number) =>
    quotaLeftMs(view, sending(done, requests), run)! / 60_000
  expect(minutes(1_000, 1_000)).toBeCloseTo(99_000 / view.available!.import)
  expect(minutes(0, 0)).toBeCloseTo(2_000 / view.available!.import)
})

test('the line of a run has it first', async () => {
  const view = viewOf({ refusals: since })
  const terminal = {} as never
  const line = progressLine({ hint: (command) => command, terminal }, undefined, async () => view)
  const ledger = {
    progress: async () => ({ ...zeroCounters, planned: 1_000, created: 100, requests: 2 }),
    loadStepState: async () => null,
  } as never
  const live = {
    ...run,
    id: 1,
    config: { import: {} },
    sync: 'contacts',
    state: 'running',
    rowsRead: 1_000,
  } as never
  expect(await line(ledger, live)).toMatch(
    /^contacts  the service refuses every request \(429\) since .*  .* sending 10 %  100 of 1,000 rows/,
  )
})

test('nothing is known where nothing is sent, or nothing limits', () => {
  expect(quotaLeftMs(viewOf(), { ...sending(0, 0), phase: 'staging' }, run)).toBeNull()
  expect(quotaLeftMs(viewOf(), { ...sending(0, 0), work: null }, run)).toBeNull()
  expect(quotaLeftMs(viewOf({ limitPerMinute: null }), sending(0, 0), run)).toBeNull()
})
