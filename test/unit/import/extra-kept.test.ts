// Extra records that a run does not delete: those that the key in use may not see, and those of a key with a second record. Both are
// named, and no run is complete without a word of them.

import { expect, onTestFinished, test } from 'vitest'
import { RecordsClient } from '../../../src/client/index.ts'
import { ADMINISTRATOR } from '../../../src/service/auth/keys.ts'
import { connectedAs, CONTACT, importScene } from './scene.ts'
import { removalGroups } from '../../removal-groups.ts'

const NAMES = { svc_external_id: { column: 'id' }, svc_first_name: { column: 'name' } }
const DELETE = { repair: true, deleteExtra: true }

/** k0 to k4 were written; the source has k0 and k1 left; k3 and k4 are private, and `lesser` does not see them. */
async function cutScene() {
  const scene = await importScene(NAMES, {}, { users: [{ ...ADMINISTRATOR, id: 'usr_ada' }] })
  const rows = (keys: readonly string[]) =>
    scene.rows(
      ['id', 'name'],
      keys.map((key) => [key, 'Ann']),
    )
  rows(['k0', 'k1', 'k2', 'k3', 'k4'])
  await scene.run()
  for (const key of ['k3', 'k4'])
    await scene.client.updateRecord(CONTACT, (await scene.held(key))!.id, { svc_private: true })
  rows(['k0', 'k1'])
  const key = scene.service.mintKey({ userId: 'usr_ada', reach: 'user' })
  const client = new RecordsClient({ baseUrl: scene.service.url, key })
  onTestFinished(() => client.close())
  const lesser = connectedAs(client, 'lesser')
  const keysLeft = () =>
    scene.service
      .records(CONTACT)
      .map(({ properties }) => properties['svc_external_id'])
      .toSorted()
  const warningsOf = async (run: number) => (await scene.ledger.run(run))!.warnings.join()
  return { scene, client, lesser, keysLeft, warningsOf }
}

test('a key that sees less does not take what it does not find for gone', async () => {
  const { scene, lesser, keysLeft, warningsOf } = await cutScene()
  const looked = await scene.reconcile({}, lesser)
  expect(looked.state).toBe('complete_with_differences')
  expect(looked.differences.map(({ key, whose }) => [key, whose])).toEqual([
    ['k2', 'source'],
    ['k3', 'unknown'],
    ['k4', 'unknown'],
  ])
  expect(await warningsOf(looked.run)).toMatch(/not visible.*reach user.*: 2;/)

  const end = await scene.reconcile(DELETE, lesser)
  expect(end.state).toBe('complete_with_differences')
  expect((await scene.ledger.run(end.run))!.verifiedThrough).toBeNull()
  expect(end.differences.map(({ key, repaired }) => [key, repaired])).toEqual([
    ['k2', true],
    ['k3', false],
    ['k4', false],
  ])
  expect(keysLeft()).toEqual(['k0', 'k1', 'k3', 'k4'])

  expect((await scene.reconcile(DELETE)).state).toBe('complete')
  expect(keysLeft()).toEqual(['k0', 'k1'])
  expect((await scene.reconcile({}, lesser)).state).toBe('complete')
})

test('records that are gone are forgotten once a key that sees all of them has deleted what is extra', async () => {
  const { scene, lesser } = await cutScene()
  for (const key of ['k2', 'k3', 'k4'])
    await scene.client.deleteRecord(CONTACT, (await scene.held(key))!.id)
  expect((await scene.reconcile(DELETE, lesser)).state).toBe('complete_with_differences')
  // A look changes nothing, and this key knows that they are gone.
  expect((await scene.reconcile()).state).toBe('complete')
  expect((await scene.reconcile(DELETE)).state).toBe('complete')
  expect((await scene.reconcile(DELETE, lesser)).state).toBe('complete')
})

test('a record that comes into view after it was compared is not deleted', async () => {
  const { scene, client, lesser, keysLeft } = await cutScene()
  const { id } = (await scene.held('k3'))!
  const end = await scene.reconcile(DELETE, {
    ...lesser,
    beforeClose: () => scene.client.updateRecord(CONTACT, id, { svc_private: false }),
  })
  expect((await client.readRecord(CONTACT, id)).id).toBe(id)
  expect(end.state).toBe('complete_with_differences')
  expect(keysLeft()).toEqual(['k0', 'k1', 'k3', 'k4'])
})

test('a record that goes out of view after it was compared is not taken for deleted', async () => {
  const { scene, lesser, keysLeft, warningsOf } = await cutScene()
  const { id } = (await scene.held('k2'))!
  const end = await scene.reconcile(DELETE, {
    ...lesser,
    beforeClose: () => scene.client.updateRecord(CONTACT, id, { svc_private: true }),
  })
  expect(end.state).toBe('complete_with_differences')
  expect(await warningsOf(end.run)).toMatch(/does not see the private records of others: 2/)
  expect(await removalGroups(scene.ledger, end.run)).toMatchObject([
    { state: 'unproven', reason: 'not_visible', records: 1 },
  ])
  expect(keysLeft()).toEqual(['k0', 'k1', 'k2', 'k3', 'k4'])
  // It is accepted still, so the next one finds it.
  expect((await scene.reconcile()).differences.map(({ key }) => key)).toEqual(['k2', 'k3', 'k4'])
})

test('an extra record whose key has a second record is named, and not deleted', async () => {
  const { scene, client, keysLeft, warningsOf } = await cutScene()
  const other = await client.createRecord(CONTACT, { svc_external_id: 'k3' })
  const looked = await scene.reconcile()
  expect(looked.state).toBe('complete_with_differences')
  expect(looked.differences.map(({ key }) => key)).toEqual(['k2', 'k3', 'k4'])
  expect(await warningsOf(looked.run)).toMatch(/their key has another record.*second_record.*: 1;/)
  const end = await scene.reconcile(DELETE)
  expect(end.state).toBe('complete_with_differences')
  expect(end.differences.filter(({ repaired }) => !repaired)).toMatchObject([{ key: 'k3' }])
  expect(await warningsOf(end.run)).toMatch(/not deleted, because their key has another record/)
  expect(keysLeft()).toEqual(['k0', 'k1', 'k3', 'k3'])
  // Alone, it is an extra record like the others.
  await scene.client.deleteRecord(CONTACT, other.id)
  expect((await scene.reconcile(DELETE)).state).toBe('complete')
  expect(keysLeft()).toEqual(['k0', 'k1'])
})
