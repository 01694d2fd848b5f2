// What an undo leaves, and says so: records to which others have added something since, records whose key was changed, and what it does
// not take back at all.

import { describe, expect, it } from 'vitest'
import { DELETION_STATES } from '../../../src/core/domain/outcomes.ts'
import { HEAD, NAMES, people } from './people.ts'
import { ServiceFailure } from '../../../src/core/errors.ts'
import { undoProblem } from '../../../src/import/index.ts'
import type { ImportClient } from '../../../src/import/ports.ts'
import { clientWith, CONTACT, importScene, type Scene } from './scene.ts'

const keeping = (more = {}) => importScene(NAMES, { keep_before: true, ...more })
const approving = { approves: true }

const edit = async (scene: Scene, key: string, properties: Record<string, string | null>) =>
  await scene.client.updateRecord(CONTACT, (await scene.held(key))!.id, properties)

const removalsOf = async ({ ledger }: Scene, run: number) =>
  (await ledger.removals(run, { states: DELETION_STATES, after: 0, limit: 1_000 })).rows.map(
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
        ['b', 'deleted', null, null],
        ['c', 'deleted', null, null],
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
    [true, 'deleted', null],
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
    expect(end.books.states).toMatchObject({ updated: 1, protected: 1, not_found: 1 })
    const rows = await scene.ledger.report(end.run, { states: ['protected'], after: 0, limit: 9 })
    expect(rows).toMatchObject([{ key: 'a', reason: 'key_changed' }])
    expect(await warningsOf(scene, end.run)).toEqual([
      '1 record that run 2 wrote has another key since, and is left as it is: change the key back, and undo again',
    ])
    expect((await scene.held('other'))!.properties).toMatchObject({ svc_first_name: 'Ben' })
    // Back under its key, it is undone.
    await edit(scene, 'other', { svc_external_id: 'a' })
    await scene.undo(run)
    expect((await scene.held('a'))!.properties).toMatchObject({ svc_first_name: 'Ann' })
  })
})

describe('what an undo does not take back', () => {
  it('is counted: records that missing_rows: clear changed, and links', async () => {
    const scene = await importScene(
      { svc_external_id: { column: 'id' } },
      {
        keep_before: true,
        missing_rows: { clear: { svc_job_title: 'gone' } },
        links: [
          {
            association: 'svc_contact_company',
            to: 'svc_company',
            by: 'svc_domain',
            column: 'company',
            missing: 'park',
          },
        ],
      },
    )
    await scene.client.createRecord('svc_company', { svc_domain: 'x.example' })
    scene.rows(
      ['id', 'company'],
      [
        ['a', ''],
        ['b', ''],
        ['c', ''],
      ],
    )
    await scene.run()
    scene.rows(
      ['id', 'company'],
      [
        ['a', ''],
        ['b', ''],
        ['d', 'x.example'],
      ],
    )
    const { run, books } = await scene.run(approving)
    expect(books).toMatchObject({ removals: { cleared: 1 }, links: { states: { linked: 1 } } })
    const end = await scene.undo(run, {}, approving)
    expect(await warningsOf(scene, end.run)).toEqual([
      '1 record that run 2 changed by missing_rows: clear is left as it is: an undo does not take that back',
      '1 link that run 2 made is not taken back: those of records that are deleted go with them, the others stay',
    ])
    const part = await scene.undo(run, { rows: [[1, 1]] }, approving)
    expect(await warningsOf(scene, part.run)).toEqual([])
    scene.rows(['id', 'company'], [['a', '']])
    const last = await scene.run(approving)
    expect(last.books.removals).toEqual({ cleared: 1 })
    const old = await scene.ledger.run(last.run)
    const task = { of: last.run, choice: {} }
    expect(await undoProblem(scene.ledger, task, old, scene.sync)).toBe(
      `run ${last.run}: it only changed 1 record by missing_rows: clear, and an undo does not take that back`,
    )
  })
})

describe('deletions that a person has confirmed', () => {
  it.each([
    [20, 0],
    [19, 1],
  ])('are not asked about again, unless there are more: %s', async (confirmed, asked) => {
    const scene = await keeping()
    scene.rows(HEAD, people(...Array.from({ length: 20 }, (_, at) => `k${at}`)))
    const { run } = await scene.run()
    const waits: unknown[] = []
    const noteWait = (text: string | null) => waits.push(text)
    const end = await scene.undo(run, {}, { confirmed, noteWait })
    expect(waits).toHaveLength(asked)
    expect(end.state).toBe(asked === 0 ? 'complete' : 'cancelled')
  })
})

describe('an undo that ended before its time', () => {
  it('does not take what a later run has written for a form of the service', async () => {
    const scene = await keeping({ verify: 'all' })
    scene.rows(HEAD, people('a', 'b'))
    await scene.run()
    const second = people('a', 'b').map(([key]) => [key!, 'Second', ''])
    scene.rows(HEAD, second)
    const { run } = await scene.run()
    let isAway = false
    const away = () =>
      new ServiceFailure('away', {
        kind: 'no_answer',
        block: 'service',
        outcomeUnknown: true,
        disposition: 'halt',
      })
    const through = (client: ImportClient) =>
      clientWith(client, {
        queryRecords: async (...given) => {
          if (isAway) throw away()
          return await client.queryRecords(...given)
        },
        batchUpdate: async (...given) => {
          isAway = true
          await client.batchUpdate(...given)
          throw away()
        },
      })
    const beforeClose = async () => {
      isAway = false
      await edit(scene, 'a', { svc_first_name: 'Third' })
    }
    const end = await scene.undo(run, {}, { through, ending: 'cancelled', beforeClose })
    const [warning, ...others] = (await warningsOf(scene, end.run)).filter((text) =>
      text.startsWith('svc_first_name'),
    )
    expect(others).toEqual([])
    expect(warning).toContain('a later run or others may have written it since')
    expect(warning).not.toContain('compare: false')
  })
})
