// What an undo leaves, and says so: records to which others have added something since, records whose key was changed, and what it does
// not take back at all.

import { describe, expect, it } from 'vitest'
import { REMOVAL_STATES } from '../../../src/core/domain/removals.ts'
import { HEAD, NAMES, people } from './people.ts'
import type { ImportClient } from '../../../src/import/ports.ts'
import { clientWith, CONTACT, importScene, type Scene } from './scene.ts'

const keeping = (more = {}) => importScene(NAMES, { keep_before: true, ...more })
const approving = { approves: true }

const edit = async (scene: Scene, key: string, properties: Record<string, string | null>) =>
  await scene.client.updateRecord(CONTACT, (await scene.held(key))!.id, properties)

const removalsOf = async ({ ledger }: Scene, run: number) =>
  (await ledger.removals(run, { states: REMOVAL_STATES, after: 0, limit: 1_000 })).rows.map(
    ({ key, state, reason, detail }) => [key, state, reason, detail],
  )

const keysOf = (scene: Scene) =>
  scene.service
    .records(CONTACT)
    .map(({ properties }) => properties['svc_external_id'])
    .toSorted()

const warningsOf = async ({ ledger }: Scene, run: number) => (await ledger.run(run))!.warnings

describe('a record that the run made', () => {
  it.each([true, false])(
    'is left if others have given it more since, however soon (keep_before: %s)',
    async (keeps) => {
      const scene = await keeping({ keep_before: keeps })
      scene.rows(HEAD, people('a', 'b', 'c'))
      const { run } = await scene.run()
      await edit(scene, 'a', { svc_notes: 'called twice' })
      await edit(scene, 'b', { svc_notes: 'x' })
      await edit(scene, 'b', { svc_notes: null })
      const end = await scene.undo(run, {}, approving)
      expect(end.state).toBe('complete_with_differences')
      expect(await removalsOf(scene, end.run)).toEqual([
        ['a', 'changed_since', 'values_added', 'svc_notes'],
        // Nothing of it would be lost.
        ['b', 'removed', null, null],
        ['c', 'removed', null, null],
      ])
      expect(keysOf(scene)).toEqual(['a'])
    },
  )

  it('is left if others have filled a property that the row left out, or written one otherwise', async () => {
    const scene = await keeping()
    scene.rows(HEAD, [
      ['a', 'Ann', ''],
      ['b', 'Ann', ''],
    ])
    const { run } = await scene.run()
    await scene.client.updateRecord(CONTACT, (await scene.held('a'))!.id, {
      svc_email: ['a@x.example'],
    })
    await edit(scene, 'b', { svc_first_name: 'Ann ' })
    const end = await scene.undo(run, {}, approving)
    expect(await removalsOf(scene, end.run)).toEqual([
      ['a', 'changed_since', 'values_added', 'svc_email'],
      ['b', 'changed_since', 'values_changed', 'svc_first_name'],
    ])
  })

  it.each([
    [true, 'removed', null],
    [false, 'changed_since', 'values_added'],
  ])(
    'goes although the service fills more of it, if its answer showed the time (keep_before: %s)',
    async (keeps, state, reason) => {
      const scene = await keeping({ keep_before: keeps })
      scene.rows(HEAD, people('a'))
      const { run } = await scene.run()
      const filled = (client: ImportClient) =>
        clientWith(client, {
          queryRecords: async (...given) => {
            const { data, ...answer } = await client.queryRecords(...given)
            const fill = (one: (typeof data)[number]) => ({
              ...one,
              properties: { ...one.properties, svc_job_title: 'unknown' },
            })
            return { ...answer, data: data.map(fill) }
          },
        })
      const end = await scene.undo(run, {}, { ...approving, through: filled })
      const detail = reason && 'svc_job_title'
      expect(await removalsOf(scene, end.run)).toEqual([['a', state, reason, detail]])
    },
  )
})

describe('a record whose key was changed', () => {
  it('is kept, and named', async () => {
    const scene = await keeping()
    scene.rows(HEAD, people('a', 'b', 'c'))
    await scene.run()
    scene.rows(
      HEAD,
      people('a', 'b', 'c').map(([key, , email]) => [key!, 'Ben', email!]),
    )
    const { run } = await scene.run()
    await edit(scene, 'a', { svc_external_id: 'other' })
    await scene.client.deleteRecord(CONTACT, (await scene.held('b'))!.id)
    const end = await scene.undo(run)
    expect(end.books.states).toMatchObject({ updated: 1, kept: 1, absent: 1 })
    const rows = await scene.ledger.report(end.run, { states: ['kept'], after: 0, limit: 9 })
    expect(rows).toMatchObject([{ key: 'a', reason: 'key_changed' }])
    expect(await warningsOf(scene, end.run)).toContain(
      '1 record that run 2 wrote has another key since, and is left as it is: change the key back, and undo again',
    )
    expect((await scene.held('other'))!.properties).toMatchObject({ svc_first_name: 'Ben' })
    // Back under its key, it is undone.
    await edit(scene, 'other', { svc_external_id: 'a' })
    await scene.undo(run)
    expect((await scene.held('a'))!.properties).toMatchObject({ svc_first_name: 'Ann' })
  })
})
