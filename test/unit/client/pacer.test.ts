// The pacer in virtual time: against services that count, and by itself.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { IN_FLIGHT_MAX_MS, PacerState } from '../../../src/client/pacer/state.ts'
import { SimplePacer } from '../../../src/client/pacer/simple-pacer.ts'
import { QuotaWait } from '../../../src/core/errors.ts'
import { PRIORITIES } from '../../../src/core/ports.ts'
import type { Answer, Permit } from '../../../src/core/ports.ts'
import { VirtualClock, fixedWindow, settled, slidingLog } from './virtual-time.ts'
import type { Limiter } from './virtual-time.ts'

const told = (remaining: number, more: Partial<Answer> = {}): Answer => ({
  status: 200,
  limit: '600',
  remaining: String(remaining),
  ...more,
})

/** Lanes that ask for ever, against a service, for `minutes` of virtual time. */
async function simulate(limiter: Limiter, lanes: number, minutes: number, seed: number) {
  const clock = new VirtualClock()
  const pacer = new SimplePacer(clock)
  const random = fc.sample(fc.double({ min: 0, max: 1, noNaN: true }), { seed, numRuns: 997 })
  let drawn = 0
  const latencyMs = () => 20 + Math.floor(400 * random[drawn++ % random.length]! ** 3)
  const seen = { accepted: 0, refused: 0, beforeGate: 0, outBeforeAnswer: 0 }
  let gateMs = 0
  let answered = false
  let out = 0
  const lane = async () => {
    for (;;) {
      const permit = await pacer.acquire({ maxWaitMs: Infinity })
      out += 1
      if (!answered) seen.outBeforeAnswer = Math.max(seen.outBeforeAnswer, out)
      if (clock.now() < gateMs) seen.beforeGate += 1
      await clock.sleep(latencyMs())
      const answer = limiter(clock.now())
      await clock.sleep(latencyMs())
      out -= 1
      answered = true
      if (answer.status === 200) seen.accepted += 1
      else {
        seen.refused += 1
        gateMs = Math.max(gateMs, clock.now() + Number(answer.retryAfter) * 1_000)
      }
      permit.observe(answer)
    }
  }
  for (let index = 0; index < lanes; index++) void lane()
  await clock.pass(minutes * 60_000)
  return seen
}

describe('against a service that counts', () => {
  const minutes = 5
  test.each([
    ['a fixed window of 60', fixedWindow, 60, 4],
    ['a fixed window of 600', fixedWindow, 600, 16],
    ['a sliding log of 60', slidingLog, 60, 4],
    ['a sliding log of 600', slidingLog, 600, 16],
  ])(
    '%s: the quota is used, and a refusal only answers a probe',
    async (_, model, limit, lanes) => {
      const seen = await simulate(model(limit), lanes, minutes, 42)
      expect(seen.outBeforeAnswer).toBe(1)
      expect(seen.beforeGate).toBe(0)
      // The first window is entered in its middle; with a refusal comes a wait in whole seconds.
      expect(seen.accepted).toBeGreaterThan(0.95 * limit * minutes)
      // One probe, after the quota was used up, learns by being refused how long to wait.
      expect(seen.refused).toBeLessThanOrEqual(minutes + 1)
    },
  )

  test('refusals that do not say how long: probes that grow apart, and no deadlock', async () => {
    const limiter = fixedWindow(60)
    const mute: Limiter = (nowMs) => ({ ...limiter(nowMs), retryAfter: '-5' })
    const seen = await simulate(mute, 4, minutes, 7)
    expect(seen.accepted).toBeGreaterThan(0.9 * 60 * minutes)
    expect(seen.refused).toBeLessThan(20 * minutes)
  })

  test('a service that tells nothing is not throttled', async () => {
    const seen = await simulate(() => ({ status: 200 }), 8, 1, 3)
    expect(seen.outBeforeAnswer).toBe(1)
    expect(seen.accepted).toBeGreaterThan(1_000)
  })

  test('any limit, any latency: never two refusals at a time where nobody else uses the quota', async () => {
    const settings = fc.record({
      limit: fc.integer({ min: 1, max: 300 }),
      lanes: fc.integer({ min: 1, max: 20 }),
      seed: fc.nat(),
    })
    await fc.assert(
      fc.asyncProperty(settings, async ({ limit, lanes, seed }) => {
        const seen = await simulate(fixedWindow(limit), lanes, 3, seed)
        expect(seen).toMatchObject({ outBeforeAnswer: 1, beforeGate: 0 })
        expect(seen.refused).toBeLessThanOrEqual(4)
        expect(seen.accepted).toBeGreaterThanOrEqual(2 * limit)
      }),
      { numRuns: 15 },
    )
  })
})

describe('the state', () => {
  type Step =
    | { kind: 'send' }
    | { kind: 'end'; which: number; how: Answer | 'lost' | 'unused' }
    | { kind: 'pass'; ms: number }
  const header = fc.option(
    fc.oneof(
      fc.nat(50).map(String),
      fc.constantFrom('', '-5', '1.5', 'NaN', '120junk', '99999999999'),
    ),
    { nil: undefined },
  )
  const answer = fc.record({
    status: fc.constantFrom(200, 200, 200, 207, 401, 422, 429, 500, 503),
    limit: header,
    remaining: header,
    retryAfter: header,
  })
  const how = fc.oneof(
    { weight: 6, arbitrary: answer },
    fc.constantFrom('lost' as const, 'unused' as const),
  )
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ kind: fc.constant('send' as const) }),
    fc.record({ kind: fc.constant('end' as const), which: fc.nat(), how }),
    fc.record({ kind: fc.constant('pass' as const), ms: fc.nat(10_000) }),
  )

  test("whatever the headers say: a 429's Retry-After holds to the millisecond, and a grant always comes", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const state = new PacerState()
        const out: number[] = []
        let nowMs = 5
        let gateMs = 0
        let lastId = 0
        for (const action of steps) {
          if (action.kind === 'pass') nowMs += action.ms
          else if (action.kind === 'send') {
            const at = state.next(nowMs)
            if (at !== 0) {
              expect(at).toBeGreaterThan(nowMs)
              continue
            }
            expect(nowMs).toBeGreaterThanOrEqual(gateMs)
            state.onSend(++lastId, nowMs)
            out.push(lastId)
          } else if (out.length > 0) {
            const [id] = out.splice(action.which % out.length, 1)
            if (action.how === 'lost') state.onLost(id!, nowMs)
            else if (action.how === 'unused') state.onUnused(id!)
            else {
              state.onAnswer(id!, action.how, nowMs)
              const { status, retryAfter = '' } = action.how
              if ([429, 503].includes(status) && /^\d{1,3}$/.test(retryAfter)) {
                gateMs = Math.max(gateMs, nowMs + Number(retryAfter) * 1_000)
              }
            }
          }
        }
        // Time alone ends every wait, even if no other answer ever comes.
        let asked = 0
        for (let at = state.next(nowMs); at !== 0; at = state.next(nowMs)) {
          if (!(at > nowMs && at < Infinity)) expect.fail(`${at} is not after ${nowMs}`)
          nowMs = at
          asked += 1
          if (asked > IN_FLIGHT_MAX_MS / 250 + 10) expect.fail('a wait without an end')
        }
        expect(nowMs).toBeGreaterThanOrEqual(gateMs)
      }),
      { numRuns: 2_000 },
    )
  })

  test('requests out never exceed the lowest Remaining, in whatever order answers come', () => {
    const state = new PacerState()
    const send = (id: number) => {
      expect(state.next(0)).toBe(0)
      state.onSend(id, 0)
    }
    send(1)
    expect(state.next(0)).toBeGreaterThan(0)
    state.onAnswer(1, told(3), 0)
    for (const id of [2, 3, 4]) send(id)
    expect(state.next(0)).toBeGreaterThan(0)
    state.onAnswer(4, told(0), 0)
    state.onAnswer(2, told(2), 0)
    expect(state.next(0)).toBeGreaterThan(0)
    state.onAnswer(3, told(1), 0)
    expect(state.next(400)).toBe(500)
    expect(state.next(500)).toBe(0)
  })

  test('a refill is believed at once; a late answer from before it takes one request at most', () => {
    const state = new PacerState()
    state.onSend(1, 0)
    state.onAnswer(1, told(2), 0)
    state.onSend(2, 0)
    state.onSend(3, 0)
    state.onAnswer(3, told(99), 1)
    state.onAnswer(2, told(1), 2)
    for (let id = 10; id < 108; id++) {
      expect(state.next(2)).toBe(0)
      state.onSend(id, 2)
    }
    expect(state.next(2)).not.toBe(0)
  })

  test('an unused permit gives its credit back, a lost one does not', () => {
    const state = new PacerState()
    state.onSend(1, 0)
    state.onAnswer(1, told(1), 0)
    state.onSend(2, 0)
    state.onUnused(2)
    expect(state.next(0)).toBe(0)
    state.onSend(3, 0)
    state.onLost(3, 0)
    expect(state.next(0)).toBe(500)
  })

  test('after 503 with Retry-After nothing is sent; a Remaining above the Limit is cut', () => {
    const state = new PacerState()
    state.onSend(1, 0)
    state.onAnswer(1, { status: 503, limit: '2', remaining: '999', retryAfter: '3' }, 10)
    expect(state.limitPerMinute()).toBe(2)
    expect([state.next(10), state.next(3_009), state.next(3_010)]).toEqual([3_010, 3_010, 0])
    state.onSend(2, 3_010)
    state.onSend(3, 3_010)
    expect(state.next(3_010)).not.toBe(0)
  })
})

describe('the queue', () => {
  const start = async () => {
    const clock = new VirtualClock()
    const pacer = new SimplePacer(clock)
    const first = await pacer.acquire()
    return { clock, pacer, first }
  }

  test('earlier priorities first, first come first served within one', async () => {
    const { pacer, first } = await start()
    const order: string[] = []
    const permits: Permit[] = []
    for (const priority of [...PRIORITIES.toReversed(), ...PRIORITIES]) {
      const label = `${priority} ${order.length}`
      void pacer.acquire({ priority }).then((permit) => {
        order.push(label.split(' ')[0]!)
        permits.push(permit)
      })
    }
    first.observe(told(8))
    await settled()
    expect(order).toEqual(PRIORITIES.flatMap((priority) => [priority, priority]))
    for (const permit of permits) permit.observe(told(8))
    expect(pacer.limitPerMinute()).toBe(600)
  })

  test('a wait known to be too long is refused at once; others go on', async () => {
    const { clock, pacer, first } = await start()
    const short = pacer.acquire({ maxWaitMs: 9_000 })
    const long = pacer.acquire({ maxWaitMs: 10_000 })
    const refused = short.catch((error: unknown) => error)
    first.observe(told(0, { status: 429, retryAfter: '10' }))
    expect(await refused).toMatchObject({ code: 'quota_wait', retryAfterMs: 10_000 })
    await expect(pacer.acquire({ maxWaitMs: 9_999 })).rejects.toBeInstanceOf(QuotaWait)
    let at = 0
    void long.then((permit) => {
      at = clock.now()
      permit.observe(told(5))
    })
    const beganMs = clock.now()
    await clock.pass(60_000)
    expect(at - beganMs).toBe(10_000)
    expect(clock.sleeping).toBe(0)
  })

  test('a caller that waits behind others for too long is refused', async () => {
    const { clock, pacer, first } = await start()
    const refused = pacer.acquire({ maxWaitMs: 2_000 }).catch((error: unknown) => error)
    await clock.pass(3_000)
    expect(await refused).toBeInstanceOf(QuotaWait)
    expect(clock.sleeping).toBe(0)
    first.lost()
  })

  test('an abort removes a waiter, and only that one', async () => {
    const { clock, pacer, first } = await start()
    const abort = new AbortController()
    const stays = pacer.acquire()
    const left = pacer.acquire({ signal: abort.signal }).catch((error: unknown) => error)
    abort.abort(new Error('enough'))
    expect(await left).toMatchObject({ message: 'enough' })
    first.observe(told(5))
    ;(await stays).observe(told(4))
    await expect(pacer.acquire({ signal: abort.signal })).rejects.toThrow('enough')
    expect(clock.sleeping).toBe(0)
  })

  test('the queue is bounded', async () => {
    const { pacer, first } = await start()
    const waiting = Array.from({ length: 10_000 }, () => pacer.acquire())
    await expect(pacer.acquire()).rejects.toMatchObject({ code: 'quota_queue_full' })
    first.observe(told(600))
    await waiting[599]
    const late = pacer.acquire({ signal: AbortSignal.timeout(1) }).catch((error: unknown) => error)
    expect(await late).toMatchObject({ name: 'TimeoutError' })
  })
})
