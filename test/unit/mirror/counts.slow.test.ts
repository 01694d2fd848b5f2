// The service's own count against the table's: what differs is found and mended, or told; what only moves is not told as a
// difference; what never ends is left.

import { expect, test } from 'vitest'
import type { MirrorClient } from '../../../src/mirror/index.ts'
import { postgresPlaces } from './postgres-place.ts'
import { CONTACT, mirrorScene, SCHEMA, shortSleep, type Scene } from './scene.ts'

const newPlace = postgresPlaces()

const table = `${SCHEMA}.${CONTACT}`
const idsOf = ({ service }: Scene) => service.records(CONTACT).map(({ id }) => id)

const through =
  (changes: (client: MirrorClient) => Partial<MirrorClient>) =>
  (client: MirrorClient): MirrorClient =>
    Object.assign(Object.create(client) as MirrorClient, changes(client))

test('more than 200 rows too few: told, and mended by the next run', async () => {
  const s = await mirrorScene({ place: await newPlace(), service: { seedRecords: 1_500 } })
  await s.run()
  const lost = idsOf(s).slice(0, 251)
  await s.alter(`DELETE FROM ${table} WHERE _id IN (${lost.map((id) => `'${id}'`).join()})`)
  const told = await s.run()
  expect(told).toMatchObject({
    state: 'complete_with_differences',
    message: expect.stringContaining(`${CONTACT}: 251 records of the service more than the table`),
  })
  expect(told.streams[CONTACT]).toMatchObject({
    mode: 'incremental',
    state: 'complete',
    differs: true,
    serviceCount: 1_500,
    tableCount: 1_249,
  })
  const mended = await s.run()
  expect(mended).toMatchObject({ state: 'complete', message: null })
  expect(mended.streams[CONTACT]).toMatchObject({ mode: 'full', inserted: 251, differs: false })
  expect(await s.difference()).toEqual([])
})

test.each(['DuckDB', 'PostgreSQL'])(
  'a row that was put there by hand is told, and deleted by the next run: %s',
  async (warehouse) => {
    const place = warehouse === 'PostgreSQL' ? { place: await newPlace() } : {}
    const s = await mirrorScene({ ...place, service: { seedRecords: 300 } })
    await s.run()
    // Without the times that a mirror keeps.
    await s.alter(`INSERT INTO ${table} (_id) VALUES ('00000000-0000-4000-8000-000000000000')`)
    const told = await s.run()
    expect(told).toMatchObject({
      state: 'complete_with_differences',
      message: expect.stringContaining('1 row more than the service has records'),
    })
    const mended = await s.run()
    expect(mended.streams[CONTACT]).toMatchObject({ mode: 'full', deleted: 1, differs: false })
    expect(mended).toMatchObject({ state: 'complete', message: null })
    expect(await s.difference()).toEqual([])
  },
)

test('a first run reads every record once', async () => {
  const s = await mirrorScene({
    place: await newPlace(),
    service: { seedRecords: 30 },
    config: { overlap_seconds: 300 },
  })
  for (let one = 0; one < 250; one++)
    await s.client.createRecord(CONTACT, { svc_first_name: `new ${one}` })
  let now = Date.now()
  const { streams } = await s.run({ clock: { now: () => now++, sleep: shortSleep } })
  // A page of a range that another reader took over may come twice; by the time of change nothing does but the last.
  expect(streams[CONTACT]!.read).toBeLessThan(400)
  const [one] = idsOf(s) as [string]
  await s.client.updateRecord(CONTACT, one, { svc_job_title: 'changed' })
  expect((await s.run()).streams[CONTACT]).toMatchObject({ changed: 1 })
  expect(await s.difference()).toEqual([])
})

test('a few rows too few are found by counting', async () => {
  const s = await mirrorScene({ place: await newPlace(), service: { seedRecords: 1_500 } })
  await s.run()
  const lost = idsOf(s).slice(700, 720)
  await s.alter(`DELETE FROM ${table} WHERE _id IN (${lost.map((id) => `'${id}'`).join()})`)
  expect(await s.run()).toMatchObject({ state: 'complete', message: null })
  expect(await s.difference()).toEqual([])
})

test('what a full run leaves is told by every run, and read in full by none of them', async () => {
  const s = await mirrorScene({ place: await newPlace(), service: { seedRecords: 400 } })
  // It counts five records that it never lists.
  const lying = through((client) => ({
    aggregateRecords: async (...args) => {
      const answer = await client.aggregateRecords(...args)
      const { filter } = args[1] as { filter?: unknown }
      const more = filter === undefined ? 5 : 0
      const results = answer.results.map((one) => ({ ...one, value: Number(one.value) + more }))
      return { ...answer, results }
    },
  }))
  const first = await s.run({ through: lying })
  expect(first).toMatchObject({
    state: 'complete_with_differences',
    message: expect.stringContaining('5 records of the service more than the table has rows'),
  })
  expect(first.streams[CONTACT]).toMatchObject({ mode: 'full', differs: true })
  for (let time = 0; time < 3; time++) {
    const later = await s.run({ through: lying })
    expect(later).toMatchObject({ state: 'complete_with_differences' })
    expect(later.streams[CONTACT]).toMatchObject({ mode: 'incremental', differs: true })
    expect(later.requests).toBeLessThanOrEqual(10)
  }
  expect(await s.run({ full: true })).toMatchObject({ state: 'complete', message: null })
})

test('a service that never stands still makes no difference, and the run ends', async () => {
  const s = await mirrorScene({ place: await newPlace(), service: { seedRecords: 1_200 } })
  await s.run()
  let counts = 0
  // Three records come before every count, and one goes.
  const restless = through((client) => ({
    aggregateRecords: async (...args) => {
      for (let one = 0; one < 3; one++)
        await s.client.createRecord(CONTACT, { svc_first_name: `n${counts}` })
      await s.client.deleteRecord(CONTACT, idsOf(s)[counts++ % 500]!)
      return await client.aggregateRecords(...args)
    },
  }))
  for (const full of [false, true]) {
    counts = 0
    const run = await s.run({ full, through: restless })
    expect(run.state).toBe('complete')
    expect(run.streams[CONTACT]!.differs).toBe(false)
    expect(counts).toBeLessThan(80)
  }
  expect(await s.run()).toMatchObject({ state: 'complete' })
  expect(await s.difference()).toEqual([])
})

test('a record that is added while a person is asked does not make up for one that is deleted', async () => {
  const s = await mirrorScene({
    place: await newPlace(),
    service: { seedRecords: 20 },
    config: { deletions_max_percent: 0 },
  })
  await s.run()
  await s.client.deleteRecord(CONTACT, idsOf(s)[3]!)
  const end = await s.run({
    verdict: async ({ rows }) => {
      await s.client.createRecord(CONTACT, { svc_first_name: 'new' })
      return { approved: true, rows }
    },
  })
  expect(end).toMatchObject({ state: 'complete', message: null })
  expect(end.streams[CONTACT]).toMatchObject({ deleted: 1, inserted: 1 })
  expect(await s.difference()).toEqual([])
})

test('records that are added right before the count do not make up for those that are deleted', async () => {
  const s = await mirrorScene({ place: await newPlace(), service: { seedRecords: 60 } })
  await s.run()
  const gone = idsOf(s).slice(3, 5)
  for (const id of gone) await s.client.deleteRecord(CONTACT, id)
  let isFirst = true
  const busy = through((client) => ({
    aggregateRecords: async (...args) => {
      for (const id of isFirst ? gone : [])
        await s.client.createRecord(CONTACT, { svc_first_name: `instead of ${id}` })
      isFirst = false
      return await client.aggregateRecords(...args)
    },
  }))
  const end = await s.run({ through: busy })
  expect(end).toMatchObject({ state: 'complete', message: null })
  expect(end.streams[CONTACT]).toMatchObject({ deleted: 2, inserted: 2 })
  expect(await s.difference()).toEqual([])
})

test('a small type without times is read again where its counts differ', async () => {
  const s = await mirrorScene({ place: await newPlace(), service: { seedRecords: 120 } })
  const timeless = through((client) => ({
    readObjectType: async (...args) => {
      const schema = await client.readObjectType(...args)
      const properties = schema.properties.filter(({ name }) => !name.endsWith('_at'))
      return { ...schema, properties }
    },
    aggregateRecords: async (...args) => {
      const answer = await client.aggregateRecords(...args)
      // Between the listing and the last count.
      if (++counts === 2) await s.client.createRecord(CONTACT, { svc_first_name: 'late' })
      return counts === 2 ? await client.aggregateRecords(...args) : answer
    },
  }))
  let counts = 0
  const run = await s.run({ through: timeless })
  expect(run).toMatchObject({ state: 'complete', message: null })
  expect(run.streams[CONTACT]).toMatchObject({ serviceCount: 121, tableCount: 121 })
})

test('short and empty pages do not keep a deletion from being found', async () => {
  const s = await mirrorScene({ place: await newPlace(), service: { seedRecords: 300 } })
  await s.run()
  const ids = idsOf(s)
  for (const id of [...ids.slice(0, 6), ...ids.slice(-6)]) await s.client.deleteRecord(CONTACT, id)
  for (let one = 0; one < 24; one++)
    await s.client.createRecord(CONTACT, { svc_first_name: `new ${one}` })
  // Five records a page, and an empty page before each.
  const sparse = through((client) => ({
    recordPages: async function* (type, body, options) {
      for await (const page of client.recordPages(type, { ...body, limit: 5 }, options)) {
        yield { ...page, data: [], pagination: { has_more: true, next_cursor: 'x' } }
        yield page
      }
    },
  }))
  const run = await s.run({ through: sparse })
  expect(run).toMatchObject({ state: 'complete', message: null })
  expect(run.streams[CONTACT]).toMatchObject({ mode: 'incremental', deleted: 12, inserted: 24 })
  expect(await s.difference()).toEqual([])
})

test('pages that repeat for ever end the stream, and it begins anew when they end', async () => {
  const s = await mirrorScene({ place: await newPlace(), service: { seedRecords: 300 } })
  let pages = 0
  const endless = through((client) => ({
    recordPages: async function* (type, body, options) {
      for await (const page of client.recordPages(type, body, options))
        for (;;) {
          yield { ...page, pagination: { has_more: true, next_cursor: `c${++pages}` } }
          if (pages > 5_000) throw new Error('the listing was read without end')
        }
    },
  }))
  for (const again of [false, true])
    await expect(s.run({ full: again, through: endless })).rejects.toMatchObject({
      block: 'contract',
      message: expect.stringMatching(/svc_contact: a listing does not end: it has brought/),
    })
  // Some 110 pages a listing, and others in flight.
  expect(pages).toBeLessThan(1_000)
  expect(await s.run()).toMatchObject({ state: 'complete' })
  await expect(s.run({ through: endless })).rejects.toMatchObject({ block: 'contract' })
  expect(await s.run()).toMatchObject({ state: 'complete' })
  expect(await s.difference()).toEqual([])
})
