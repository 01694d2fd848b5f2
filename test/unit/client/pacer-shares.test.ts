// What an org's quota owes to those who share it: the reserve of the strictest, the account of shares, and a gate that
// does not stay shut for one odd answer.

import { describe, expect, test } from 'vitest'
import { DEFAULT_QUOTA_SETTINGS } from '../../../src/client/pacer/org-quota.ts'
import type { BulkPriority } from '../../../src/core/ports.ts'
import { Scene, told } from './scene.ts'

const withReserve = (reserve: number) => ({ ...DEFAULT_QUOTA_SETTINGS, reserve })

describe('the reserve', () => {
  test('is that of the strictest process seen within ten minutes', () => {
    const scene = new Scene()
    scene.ask({ import: 1 }, [], 'strict', withReserve(0.35))
    scene.end(0, told(599))
    // Who has none does not switch it off, whoever asks last.
    scene.ask({}, [], 'lax', withReserve(0))
    expect(scene.view().reserve).toBe(0.35)
    expect(scene.view().available!.import).toBe(Math.floor(0.65 * 600))
    scene.nowMs += 590_000
    scene.ask({}, [], 'lax', withReserve(0.1))
    expect(scene.view().reserve).toBe(0.35)
    scene.nowMs += 11_000
    scene.ask({}, [], 'lax', withReserve(0.1))
    expect(scene.view().reserve).toBe(0.1)
  })
})

describe('a clock that is set back by an hour', () => {
  /** A mirror asks for more than there is, and gets every share that it is due before the imports. */
  const scene = () => {
    const scene = new Scene()
    scene.ask({ mirror: 1 }, [], 'gone', withReserve(0.35))
    scene.end(0, told(0))
    scene.ask({ mirror: 50 }, [], 'gone', withReserve(0.35))
    for (let each = 0; each < 20; each++) scene.ask({ import: 1 })
    scene.nowMs -= 3_600_000
    return scene
  }

  test('a process that has gone holds nobody up for that hour', () => {
    const set = scene()
    const first = set.ask({ import: 1 })
    expect(first.permits).toHaveLength(1)
    set.end(0, told(599))
    set.nowMs += 1_000
    expect(set.ask({ import: 10 }).permits).not.toHaveLength(0)
  })

  test('who keeps room for others still does', () => {
    const set = scene()
    set.ask({ import: 1 }, [], 'lax', withReserve(0))
    expect(set.view().reserve).toBe(0.35)
    set.nowMs += 601_000
    set.ask({}, [], 'lax', withReserve(0))
    expect(set.view().reserve).toBe(0)
  })
})

test('permits that come back unused cost a priority nothing of its share', () => {
  const scene = new Scene()
  scene.ask({ import: 1 })
  scene.end(0, told(599))
  const used: Record<BulkPriority, number> = { import: 0, mirror: 0, backfill: 0 }
  let backfills = 0
  for (let round = 0; round < 1_400; round++) {
    scene.nowMs += 50
    while (scene.out.length > 0) {
      const priority = scene.out[0]!.priority as BulkPriority
      // The backfill's callers give every second permit back.
      const isUnused = priority === 'backfill' && ++backfills % 2 === 0
      if (!isUnused) used[priority] += 1
      scene.end(0, isUnused ? 'unused' : told(500))
    }
    scene.ask({ import: 1, backfill: 1 })
  }
  expect(used.import + used.backfill).toBeGreaterThan(400)
  expect(used.backfill / (used.import + used.backfill)).toBeCloseTo(1 / 7, 2)
})

describe('a Retry-After beyond reason', () => {
  const closed = (retryAfter: string) => {
    const scene = new Scene()
    scene.ask({ import: 1 })
    scene.end(0, told(599))
    scene.nowMs += 1_000
    scene.ask({ import: 1 })
    scene.end(0, { status: 429, retryAfter }, { import: 3 })
    return scene
  }

  test('is asked again after five minutes, by one request', () => {
    const scene = closed('1000000000')
    expect(scene.askAgainMs).toBe(scene.nowMs + 300_000)
    expect(scene.view()).toMatchObject({
      closedUntilMs: scene.nowMs + 300_000,
      isClosedForLong: true,
      available: { import: 0, mirror: 0, backfill: 0 },
    })
    scene.nowMs += 300_000
    expect(scene.ask({ import: 5 }).permits).toHaveLength(1)
    scene.end(0, { status: 429, retryAfter: '1000000000' }, { import: 3 })
    expect(scene.askAgainMs).toBe(scene.nowMs + 300_000)
    scene.nowMs += 300_000
    scene.ask({ import: 5 })
    scene.end(0, told(590), { import: 1 })
    expect(scene.view()).toMatchObject({ closedUntilMs: null, isClosedForLong: false })
    expect(scene.view().available!.import).toBe(600)
  })

  test('may be milliseconds: one request asks after so many', () => {
    const scene = closed('30000')
    expect(scene.askAgainMs).toBe(scene.nowMs + 30_000)
    scene.nowMs += 30_000
    scene.ask({ import: 5 })
    expect(scene.out).toHaveLength(1)
    // It was not: later each time, up to five minutes.
    scene.end(0, { status: 429, retryAfter: '30000' }, { import: 3 })
    expect(scene.askAgainMs).toBe(scene.nowMs + 120_000)
    scene.nowMs += 120_000
    scene.ask({ import: 5 })
    scene.end(0, { status: 429, retryAfter: '30000' }, { import: 3 })
    expect(scene.askAgainMs).toBe(scene.nowMs + 300_000)
  })

  test('of a 503 is obeyed for five minutes', () => {
    const scene = new Scene()
    scene.ask({ import: 1 })
    scene.end(0, { status: 503, retryAfter: '30000' }, { import: 3 })
    expect(scene.askAgainMs).toBe(scene.nowMs + 300_000)
  })

  test('is opened by hand', () => {
    const scene = closed('1000000000')
    scene.nowMs += 5_000
    expect(scene.ask({ import: 3 }).permits).toHaveLength(0)
    scene.quota.open(scene.nowMs)
    expect(scene.view()).toMatchObject({ closedUntilMs: null, isClosedForLong: false })
    expect(scene.ask({ import: 3 }).permits).toHaveLength(1)
  })
})

describe('a refusal by another limit', () => {
  /** In the middle of a known window, with most of it left. */
  const inWindow = () => {
    const scene = new Scene()
    let left = 300
    for (let round = 0; round < 400; round++) {
      if (round === 100) left = 599
      scene.nowMs += 50
      while (scene.out.length > 0) scene.end(0, told(--left))
      scene.ask({ import: 1 })
    }
    while (scene.out.length > 0) scene.end(0, told(--left))
    expect(scene.view().regime).toBe('window')
    return { scene, left }
  }

  test.each([{ limit: '600', remaining: '300' }, { limit: '600', remaining: '0' }, {}])(
    'tells nothing of the minute: %j',
    (numbers) => {
      const { scene, left } = inWindow()
      const before = scene.view()
      scene.nowMs += 1_000
      scene.ask({ import: 1 })
      scene.end(0, { status: 429, retryAfter: '1', ...numbers })
      scene.nowMs += 1_000
      scene.ask({ import: 1 })
      expect(scene.out).toHaveLength(1)
      scene.nowMs += 100
      scene.end(0, told(left - 1))
      const after = scene.view()
      expect(after.resetsAtMs).toEqual(before.resetsAtMs)
      expect(after.regime).toBe('window')
      expect(after.lastMinute.others).toBeLessThanOrEqual(before.lastMinute.others + 2)
      let sent = 0
      for (let round = 0; round < 100; round++) {
        scene.nowMs += 50
        while (scene.out.length > 0) scene.end(0, told(left - 2 - sent))
        sent += scene.ask({ import: 1 }).permits.length
      }
      // Five seconds at what is left of the window: far from silence.
      expect(sent).toBeGreaterThan(20)
    },
  )

  test('is believed where one that was sent after it is refused too', () => {
    const { scene } = inWindow()
    scene.nowMs += 1_000
    scene.ask({ import: 1 })
    scene.end(0, { status: 429, limit: '600', remaining: '0', retryAfter: '1' })
    scene.nowMs += 1_000
    scene.ask({ import: 1 })
    scene.nowMs += 100
    scene.end(0, { status: 429, limit: '600', remaining: '0', retryAfter: '1' })
    expect(scene.view().remaining).toBe(0)
  })
})
