// Runs of a mirror with a window: they read what was changed last in it, to the record and in no more requests than that takes;
// what the regular runs go on from stays as it is, whatever becomes of them.

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Json } from '../../../src/core/json.ts'
import type { Window } from '../../../src/core/domain/watermark.ts'
import type { MirrorClient } from '../../../src/mirror/index.ts'
import { newRunState, newWindowRunState, isPositionOfRun } from '../../../src/mirror/position.ts'
import { startPostgres, type Postgres } from '../../postgres.ts'
import { everyShape, samples, seed, TYPE } from '../sources/every-shape.ts'
import { CONTACT, mirrorScene, SCHEMA, type Scene } from './scene.ts'

const SEEDED = 430

interface Record {
  readonly id: string
  /** When it was changed last, ms since 1970. */
  readonly at: number
}

let postgres: Postgres
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres.stop())

const recordsOf = ({ service }: Scene): Record[] =>
  service
    .records(CONTACT)
    .map(({ id, properties }) => ({ id, at: Date.parse(String(properties['svc_updated_at'])) }))

const instant = (ms: number) => new Date(ms).toISOString()

/** Ids of the records in a window, by a rule of its own. */
const within = (records: readonly Record[], { from, to }: Window) =>
  records
    .filter(
      ({ at }) => (from === null || at >= Date.parse(from)) && (to === null || at < Date.parse(to)),
    )
    .map(({ id }) => id)
    .toSorted()

/** Ids of the rows that a run has seen. */
const seenBy = async (s: Scene, run: number, type = CONTACT): Promise<Json[]> =>
  (await s.sql(`SELECT _id FROM ${SCHEMA}.${type} WHERE _run = ${run}`))
    .map(([id]) => id!)
    .toSorted()

/** Where the stream stands, without the run that was there last. */
const standing = async (s: Scene) => {
  const [row] = await s.sql(
    `SELECT position FROM ${SCHEMA}._records_sync_streams WHERE name = '${CONTACT}'`,
  )
  const { run, askedAt, ...rest } = JSON.parse(String(row![0])) as {
    run: { window?: { listing: unknown } }
    askedAt: string
  }
  expect(askedAt).toEqual(expect.any(String))
  return { rest, window: run.window }
}

/** Does something after each page of records, before it is given on. */
const pageByPage =
  (after: (page: number) => Promise<void> | void) =>
  (client: MirrorClient): MirrorClient => {
    let pages = 0
    return Object.assign(Object.create(client) as MirrorClient, {
      recordPages: async function* (...args: Parameters<MirrorClient['recordPages']>) {
        for await (const page of client.recordPages(...args)) {
          await after(++pages)
          yield page
        }
      },
    })
  }

const failingAt = (...broken: readonly number[]) =>
  pageByPage((page) => {
    if (broken.includes(page)) throw new Error(`page ${page} is broken`)
  })

const seeded = async () => {
  const s = await mirrorScene({
    place: { postgres: await postgres.newDatabase(), folder: '/' },
    service: { seedRecords: SEEDED },
  })
  const records = recordsOf(s)
  /** From the record of that place, to the one of the other, without it. */
  const between = (first: number, last: number): Window => ({
    from: instant(records[first]!.at),
    to: instant(records[last]!.at),
  })
  return { s, records, between }
}

describe('what is read', () => {
  test('a table that was never filled: the window to the record, in the requests of its pages', async () => {
    const { s, records, between } = await seeded()
    const window = between(100, 300)
    await s.client.readSelf()
    const before = { ...s.service.stats().byOperation }
    const { run, state, streams } = await s.run({ window, tuning: { rows_per_range: 20_000 } })
    const after = s.service.stats().byOperation
    expect(await seenBy(s, run)).toEqual(within(records, window))
    expect(await seenBy(s, run)).toHaveLength(200)
    const asked = Object.keys(after).filter((name) => after[name] !== before[name])
    expect(asked.toSorted()).toEqual(
      [
        'listFieldTypes',
        'listObjectTypes',
        'queryRecords',
        'readObjectType',
        'readSelf',
      ].toSorted(),
    )
    // Two pages of 100 with the last of the first one in both, and what is left.
    expect(after['queryRecords']! - (before['queryRecords'] ?? 0)).toBe(3)
    expect(state).toBe('complete')
    expect(Object.keys(streams)).toEqual([CONTACT])
    expect(streams[CONTACT]).toMatchObject({
      state: 'complete',
      read: 200,
      inserted: 200,
      deleted: 0,
      serviceCount: null,
      message: null,
    })
    const regular = await s.run()
    expect(regular.streams[CONTACT]).toMatchObject({ mode: 'full', inserted: SEEDED - 200 })
    expect(await s.difference()).toEqual([])
  })

  test('any window, by any number of readers, in slices of any length', async () => {
    const { s, records } = await seeded()
    const moment = fc.oneof(
      fc.constant(null),
      fc.constantFrom('1970-01-01T00:00:00.000Z', '2100-01-01T00:00:00.000Z'),
      fc
        .tuple(fc.nat(SEEDED - 1), fc.constantFrom(-1, 0, 1))
        .map(([place, ms]) => instant(records[place]!.at + ms)),
    )
    const cases = fc.record({
      from: moment,
      to: moment,
      readers: fc.integer({ min: 1, max: 5 }),
      rows_per_range: fc.constantFrom(1, 150, 20_000),
      stream_ms: fc.constantFrom(0, 600_000),
    })
    await fc.assert(
      fc.asyncProperty(cases, async ({ from, to, ...tuning }) => {
        const { run, streams } = await s.run({ window: { from, to }, tuning })
        expect(await seenBy(s, run)).toEqual(within(records, { from, to }))
        expect(streams[CONTACT]!.state).toBe('complete')
      }),
      { numRuns: 6 },
    )
  })

  test('by a property that is configured: many share its value, and some have none', async () => {
    const s = await mirrorScene({
      place: { postgres: await postgres.newDatabase(), folder: '/' },
      service: { schema: everyShape() },
      config: { object_types: [TYPE], modification_property: { [TYPE]: 'one_datetime' } },
    })
    await seed(s.client, samples(400))
    const from = '2026-01-31T08:15:00.000Z'
    const held = s.service
      .records(TYPE)
      .filter(({ properties }) => properties['one_datetime'] === from)
    expect(held.length).toBeGreaterThan(120)
    const ids = held.map(({ id }) => id).toSorted()
    for (const readers of [1, 3]) {
      const tuning = { readers, rows_per_range: 1 }
      const { run } = await s.run({ window: { from, to: null }, tuning })
      expect(await seenBy(s, run, TYPE)).toEqual(ids)
    }
  })

  test('what differs at the same modification time is repaired', async () => {
    const { s, between } = await seeded()
    const lying = (client: MirrorClient): MirrorClient =>
      Object.assign(Object.create(client) as MirrorClient, {
        recordPages: async function* (...args: Parameters<MirrorClient['recordPages']>) {
          for await (const page of client.recordPages(...args))
            yield {
              ...page,
              data: page.data.map((one) => ({
                ...one,
                properties: { ...one.properties, svc_job_title: 'liar' },
              })),
            }
        },
      })
    await s.run({ window: between(100, 103), through: lying })
    const { streams } = await s.run({ window: between(100, 105) })
    expect(streams[CONTACT]).toMatchObject({ read: 5, inserted: 2, changed: 3, unchanged: 0 })
    await s.run()
    expect(await s.difference()).toEqual([])
  })

  test('a window without an end ends, however fast its records change', async () => {
    const { s, records } = await seeded()
    await s.run()
    let pages = 0
    const restless = pageByPage(async (page) => {
      pages = page
      if (page > 40) throw new Error('it reads on and on')
      for (let from = 0; from < 150; from += 50)
        await s.client.batchUpdate(CONTACT, {
          items: Array.from({ length: 50 }, (_, index) => ({
            id: records[(page * 150 + from + index) % SEEDED]!.id,
            properties: { svc_score: page },
          })),
        })
    })
    const { from } = { from: instant(records[0]!.at) }
    const { state } = await s.run({ window: { from, to: null }, through: restless })
    expect(state).toBe('complete')
    expect(pages).toBeLessThan(20)
    await s.run()
    expect(await s.difference()).toEqual([])
  })
})

describe('what stays', () => {
  test('watermark, listing and counts stay where they are, and nothing is deleted', async () => {
    const { s, records } = await seeded()
    await s.run()
    const before = await standing(s)
    for (const place of [5, 300, 429]) await s.client.deleteRecord(CONTACT, records[place]!.id)
    await s.client.updateRecord(CONTACT, records[10]!.id, { svc_first_name: 'Later' })
    const all = await s.run({ window: { from: null, to: null } })
    expect(all.streams[CONTACT]).toMatchObject({
      deleted: 0,
      changed: 1,
      serviceCount: null,
      tableCount: null,
    })
    const after = await standing(s)
    expect(after.rest).toEqual(before.rest)
    expect(after.window).toMatchObject({ listing: null })
    const regular = await s.run()
    expect(regular.streams[CONTACT]).toMatchObject({ mode: 'incremental', deleted: 3 })
    expect(await s.difference()).toEqual([])
  })

  test('a listing that was left goes on, with a window between', async () => {
    const { s, between } = await seeded()
    await expect(s.run({ through: failingAt(4) })).rejects.toThrow('broken')
    const before = await standing(s)
    expect(before.rest).toMatchObject({ listing: { ranges: expect.any(Array) }, watermark: null })
    await s.run({ window: between(200, 300) })
    expect((await standing(s)).rest).toEqual(before.rest)
    const { streams } = await s.run()
    expect(streams[CONTACT]).toMatchObject({ mode: 'full', tableCount: SEEDED })
    expect(streams[CONTACT]!.read).toBeLessThan(SEEDED)
    expect(await s.difference()).toEqual([])
  })

  test('a new property that a window has filled in part is filled by the next run', async () => {
    const { s, records, between } = await seeded()
    await s.run()
    const window = between(20, 30)
    s.service.changeType(CONTACT, { add: [{ name: 'shoe_size', field_type: 'number' }] })
    await s.client.updateRecord(CONTACT, records[3]!.id, { shoe_size: 42 })
    await s.run({ window })
    expect((await s.run()).streams[CONTACT]).toMatchObject({ mode: 'full' })
    expect(await s.difference()).toEqual([])
  })
})

describe('a window that is left', () => {
  test('goes on within its run, and its place is cleared at the end', async () => {
    const { s, records, between } = await seeded()
    const window = between(10, 410)
    const tuning = { readers: 1, rows_per_range: 20_000 }
    const { run, streams } = await s.run({
      window,
      tuning,
      retry: true,
      through: failingAt(2, 3, 5),
    })
    expect(await seenBy(s, run)).toEqual(within(records, window))
    // What was merged before is not read again, but for the last moment.
    expect(streams[CONTACT]!.read).toBeLessThan(405)
    expect((await standing(s)).window).toEqual({ ...window, listing: null })
  })

  test('says nothing to the next window, nor to the next run', async () => {
    const { s, records, between } = await seeded()
    await s.run()
    const before = await standing(s)
    const broken = () => s.run({ window: between(0, 400), through: failingAt(3) })
    await expect(broken()).rejects.toThrow('broken')
    expect((await standing(s)).window).toMatchObject({ listing: { by: 'svc_updated_at' } })
    const window = between(350, 420)
    const { run } = await s.run({ window })
    expect(await seenBy(s, run)).toEqual(within(records, window))
    await expect(broken()).rejects.toThrow('broken')
    expect((await standing(s)).rest).toEqual(before.rest)
    await s.client.updateRecord(CONTACT, records[1]!.id, { svc_first_name: 'Later' })
    await s.client.deleteRecord(CONTACT, records[2]!.id)
    const { streams } = await s.run()
    expect(streams[CONTACT]).toMatchObject({
      mode: 'incremental',
      changed: 1,
      deleted: 1,
      message: null,
    })
    expect((await standing(s)).window).toBeUndefined()
    expect(await s.difference()).toEqual([])
  })

  test('is no other run, though ledgers that were lost count anew', () => {
    const window = { from: '2026-01-01T00:00:00.000Z', to: null }
    const seven = { id: 7, openedAt: '2026-02-01T00:00:00.000Z' }
    const eight = { ...seven, id: 8 }
    const later = { ...seven, openedAt: '2026-02-02T00:00:00.000Z' }
    const unbounded = { from: null, to: null }
    expect(isPositionOfRun(newWindowRunState(window, seven), seven, window)).toBe(true)
    expect(isPositionOfRun(newWindowRunState(window, seven), eight, window)).toBe(false)
    expect(isPositionOfRun(newWindowRunState(window, seven), later, window)).toBe(false)
    expect(isPositionOfRun(newWindowRunState(window, seven), seven, null)).toBe(false)
    expect(isPositionOfRun(newWindowRunState(window, seven), seven, unbounded)).toBe(false)
    expect(isPositionOfRun(newRunState(seven, true), seven, unbounded)).toBe(false)
    expect(isPositionOfRun(newRunState(seven, false), seven, null)).toBe(true)
    expect(isPositionOfRun(newRunState(seven, false), later, null)).toBe(false)
  })
})

describe('what is refused, and left out', () => {
  test('a type that does not say when its records were changed, before it gets a table', async () => {
    const { s, between } = await seeded()
    const timeless = (client: MirrorClient): MirrorClient =>
      Object.assign(Object.create(client) as MirrorClient, {
        readObjectType: async (...args: Parameters<MirrorClient['readObjectType']>) => {
          const type = await client.readObjectType(...args)
          const properties = type.properties.filter(({ name }) => name !== 'svc_updated_at')
          return { ...type, properties }
        },
      })
    await expect(s.run({ window: between(1, 9), through: timeless })).rejects.toMatchObject({
      code: 'mirror_window',
      message: expect.stringMatching(
        /^svc_contact cannot be read in a window: .*modification_property/,
      ),
    })
    await expect(s.sql(`SELECT * FROM ${SCHEMA}.${CONTACT}`)).rejects.toThrow()
  })

  test('association definitions and edges stay as they are', async () => {
    const s = await mirrorScene({
      place: { postgres: await postgres.newDatabase(), folder: '/' },
      service: { seedRecords: 10 },
      config: { object_types: [CONTACT, 'svc_company'], associations: ['svc_contact_company'] },
    })
    const company = await s.client.createRecord('svc_company', { svc_name: 'Acme' })
    const [association] = (await s.client.listAssociations()).filter(
      ({ source, target }) => source === CONTACT && target === 'svc_company',
    )
    const config = { associations: [association!.name] }
    const [one] = recordsOf(s)
    await s.client.associateRecords(CONTACT, one!.id, association!.name, company.id)
    await s.run({ config })
    const window = { from: null, to: null }
    expect(Object.keys((await s.run({ config, window })).streams)).toEqual(['svc_company', CONTACT])
    const edges = `SELECT target_id FROM ${SCHEMA}.svc_contact_edges WHERE _deleted_at IS NULL`
    expect(await s.sql(edges)).toEqual([[company.id]])

    // Limited to some types: their records, and what begins at them.
    const contacts = await s.run({ config, only: [CONTACT], full: true })
    expect(contacts.streams[CONTACT]).toMatchObject({ mode: 'full' })
    expect(Object.keys(contacts.results)).toEqual([`records ${CONTACT}`, `edges ${CONTACT}`])
    const companies = await s.run({ config, only: ['svc_company'] })
    expect(Object.keys(companies.results)).toEqual(['records svc_company'])
    expect(await s.sql(edges)).toEqual([[company.id]])
    const refused = `Sync "copy" cannot be limited to svc_deal, nope; it mirrors: svc_company, svc_contact`
    await expect(
      s.run({ config, only: ['nope', CONTACT, 'svc_deal'].toReversed() }),
    ).rejects.toThrow(refused)
    await expect(s.run({ config, only: [] })).rejects.toMatchObject({ code: 'mirror_types' })
  })
})
