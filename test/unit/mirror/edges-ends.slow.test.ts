// Links between two looks through all records: every run reads some of them again, and those whose end was deleted are asked for
// at once. The service, the ledger and the tables are real.

import { describe, expect, test } from 'vitest'
import type { KeyVisibility } from '../../../src/core/domain/visibility.ts'
import type { MirrorClient } from '../../../src/mirror/index.ts'
import { postgresPlaces } from './postgres-place.ts'
import { CONTACT, mirrorScene, SCHEMA, type RunOptions } from './scene.ts'

const newPlace = postgresPlaces()

const COMPANY = 'svc_company'
const LINK = 'svc_contact_company'
const EDGES = `edges of ${CONTACT}`
/** Records whose edges are read together: fewer than there are, so that a pass over all of them takes several steps. */
const OWNERS_MAX = 50

/** Contacts that belong to two companies in turn. */
async function scene(links: number, config: RunOptions['config'] = {}) {
  const s = await mirrorScene({
    place: await newPlace(),
    service: { seedRecords: 0 },
    config: {
      object_types: [COMPANY, CONTACT],
      associations: [LINK],
      overlap_seconds: 0,
      ...config,
    },
  })
  const companies = [
    await s.client.createRecord(COMPANY, { svc_name: 'Acme' }),
    await s.client.createRecord(COMPANY, { svc_name: 'Bolt' }),
  ].map(({ id }) => id)
  for (let from = 0; from < links; from += 50)
    await s.client.batchCreate(CONTACT, {
      items: Array.from({ length: Math.min(50, links - from) }, (_, n) => ({
        properties: { svc_external_id: `c-${from + n}` },
      })),
    })
  const contacts = [...s.service.records(CONTACT)].map(({ id }) => id).toSorted()
  const link = (contact: number, company: number) =>
    s.client.associateRecords(CONTACT, contacts[contact]!, LINK, companies[company]!)
  for (const n of contacts.keys()) await link(n, n % 2)
  const lookedAt: string[] = []
  /** Links that a key does not see lead from these. */
  const hidden = new Set<string>()
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
  const run = (options: RunOptions = {}) => {
    lookedAt.length = 0
    return s.run({ ownersMax: OWNERS_MAX, ...options, through })
  }
  const links_ = async () =>
    await s.sql(
      `SELECT source_id, target_id FROM ${SCHEMA}.svc_contact_edges WHERE _deleted_at IS NULL ORDER BY source_id`,
    )
  return { ...s, companies, contacts, link, lookedAt, hidden, run, links: links_ }
}

test('a link that changed without its record comes with the next run', async () => {
  const s = await scene(40)
  await s.run()
  await s.link(3, 0)
  const { state, streams } = await s.run()
  expect({ state, message: streams[EDGES]!.message }).toEqual({ state: 'complete', message: null })
  expect((await s.links())[3]).toEqual([s.contacts[3], s.companies[0]])
  expect(s.lookedAt).toHaveLength(41)
})

test('a large type takes several runs, and says how old its links may be', async () => {
  const s = await scene(60)
  const tuning = { edges_ms: 0 }
  const first = await s.run({ tuning })
  expect(first.streams[EDGES]!.message).toBe(
    'the pass over all 60 records continues with the next run; the links of the others are not read yet',
  )
  const second = await s.run({ tuning })
  expect(second.streams[EDGES]!.message).toMatch(
    /^all 60 records were read since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/,
  )
  const third = await s.run({ tuning })
  expect(third.streams[EDGES]!.message).toMatch(
    /^the pass over all 60 records continues with the next run; the links of the others may be as old as \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/,
  )
  expect(s.lookedAt).toHaveLength(OWNERS_MAX)
})

describe.each(['soft', 'hard'] as const)('an end that was deleted, %s', (deletions) => {
  test('is a reason to ask for the links that lead to it', async () => {
    const s = await scene(60, { deletions, deletions_max_percent: 100 })
    await s.run({ full: true })
    // The first of them are looked at by turns; these come after them.
    for (let late = 54; late < 60; late++) await s.link(late, 0)
    const company = s.companies[1]!
    await s.run({ full: true })
    await s.link(57, 1)
    await s.run({ full: true })
    expect((await s.links()).filter(([, to]) => to === company)).toHaveLength(28)
    await s.client.deleteRecord(COMPANY, company)
    const gone = await s.run({ tuning: { edges_ms: 0 } })
    expect(gone).toMatchObject({ state: 'complete', streams: { [EDGES]: { deleted: 28 } } })
    expect((await s.links()).filter(([, to]) => to === company)).toEqual([])
  })

  test('takes the links that lead from it along, without a request', async () => {
    const s = await scene(60, { deletions, deletions_max_percent: 100 })
    await s.run({ full: true })
    const last = s.contacts.at(-1)!
    await s.client.deleteRecord(CONTACT, last)
    const gone = await s.run({ tuning: { edges_ms: 0 } })
    expect(gone).toMatchObject({ state: 'complete', streams: { [EDGES]: { deleted: 1 } } })
    expect(s.lookedAt).not.toContain(last)
    expect((await s.links()).map(([from]) => from)).not.toContain(last)
  })
})

test('links that another key sees: the look begins again, and until its end the run is not complete', async () => {
  const s = await scene(60)
  const sight: KeyVisibility = { key: 'a', reach: 'user', user: 'ada', types: null }
  s.hidden.add(s.contacts[7]!)
  await s.run({ full: true, sight })
  expect(await s.links()).toHaveLength(59)
  // The key of more reach sees one more, which the look of before has passed.
  const tuning = { edges_ms: 0 }
  await s.run({ sight, tuning })
  s.hidden.clear()
  const more: KeyVisibility = { ...sight, key: 'b', reach: 'org' }
  const first = await s.run({ sight: more, tuning })
  expect(first.state).toBe('complete_with_differences')
  expect(first.streams[EDGES]!.message).toMatch(/its reach is org and was user/)
  expect(await s.links()).toHaveLength(60)
  expect(await s.run({ sight: more, tuning })).toMatchObject({ state: 'complete' })
})
