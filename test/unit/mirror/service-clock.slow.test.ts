// A service whose clock goes back: edits made since have times that were read already.

import { expect, test } from 'vitest'
import type { Clock } from '../../../src/core/ports.ts'
import type { MirrorClient } from '../../../src/mirror/index.ts'
import { postgresPlaces } from './postgres-place.ts'
import { CONTACT, mirrorScene, shortSleep } from './scene.ts'

const newPlace = postgresPlaces()

const HOUR = 3_600_000

/** A service with a clock of its own, and a mirror of it that learns it from the answers, unless `isTold` says otherwise. */
async function twoClocks(isTold = true) {
  const start = Date.UTC(2026, 5, 1)
  const time = { real: start, ahead: 0 }
  const service: Clock = { now: () => time.real + time.ahead, sleep: async () => {} }
  const clock: Clock = { now: () => time.real++, sleep: shortSleep }
  const s = await mirrorScene({
    place: await newPlace(),
    service: { seedRecords: 600, clock: service },
  })
  const through = (client: MirrorClient): MirrorClient =>
    Object.assign(Object.create(client) as MirrorClient, {
      clockAheadMs: () => (isTold ? time.ahead : null),
    })
  const ids = s.service.records(CONTACT).map(({ id }) => id)
  const run = async () => (await s.run({ clock, through })).streams[CONTACT]!
  const write = (from: number, count: number, title: string) =>
    s.client.batchUpdate(CONTACT, {
      items: ids
        .slice(from, from + count)
        .map((id) => ({ id, properties: { svc_job_title: title } })),
    })
  return { ...s, time, run, write }
}

test.each([
  ['between two runs', 10 * 60_000],
  ['by as much as passed since the last run', HOUR],
])('a clock that goes back an hour, %s, hides no edit', async (_, passed) => {
  const s = await twoClocks()
  await s.run()
  s.time.real += 2 * HOUR
  await s.write(0, 6, 'first')
  expect(await s.run()).toMatchObject({ mode: 'incremental', changed: 6, message: null })
  s.time.ahead = -HOUR
  await s.write(100, 6, 'behind')
  s.time.real += passed
  expect(await s.run()).toMatchObject({
    mode: 'incremental',
    changed: 6,
    message: expect.stringContaining("the service's clock went back by about 60 min"),
  })
  expect(await s.difference()).toEqual([])
  // It stays behind: the place of reading is still ahead of it.
  s.time.real += 10 * 60_000
  await s.write(200, 6, 'still behind')
  expect(await s.run()).toMatchObject({ changed: 6, message: null })
  expect(await s.difference()).toEqual([])
  // What it gave its time before it was put right.
  await s.write(300, 6, 'before')
  s.time.real += 5 * 60_000
  s.time.ahead = 0
  await s.write(400, 6, 'right again')
  expect(await s.run()).toMatchObject({ mode: 'incremental', changed: 12 })
  expect(await s.difference()).toEqual([])
})

test('a clock that goes on reads no more than the overlap', async () => {
  const s = await twoClocks()
  await s.run()
  s.time.real += 2 * HOUR
  await s.write(0, 6, 'first')
  await s.run()
  s.time.real += HOUR
  await s.write(100, 6, 'second')
  expect(await s.run()).toMatchObject({ read: 12, changed: 6, message: null })
  s.time.real += HOUR
  await s.write(200, 6, 'third')
  expect(await s.run()).toMatchObject({ read: 12, changed: 6, message: null })
})

test('a clock that does not tell its time is believed', async () => {
  const s = await twoClocks(false)
  await s.run()
  s.time.real += 2 * HOUR
  await s.write(0, 6, 'first')
  expect(await s.run()).toMatchObject({ changed: 6, message: null })
  s.time.real += HOUR
  await s.write(100, 6, 'second')
  expect(await s.run()).toMatchObject({ read: 12, changed: 6, message: null })
})
