// Services whose numbers are wrong for a time, in virtual time: what the pacer believes then, how often it is refused, and how
// soon it is right again.

import { describe, expect, test } from 'vitest'
import type { Answer } from '../../../src/core/ports.ts'
import { Scene } from './scene.ts'

/** The answer to a request; `inFlight` counts it. */
type Service = (nowMs: number, inFlight: number) => Answer

interface Load {
  readonly seconds: number
  /** Requests that the caller has in flight at most. */
  readonly callers: number
  readonly latencyMs: number
}

const HIGH = 600_000
const refusal = { status: 429 }
const numbers = (limit: number, remaining: number) => ({
  limit: String(limit),
  remaining: String(remaining),
})
/** The same Remaining with each answer, refusals too. */
const constant = numbers(HIGH, 599_000)

/** At most so many requests within a time. */
function atMost(requests: number, withinMs: number) {
  let times: number[] = []
  return (nowMs: number) => {
    times = times.filter((at) => at > nowMs - withinMs)
    const isAccepted = times.length < requests
    if (isAccepted) times.push(nowMs)
    return { isAccepted, left: requests - times.length }
  }
}

const steady: Service = () => ({ status: 200, ...constant })

function perSecond(requests: number): Service {
  const take = atMost(requests, 1_000)
  return (nowMs) => ({ ...constant, status: take(nowMs).isAccepted ? 200 : 429 })
}

const fourAtOnce: Service = (_, inFlight) => ({ ...constant, status: inFlight > 4 ? 429 : 200 })

/** A minute's limit that is counted, and told, as it should be. */
function rolling(limit: number): Service {
  const take = atMost(limit, 60_000)
  return (nowMs) => {
    const { isAccepted, left } = take(nowMs)
    return { status: isAccepted ? 200 : 429, ...numbers(limit, left) }
  }
}

/** Sends what it may. Returns what was answered. */
function drive(scene: Scene, service: Service, { seconds, callers, latencyMs }: Load) {
  const endMs = scene.nowMs + seconds * 1_000
  const due: { atMs: number; id: string; sentMs: number; answer: Answer }[] = []
  const counts = { accepted: 0, refused: 0 }
  for (; scene.nowMs < endMs; scene.nowMs += 10) {
    const reports = []
    while (due[0] && due[0].atMs <= scene.nowMs) {
      const { id, sentMs, atMs, answer } = due.shift()!
      reports.push({ id, sentMs, endedMs: atMs, end: answer })
      counts[answer.status === 429 ? 'refused' : 'accepted']++
    }
    if (reports.length === 0 && scene.nowMs < scene.askAgainMs) continue
    const { permits } = scene.ask({ import: callers - due.length }, reports)
    scene.askAgainMs ||= scene.nowMs + 10
    for (const { id } of permits) {
      const answer = service(scene.nowMs, due.length + 1)
      due.push({ atMs: scene.nowMs + latencyMs, id, sentMs: scene.nowMs, answer })
    }
  }
  const reports = due.map(({ id, sentMs, answer }) => ({
    id,
    sentMs,
    endedMs: scene.nowMs,
    end: answer,
  }))
  scene.ask({}, reports)
  scene.out.length = 0
  return counts
}

const load = (seconds: number, callers = 8, latencyMs = 50): Load => ({
  seconds,
  callers,
  latencyMs,
})

/** Numbers that have proved wrong: Remaining has not changed while requests were refused. */
function disbelieving(): Scene {
  const scene = new Scene()
  drive(scene, steady, load(10))
  drive(scene, perSecond(5), load(60))
  return scene
}

describe('numbers that proved wrong', () => {
  test('no older limit is taken for true: one that answers have counts from the first answer', () => {
    const scene = disbelieving()
    drive(scene, fourAtOnce, load(60, 7, 300))
    drive(scene, rolling(60), load(150))
    expect(scene.view()).toMatchObject({ limitPerMinute: 60 })
    const { accepted } = drive(scene, rolling(HIGH), load(10))
    expect(scene.view()).toMatchObject({ limitPerMinute: HIGH, isLimitGuessed: false })
    expect(accepted).toBeGreaterThan(1_000)
  })

  test('a Remaining that moves again counts again, under the same limit', () => {
    const scene = disbelieving()
    expect(scene.view().remainingIgnoredUntilMs).toBeGreaterThan(scene.nowMs)
    expect(scene.view().remaining).toBeNull()
    drive(scene, rolling(HIGH), load(5))
    expect(scene.view()).toMatchObject({ limitPerMinute: HIGH, remainingIgnoredUntilMs: null })
    expect(scene.view().remaining).toBeGreaterThan(0)
  })

  test('what stands still does not count again before its time', () => {
    const scene = disbelieving()
    const until = scene.view().remainingIgnoredUntilMs
    drive(scene, steady, load(60))
    expect(scene.view().remainingIgnoredUntilMs).toBe(until)
    scene.nowMs = until!
    drive(scene, steady, load(1))
    expect(scene.view()).toMatchObject({ remainingIgnoredUntilMs: null, remaining: 599_000 })
  })

  test('it takes twice as many changes each time that it proves wrong again', () => {
    const scene = disbelieving()
    const needed: number[] = []
    for (let round = 0; round < 4; round++) {
      let answers = 0
      const moving: Service = () => ({ status: 200, ...numbers(HIGH, 500_000 - ++answers) })
      while (scene.view().remainingIgnoredUntilMs !== null) drive(scene, moving, load(0.1, 1, 10))
      needed.push(answers)
      drive(scene, steady, load(5))
      drive(scene, perSecond(5), load(30))
    }
    for (let round = 1; round < needed.length; round++)
      expect(needed[round]! / needed[round - 1]!).toBeGreaterThan(1.5)
  })

  test('a limit that accepted answers no longer have is tested as a guess', () => {
    const scene = disbelieving()
    const silent: Service = () => ({ status: 200, remaining: '599000' })
    const { refused } = drive(scene, silent, load(120))
    expect(refused).toBe(0)
    expect(scene.view().isLimitGuessed).toBe(true)
  })
})

describe('refusals that have a lower limit than accepted answers', () => {
  /** A gateway that lets 60 a minute through, before a service that says 600,000. */
  function gateway(): Service {
    const take = atMost(60, 60_000)
    return (nowMs) =>
      take(nowMs).isAccepted ? { status: 200, ...constant } : { status: 429, ...numbers(60, 0) }
  }

  test('are met ever less often, and the quota is used', () => {
    const scene = new Scene()
    const service = gateway()
    drive(scene, service, load(600))
    const { accepted, refused } = drive(scene, service, load(600))
    expect(refused).toBeLessThan(0.03 * accepted)
    expect(accepted).toBeGreaterThan(0.95 * 600)
  })

  test('count for nothing once accepted answers have another limit again', () => {
    const scene = new Scene()
    drive(scene, gateway(), load(120))
    drive(scene, rolling(90), load(200))
    expect(scene.view()).toMatchObject({ limitPerMinute: 90 })
  })

  test('are of another limit, if more than that was let through in the last minute', () => {
    const scene = new Scene()
    const take = atMost(10, 1_000)
    const service: Service = (nowMs) => ({
      ...numbers(10, 0),
      ...(take(nowMs).isAccepted ? { status: 200, ...numbers(HIGH, 599_000) } : refusal),
    })
    drive(scene, steady, load(10))
    const { accepted } = drive(scene, service, load(300))
    expect(accepted).toBeGreaterThan(250)
  })
})
