// The quota of an org as a pure machine: whatever is asked, answered, lost or forgotten, in whatever order.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DEFAULT_QUOTA_SETTINGS, OrgQuota } from '../../../src/client/pacer/org-quota.ts'
import type { PermitGrant, PermitOutcome } from '../../../src/client/pacer/org-quota.ts'
import { forecastMinutes, readQuotaView } from '../../../src/client/pacer/view.ts'
import type { Answer, Priority } from '../../../src/core/ports.ts'
import { createLimiter } from '../../../src/service/limits/limiter.ts'
import type { LimitModel } from '../../../src/service/limits/limiter.ts'
import { nobody, Scene, START_MS, told } from './scene.ts'
import { runs } from '../../runs.ts'

const number = fc.oneof(
  fc.nat(700).map(String),
  fc.constantFrom('', '0', '-5', '1.5', 'NaN', '120junk', '99999999999', '999999999999999', '٣'),
)
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
const someAnswer: fc.Arbitrary<Answer> = fc.record({
  status: fc.constantFrom(200, 200, 200, 201, 207, 400, 401, 404, 422, 429, 429, 500, 502, 503),
  limit: maybe(fc.oneof(fc.constantFrom('600', '600', '60', '6000', '0', '1'), number)),
  remaining: maybe(number),
  retryAfter: maybe(
    fc.oneof(
      fc.nat(90).map(String),
      fc.integer({ min: -100, max: 100 }).map((s) => new Date(START_MS + s * 1_000).toUTCString()),
      number,
    ),
  ),
  rateLimit: maybe(
    fc.oneof(
      fc.tuple(fc.nat(700), fc.nat(100)).map(([r, t]) => `"default";r=${r};t=${t}`),
      fc.constantFrom(
        '',
        'r=5',
        '"a";r=1, "b";r=2',
        '"default";t=99999999999',
        ';;;=',
        'x'.repeat(2_000),
      ),
    ),
  ),
  rateLimitPolicy: maybe(
    fc.constantFrom('"default";q=600;w=60', '"a";q=5;w=1', '"a";q=0', 'q', ''),
  ),
})
type Step =
  | { do: 'ask'; wanted: Partial<Record<Priority, number>> }
  | { do: 'end'; index: number; end: PermitOutcome['end'] }
  | { do: 'pass'; ms: number }
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant('ask' as const),
    wanted: fc.record({ import: fc.nat(8), interactive: fc.nat(2), backfill: fc.nat(3) }),
  }),
  fc.record({
    do: fc.constant('end' as const),
    index: fc.nat(100),
    end: fc.oneof(
      { weight: 6, arbitrary: someAnswer },
      { weight: 1, arbitrary: fc.constantFrom('lost' as const, 'unused' as const) },
    ),
  }),
  fc.record({
    do: fc.constant('pass' as const),
    ms: fc.oneof(fc.nat(300), fc.nat(5_000), fc.nat(120_000), fc.constantFrom(3_600_000)),
  }),
)
const history = fc.array(step, { maxLength: 120 })

function play(
  scene: Scene,
  steps: readonly Step[],
  after?: (scene: Scene, granted: PermitGrant) => void,
) {
  for (const next of steps) {
    if (next.do === 'pass') scene.nowMs += next.ms
    else if (next.do === 'ask') after?.(scene, scene.ask(next.wanted))
    else if (scene.out.length > 0) after?.(scene, scene.end(next.index, next.end))
  }
}

describe('whatever happens', () => {
  test('one request at a time before the first answer', () => {
    const asks = fc.array(
      fc.record({ ms: fc.nat(20_000), want: fc.nat(9), interactive: fc.nat(2) }),
    )
    fc.assert(
      fc.property(asks, (rounds) => {
        const scene = new Scene()
        let passed = 0
        for (const { ms, want, interactive } of rounds) {
          // After 30 s the first counts as lost.
          passed += ms
          if (passed >= 29_000) break
          scene.nowMs += ms
          scene.ask({ import: want, interactive })
          expect(scene.out.length).toBeLessThanOrEqual(1)
        }
      }),
    )
  })

  test('nothing is sent before a Retry-After has passed, to the millisecond', () => {
    fc.assert(
      fc.property(history, fc.nat(90_000), someAnswer, (steps, early, last) => {
        const scene = new Scene()
        play(scene, steps)
        scene.ask({ interactive: 1 })
        if (scene.out.length === 0) return
        const seconds = 1 + (early % 60)
        const gateMs = scene.nowMs + seconds * 1_000
        const status = last.status === 503 ? 503 : 429
        scene.end(0, { ...last, status, retryAfter: String(seconds) }, { import: 3 })
        scene.out.length = 0
        for (const atMs of [scene.nowMs, scene.nowMs + (early % (seconds * 1_000)), gateMs - 1]) {
          scene.nowMs = Math.max(scene.nowMs, atMs)
          const { permits, askAgainMs } = scene.ask({ import: 3, interactive: 1 })
          expect(permits).toEqual([])
          expect(askAgainMs).toBeGreaterThanOrEqual(gateMs)
        }
      }),
      { numRuns: runs(300) },
    )
  })

  test('a shorter Retry-After does not open what a longer one has closed', () => {
    const scene = new Scene()
    scene.ask({ import: 1 })
    scene.end(0, told(599))
    scene.nowMs += 1_000
    scene.ask({ interactive: 2 })
    scene.end(0, { status: 429, limit: '600', retryAfter: '60' })
    scene.end(0, { status: 503, limit: '600', retryAfter: '5' }, { interactive: 1 })
    expect(scene.askAgainMs).toBe(scene.nowMs + 60_000)
  })

  test('an HTTP-date closes the gate as seconds do', () => {
    const scene = new Scene()
    scene.ask({ import: 1 })
    const gateMs = START_MS + 17_000
    scene.nowMs += 100
    scene.end(0, { status: 429, retryAfter: new Date(gateMs).toUTCString() }, { import: 1 })
    expect(scene.askAgainMs).toBe(gateMs)
    scene.nowMs = gateMs
    expect(scene.ask({ import: 1 }).permits).toHaveLength(1)
  })

  test('who waits is told a later time to ask again, and is let go in the end', () => {
    fc.assert(
      fc.property(history, someAnswer, fc.boolean(), (steps, last, interactive) => {
        const scene = new Scene()
        let gateMs = 0
        play(scene, steps, ({ nowMs }, granted) => {
          expect(granted.askAgainMs === 0 || granted.askAgainMs > nowMs).toBe(true)
          expect(Number.isFinite(granted.askAgainMs)).toBe(true)
        })
        while (scene.out.length > 0) scene.end(0, last)
        // A Retry-After is obeyed for five minutes at most; whatever it was, this is after it.
        gateMs = scene.nowMs + 300_000
        scene.nowMs = gateMs
        const wanted = interactive ? { interactive: 1 } : { import: 1 }
        let granted = scene.ask(wanted)
        for (let asks = 0; asks < 2_000 && granted.permits.length === 0; asks++) {
          scene.nowMs = granted.askAgainMs
          granted = scene.ask(wanted)
        }
        expect(granted.permits).toHaveLength(1)
        expect(scene.nowMs - gateMs).toBeLessThanOrEqual(61_000)
      }),
      { numRuns: runs(300) },
    )
  })

  test('a state that is kept as text goes on as if it had not been', () => {
    fc.assert(
      fc.property(history, (steps) => {
        const live = new Scene()
        const kept = new Scene()
        for (const next of steps) {
          const text = kept.quota.state(kept.nowMs)
          kept.quota = OrgQuota.restore(text, kept.nowMs)
          expect(kept.quota.state(kept.nowMs)).toBe(text)
          play(live, [next])
          play(kept, [next])
          expect(kept.out).toEqual(live.out)
          expect(kept.askAgainMs).toBe(live.askAgainMs)
        }
      }),
      { numRuns: runs(150) },
    )
  })

  test('a text that is not a state, or is of another release, knows nothing and breaks nothing', () => {
    for (const text of [
      '',
      'null',
      '{}',
      '[]',
      '{"version":0}',
      '{"version":1',
      'x'.repeat(9_999),
    ]) {
      const quota = OrgQuota.restore(text, START_MS)
      const exchange = {
        user: { id: 'a', name: 'a' },
        reports: [],
        wanted: { ...nobody, import: 3 },
        everyMs: 0,
      }
      const granted = quota.exchange({ ...exchange, settings: DEFAULT_QUOTA_SETTINGS }, START_MS)
      expect(granted.permits).toHaveLength(1)
    }
  })

  test('a clock that is set back costs one probe, not an hour', () => {
    const scene = new Scene()
    scene.ask({ import: 1 })
    scene.end(0, told(500))
    scene.nowMs -= 3_600_000
    expect(scene.ask({ import: 3 }).permits).toHaveLength(1)
    scene.nowMs -= 2_000
    expect(scene.ask({ import: 3 }).permits).toHaveLength(0)
  })

  test('never more in flight than is left of a window', () => {
    const steps = fc.array(
      fc.record({ ms: fc.nat(900), wanted: fc.nat(60), answers: fc.nat(30), order: fc.nat(99) }),
      { minLength: 1, maxLength: 80 },
    )
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 400 }), (rounds, limit) => {
        const scene = new Scene()
        const limiter = createLimiter('fixed', limit)
        let refusals = 0
        for (const { ms, wanted, answers, order } of rounds) {
          scene.nowMs += ms
          // One minute of the service: no reset in sight.
          if (scene.nowMs >= START_MS + 39_000) break
          for (let count = 0; count < answers && scene.out.length > 0; count++) {
            const { remaining, retryAfterS } = limiter.take(scene.nowMs)
            if (retryAfterS !== null) refusals++
            const status = retryAfterS === null ? 200 : 429
            scene.end(order, {
              status,
              limit: String(limit),
              remaining: String(remaining),
              ...(retryAfterS !== null && { retryAfter: String(retryAfterS) }),
            })
          }
          // Interactive calls are not paced: only what is left holds them back.
          scene.ask({ interactive: wanted })
        }
        // A probe into a window that is used up may be refused, and tells when it ends.
        expect(refusals).toBeLessThanOrEqual(1)
      }),
      { numRuns: runs(200) },
    )
  })
})

describe('what it learns', () => {
  /** One process with enough to do, against a limiter, for some minutes; each answer takes 100 ms. */
  function drive(
    model: LimitModel,
    limit: number,
    minutes: number,
    scene = new Scene(),
    limiter = createLimiter(model, limit),
  ) {
    const endMs = scene.nowMs + minutes * 60_000
    const due: { atMs: number; id: string; sentMs: number; answer: Answer }[] = []
    const accepted: number[] = []
    let refused = 0
    const send = ({ permits }: PermitGrant) => {
      for (const { id } of permits) {
        const { remaining, retryAfterS } = limiter.take(scene.nowMs + 30)
        if (retryAfterS === null) accepted.push(scene.nowMs)
        else refused++
        const answer = {
          status: retryAfterS === null ? 200 : 429,
          limit: String(limit),
          remaining: String(remaining),
          retryAfter: retryAfterS === null ? undefined : String(retryAfterS),
        }
        due.push({ atMs: scene.nowMs + 100, id, sentMs: scene.nowMs, answer })
      }
    }
    for (; scene.nowMs < endMs; scene.nowMs += 10) {
      const reports = []
      while (due[0] && due[0].atMs <= scene.nowMs) {
        const { id, sentMs, atMs, answer } = due.shift()!
        reports.push({ id, sentMs, endedMs: atMs, end: answer })
      }
      if (reports.length > 0 || scene.nowMs >= scene.askAgainMs)
        send(scene.ask({ import: 20 }, reports))
    }
    return {
      scene,
      accepted,
      refused,
      view: readQuotaView('org', scene.quota.state(scene.nowMs), scene.nowMs),
    }
  }

  test.each([
    ['fixed', 'window'],
    ['sliding', 'rolling'],
    ['bucket', 'bucket'],
  ] as const)('the kind of a %s limiter', (model, regime) => {
    const { view, accepted, refused } = drive(model, 600, 4)
    expect(view).toMatchObject({ limitPerMinute: 600, regime })
    expect(refused).toBeLessThanOrEqual(1)
    expect(accepted.length).toBeGreaterThan(3.4 * 600)
    expect(view.resetsAtMs !== null).toBe(regime === 'window')
    if (view.resetsAtMs) {
      const { from, to } = view.resetsAtMs
      const minute = Math.round(to / 60_000) * 60_000
      expect(from).toBeLessThanOrEqual(minute)
      expect(to).toBeGreaterThanOrEqual(minute)
      expect(to - from).toBeLessThan(1_000)
    }
    expect(view.lastMinute).toMatchObject({ others: 0 })
    expect(view.lastMinute.ours).toBeGreaterThan(580)
    expect(view.users[0]!.lastMinute.import / view.lastMinute.ours).toBeCloseTo(1, 1)
  })

  test('quota that comes back by little shows within seconds that there are no windows', () => {
    const limiter = createLimiter('sliding', 600)
    const scene = new Scene()
    // Others have used all of it, evenly, in the minute before.
    for (let ms = 100; ms <= 60_000; ms += 100) limiter.take(START_MS + ms)
    scene.nowMs += 60_000
    const { view } = drive('sliding', 600, 0.3, scene, limiter)
    expect(['rolling', 'bucket']).toContain(view.regime)
  })

  test.each(['fixed', 'sliding', 'bucket'] as const)(
    'a reserve is never used: %s limiter',
    (model) => {
      const scene = new Scene()
      scene.settings = { ...DEFAULT_QUOTA_SETTINGS, reserve: 0.2 }
      const { accepted, view } = drive(model, 600, 5, scene)
      expect(view.reserve).toBe(0.2)
      const windows = new Map<number, number>()
      for (const atMs of accepted) {
        const window = Math.floor((atMs + 30) / 60_000)
        windows.set(window, (windows.get(window) ?? 0) + 1)
        if (model === 'fixed') continue
        const lastMinute = accepted.filter((other) => other > atMs - 60_000 && other <= atMs)
        expect(lastMinute.length).toBeLessThanOrEqual(480)
      }
      for (const used of windows.values()) expect(used).toBeLessThanOrEqual(480)
      expect(accepted.length).toBeGreaterThan(4 * 460)
    },
    20_000,
  )

  test('a reset that the service documents is believed within seconds', () => {
    const scene = new Scene()
    const resetMs = START_MS + 40_000
    let left = 600
    for (let round = 0; round < 60; round++) {
      scene.ask({ import: 1 })
      scene.nowMs += 100
      const t = Math.ceil((resetMs - scene.nowMs) / 1_000)
      if (scene.out.length > 0)
        scene.end(0, {
          status: 200,
          rateLimit: `"default";r=${--left};t=${t}`,
          rateLimitPolicy: '"default";q=600;w=60',
        })
    }
    const view = readQuotaView('org', scene.quota.state(scene.nowMs), scene.nowMs)
    expect(view).toMatchObject({ regime: 'window', limitPerMinute: 600 })
    expect(view.resetsAtMs!.from).toBeLessThanOrEqual(resetMs)
    expect(view.resetsAtMs!.to).toBeGreaterThanOrEqual(resetMs)
    expect(view.resetsAtMs!.to - view.resetsAtMs!.from).toBeLessThan(1_200)
  })

  test('a limit of 0 is asked for with one probe at a time, as the service says', () => {
    const scene = new Scene()
    let requests = 0
    while (scene.nowMs < START_MS + 600_000) {
      const { permits, askAgainMs } = scene.ask({ import: 5 })
      expect(permits.length).toBeLessThanOrEqual(1)
      if (permits.length === 0) {
        scene.nowMs = askAgainMs
        continue
      }
      requests++
      scene.nowMs += 50
      scene.end(0, { status: 429, limit: '0', remaining: '0', retryAfter: '60' })
    }
    expect(requests).toBeGreaterThanOrEqual(9)
    expect(requests).toBeLessThanOrEqual(11)
  })

  test('refusals that do not say how long are asked again ever later', () => {
    const scene = new Scene()
    const at: number[] = []
    while (at.length < 8) {
      const { permits, askAgainMs } = scene.ask({ import: 5 })
      if (permits.length === 0) scene.nowMs = askAgainMs
      else {
        at.push(scene.nowMs)
        scene.end(0, { status: 429, retryAfter: '-5' })
      }
    }
    const gaps = at.slice(1).map((ms, index) => ms - at[index]!)
    expect(gaps).toEqual([1_000, 2_000, 4_000, 5_000, 5_000, 5_000, 5_000])
  })

  test('a service that tells no numbers is not throttled, but its refusals count', () => {
    const scene = new Scene()
    scene.ask({ import: 50 })
    expect(scene.out).toHaveLength(1)
    scene.end(0, { status: 200 }, { import: 50 })
    expect(scene.out).toHaveLength(50)
    scene.end(0, { status: 429, retryAfter: '3' }, { import: 50 })
    expect(scene.askAgainMs).toBe(scene.nowMs + 3_000)
  })

  test('a wrong key tells nothing of the org', () => {
    const scene = new Scene()
    scene.ask({ import: 1 })
    scene.end(0, { status: 401, limit: '5', remaining: '4' })
    expect(
      readQuotaView('org', scene.quota.state(scene.nowMs), scene.nowMs).limitPerMinute,
    ).toBeNull()
  })

  test('after a 503, half as many in flight; they grow back', () => {
    const scene = new Scene()
    scene.ask({ import: 1 })
    scene.end(0, { status: 200, limit: '1000000000', remaining: '1000000000' })
    scene.ask({ import: 64 })
    expect(scene.out).toHaveLength(64)
    scene.nowMs += 100
    scene.end(0, { status: 503, retryAfter: '1' })
    while (scene.out.length > 0) scene.end(0, 'unused')
    scene.nowMs += 1_000
    // One asks whether the service is back.
    scene.ask({ import: 64 })
    expect(scene.out).toHaveLength(1)
    scene.end(0, { status: 200, limit: '1000000000', remaining: '1000000000' })
    scene.ask({ import: 64 })
    expect(scene.out).toHaveLength(32)
    for (let round = 0; round < 30; round++) {
      scene.nowMs += 100
      for (let left = scene.out.length; left > 0; left--)
        scene.end(0, { status: 200, limit: '1000000000', remaining: '1000000000' })
      scene.ask({ import: 64 })
    }
    expect(scene.out.length).toBeGreaterThan(55)
  })

  test('in flight follow rate and latency', () => {
    const inFlightAt = (latencyMs: number) => {
      const scene = new Scene()
      let left = 6_000
      for (let round = 0; round < 60; round++) {
        scene.ask({ import: 200 })
        scene.nowMs += latencyMs
        for (let count = scene.out.length; count > 0; count--)
          scene.end(0, { status: 200, limit: '6000', remaining: String(--left) })
        if (left < 3_000) left = 6_000
      }
      scene.ask({ import: 1_000 })
      return scene.out.length
    }
    expect(inFlightAt(20)).toBeLessThanOrEqual(40)
    expect(inFlightAt(1_000)).toBeGreaterThan(inFlightAt(20))
    expect(inFlightAt(1_000)).toBeLessThanOrEqual(256)
  })
})

describe('who goes first', () => {
  /** A plentiful quota, of which a permit is handed out every 100 ms. */
  function shared(
    demands: Readonly<Record<string, Partial<Record<Priority, number>>>>,
    seconds: number,
  ) {
    const scene = new Scene()
    scene.ask({ import: 1 })
    scene.end(0, { status: 200, limit: '600', remaining: '599' })
    const counts: Record<string, number> = {}
    const users = Object.entries(demands)
    for (let tick = 0; tick < seconds * 20; tick++) {
      scene.nowMs += 50
      const [user, wanted] = users[tick % users.length]!
      const answered = scene.out.splice(0)
      const reports = answered.map(({ id, sentMs }) => ({
        id,
        sentMs,
        endedMs: scene.nowMs,
        end: told(500),
      }))
      for (const { priority } of scene.ask(wanted, reports, user).permits) {
        const name = `${user} ${priority}`
        counts[name] = (counts[name] ?? 0) + 1
      }
    }
    return counts
  }

  test('priorities of one process share by their weights', () => {
    const counts = shared({ a: { import: 9, mirror: 9, backfill: 9 } }, 50)
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0)
    expect(total).toBeGreaterThan(300)
    expect(counts['a import']! / total).toBeCloseTo(0.6, 1)
    expect(counts['a mirror']! / total).toBeCloseTo(0.3, 1)
    expect(counts['a backfill']! / total).toBeCloseTo(0.1, 1)
  })

  test('and so do processes that want different ones: a backfill on many does not starve an import on one', () => {
    const counts = shared(
      { a: { backfill: 40 }, b: { backfill: 40 }, c: { backfill: 40 }, d: { import: 9 } },
      50,
    )
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0)
    expect(counts['d import']! / total).toBeGreaterThan(0.75)
    const backfills = ['a', 'b', 'c'].reduce(
      (sum, user) => sum + (counts[`${user} backfill`] ?? 0),
      0,
    )
    expect(backfills / total).toBeGreaterThan(0.1)
  })

  test('who is alone has all of it, and nobody saves up', () => {
    const scene = new Scene()
    scene.ask({ backfill: 1 })
    scene.end(0, { status: 200, limit: '2000000', remaining: '2000000' })
    const alone = scene.ask({ backfill: 5 }).permits
    expect(alone).toHaveLength(5)
    while (scene.out.length > 0)
      scene.end(0, { status: 200, limit: '2000000', remaining: '2000000' })
    // The backfill has had many; the import that comes now is level with it, not far behind.
    scene.nowMs += 10_000
    const counts = { import: 0, backfill: 0 }
    for (let round = 0; round < 70; round++) {
      const [permit] = scene.ask({ import: 1, backfill: 1 }).permits
      counts[permit!.priority as 'import' | 'backfill']++
      scene.ask(
        {},
        scene.out
          .splice(0)
          .map(({ id, sentMs }) => ({ id, sentMs, endedMs: scene.nowMs, end: 'unused' })),
      )
    }
    expect(counts.import + counts.backfill).toBe(70)
  })

  test('an interactive call is not paced, and the next credit is its own', () => {
    const scene = new Scene()
    scene.ask({ import: 1 })
    scene.end(0, told(3, { limit: '60' }))
    // Bulk is paced, an interactive call is not.
    expect(
      scene.ask({ import: 5, interactive: 2 }).permits.map(({ priority }) => priority),
    ).toEqual(['interactive', 'interactive'])
  })
})

describe('the view', () => {
  test('forecasts with what is left after reserve and others', () => {
    const scene = new Scene()
    expect(
      forecastMinutes(readQuotaView('org', scene.quota.state(START_MS), START_MS), 10, 'import'),
    ).toBeNull()
    scene.settings = { ...DEFAULT_QUOTA_SETTINGS, reserve: 0.25 }
    scene.ask({ import: 1 })
    scene.end(0, told(599), { import: 1 })
    const view = readQuotaView('org', scene.quota.state(scene.nowMs), scene.nowMs)
    expect(view.available).toEqual({ import: 450, mirror: 150, backfill: 64 })
    expect(forecastMinutes(view, 900, 'import')).toBe(2)
    expect(view.users).toMatchObject([{ name: 'a', lastMinute: { import: 1 } }])
    expect(view.totals).toMatchObject({ requests: 1, refused: 0 })
  })

  test('a state stays small', () => {
    const scene = new Scene()
    let left = 6_000
    for (let round = 0; round < 1_400; round++) {
      scene.ask({ import: 8 })
      scene.nowMs += 50
      for (let count = scene.out.length; count > 0; count--)
        scene.end(0, { status: 200, limit: '6000', remaining: String(Math.max(0, --left)) })
    }
    scene.ask({ import: 40 })
    expect(scene.quota.state(scene.nowMs).length).toBeLessThan(16_384)
  })
})
