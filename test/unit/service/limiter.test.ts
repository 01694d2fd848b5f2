// The three limit models on a clock of the test's own.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Pacer } from '../../../src/client/pacer/pacer.ts'
import { LIMIT_MODELS, createLimiter } from '../../../src/service/limits/limiter.ts'
import type { LimitModel } from '../../../src/service/limits/limiter.ts'
import { VirtualClock } from '../client/virtual-time.ts'

const minuteMs = 60_000
const startMs = Date.UTC(2026, 5, 1)

/** Limits, and the gaps between requests: bursts, crowds and pauses. */
const traffic = fc.record({
  limit: fc.integer({ min: 1, max: 40 }),
  gaps: fc.array(
    fc.oneof(
      { weight: 6, arbitrary: fc.constant(0) },
      { weight: 6, arbitrary: fc.nat(3_000) },
      { weight: 1, arbitrary: fc.nat(200_000) },
    ),
    { minLength: 1, maxLength: 300 },
  ),
})

/** When the requests of `gaps` were let through. */
function passed(model: LimitModel, limit: number, gaps: readonly number[]): number[] {
  const limiter = createLimiter(model, limit)
  let nowMs = startMs
  return gaps.flatMap((gapMs) => {
    nowMs += gapMs
    return limiter.take(nowMs).retryAfterS === null ? [nowMs] : []
  })
}

/** The most that `model` may pass in the time from one request to another, both included. */
const mostWithin: Readonly<
  Record<LimitModel, (limit: number, from: number, to: number) => number>
> = {
  fixed: (limit, from, to) => limit * (Math.floor(to / minuteMs) - Math.floor(from / minuteMs) + 1),
  sliding: (limit, from, to) => limit * (Math.floor((to - from) / minuteMs) + 1),
  bucket: (limit, from, to) => limit + Math.floor((limit * (to - from)) / minuteMs),
}

describe.each(LIMIT_MODELS)('the %s model', (model) => {
  it('passes no more than it may, between any two requests', () => {
    fc.assert(
      fc.property(traffic, ({ limit, gaps }) => {
        const times = passed(model, limit, gaps)
        for (const [first, from] of times.entries()) {
          for (const [count, to] of times.slice(first).entries()) {
            expect(count + 1).toBeLessThanOrEqual(mostWithin[model](limit, from, to))
          }
        }
      }),
    )
  })

  it('passes whoever waited as long as Retry-After says, and asks for no second more', () => {
    fc.assert(
      fc.property(traffic, fc.nat(3), ({ limit, gaps }, further) => {
        const limiter = createLimiter(model, limit)
        let nowMs = startMs
        let waits = 0
        for (const gapMs of gaps) {
          nowMs += gapMs
          // A limit that is lowered, or raised, in the middle must not make the wait untrue.
          if (waits === further) limiter.setLimit(limit + further)
          const { retryAfterS } = limiter.take(nowMs)
          if (retryAfterS === null) continue
          waits += 1
          expect(retryAfterS).toBeGreaterThanOrEqual(1)
          expect(retryAfterS).toBeLessThanOrEqual(60)
          expect(limiter.take(nowMs + retryAfterS * 1_000 - 1_000).retryAfterS).not.toBeNull()
          nowMs += retryAfterS * 1_000
          expect(limiter.take(nowMs).retryAfterS).toBeNull()
        }
      }),
    )
  })

  it('tells the truth about what remains', () => {
    fc.assert(
      fc.property(traffic, ({ limit, gaps }) => {
        const limiter = createLimiter(model, limit)
        let nowMs = startMs
        for (const gapMs of gaps) limiter.take((nowMs += gapMs))
        // Long enough that one passes, whatever came before.
        nowMs += minuteMs
        let { remaining, retryAfterS } = limiter.take(nowMs)
        expect(retryAfterS).toBeNull()
        for (let left = remaining; left > 0; left -= 1) {
          ;({ remaining, retryAfterS } = limiter.take(nowMs))
          expect({ remaining, retryAfterS }).toEqual({ remaining: left - 1, retryAfterS: null })
        }
        expect(limiter.take(nowMs).retryAfterS).not.toBeNull()
      }),
    )
  })

  it('takes another limit at once, and none at all', () => {
    const limiter = createLimiter(model, 100)
    let nowMs = startMs
    for (let count = 0; count < 100; count += 1) limiter.take((nowMs += 100))
    limiter.setLimit(2)
    const { limit, remaining, retryAfterS } = limiter.take(nowMs)
    expect({ limit, remaining }).toEqual({ limit: 2, remaining: 0 })
    expect(retryAfterS).toBeLessThanOrEqual(60)
    expect(limiter.take(nowMs + retryAfterS! * 1_000).retryAfterS).toBeNull()
    limiter.setLimit(0)
    expect(limiter.take(startMs + 600_000)).toMatchObject({ remaining: 0, retryAfterS: 60 })
    limiter.setLimit(null)
    for (let count = 0; count < 1_000; count += 1) {
      expect(limiter.take(startMs + 600_000).retryAfterS).toBeNull()
    }
  })

  it('is not shut for long by a clock that is set back', () => {
    const limiter = createLimiter(model, 1)
    expect(limiter.take(startMs).retryAfterS).toBeNull()
    expect(limiter.take(startMs - 3_600_000).retryAfterS).toBeNull()
    expect(limiter.take(startMs - 3_600_000).retryAfterS).not.toBeNull()
  })

  it('is used up and hardly overrun by the pacer of our client', async () => {
    const clock = new VirtualClock()
    const limiter = createLimiter(model, 120)
    const pacer = new Pacer({ clock })
    const seen = { accepted: 0, refused: 0 }
    const lane = async () => {
      for (;;) {
        const permit = await pacer.acquire({ maxWaitMs: Infinity })
        await clock.sleep(30)
        const { limit, remaining, retryAfterS } = limiter.take(clock.now())
        await clock.sleep(30)
        seen[retryAfterS === null ? 'accepted' : 'refused'] += 1
        permit.observe({
          status: retryAfterS === null ? 200 : 429,
          limit: String(limit),
          remaining: String(remaining),
          retryAfter: retryAfterS === null ? undefined : String(retryAfterS),
        })
      }
    }
    for (let count = 0; count < 8; count += 1) void lane()
    await clock.pass(10 * minuteMs)
    expect(seen.accepted).toBeGreaterThan(0.95 * 120 * 10)
    expect(seen.refused).toBeLessThan(0.05 * seen.accepted)
  })
})

describe('the sliding model', () => {
  it('counts exactly the last minute, whatever the limit', () => {
    const limiter = createLimiter('sliding', 10_000_000)
    let nowMs = startMs
    for (let count = 0; count < 400_000; count += 1) {
      if (count % 4 === 0) nowMs += 1
      limiter.take(nowMs)
    }
    // 60,000 milliseconds of 4 requests each are inside the window, this one included.
    expect(limiter.take(nowMs).remaining).toBe(10_000_000 - 240_000 - 1)
  })
})
