// A mirror whose key sees other records than that of the run before, and as many of them: what it sees is read whole before the
// run is complete. The service, the ledger and the tables are real.

import { expect, test } from 'vitest'
import type { RecordsClient } from '../../../src/client/index.ts'
import { CONTACT, sightScene } from './sight-scene.ts'

type Scene = Awaited<ReturnType<typeof sightScene>>

const createFor = async (client: RecordsClient, whose: string, count: number) => {
  const items = Array.from({ length: count }, (_, n) => ({
    properties: { svc_external_id: `${whose}-${n}`, svc_private: whose !== 'all' },
  }))
  for (let from = 0; from < count; from += 50)
    await client.batchUpsert(CONTACT, 'svc_external_id', { items: items.slice(from, from + 50) })
}

/** Changes are read from the last one on: what another key sees and is older comes with a full listing alone. */
const LATE = { object_types: [CONTACT], overlap_seconds: 0 }

/** Private records of ada and of ben, as many; ben's are the older ones. */
async function privateRecords(ada = 5, ben = 5): Promise<Scene> {
  const s = await sightScene(LATE)
  await createFor(s.ada, 'all', 30)
  await createFor(s.ben, 'ben', ben)
  await createFor(s.ada, 'ada', ada)
  await createFor(s.ada, 'all', 30)
  return s
}

test("another user's key that sees as many records: a person is asked about those it does not see", async () => {
  const s = await privateRecords()
  s.replace({ userId: 'ada' })
  expect(await s.run()).toMatchObject({ state: 'complete' })
  expect(await s.listed(CONTACT)).toEqual(await s.seen(CONTACT))
  s.replace({ userId: 'ben' })
  const other = await s.run(undefined, { full: false, approved: true })
  expect(other).toMatchObject({ state: 'complete', asked: [{ rows: 5, of: 40 }] })
  expect(other.streams[CONTACT]).toMatchObject({ mode: 'full', inserted: 5, deleted: 5 })
  expect(await s.listed(CONTACT)).toEqual(await s.seen(CONTACT))
  // From now on its changes do.
  const next = await s.run(undefined, { full: false })
  expect(next).toMatchObject({ state: 'complete', asked: [] })
  expect(next.streams[CONTACT]).toMatchObject({ mode: 'incremental', message: null })
})

test('where nobody answers, the records of now are read once, and those of before stay', async () => {
  const s = await privateRecords()
  s.replace({ userId: 'ada' })
  await s.run()
  s.replace({ userId: 'ben' })
  const other = await s.run(undefined, { full: false })
  expect(other.state).toBe('complete_with_differences')
  expect(await s.rows(CONTACT)).toBe(40)
  const next = await s.run(undefined, { full: false })
  expect(next.state).toBe('complete_with_differences')
  expect(next.streams[CONTACT]).toMatchObject({ mode: 'incremental' })
  // The key of before is back: what the other one brought goes.
  s.replace({ userId: 'ada' })
  const back = await s.run(undefined, { full: false })
  expect(back).toMatchObject({ state: 'complete', streams: { [CONTACT]: { mode: 'full' } } })
  expect(await s.listed(CONTACT)).toEqual(await s.seen(CONTACT))
})

test('records that changed while the key did not see them are read once the key of before is back', async () => {
  const s = await privateRecords()
  s.replace({ reach: 'org' })
  await s.run()
  s.replace({ userId: 'ben' })
  await s.run(undefined, { full: false })
  const edit = async (value: boolean, svc_job_title: string) => {
    const filter = { property: 'svc_private', op: 'eq' as const, value }
    const { data } = await s.ada.queryRecords(CONTACT, { filter, limit: 1 })
    await s.ada.updateRecord(CONTACT, data[0]!.id, { svc_job_title })
    return data[0]!.id
  }
  const hidden = await edit(true, 'changed while hidden')
  await edit(false, 'changed later')
  // The place of reading goes past the hidden one.
  await s.run(undefined, { full: false })
  s.put()
  const back = await s.run(undefined, { full: false })
  expect(back).toMatchObject({ state: 'complete', streams: { [CONTACT]: { mode: 'full' } } })
  expect(await s.cell(CONTACT, hidden, 'svc_job_title')).toBe('changed while hidden')
})

test('a key of more reach: as many records went as it sees more', async () => {
  const s = await privateRecords(5, 5)
  s.replace({ userId: 'ada' })
  await s.run()
  const filter = { property: 'svc_private', op: 'eq' as const, value: true }
  const { data } = await s.ada.queryRecords(CONTACT, { filter })
  await s.ada.batchDelete(CONTACT, { items: data.map(({ id }) => ({ id })) })
  s.replace({ reach: 'org' })
  const more = await s.run(undefined, { full: false })
  expect(more).toMatchObject({ state: 'complete', asked: [] })
  expect(more.streams[CONTACT]!.message).toMatch(
    /^the key \(key#[0-9a-f]{12}\) may see other records than that of the last full listing \(key#[0-9a-f]{12}\): its reach is org and was user; everything is read/,
  )
  expect(await s.listed(CONTACT)).toEqual(await s.seen(CONTACT))
})

test('another creator of a key of the same reach: everything is read', async () => {
  const s = await sightScene(LATE)
  await createFor(s.ada, 'all', 30)
  await s.run()
  s.hooks.self = (self) => ({ ...self, principal: { entity_type: 'user', entity_id: 'carl' } })
  const other = await s.run(undefined, { full: false })
  expect(other.streams[CONTACT]).toMatchObject({ mode: 'full', state: 'complete' })
  const next = await s.run(undefined, { full: false })
  expect(next.streams[CONTACT]).toMatchObject({ mode: 'incremental', message: null })
})

test('another key of a service that does not tell whose it is: everything is read', async () => {
  const s = await sightScene(LATE)
  await createFor(s.ada, 'all', 30)
  s.hooks.self = (self) => ({ ...self, principal: undefined })
  await s.run()
  const same = await s.run(undefined, { full: false })
  expect(same.streams[CONTACT]).toMatchObject({ mode: 'incremental' })
  s.replace({ reach: 'org' })
  const other = await s.run(undefined, { full: false })
  expect(other.streams[CONTACT]).toMatchObject({ mode: 'full', state: 'complete' })
})

test('a listing that another key began is begun anew', async () => {
  const s = await sightScene(LATE)
  await createFor(s.ben, 'ben', 5)
  await createFor(s.ada, 'ada', 5)
  await createFor(s.ada, 'all', 250)
  s.replace({ userId: 'ada' })
  // The first pages are merged, and the run ends.
  let pages = 0
  s.hooks.page = () => {
    if (++pages > 1) throw new Error('ended')
  }
  expect(await s.run()).toMatchObject({ state: 'failed' })
  s.hooks.page = () => {}
  s.replace({ userId: 'ben' })
  // Nothing was listed to its end, so there is no run before to compare with.
  await s.run(undefined, { full: false })
  expect(await s.listed(CONTACT)).toEqual(await s.seen(CONTACT))
})

test('a window that another key reads: the next run reads everything', async () => {
  const s = await privateRecords()
  s.replace({ userId: 'ada' })
  await s.run()
  s.replace({ userId: 'ben' })
  const window = { from: '2000-01-01T00:00:00.000Z', to: null }
  expect(await s.run(undefined, { full: false, window })).toMatchObject({ state: 'complete' })
  s.replace({ userId: 'ada' })
  const back = await s.run(undefined, { full: false })
  expect(back).toMatchObject({ state: 'complete', streams: { [CONTACT]: { mode: 'full' } } })
  expect(await s.listed(CONTACT)).toEqual(await s.seen(CONTACT))
})
