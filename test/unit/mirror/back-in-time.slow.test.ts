// A service whose modification times go back, as one that was put back from a backup: what it lists is there, and is what the
// table holds afterwards; nothing is deleted but what it does not have.

import { describe, expect, test } from 'vitest'
import type { Clock } from '../../../src/core/ports.ts'
import type { MirrorClient } from '../../../src/mirror/index.ts'
import { postgresPlaces } from './postgres-place.ts'
import { CONTACT, mirrorScene, SCHEMA, shortSleep, type Scene } from './scene.ts'

const newPlace = postgresPlaces()

const BEGIN = Date.UTC(2026, 5, 1)
const HOUR = 3_600_000
const COMPANY = 'svc_company'

/** A service that can be put back, and a mirror of it whose clock goes on. */
async function restorable(seedRecords: number) {
  const time = { service: BEGIN, mirror: BEGIN }
  const service: Clock = { now: () => time.service, sleep: async () => {} }
  const clock: Clock = { now: () => time.mirror++, sleep: shortSleep }
  const s = await mirrorScene({ place: await newPlace(), service: { seedRecords, clock: service } })
  const run = (options: Parameters<Scene['run']>[0] = {}) => {
    time.mirror += HOUR
    return s.run({ clock, ...options })
  }
  const ids = s.service.records(CONTACT).map(({ id }) => id)
  const write = async (of: readonly string[], title: string) => {
    for (let from = 0; from < of.length; from += 50)
      await s.client.batchUpdate(CONTACT, {
        items: of
          .slice(from, from + 50)
          .map((id) => ({ id, properties: { svc_job_title: title } })),
      })
  }
  /** Changes records, mirrors them, and puts them back as they were, times and all. */
  const restore = async (of: readonly string[]) => {
    await write(of, 'before')
    await run()
    time.service += 10 * HOUR
    await write(of, 'after')
    await run()
    time.service -= 10 * HOUR
    await write(of, 'before')
  }
  return { ...s, run, ids, write, restore, time }
}

describe('a service that was put back', () => {
  test('above 200 records nothing is deleted, and the next listing takes all of it over', async () => {
    const s = await restorable(1_000)
    await s.restore(s.ids.slice(0, 300))
    const full = await s.run({ full: true, config: { deletions_max_percent: 100 } })
    expect(full.streams[CONTACT]).toMatchObject({
      deleted: 0,
      reverted: 300,
      changed: 300,
      unchanged: expect.any(Number),
      older: 0,
      serviceCount: 1_000,
      tableCount: 1_000,
      message: expect.stringContaining('300 rows were newer than their records'),
    })
    expect(full.state).toBe('complete')
    expect(await s.difference()).toEqual([])
    const after = await s.run({ full: true })
    expect(after.streams[CONTACT]).toMatchObject({ reverted: 0, changed: 0, message: null })
  })

  test('no record is asked for alone, in the first listing or any later one', async () => {
    const s = await restorable(300)
    await s.restore(s.ids.slice(0, 50))
    let single = 0
    const counting = (client: MirrorClient): MirrorClient =>
      Object.assign(Object.create(client) as MirrorClient, {
        readRecord: (...args: Parameters<MirrorClient['readRecord']>) => {
          single++
          return client.readRecord(...args)
        },
      })
    for (let time = 0; time < 2; time++) await s.run({ full: true, through: counting })
    expect(single).toBe(0)
    expect(await s.difference()).toEqual([])
  })

  test('a run that reads changes notices it, and the next one reads everything', async () => {
    const s = await restorable(600)
    await s.restore(s.ids.slice(0, 300))
    const noticed = await s.run()
    expect(noticed).toMatchObject({
      state: 'complete_with_differences',
      message: expect.stringContaining('went back in time: the next run reads everything'),
    })
    const mended = await s.run()
    expect(mended.streams[CONTACT]).toMatchObject({ mode: 'full', deleted: 0, differs: false })
    expect(await s.difference()).toEqual([])
    expect(await s.run()).toMatchObject({ state: 'complete', message: null })
  })

  test('a type whose counts are equal is read again too, once another one has noticed it', async () => {
    const s = await restorable(600)
    const config = { object_types: [CONTACT, COMPANY] }
    const company = (name: string) => s.client.createRecord(COMPANY, { svc_name: name })
    const gone = await company('gone')
    await s.run({ config })
    s.time.service += 10 * HOUR
    await s.write(s.ids.slice(0, 300), 'after')
    await company('newest')
    await s.run({ config })
    s.time.service -= 10 * HOUR
    await s.write(s.ids.slice(0, 300), 'before')
    await s.client.deleteRecord(COMPANY, gone.id)
    await company('in its place')
    const noticed = await s.run({ config })
    expect(noticed.state).toBe('complete_with_differences')
    expect(await s.difference(COMPANY)).not.toEqual([])
    const mended = await s.run({ config })
    expect(mended.streams[COMPANY]).toMatchObject({ mode: 'full', differs: false })
    expect(await s.difference(COMPANY)).toEqual([])
    const quiet = await s.run({ config })
    expect(quiet.streams[COMPANY]).toMatchObject({ mode: 'incremental' })
    expect(quiet).toMatchObject({ state: 'complete', message: null })
  })

  test.each([
    ['while a listing reads it', true, 2],
    ['after the changes were read', false, Infinity],
  ])('is noticed by the run that has read it: %s', async (_, full, pagesBefore) => {
    const s = await restorable(600)
    await s.run()
    s.time.service += 10 * HOUR
    await s.write(s.ids.slice(0, 100), 'after')
    let isBack = false
    const putBack = async () => {
      if (isBack) return
      isBack = true
      s.time.service -= 10 * HOUR
      await s.write(s.ids, 'before')
    }
    let pages = 0
    const through = (client: MirrorClient): MirrorClient =>
      Object.assign(Object.create(client) as MirrorClient, {
        recordPages: async function* (...args: Parameters<MirrorClient['recordPages']>) {
          if (pages >= pagesBefore) await putBack()
          for await (const page of client.recordPages(...args)) {
            pages++
            yield page
            if (pages >= pagesBefore) await putBack()
          }
        },
        aggregateRecords: async (...args: Parameters<MirrorClient['aggregateRecords']>) => {
          // The count at the end of a run that reads changes.
          if (!full) await putBack()
          return await client.aggregateRecords(...args)
        },
      })
    const noticed = await s.run({ full, through, tuning: { readers: 1 } })
    expect(isBack).toBe(true)
    expect(await s.difference()).not.toEqual([])
    expect(noticed).toMatchObject({
      state: 'complete_with_differences',
      message: expect.stringContaining('went back in time: the next run reads everything'),
    })
    const mended = await s.run()
    expect(mended.streams[CONTACT]).toMatchObject({ mode: 'full', deleted: 0, differs: false })
    expect(await s.difference()).toEqual([])
  })

  test('rows that were marked as deleted come back with their records, whatever their times', async () => {
    const s = await restorable(60)
    await s.restore(s.ids.slice(0, 20))
    await s.alter(
      `UPDATE ${SCHEMA}.${CONTACT} SET _deleted_at = _last_seen_at WHERE _version > TIMESTAMPTZ '2026-06-01 05:00:00+00'`,
    )
    const { streams } = await s.run({ full: true })
    expect(streams[CONTACT]).toMatchObject({ tableCount: 60, reverted: 20 })
    expect(await s.difference()).toEqual([])
  })
})

test('a sample that is there after all saves every row that two listings lacked', async () => {
  const s = await restorable(600)
  await s.run()
  const hidden = new Set(s.ids.slice(0, 250))
  const hiding = (client: MirrorClient): MirrorClient =>
    Object.assign(Object.create(client) as MirrorClient, {
      recordPages: async function* (...args: Parameters<MirrorClient['recordPages']>) {
        for await (const page of client.recordPages(...args))
          yield { ...page, data: page.data.filter(({ id }) => !hidden.has(id)) }
      },
      aggregateRecords: async (...args: Parameters<MirrorClient['aggregateRecords']>) => {
        const answer = await client.aggregateRecords(...args)
        // It counts what it lists.
        return {
          ...answer,
          results: answer.results.map((one) => ({ ...one, value: Number(one.value) - 250 })),
        }
      },
    })
  const run = await s.run({ full: true, through: hiding, config: { deletions_max_percent: 100 } })
  expect(run.streams[CONTACT]).toMatchObject({
    deleted: 0,
    tableCount: 600,
    differs: true,
    message: expect.stringContaining('200 of 200 of their records that were asked for are there'),
  })
  expect(run.state).toBe('complete_with_differences')
})

test('many records that are gone are deleted, after a second listing and a sample', async () => {
  const s = await restorable(900)
  await s.run()
  for (let from = 100; from < 400; from += 50)
    await s.client.batchDelete(CONTACT, {
      items: s.ids.slice(from, from + 50).map((id) => ({ id })),
    })
  const run = await s.run({ full: true, config: { deletions_max_percent: 50 } })
  expect(run).toMatchObject({ state: 'complete' })
  expect(run.streams[CONTACT]).toMatchObject({ deleted: 300, tableCount: 600, differs: false })
  expect(await s.difference()).toEqual([])
})

test('a worker whose clock is behind takes what it reads, and deletes nothing that it listed', async () => {
  const s = await restorable(400)
  await s.run()
  const [one] = s.ids as [string]
  // A day back, in the middle of the second listing too.
  s.time.mirror -= 24 * HOUR
  s.time.service += HOUR
  await s.write([one], 'later')
  const changed = await s.run()
  expect(changed.streams[CONTACT]).toMatchObject({ changed: 1, older: 0 })
  let pages = 0
  const late = (client: MirrorClient): MirrorClient =>
    Object.assign(Object.create(client) as MirrorClient, {
      recordPages: async function* (...args: Parameters<MirrorClient['recordPages']>) {
        for await (const page of client.recordPages(...args)) {
          if (++pages === 2) s.time.mirror -= 12 * HOUR
          yield page
        }
      },
    })
  const full = await s.run({ full: true, through: late, config: { deletions_max_percent: 100 } })
  expect(full.streams[CONTACT]).toMatchObject({ deleted: 0, tableCount: 400 })
  expect(await s.difference()).toEqual([])
})
