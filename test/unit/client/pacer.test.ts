// The pacer in virtual time: its queue, one process against a service that counts, and several that share a row. What the
// quota itself decides is tested beside it, in pacer-state.test.ts.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Pacer } from '../../../src/client/pacer/pacer.ts'
import type { PacerOptions } from '../../../src/client/pacer/pacer.ts'
import { readQuotaView } from '../../../src/client/pacer/view.ts'
import { QuotaWait } from '../../../src/core/errors.ts'
import { PRIORITIES } from '../../../src/core/ports.ts'
import type { AcquireOptions, Answer, Logger, Permit } from '../../../src/core/ports.ts'
import { RowStore } from './row-store.ts'
import { VirtualClock, fixedWindow, settled, slidingLog } from './virtual-time.ts'
import type { Limiter } from './virtual-time.ts'

const told = (remaining: number, more: Partial<Answer> = {}): Answer => ({
  status: 200,
  limit: '600',
  remaining: String(remaining),
  ...more,
})
/** A limit that is as good as none. */
const plenty: Answer = { status: 200, limit: '1000000000', remaining: '1000000000' }
const closedFor = (seconds: number): Answer => ({
  status: 429,
  limit: '600',
  remaining: '0',
  retryAfter: String(seconds),
})
const errorOf = (work: Promise<unknown>) =>
  work.then(
    () => 'none',
    (error: unknown) => error,
  )

interface Lanes {
  readonly pacer: Pacer
  readonly clock: VirtualClock
  readonly limiter: Limiter
  readonly latencyMs?: (() => number) | number
  readonly options?: AcquireOptions
}

/** Lanes that ask, send and ask again for ever; they count what they see. */
function sendForEver(count: number, { pacer, clock, limiter, options, ...more }: Lanes) {
  const seen = { accepted: 0, refused: 0, beforeGate: 0, outMax: 0, outBeforeAnswer: 0 }
  const latencyMs = () =>
    typeof more.latencyMs === 'function' ? more.latencyMs() : (more.latencyMs ?? 30)
  let gateMs = 0
  let out = 0
  const lane = async () => {
    for (;;) {
      const permit = await pacer.acquire({ maxWaitMs: Infinity, ...options })
      out += 1
      seen.outMax = Math.max(seen.outMax, out)
      if (seen.accepted + seen.refused === 0) seen.outBeforeAnswer = seen.outMax
      if (clock.now() < gateMs) seen.beforeGate += 1
      await clock.sleep(latencyMs())
      const answer = limiter(clock.now())
      await clock.sleep(latencyMs())
      out -= 1
      if (answer.status === 429) {
        seen.refused += 1
        gateMs = Math.max(gateMs, clock.now() + Number(answer.retryAfter ?? 0) * 1_000)
      } else seen.accepted += 1
      permit.observe(answer)
    }
  }
  for (let index = 0; index < count; index++) void lane()
  return seen
}

/** A clock that can be set; its timers go on as before. */
class SetClock extends VirtualClock {
  aheadMs = 0

  override now(): number {
    return super.now() + this.aheadMs
  }
}

test('a clock that is set back by an hour makes nobody wait for an hour', async () => {
  const clock = new SetClock()
  const pacer = new Pacer({ clock })
  let granted = 0
  const send = async () => {
    const permit = await pacer.acquire({ maxWaitMs: Infinity })
    granted++
    permit.observe(plenty)
  }
  await send()
  await clock.pass(1_000)
  clock.aheadMs = -3_600_000
  void send()
  await clock.pass(10_000)
  expect(granted).toBe(2)
  await pacer.close()
})

describe('one process against a service that counts', () => {
  const minutes = 3
  const simulate = async (limiter: Limiter, lanes: number, seed: number) => {
    const clock = new VirtualClock()
    const pacer = new Pacer({ clock })
    const random = fc.sample(fc.double({ min: 0, max: 1, noNaN: true }), { seed, numRuns: 997 })
    let drawn = 0
    const latencyMs = () => 20 + Math.floor(400 * random[drawn++ % random.length]! ** 3)
    const seen = sendForEver(lanes, { pacer, clock, limiter, latencyMs })
    await clock.pass(minutes * 60_000)
    return seen
  }

  test.each([
    ['a fixed window of 60', fixedWindow, 60, 4],
    ['a fixed window of 600', fixedWindow, 600, 16],
    ['a sliding log of 60', slidingLog, 60, 4],
    ['a sliding log of 600', slidingLog, 600, 16],
  ])('%s: the quota is used, and hardly overrun', async (_, model, limit, lanes) => {
    const seen = await simulate(model(limit), lanes, 42)
    expect(seen).toMatchObject({ outBeforeAnswer: 1, beforeGate: 0 })
    // The first minute is spent learning.
    expect(seen.accepted).toBeGreaterThan(0.95 * limit * (minutes - 1))
    expect(seen.refused).toBeLessThanOrEqual(minutes + 1)
  })

  test('a service that tells nothing is not throttled', async () => {
    const seen = await simulate(() => ({ status: 200 }), 8, 3)
    expect(seen.outBeforeAnswer).toBe(1)
    expect(seen.accepted).toBeGreaterThan(1_000 * minutes)
  })
})

describe('the queue', () => {
  /** A pacer whose first permit is out: nothing else is let go before its answer. */
  const start = async (options: PacerOptions = {}) => {
    const clock = new VirtualClock()
    const pacer = new Pacer({ clock, ...options })
    const first = await pacer.acquire()
    return { clock, pacer, first }
  }

  test('first come first served within a priority, interactive callers first', async () => {
    const { clock, pacer, first } = await start()
    const order: string[] = []
    for (const priority of [...PRIORITIES.toReversed(), ...PRIORITIES]) {
      const number = order.length
      void pacer.acquire({ priority, maxWaitMs: Infinity }).then((permit) => {
        order.push(priority)
        permit.observe(plenty)
        return number
      })
    }
    const numbers: number[] = []
    for (let number = 0; number < 20; number++)
      void pacer.acquire({ priority: 'import' }).then((permit) => {
        numbers.push(number)
        permit.observe(plenty)
      })
    first.observe(plenty)
    await clock.pass(60_000)
    expect(order.slice(0, 2)).toEqual(['interactive', 'interactive'])
    expect(order.toSorted()).toEqual(PRIORITIES.flatMap((one) => [one, one]).toSorted())
    expect(numbers).toEqual(Array.from({ length: 20 }, (_, index) => index))
    expect(pacer.limitPerMinute()).toBe(1_000_000_000)
    expect(clock.sleeping).toBe(0)
  })

  test('a wait known to be too long is refused at once; others go on', async () => {
    const { clock, pacer, first } = await start()
    const short = errorOf(pacer.acquire({ maxWaitMs: 9_000 }))
    const long = pacer.acquire({ maxWaitMs: 12_000 })
    first.observe(closedFor(10))
    expect(await short).toMatchObject({ code: 'quota_wait', retryAfterMs: 10_000 })
    await expect(pacer.acquire({ maxWaitMs: 9_999 })).rejects.toBeInstanceOf(QuotaWait)
    let at = 0
    void long.then((permit) => {
      at = clock.now()
      permit.observe(told(5))
    })
    const beganMs = clock.now()
    await clock.pass(60_000)
    expect(at - beganMs).toBeGreaterThanOrEqual(10_000)
    expect(at - beganMs).toBeLessThan(11_000)
    expect(clock.sleeping).toBe(0)
  })

  test('a refusal never asks to come back sooner than in a second', async () => {
    const { clock, pacer, first } = await start()
    const refused = errorOf(pacer.acquire({ maxWaitMs: 0 }))
    await clock.pass(1)
    expect(await refused).toMatchObject({ code: 'quota_wait', retryAfterMs: 1_000 })
    first.lost()
  })

  test('a caller of whose priority nobody is let go for too long is refused', async () => {
    const { clock, pacer } = await start()
    const beganMs = clock.now()
    const ended: number[] = []
    const refused = errorOf(pacer.acquire({ maxWaitMs: 2_000 })).finally(() =>
      ended.push(clock.now() - beganMs),
    )
    await clock.pass(10_000)
    expect(await refused).toBeInstanceOf(QuotaWait)
    expect(ended[0]).toBeLessThanOrEqual(2_000)
    expect(ended[0]).toBeGreaterThan(1_000)
    expect(clock.sleeping).toBe(0)
  })

  test('a long queue that moves is no failure', async () => {
    const { clock, pacer, first } = await start({ inFlightMax: 1 })
    first.observe(plenty)
    let served = 0
    const callers = Array.from({ length: 60 }, async () => {
      const permit = await pacer.acquire({ priority: 'import', maxWaitMs: 3_000 })
      await clock.sleep(1_000)
      served += 1
      permit.observe(plenty)
    })
    await clock.pass(90_000)
    await Promise.all(callers)
    expect(served).toBe(60)
  })

  test('no more in flight than the cap; who waits for it too long is refused', async () => {
    const { clock, pacer, first } = await start({ inFlightMax: 3 })
    first.observe(plenty)
    await settled()
    const permits: Permit[] = []
    const ended: (string | number)[] = []
    for (let count = 0; count < 5; count++)
      void pacer.acquire({ maxWaitMs: 4_000 }).then(
        (permit) => permits.push(permit),
        (error: QuotaWait) => ended.push(error.code, clock.now()),
      )
    await clock.pass(3_000)
    expect(permits.length).toBe(3)
    permits[0]!.unused()
    await settled()
    expect(permits.length).toBe(4)
    const refusedMs = clock.now() + 4_000
    await clock.pass(10_000)
    expect(ended).toEqual(['quota_wait', refusedMs])
    for (const permit of permits) permit.lost()
    await clock.pass(0)
    expect(clock.sleeping).toBe(0)
  })

  test('where the cap is full, each priority gets room by its share', async () => {
    const shares = { import: 60, mirror: 30, backfill: 10 }
    const settings = { reserve: 0, shares }
    const { clock, pacer, first } = await start({ inFlightMax: 10, settings })
    first.observe(plenty)
    await settled()
    const served = { import: 0, mirror: 0, backfill: 0 }
    for (const priority of ['import', 'mirror', 'backfill'] as const) {
      const limiter = () => {
        served[priority] += 1
        return plenty
      }
      sendForEver(20, { pacer, clock, limiter, latencyMs: 500, options: { priority } })
    }
    await clock.pass(60_000)
    const total = served.import + served.mirror + served.backfill
    expect(total).toBeGreaterThan(500)
    expect(served.import / total).toBeCloseTo(0.6, 1)
    expect(served.mirror / total).toBeCloseTo(0.3, 1)
  })

  test('an abort removes a waiter, and only that one', async () => {
    const { clock, pacer, first } = await start()
    const abort = new AbortController()
    const stays = pacer.acquire()
    const left = errorOf(pacer.acquire({ signal: abort.signal }))
    abort.abort(new Error('enough'))
    expect(await left).toMatchObject({ message: 'enough' })
    first.observe(told(5))
    ;(await stays).observe(told(4))
    await expect(pacer.acquire({ signal: abort.signal })).rejects.toThrow('enough')
    await settled()
    expect(clock.sleeping).toBe(0)
  })

  test('the last waiter takes the timer along', async () => {
    const { clock, pacer, first } = await start()
    const abort = new AbortController()
    const left = errorOf(pacer.acquire({ signal: abort.signal }))
    first.observe(closedFor(10))
    await settled()
    expect(clock.sleeping).toBe(1)
    abort.abort()
    await left
    expect(clock.sleeping).toBe(0)
  })

  test('leaves no listener on a signal, however a wait ends', async () => {
    const { clock, pacer, first } = await start()
    const { signal } = new AbortController()
    let listening = 0
    const [add, remove] = [signal.addEventListener, signal.removeEventListener]
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listening += 1
      add.apply(signal, args)
    }
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listening -= 1
      remove.apply(signal, args)
    }
    const refused = errorOf(pacer.acquire({ signal, maxWaitMs: 9_000 }))
    const granted = pacer.acquire({ signal })
    expect(listening).toBe(2)
    first.observe(closedFor(10))
    await refused
    await clock.pass(12_000)
    ;(await granted).unused()
    expect(listening).toBe(0)
  })

  test('a permit closes once', async () => {
    const { clock, pacer, first } = await start({ inFlightMax: 1 })
    first.observe(plenty)
    first.lost()
    first.unused()
    const one = await pacer.acquire()
    const two = pacer.acquire()
    one.observe(plenty)
    one.unused()
    ;(await two).observe(plenty)
    const three = await pacer.acquire()
    const four = errorOf(pacer.acquire({ maxWaitMs: 10 }))
    await clock.pass(20)
    expect(await four).toBeInstanceOf(QuotaWait)
    three.lost()
  })

  test('the queue is bounded', async () => {
    const { pacer } = await start()
    for (let count = 0; count < 10_000; count++) void errorOf(pacer.acquire())
    await expect(pacer.acquire()).rejects.toMatchObject({ code: 'quota_queue_full' })
    await pacer.close()
  })

  test('closed, it refuses who waits and who comes', async () => {
    const { clock, pacer, first } = await start()
    const waiting = errorOf(pacer.acquire())
    await pacer.close()
    expect(await waiting).toMatchObject({ code: 'quota_closed' })
    await expect(pacer.acquire()).rejects.toMatchObject({ code: 'quota_closed' })
    first.observe(told(5))
    expect(clock.sleeping).toBe(0)
  })
})

const org = 'https://api.example.com org 42'

/** Processes that share a row. */
function shareRow(
  count: number,
  options: { aheadMs?: number; oneWayMs?: number; pacer?: PacerOptions } = {},
) {
  const clock = new VirtualClock()
  const store = new RowStore(clock, options)
  const events: string[] = []
  const say = (_: object, event: string) => void events.push(event)
  const logger: Logger = { debug: say, info: say, warn: say, error: say }
  const pacers = Array.from({ length: count }, (_, index) => {
    const user = { id: `user-${index}`, name: `process ${index}` }
    return new Pacer({ clock, logger, ...options.pacer, shared: { store, org, user } })
  })
  const view = () => readQuotaView(org, store.rows.get(org)!, clock.now() + store.aheadMs)
  /** Sends one request, with an answer that comes at once. */
  const send = async (pacer: Pacer, answer: Answer, acquire: AcquireOptions = {}) => {
    const permit = pacer.acquire(acquire)
    await clock.pass(300)
    ;(await permit).observe(answer)
    await clock.pass(300)
  }
  return { clock, store, pacers, pacer: pacers[0]!, events, view, send }
}

/** The least time between one and the next. */
const closest = (times: readonly number[]) =>
  Math.min(...times.slice(1).map((time, index) => time - times[index]!))

describe('several processes on one row', () => {
  test.each([
    ['a fixed window', fixedWindow],
    ['a sliding log', slidingLog],
  ])('use the quota of %s together, without loss, by few exchanges', async (_, model) => {
    const { clock, store, pacers } = shareRow(3)
    const limiter = model(600)
    const minutes = 3
    const seen = pacers.map((pacer) =>
      sendForEver(8, { pacer, clock, limiter, options: { priority: 'import' } }),
    )
    await clock.pass(minutes * 60_000)
    const accepted = seen.map((one) => one.accepted)
    const total = accepted.reduce((sum, one) => sum + one, 0)
    expect(total).toBeGreaterThan(0.95 * 600 * (minutes - 1))
    expect(seen.reduce((sum, one) => sum + one.refused, 0)).toBeLessThanOrEqual(minutes + 4)
    for (const one of accepted) expect(one / total).toBeGreaterThan(0.2)
    // 4 a second and process, and a few more for refusals and at the beginning.
    expect(store.asked.length).toBeLessThanOrEqual(3 * 4 * 60 * minutes * 1.05)
  })

  test('a store whose time arrives late makes nobody use a place too early', async () => {
    const { clock, store, pacers } = shareRow(3)
    let drawn = 0
    store.staleMs = () => (drawn++ * 379) % 700
    const limiter = slidingLog(600)
    const seen = pacers.map((pacer) =>
      sendForEver(8, { pacer, clock, limiter, options: { priority: 'import' } }),
    )
    await clock.pass(5 * 60_000)
    expect(seen.reduce((sum, one) => sum + one.refused, 0)).toBeLessThanOrEqual(1)
    expect(seen.reduce((sum, one) => sum + one.accepted, 0)).toBeGreaterThan(0.95 * 600 * 4)
  })

  test('exchange at most once in 250 ms; 20 ms for an interactive caller, and for a refusal', async () => {
    const { clock, store, pacer } = shareRow(1)
    sendForEver(8, { pacer, clock, limiter: fixedWindow(60), options: { priority: 'import' } })
    await clock.pass(50_000)
    store.asked.length = 0
    await clock.pass(120_000)
    // A refusal is told sooner; the few there are do not come twice in a second.
    const apart = store.asked.slice(1).map((time, index) => time - store.asked[index]!)
    expect(apart.filter((ms) => ms < 250).length).toBeLessThanOrEqual(4)
    expect(apart.length).toBeGreaterThan(20)
    store.asked.length = 0
    for (let count = 0; count < 100; count++) {
      const abort = new AbortController()
      void errorOf(pacer.acquire({ signal: abort.signal }))
      await clock.pass(1)
      abort.abort()
    }
    expect(closest(store.asked)).toBeGreaterThanOrEqual(20)
    expect(store.asked.length).toBeGreaterThanOrEqual(3)
  })

  test('with plenty, callers hardly wait, and one exchange serves many', async () => {
    const { clock, store, pacer } = shareRow(1)
    const limiter = () => plenty
    const options = { priority: 'import' } as const
    const seen = sendForEver(8, { pacer, clock, limiter, latencyMs: 5, options })
    await clock.pass(5_000)
    store.asked.length = 0
    seen.accepted = 0
    await clock.pass(10_000)
    // 8 lanes of 10 ms could send 800 a second if permits came at once.
    expect(seen.accepted).toBeGreaterThan(4_000)
    expect(store.asked.length).toBeLessThan(seen.accepted / 5)
  })

  test('want no more than 40 permits at a time, nor more than the cap', async () => {
    const { clock, store, pacer, send } = shareRow(1, { pacer: { inFlightMax: 100 } })
    await send(pacer, plenty)
    await clock.pass(1_000)
    const permits: Permit[] = []
    for (let count = 0; count < 200; count++)
      void pacer.acquire({ maxWaitMs: Infinity }).then((permit) => permits.push(permit))
    store.asked.length = 0
    await clock.pass(10)
    expect([permits.length, store.asked.length]).toEqual([40, 1])
    await clock.pass(2_000)
    expect(permits.length).toBe(100)
    for (const permit of permits) permit.observe(plenty)
    await clock.pass(2_000)
    expect(permits.length).toBe(200)
    for (const permit of permits) permit.observe(plenty)
    await clock.pass(400)
    expect(clock.sleeping).toBe(0)
  })

  test('idle, hold no timer and ask nothing, but the last reports are delivered', async () => {
    const { clock, store, pacer, view, send } = shareRow(1)
    await send(pacer, plenty)
    for (let count = 0; count < 8; count++) await send(pacer, plenty, { priority: 'mirror' })
    await clock.pass(1_000)
    expect(view().totals.requests).toBe(9)
    expect(clock.sleeping).toBe(0)
    const asked = store.asked.length
    await clock.pass(3_600_000)
    expect(store.asked.length).toBe(asked)
  })

  test('give back at once what a caller wanted who gave up meanwhile', async () => {
    const { clock, pacer, pacers, send } = shareRow(2)
    await send(pacer, told(1))
    const abort = new AbortController()
    const left = errorOf(pacer.acquire({ signal: abort.signal }))
    await settled()
    // The exchange is under way.
    abort.abort(new Error('enough'))
    await left
    await clock.pass(400)
    expect(clock.sleeping).toBe(0)
    // The one request that remains is another process's for the asking.
    const other = pacers[1]!.acquire()
    const askedMs = clock.now()
    void other.then((permit) => {
      expect(clock.now() - askedMs).toBeLessThan(20)
      permit.unused()
    })
    await clock.pass(400)
    await other
  })

  test("keep to the store's clock, however far it is from their own", async () => {
    const aheadMs = 3_600_000
    const { clock, pacer, pacers, view, send } = shareRow(2, { aheadMs })
    const first = pacer.acquire()
    await clock.pass(300)
    const refusedMs = clock.now()
    ;(await first).observe(closedFor(30))
    await clock.pass(300)
    expect(view().closedUntilMs! - (refusedMs + aheadMs + 30_000)).toBeCloseTo(0, 0)
    let grantedMs = 0
    void pacers[1]!.acquire({ priority: 'backfill' }).then((permit) => {
      grantedMs = clock.now()
      permit.observe(told(500))
    })
    await clock.pass(29_000)
    expect(grantedMs).toBe(0)
    await clock.pass(10_000)
    expect(grantedMs - refusedMs).toBeGreaterThanOrEqual(30_000)
    expect(grantedMs - refusedMs).toBeLessThan(32_000)
    const short = errorOf(send(pacer, told(5), { maxWaitMs: 0 }))
    await clock.pass(1_000)
    expect(await short).toBe('none')
  })

  test('refuse a caller by what the row knows of another process', async () => {
    const { clock, pacer, pacers, send } = shareRow(2)
    await send(pacer, closedFor(30))
    const refused = errorOf(pacers[1]!.acquire({ maxWaitMs: 5_000, priority: 'import' }))
    await clock.pass(1_000)
    const { retryAfterMs } = (await refused) as QuotaWait
    expect(retryAfterMs).toBeGreaterThan(28_000)
    expect(retryAfterMs).toBeLessThanOrEqual(30_000)
  })

  test('that wait for long ask every few seconds: others may have learned something', async () => {
    const { clock, store, pacers, send } = shareRow(2)
    await send(pacers[0]!, closedFor(30))
    store.asked.length = 0
    void pacers[1]!.acquire({ priority: 'import' })
    await clock.pass(27_000)
    expect(store.asked.length).toBe(6)
  })

  test('closed, deliver what they have to tell', async () => {
    const { clock, pacer, view, send } = shareRow(1)
    await send(pacer, plenty)
    const permit = pacer.acquire()
    await clock.pass(50)
    ;(await permit).observe(plenty)
    const closing = pacer.close()
    await clock.pass(10)
    await closing
    expect(view().totals.requests).toBe(2)
    expect(clock.sleeping).toBe(0)
  })
})

describe('while the store is away', () => {
  test('everybody goes on; it is said once, and so is its return', async () => {
    const { clock, store, pacers, events, view } = shareRow(2)
    const limiter = slidingLog(600)
    const seen = pacers.map((pacer) =>
      sendForEver(8, { pacer, clock, limiter, options: { priority: 'import' } }),
    )
    await clock.pass(120_000)
    const before = seen.map((one) => one.accepted)
    expect(events).toEqual([])
    store.mode = 'fails'
    store.asked.length = 0
    await clock.pass(60_000)
    const during = seen.map((one, index) => one.accepted - before[index]!)
    for (const one of during) expect(one).toBeGreaterThan(100)
    expect(events).toEqual(['quota_store_away', 'quota_store_away'])
    // One try every 2 s and process.
    expect(store.asked.length).toBeLessThanOrEqual(2 * 31)
    expect(store.asked.length).toBeGreaterThan(2 * 25)
    const toldBefore = view().totals.requests
    store.mode = 'there'
    await clock.pass(3_000)
    expect(events.slice(2)).toEqual(['quota_store_back', 'quota_store_back'])
    // What was used meanwhile is known to all.
    expect(view().totals.requests - toldBefore).toBeGreaterThanOrEqual(during[0]! + during[1]!)
    await clock.pass(60_000)
    const total = seen.reduce((sum, one) => sum + one.accepted, 0)
    const refused = seen.reduce((sum, one) => sum + one.refused, 0)
    expect(total).toBeGreaterThan(0.9 * 600 * 3)
    expect(refused).toBeLessThan(0.03 * total)
    expect(events.length).toBe(4)
  })

  test('from the first exchange on, one permit into the unknown and then more', async () => {
    const { clock, store, pacer, events } = shareRow(1)
    store.mode = 'fails'
    const seen = sendForEver(4, { pacer, clock, limiter: slidingLog(600) })
    await clock.pass(10_000)
    expect(seen.outBeforeAnswer).toBe(1)
    expect(seen.accepted).toBeGreaterThan(10)
    expect(events).toEqual(['quota_store_away'])
  })

  test('a store that hangs delays a caller by 2 s, once', async () => {
    const { clock, store, pacer, events, view, send } = shareRow(1)
    await send(pacer, plenty)
    store.mode = 'hangs'
    const waited: number[] = []
    for (let count = 0; count < 3; count++) {
      const askedMs = clock.now()
      void pacer.acquire().then((permit) => {
        waited.push(clock.now() - askedMs)
        permit.observe(plenty)
      })
      await clock.pass(3_000)
    }
    expect(waited).toEqual([2_000, 0, 0])
    expect(events).toEqual(['quota_store_away'])
    // One update hangs, and nothing else is tried beside it.
    expect(store.asked.length).toBe(3)
    store.comeBack()
    await clock.pass(5_000)
    expect(events).toEqual(['quota_store_away', 'quota_store_back'])
    expect(view().totals.requests).toBe(4)
    expect(clock.sleeping).toBe(0)
  })

  test('permits that come too late go back', async () => {
    const { clock, store, pacer, pacers } = shareRow(2)
    store.mode = 'hangs'
    const first = pacer.acquire()
    await clock.pass(2_500)
    ;(await first).unused()
    store.comeBack()
    await clock.pass(3_000)
    expect(clock.sleeping).toBe(0)
    // Before the first answer only one request may be out: it is another process's for the asking.
    const askedMs = clock.now()
    const other = pacers[1]!.acquire().then(() => clock.now() - askedMs)
    await clock.pass(20_000)
    expect(await other).toBeLessThan(20)
  })

  test('what waits to be told is bounded', async () => {
    const { clock, store, pacer, view } = shareRow(1)
    const seen = sendForEver(8, { pacer, clock, limiter: () => plenty, latencyMs: 5 })
    await clock.pass(1_000)
    store.mode = 'fails'
    await clock.pass(20_000)
    expect(seen.accepted).toBeGreaterThan(4_000)
    const before = view().totals.requests
    store.mode = 'there'
    await clock.pass(2_000)
    const told = view().totals.requests - before
    expect(told).toBeGreaterThan(1_900)
    expect(told).toBeLessThan(4_000)
  })

  test('an idle process stops trying after a minute, and finds the store again when it is needed', async () => {
    const { clock, store, pacer, events, send } = shareRow(1)
    await send(pacer, plenty)
    store.mode = 'fails'
    await send(pacer, plenty)
    await clock.pass(70_000)
    expect(clock.sleeping).toBe(0)
    const asked = store.asked.length
    store.mode = 'there'
    await clock.pass(3_600_000)
    expect(store.asked.length).toBe(asked)
    await send(pacer, plenty)
    await clock.pass(3_000)
    expect(events).toEqual(['quota_store_away', 'quota_store_back'])
    expect(clock.sleeping).toBe(0)
  })

  test('closing waits for nothing', async () => {
    const { clock, store, pacer, send } = shareRow(1)
    store.mode = 'fails'
    await send(pacer, plenty)
    const closing = pacer.close()
    await clock.pass(0)
    await closing
    expect(clock.sleeping).toBe(0)
  })
})
