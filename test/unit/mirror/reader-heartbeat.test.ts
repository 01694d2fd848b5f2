// Heartbeats while records are asked for one by one: the server takes a worker for dead that sends none.

import { expect, test } from 'vitest'
import { ServiceFailure } from '../../../src/core/errors.ts'
import { Reader, type ReaderDeps } from '../../../src/mirror/reader.ts'
import { quick } from './scene.ts'

test('records that are gone are asked for one after the other, and heartbeats are sent meanwhile', async () => {
  let now = Date.UTC(2026, 0, 1)
  const beats: number[] = []
  const gone = () => {
    now += 600
    return Promise.reject(
      new ServiceFailure('readRecord: not found', {
        kind: 'problem',
        disposition: 'reject',
        block: 'service',
        outcomeUnknown: false,
        status: 404,
      }),
    )
  }
  const reader = new Reader({
    client: { readRecord: gone } as unknown as ReaderDeps['client'],
    clock: { now: () => now, sleep: () => new Promise(() => {}) },
    signal: new AbortController().signal,
    priority: 'mirror',
    tuning: quick,
    beat: () => void beats.push(now),
  })
  const began = now
  for (let asked = 0; asked < 200; asked++) expect(await reader.record('thing', 'id')).toBeNull()
  const gaps = [began, ...beats, now].map((at, index, all) => at - (all[index - 1] ?? at))
  expect(Math.max(...gaps)).toBeLessThanOrEqual(6_000)
})
