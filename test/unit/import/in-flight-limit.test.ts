// How many batches are in flight: enough to hide the latency, few where they only wait for each other.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { InFlightLimit } from '../../../src/import/outbox/in-flight-limit.ts'
import { runs } from '../../runs.ts'

interface Service {
  /** Of a request that waits for no other, ms. */
  readonly latencyMs: number
  /** What it answers at most. */
  readonly perSecond: number
}

/** Sends `count` batches, as many at a time as the limit says, in virtual time. Returns what was answered a second at the end. */
function send(limit: InFlightLimit, count: number, { latencyMs, perSecond }: Service): number {
  let now = 0
  let free = 0
  const out: { readonly at: number; readonly end: (at: number, failed: boolean) => void }[] = []
  const half = Math.floor(count / 2)
  let halfAt = 0
  for (let sent = 0, ended = 0; ended < count;) {
    while (out.length < limit.limit && sent < count) {
      free = Math.max(now, free) + 1_000 / perSecond
      out.push({ at: Math.max(now + latencyMs, free), end: limit.begin() })
      sent++
    }
    out.sort((one, other) => one.at - other.at)
    const { at, end } = out.shift()!
    now = at
    end(now, false)
    if (++ended === half) halfAt = now
  }
  return ((count - half) * 1_000) / (now - halfAt)
}

/** The same with a service that answers so many a second while so many are in flight. */
function sendShared(limit: InFlightLimit, count: number, answers: (out: number) => number): number {
  let now = 0
  let halfAt = 0
  const half = Math.floor(count / 2)
  const out: ((at: number, failed: boolean) => void)[] = []
  for (let ended = 1; ended <= count; ended++) {
    while (out.length < limit.limit) out.push(limit.begin())
    now += 1_000 / answers(out.length)
    out.shift()!(now, false)
    if (ended === half) halfAt = now
  }
  return ((count - half) * 1_000) / (now - halfAt)
}

describe('how many batches are in flight', () => {
  it('hides the latency up to what the service answers, and does not flood it', () => {
    fc.assert(
      fc.property(
        fc.record({
          latencyMs: fc.integer({ min: 1, max: 400 }),
          perSecond: fc.integer({ min: 20, max: 2_000 }),
        }),
        (service) => {
          const limit = new InFlightLimit(64)
          const rate = send(limit, 4_000, service)
          const most = Math.min(service.perSecond, (64 * 1_000) / service.latencyMs)
          expect(rate).toBeGreaterThan(0.9 * most)
          // What the service works on at once, and what is tried beyond it; a few always.
          const needed = (service.perSecond * service.latencyMs) / 1_000
          expect(limit.limit).toBeLessThanOrEqual(Math.max(12, Math.ceil(2.25 * needed)))
        },
      ),
      { numRuns: runs(100) },
    )
  })

  it('reaches the most that is set, and never exceeds it', () => {
    for (const max of [1, 3, 8, 64]) {
      const limit = new InFlightLimit(max)
      const rate = send(limit, 4_000, { latencyMs: 500, perSecond: 10_000 })
      expect(rate).toBeGreaterThan(0.9 * (max / 0.5))
      expect(rate).toBeLessThanOrEqual(max / 0.5)
    }
  })

  it('falls back where a service becomes slower with more than it takes', () => {
    fc.assert(
      fc.property(
        fc.record({
          /** So many it works on side by side. */
          takes: fc.integer({ min: 1, max: 40 }),
          latencyMs: fc.integer({ min: 5, max: 100 }),
          /** What is left of its throughput with more. */
          share: fc.double({ min: 0.05, max: 0.4, noNaN: true }),
        }),
        ({ takes, latencyMs, share }) => {
          const limit = new InFlightLimit(64)
          const most = (takes * 1_000) / latencyMs
          const answers = (out: number) => (out <= takes ? (out * 1_000) / latencyMs : share * most)
          const rate = sendShared(limit, 20_000, answers)
          // Half as many at a time may be too few, and half as many more too many.
          expect(rate).toBeGreaterThan(0.5 * most)
          expect(limit.limit).toBeLessThanOrEqual(2 * takes)
        },
      ),
      { numRuns: runs(100) },
    )
  })

  it('halves where a request failed, down to one, and grows again', () => {
    const limit = new InFlightLimit(64)
    send(limit, 2_000, { latencyMs: 100, perSecond: 10_000 })
    const limits: number[] = []
    for (let batch = 0; batch < 10; batch++) {
      limit.begin()(100, true)
      if (limits.at(-1) !== limit.limit) limits.push(limit.limit)
    }
    expect(limits).toEqual([32, 16, 8, 4, 2, 1])
    send(limit, 2_000, { latencyMs: 100, perSecond: 10_000 })
    expect(limit.limit).toBe(64)
  })

  it('halves once for batches that were in flight together', () => {
    const limit = new InFlightLimit(64)
    const ends = Array.from({ length: 8 }, () => limit.begin())
    for (const end of ends) end(100, true)
    expect(limit.limit).toBe(4)
  })

  it('stays where something else allows fewer', () => {
    const limit = new InFlightLimit(64)
    for (let batch = 0; batch < 1_000; batch++) limit.begin()(10 * batch, false)
    expect(limit.limit).toBe(8)
  })

  it('follows a service that became slower for good', () => {
    const limit = new InFlightLimit(64)
    send(limit, 2_000, { latencyMs: 10, perSecond: 10_000 })
    const rate = send(limit, 20_000, { latencyMs: 60, perSecond: 10_000 })
    expect(rate).toBeGreaterThan(0.9 * (64_000 / 60))
  })
})
