// Two syncs of one ledger that write the same records: neither deletes what the other writes, and what one deletes is not
// believed by the other any more.

import { expect, test } from 'vitest'
import { removalGroups } from '../../removal-groups.ts'
import { clientWith, CONTACT, importScene } from './scene.ts'
import { DELETES, HEAD, NAMES, people } from './people.ts'

const warningsOf = async (scene: Awaited<ReturnType<typeof importScene>>, run: number) =>
  (await scene.ledger.run(run))!.warnings

test.each([
  ['the same key', {}],
  ['another key', { matching_property: 'svc_email' }],
] as const)('a record that another sync writes by %s is not extra', async (_, more) => {
  const scene = await importScene(NAMES)
  const other = { name: 'other', import: more }
  scene.rows(HEAD, people('a', 'b', 'c'))
  await scene.run({ as: other })
  scene.rows(HEAD, people('a', 'b', 'c', 'own'))
  await scene.run()
  scene.rows(HEAD, people('a'))
  const end = await scene.reconcile(DELETES)
  expect(end.differences.map(({ key }) => key)).toEqual(['own'])
  expect(scene.service.records(CONTACT)).toHaveLength(3)
  expect(await warningsOf(scene, end.run)).toContain(
    '2 records that the source has no row of are left as they are: the sync "other" writes them too',
  )
  scene.rows(HEAD, people('a', 'b', 'c'))
  expect((await scene.run({ as: other })).books.states.unchanged).toBe(3)
})

test('a record that another sync has written since it was found extra is not deleted', async () => {
  const scene = await importScene(NAMES)
  scene.rows(HEAD, people('a', 'b', 'c'))
  await scene.run()
  scene.rows(HEAD, people('a'))
  const end = await scene.reconcile(DELETES, {
    beforeClose: async () => {
      scene.rows(HEAD, people('b'))
      await scene.run({ as: { name: 'other' } })
    },
  })
  expect(end.state).toBe('complete_with_differences')
  expect(scene.service.records(CONTACT)).toHaveLength(2)
  expect(await removalGroups(scene.ledger, end.run)).toContainEqual(
    expect.objectContaining({ state: 'still_wanted', reason: 'other_sync', records: 1 }),
  )
})

test('what is deleted is forgotten by every sync that wrote it', async () => {
  const scene = await importScene(NAMES)
  const other = { name: 'other', import: { matching_property: 'svc_email' } }
  scene.rows(HEAD, people('a', 'b'))
  await scene.run()
  scene.rows(HEAD, people('a'))
  // Written by the other sync while the deletion is under way.
  const end = await scene.reconcile(DELETES, {
    through: (client) =>
      clientWith(client, {
        batchDelete: async (...given) => {
          scene.rows(HEAD, people('b'))
          await scene.run({ as: other })
          return await client.batchDelete(...given)
        },
      }),
  })
  expect(end.state).toBe('complete')
  expect(scene.service.records(CONTACT)).toHaveLength(1)
  scene.rows(HEAD, people('b'))
  expect((await scene.run({ as: other })).books.states.created).toBe(1)
})
