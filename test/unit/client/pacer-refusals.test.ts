// A service that refuses every request: since when, how many, and what it asks for, as the org's row knows it.

import { expect, test } from 'vitest'
import { Scene, START_MS, told } from './scene.ts'

const refusal = (retryAfter?: string) => ({ status: 429, ...(retryAfter && { retryAfter }) })

/** Refused as often as it asks, one request after the other. */
function refusedFor(scene: Scene, times: number, retryAfter?: string) {
  for (let time = 0; time < times; time++) {
    scene.ask({ import: 1 })
    // Whatever the pacer waits for.
    for (let tries = 0; scene.out.length === 0 && tries < 1_000; tries++) {
      scene.nowMs = Math.max(scene.askAgainMs, scene.nowMs + 1)
      scene.ask({ import: 1 })
    }
    scene.nowMs += 100
    scene.end(0, refusal(retryAfter))
  }
}

test('three refusals, each after the one before, are told with the newest Retry-After', () => {
  const scene = new Scene()
  refusedFor(scene, 2, '7')
  expect(scene.view().refusals).toBeNull()
  refusedFor(scene, 1, '9')
  expect(scene.view().refusals).toEqual({
    sinceMs: START_MS + 100,
    requests: 3,
    retryAfterMs: 9_000,
  })
  refusedFor(scene, 1)
  expect(scene.view().refusals).toMatchObject({ requests: 4, retryAfterMs: null })
})

test('an answer ends them, unless its request was sent before the first', () => {
  const scene = new Scene()
  scene.ask({ interactive: 1 })
  const [early] = scene.out.splice(0)
  refusedFor(scene, 5, '1')
  scene.ask({}, [{ ...early!, endedMs: scene.nowMs, end: told(599) }])
  expect(scene.view().refusals).not.toBeNull()
  scene.nowMs = Math.max(scene.askAgainMs, scene.nowMs + 2_000)
  scene.ask({ interactive: 1 })
  scene.end(0, told(599))
  expect(scene.view().refusals).toBeNull()
})

test('requests that were in flight together are refused once', () => {
  const scene = new Scene()
  scene.ask({ import: 1 })
  scene.end(0, told(599))
  scene.ask({ interactive: 10 })
  expect(scene.out.length).toBe(10)
  scene.nowMs += 100
  while (scene.out.length > 0) scene.end(0, refusal('1'))
  expect(scene.view().refusals).toBeNull()
})
