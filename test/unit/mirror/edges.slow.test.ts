// How the edges of records go: what many would need waits for a person, what a key may only not see as well, and no edit is missed
// because of the service's clock.

import { describe, expect, test } from 'vitest'
import type { Clock } from '../../../src/core/ports.ts'
import type { KeyVisibility } from '../../../src/core/domain/visibility.ts'
import type { DeletionVerdict, MirrorClient } from '../../../src/mirror/index.ts'
import { postgresPlaces } from './postgres-place.ts'
import { CONTACT, mirrorScene, SCHEMA, shortSleep, type RunOptions } from './scene.ts'

const newPlace = postgresPlaces()

const COMPANY = 'svc_company'
const LINK = 'svc_contact_company'
const EDGES = `edges of ${CONTACT}`
const HOUR = 3_600_000

const sight = (types: readonly string[], more: Partial<KeyVisibility> = {}): KeyVisibility => ({
  key: 'a',
  reach: 'org',
  user: 'ada',
  types,
  ...more,
})
const ALL = sight([COMPANY, CONTACT])

/** Contacts, of which so many belong to one company; the service's edges are those that `linked` has. */
async function scene(links: number, config: RunOptions['config'] = {}) {
  const s = await mirrorScene({
    place: await newPlace(),
    service: { seedRecords: 0 },
    config: { object_types: [COMPANY, CONTACT], associations: [LINK], ...config },
  })
  const company = await s.client.createRecord(COMPANY, { svc_name: 'Acme' })
  for (let from = 0; from < links; from += 50)
    await s.client.batchCreate(CONTACT, {
      items: Array.from({ length: Math.min(50, links - from) }, (_, n) => ({
        properties: { svc_external_id: `c-${from + n}` },
      })),
    })
  const contacts = [...s.service.records(CONTACT)].map(({ id }) => id).toSorted()
  for (const id of contacts) await s.client.associateRecords(CONTACT, id, LINK, company.id)
  /** Edges that the service does not tell any more, by their contact. */
  const hidden = new Set<string>()
  const asked: { rows: number; of: number }[] = []
  /** Called while a person answers. */
  const hooks = { answering: () => {} }
  const lookedAt: string[] = []
  const through = (client: MirrorClient): MirrorClient =>
    Object.assign(Object.create(client) as MirrorClient, {
      associationEdgePages: async function* (
        ...args: Parameters<MirrorClient['associationEdgePages']>
      ) {
        lookedAt.push(args[1])
        for await (const page of client.associationEdgePages(...args))
          yield hidden.has(args[1]) ? { ...page, data: [] } : page
      },
    })
  const run = (options: RunOptions = {}, approved: boolean | null = null) => {
    lookedAt.length = 0
    return s.run({
      sight: ALL,
      ...options,
      through: (client) => through(options.through ? options.through(client) : client),
      verdict: ({ rows, of }): DeletionVerdict | null => {
        asked.push({ rows, of })
        hooks.answering()
        return approved === null ? null : { approved, rows }
      },
    })
  }
  const edges = async () =>
    Number(
      (
        await s.sql(`SELECT count(*) FROM ${SCHEMA}.svc_contact_edges WHERE _deleted_at IS NULL`)
      )[0]![0],
    )
  const hide = (from: number, to: number) => {
    for (const id of contacts.slice(from, to)) hidden.add(id)
  }
  return { ...s, company, contacts, hidden, hooks, asked, lookedAt, run, edges, hide }
}

describe('many edges that go', () => {
  test('wait for a person, before any of them is deleted', async () => {
    const s = await scene(40)
    await s.run()
    expect(await s.edges()).toBe(40)
    s.hide(0, 11)
    const waiting = await s.run({ full: true })
    expect(s.asked).toMatchObject([{ rows: 11, of: 40 }])
    expect(waiting.results[`edges ${CONTACT}`]).toEqual({ state: 'approval', rows: 11, of: 40 })
    expect(waiting.streams[EDGES]).toMatchObject({
      state: 'approval',
      deleted: 0,
      message: '11 of 40 rows would be deleted, more than 10 %; approve or reject it',
    })
    expect(await s.edges()).toBe(40)
  })

  test('go once it is approved', async () => {
    const s = await scene(40)
    await s.run()
    s.hide(0, 20)
    const run = await s.run({ full: true }, true)
    expect(run).toMatchObject({ state: 'complete' })
    expect(run.streams[EDGES]).toMatchObject({ deleted: 20, tableCount: 20, differs: false })
    expect(await s.edges()).toBe(20)
    expect((await s.run({ full: true })).state).toBe('complete')
    expect(s.asked).toHaveLength(1)
  })

  test('that are back when a person has answered stay', async () => {
    const s = await scene(40)
    await s.run()
    s.hide(0, 20)
    s.hooks.answering = () => void s.hidden.delete(s.contacts[3]!)
    const run = await s.run({ full: true }, true)
    expect(run.streams[EDGES]).toMatchObject({ deleted: 19, tableCount: 21 })
  })

  test('stay where it is rejected, and are told until the next look through all', async () => {
    const s = await scene(40)
    await s.run()
    s.hide(0, 20)
    const rejected = await s.run({ full: true }, false)
    expect(rejected.state).toBe('complete_with_differences')
    expect(rejected.message).toMatch(
      /^edges of svc_contact: the deletion of 20 of 40 rows was rejected/,
    )
    expect(await s.edges()).toBe(40)
    const next = await s.run()
    expect(next.state).toBe('complete_with_differences')
    expect(next.message).toMatch(/20 rows stay whose deletion was rejected/)
    expect(s.asked).toHaveLength(1)
    s.hidden.clear()
    expect((await s.run({ full: true })).state).toBe('complete')
    expect((await s.run()).state).toBe('complete')
  })

  test('of records that are gone wait as well', async () => {
    const s = await scene(40, { deletions_max_percent: 10 })
    await s.run()
    const items = s.contacts.slice(0, 12).map((id) => ({ id }))
    await s.client.batchDelete(CONTACT, { items })
    const run = await s.run({ full: true }, true)
    expect(s.asked).toMatchObject([
      { rows: 12, of: 40 },
      { rows: 12, of: 40 },
    ])
    expect(run.state).toBe('complete')
    expect(await s.edges()).toBe(28)
  })

  test('add up over the runs between two looks through all', async () => {
    const s = await scene(60)
    await s.run()
    const touch = async (from: number, to: number) => {
      s.hide(from, to)
      await s.client.batchUpdate(CONTACT, {
        items: s.contacts
          .slice(from, to)
          .map((id) => ({ id, properties: { svc_job_title: `t${from}` } })),
      })
    }
    await touch(0, 6)
    expect(await s.run()).toMatchObject({ state: 'complete', streams: { [EDGES]: { deleted: 6 } } })
    await touch(6, 12)
    const second = await s.run({}, true)
    expect(s.asked).toMatchObject([{ rows: 6, of: 54 }])
    expect(second.streams[EDGES]).toMatchObject({ deleted: 6 })
    expect(await s.edges()).toBe(48)
  })

  test('few go unasked, each after two answers', async () => {
    const s = await scene(40)
    await s.run()
    s.hide(0, 10)
    const run = await s.run({ full: true })
    expect(run).toMatchObject({ state: 'complete', streams: { [EDGES]: { deleted: 10 } } })
    expect(s.asked).toEqual([])
    expect(s.lookedAt).toHaveLength(50)
  })

  test('a run that was ended meanwhile leaves them to the next one', async () => {
    const s = await scene(40)
    await s.run()
    s.hide(0, 20)
    await s.run({ full: true })
    expect(s.asked).toHaveLength(1)
    // It was cancelled; the next one is not asked for everything, and looks at the same records all the same.
    const next = await s.run({}, true)
    expect(s.asked).toHaveLength(2)
    expect(next.streams[EDGES]).toMatchObject({ deleted: 20 })
    expect(await s.edges()).toBe(20)
  })

  test('many slices of a full look end in one question', async () => {
    const s = await scene(60)
    const slices = { full: true, ownersMax: 50, tuning: { stream_ms: 0 } }
    await s.run({ full: true })
    s.hide(0, 40)
    const run = await s.run(slices, true)
    expect(s.asked).toMatchObject([{ rows: 40, of: 60 }])
    expect(run).toMatchObject({ state: 'complete', streams: { [EDGES]: { deleted: 40 } } })
    expect(await s.edges()).toBe(20)
  })
})

describe('a key that sees less than that of the run before', () => {
  test.each([
    ['a type that edges lead to', sight([CONTACT], { key: 'b' }), /it cannot read svc_company/],
    ['records of others', sight([COMPANY, CONTACT], { reach: 'user' }), /its reach is user/],
  ])('%s: one edge waits for a person', async (_, less, words) => {
    const s = await scene(30)
    await s.run()
    s.hide(0, 1)
    const run = await s.run({ full: true, sight: less }, false)
    expect(s.asked).toMatchObject([{ rows: 1, of: 30 }])
    expect(run.state).toBe('complete_with_differences')
    expect(run.streams[EDGES]!.message).toMatch(words)
    expect(await s.edges()).toBe(30)
    // A person lets it go, and the key is the measure.
    await s.run({ full: true, sight: less }, true)
    expect(await s.edges()).toBe(29)
    s.hide(1, 2)
    await s.run({ full: true, sight: less }, null)
    expect(s.asked).toHaveLength(2)
    expect(await s.edges()).toBe(28)
  })

  test('that lacks nothing is told once', async () => {
    const s = await scene(30)
    await s.run()
    const less = sight([COMPANY, CONTACT], { reach: 'user' })
    const run = await s.run({ full: true, sight: less })
    expect(run.state).toBe('complete')
    expect(run.streams[EDGES]!.message).toMatch(/its reach is user/)
    s.hide(0, 1)
    const next = await s.run({ full: true, sight: less })
    expect(next.streams[EDGES]).toMatchObject({ deleted: 1, message: null })
  })

  test('the edges of an association that is not listed any more stay as they are', async () => {
    const s = await scene(30)
    const parent = 'svc_company_parent'
    const other = { associations: [LINK, parent] }
    await s.run({ config: other })
    const unlisted = (client: MirrorClient): MirrorClient =>
      Object.assign(Object.create(client) as MirrorClient, {
        listAssociations: async () =>
          (await client.listAssociations()).filter(({ name }) => name !== LINK),
      })
    s.hide(0, 30)
    let calls = 0
    // Discovery still sees it; the stream's own look does not.
    const late = (client: MirrorClient): MirrorClient =>
      Object.assign(Object.create(client) as MirrorClient, {
        listAssociations: () =>
          calls++ === 0 ? client.listAssociations() : unlisted(client).listAssociations(),
      })
    const run = await s.run({ full: true, through: late })
    expect(s.asked).toEqual([])
    expect(run.state).toBe('complete_with_differences')
    expect(run.streams[EDGES]!.message).toMatch(/svc_contact_company is not listed any more/)
    expect(await s.edges()).toBe(30)
  })
})

describe("the service's clock", () => {
  async function twoClocks() {
    const time = { real: Date.UTC(2026, 5, 1), ahead: 0 }
    const service: Clock = { now: () => time.real + time.ahead, sleep: async () => {} }
    const clock: Clock = { now: () => time.real++, sleep: shortSleep }
    const s = await mirrorScene({
      place: await newPlace(),
      service: { clock: service },
      config: { object_types: [COMPANY, CONTACT], associations: [LINK] },
    })
    const company = await s.client.createRecord(COMPANY, { svc_name: 'Acme' })
    /** Whether the answers tell it. */
    const told = { is: true }
    const through = (client: MirrorClient): MirrorClient =>
      Object.assign(Object.create(client) as MirrorClient, {
        clockAheadMs: () => (told.is ? time.ahead : null),
      })
    const link = async () => {
      const contact = await s.client.createRecord(CONTACT, {})
      await s.client.associateRecords(CONTACT, contact.id, LINK, company.id)
    }
    const edges = async () => {
      const { streams } = await s.run({ clock, through })
      return streams[EDGES]!.tableCount
    }
    return { ...s, time, told, link, edges }
  }

  test.each([
    ['goes back', 0, -2 * HOUR],
    ['is behind, and stays so', -3 * HOUR, -3 * HOUR],
    ['was ahead, and is right again', 2 * HOUR, 0],
  ])('%s: the edges of what changed then come with the next run', async (_, then, now) => {
    const s = await twoClocks()
    s.time.ahead = then
    await s.link()
    expect(await s.edges()).toBe(1)
    s.time.real += HOUR
    s.time.ahead = now
    await s.link()
    s.time.real += 600_000
    expect(await s.edges()).toBe(2)
    s.time.real += HOUR
    await s.link()
    expect(await s.edges()).toBe(3)
  })

  test('that does not tell its time: records that were put back are noticed, and everything is looked through', async () => {
    const s = await twoClocks()
    s.told.is = false
    await s.link()
    await s.edges()
    const [{ id } = { id: '' }] = s.service.records(CONTACT)
    s.time.real += HOUR
    s.time.ahead = 10 * HOUR
    await s.client.updateRecord(CONTACT, id, { svc_job_title: 'after' })
    await s.edges()
    s.time.ahead = 0
    await s.client.updateRecord(CONTACT, id, { svc_job_title: 'before' })
    const other = await s.client.createRecord(COMPANY, { svc_name: 'Other' })
    await s.client.associateRecords(CONTACT, id, LINK, other.id)
    s.time.real += HOUR
    await s.edges()
    expect(
      await s.sql(`SELECT target_id FROM ${SCHEMA}.svc_contact_edges WHERE _deleted_at IS NULL`),
    ).toEqual([[other.id]])
  })
})
