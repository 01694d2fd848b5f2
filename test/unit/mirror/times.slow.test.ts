// The times of rows: our clock is set back, or that of another worker is behind, and what is asked for later counts as later.

import { expect, test } from 'vitest'
import type { Clock } from '../../../src/core/ports.ts'
import type { MirrorClient } from '../../../src/mirror/index.ts'
import type { MirrorTables } from '../../../src/warehouses/mirror-tables.ts'
import { postgresPlaces } from './postgres-place.ts'
import { CONTACT, mirrorScene, SCHEMA, shortSleep, type RunOptions } from './scene.ts'

const newPlace = postgresPlaces()

const HOUR = 3_600_000
const COMPANY = 'svc_company'
const LINK = 'svc_contact_company'
const EDGES = `edges of ${CONTACT}`

/** A mirror whose clock a test sets. */
async function scene(config: Parameters<typeof mirrorScene>[0]) {
  const time = { now: Date.now() }
  const clock: Clock = { now: () => time.now++, sleep: shortSleep }
  return { s: await mirrorScene(config), time, clock }
}

test('a row that a reconciliation has repaired goes with its record', async () => {
  const { s, time, clock } = await scene({ service: { seedRecords: 30 } })
  await s.run({ clock })
  const added = await s.client.createRecord(CONTACT, { svc_first_name: 'Ada' })
  const [changed] = [...s.service.records(CONTACT)]
  await s.client.updateRecord(CONTACT, changed!.id, { svc_first_name: 'Eve' })
  const repaired = await s.reconcile({ clock, scope: { full: true, repair: true } })
  expect(repaired.streams[CONTACT]).toMatchObject({ inserted: 1, changed: 1 })

  time.now -= HOUR
  for (const { id } of [added, changed!]) await s.client.deleteRecord(CONTACT, id)
  const run = await s.run({ clock })
  expect(run).toMatchObject({ state: 'complete', message: null })
  expect(run.streams[CONTACT]).toMatchObject({ deleted: 2, tableCount: 29, serviceCount: 29 })
  expect(await s.difference()).toEqual([])
})

test('a reconciliation deletes what an earlier one has repaired', async () => {
  const { s, time, clock } = await scene({ service: { seedRecords: 30 } })
  await s.run({ clock })
  const { id } = await s.client.createRecord(CONTACT, { svc_first_name: 'Ada' })
  const scope = { full: true, repair: true }
  await s.reconcile({ clock, scope })
  time.now -= HOUR
  await s.client.deleteRecord(CONTACT, id)
  await s.reconcile({ clock, scope })
  expect(await s.difference()).toEqual([])
})

test('a repair deletes a row without a record, whatever time others gave it, or says that it stays', async () => {
  const s = await mirrorScene({ place: await newPlace(), service: { seedRecords: 30 } })
  await s.run()
  const [gone, later, last] = [...s.service.records(CONTACT)].map(({ id }) => id)
  const seen = (id: string, time: string) =>
    `UPDATE ${SCHEMA}.${CONTACT} SET _last_seen_at = ${time} WHERE _id = '${id}'`
  await s.alter(seen(later!, "'2200-01-01 00:00:00+00'"), seen(last!, "'infinity'"))
  for (const id of [gone!, later!, last!]) await s.client.deleteRecord(CONTACT, id)
  const scope = { full: true, repair: true }
  const run = await s.reconcile({ scope })
  const told = [`+extra ${gone} * unknown`, `+extra ${later} * unknown`, `extra ${last} * unknown`]
  expect(run.told).toEqual(told.toSorted())
  expect(run).toMatchObject({ state: 'complete_with_differences' })
  expect(run.streams[CONTACT]).toMatchObject({ deleted: 2, tableCount: 28 })
})

test('definitions of associations are as the service lists them', async () => {
  const { s, time, clock } = await scene({ service: { seedRecords: 5 } })
  await s.run({ clock })
  const listed = await s.client.listAssociations()
  const [gone, ...others] = listed
  const through = (client: MirrorClient): MirrorClient =>
    Object.assign(Object.create(client) as MirrorClient, {
      listAssociations: () => Promise.resolve(others.map((one) => ({ ...one, label: 'New' }))),
    })
  time.now -= HOUR
  const run = await s.run({ clock, through })
  expect(run.streams['associations']).toMatchObject({
    changed: others.length,
    deleted: 1,
    older: 0,
  })
  const labels = `SELECT DISTINCT label FROM ${SCHEMA}.associations WHERE _deleted_at IS NULL`
  expect(await s.sql(labels)).toEqual([['New']])

  // One that is listed again is there again.
  time.now -= HOUR
  await s.run({ clock })
  const there = `SELECT _id FROM ${SCHEMA}.associations WHERE _deleted_at IS NULL AND _id = '${gone!.name}'`
  expect(await s.sql(there)).toEqual([[gone!.name]])
})

/** Three contacts of one company; the service's edges are without those of `hidden`. */
async function linkedScene() {
  const made = await scene({
    service: { seedRecords: 0 },
    config: { object_types: [COMPANY, CONTACT], associations: [LINK] },
  })
  const { client } = made.s
  const company = await client.createRecord(COMPANY, { svc_name: 'Acme' })
  const contacts: string[] = []
  for (const name of ['Ada', 'Eve', 'Joe']) {
    const { id } = await client.createRecord(CONTACT, { svc_first_name: name })
    await client.associateRecords(CONTACT, id, LINK, company.id)
    contacts.push(id)
  }
  const hidden = new Set<string>()
  const through = (client: MirrorClient): MirrorClient =>
    Object.assign(Object.create(client) as MirrorClient, {
      associationEdgePages: async function* (
        ...args: Parameters<MirrorClient['associationEdgePages']>
      ) {
        for await (const page of client.associationEdgePages(...args))
          yield hidden.has(args[1]) ? { ...page, data: [] } : page
      },
    })
  const run = (options: RunOptions = {}) => made.s.run({ clock: made.clock, through, ...options })
  const linked = async () => {
    const there = `SELECT source_id FROM ${SCHEMA}.svc_contact_edges WHERE _deleted_at IS NULL`
    return (await made.s.sql(`${there} ORDER BY source_id`)).map(([id]) => id)
  }
  return { ...made, contacts: contacts.toSorted(), hidden, run, linked }
}

test('links that a worker has merged right before it was killed go with what they link', async () => {
  const { time, contacts, hidden, run, linked } = await linkedScene()
  const [first, ...others] = contacts
  /** The worker is killed when the links of all records are merged, before it notes how far it has come. */
  const killed = (tables: MirrorTables): MirrorTables =>
    Object.assign(Object.create(tables) as MirrorTables, {
      move: async (...args: Parameters<MirrorTables['move']>) => {
        if (args[0] === EDGES && (await linked()).length > 0) throw new Error('killed')
        await tables.move(...args)
      },
    })
  await expect(run({ tables: killed })).rejects.toThrow('killed')
  expect(await linked()).toEqual(contacts)

  time.now -= HOUR
  hidden.add(first!)
  await run({ full: true })
  expect(await linked()).toEqual(others)
})

test('a link that is made again after its deletion is there again', async () => {
  const { time, contacts, hidden, run, linked } = await linkedScene()
  await run()
  hidden.add(contacts[0]!)
  await run({ full: true })
  expect(await linked()).toEqual(contacts.slice(1))
  time.now -= HOUR
  hidden.clear()
  await run({ full: true })
  expect(await linked()).toEqual(contacts)
})
