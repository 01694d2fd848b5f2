// A mirror whose key is replaced by one that sees less, in the middle of a run: what that key does not see is not deleted. The
// service, the ledger and the tables are real.

import { expect, test } from 'vitest'
import { COMPANY, CONTACT, create, LINK, read, sightScene } from './sight-scene.ts'

test.each([
  ['reach user', 'recordPages', { userId: 'ben' }, /its reach is user and was org/],
  ['reach user, while deletions are decided', 'readRecord', { userId: 'ben' }, /its reach is user/],
  [
    'a grant less',
    'recordPages',
    { reach: 'org', grants: { [COMPANY]: read } },
    /it cannot read svc_contact/,
  ],
] as const)('another key, %s: nothing is deleted', async (_, operation, key, message) => {
  const s = await sightScene()
  await create(s.ada, 5, true)
  await create(s.ada, 30, false)
  expect(await s.run()).toMatchObject({ state: 'complete', blocks: [] })
  expect(await s.rows(CONTACT)).toBe(35)

  // A record that is gone, so that there is one to be asked for.
  const { data } = await s.ada.queryRecords(CONTACT, { limit: 1 })
  await s.ada.deleteRecord(CONTACT, data[0]!.id)
  s.replaceAt(operation, key)
  const { blocks, ...end } = await s.run(s.put)
  expect(blocks).toMatchObject([{ reason: 'permission' }])
  expect(blocks[0]!.message).toMatch(message)
  expect(blocks[0]!.message).toMatch(/sees less than the one that the run began with/)
  expect(end).toMatchObject({ state: 'complete' })
  expect(await s.rows(CONTACT)).toBe(34)
})

test("another user's key: nothing is deleted", async () => {
  const s = await sightScene()
  await create(s.ada, 5, true)
  const ada = () => ({ userId: 'ada' }) as const
  s.replaceAt('readSelf', ada())
  expect(await s.run()).toMatchObject({ state: 'complete' })
  s.replaceAt('recordPages', { userId: 'ben' })
  let mended = false
  const { blocks } = await s.run(() => {
    if (!mended) s.replaceAt('readObjectType', ada())
    mended = true
  })
  expect(blocks).toMatchObject([{ reason: 'permission' }])
  expect(blocks[0]!.message).toContain("it is another user's")
  expect(await s.rows(CONTACT)).toBe(5)
})

test('edges to records that another key cannot read are not deleted', async () => {
  const s = await sightScene({ associations: [LINK] })
  await create(s.ada, 2, false)
  const { data } = await s.ada.queryRecords(CONTACT, {})
  const company = await s.ada.createRecord(COMPANY, { svc_name: 'A' })
  await s.ada.associateRecords(CONTACT, data[0]!.id, LINK, company.id)
  await s.run()
  expect(await s.rows(`edges of ${CONTACT}`)).toBe(1)
  s.replaceAt('associationEdgePages', { reach: 'org', grants: { [CONTACT]: read } })
  const { blocks } = await s.run(s.put)
  expect(blocks).toMatchObject([{ reason: 'permission' }])
  expect(await s.rows(`edges of ${CONTACT}`)).toBe(1)
})

test('a right that the mirror does not need may go', async () => {
  const s = await sightScene()
  await create(s.ada, 2, false)
  s.replaceAt('recordPages', { reach: 'org', grants: { [CONTACT]: read, [COMPANY]: read } })
  expect(await s.run()).toMatchObject({ state: 'complete', blocks: [] })
})

test('the same key that sees less than before: nothing is deleted', async () => {
  const s = await sightScene()
  await create(s.ada, 10, false)
  await s.run()
  const { data } = await s.ada.queryRecords(CONTACT, { limit: 1 })
  await s.ada.deleteRecord(CONTACT, data[0]!.id)
  s.hooks.before = (operation) => {
    if (operation === 'readRecord') s.hooks.self = (self) => ({ ...self, reach: 'user' })
  }
  const { blocks, state } = await s.run(() => {
    s.hooks.before = () => {}
    s.hooks.self = (self) => self
  })
  expect(blocks).toMatchObject([{ reason: 'permission' }])
  expect(blocks[0]!.message).toMatch(/sees less than when the run began/)
  expect(state).toBe('complete')
  expect(await s.rows(CONTACT)).toBe(9)
})

test('a type that cannot be read any more fails its own stream, and nothing of it is deleted', async () => {
  const s = await sightScene()
  await create(s.ada, 10, false)
  await s.run()
  const { data } = await s.ada.queryRecords(CONTACT, { limit: 1 })
  await s.ada.deleteRecord(CONTACT, data[0]!.id)
  s.hooks.before = (operation) => {
    if (operation === 'readRecord')
      s.hooks.self = (self) => ({ ...self, permissions: [{ entity_type: COMPANY, ...read }] })
  }
  const { blocks, state, message } = await s.run()
  expect(blocks).toEqual([])
  expect(state).toBe('failed')
  expect(message).toMatch(/^svc_contact: the key cannot read svc_contact any more/)
  expect(await s.rows(CONTACT)).toBe(10)
})
