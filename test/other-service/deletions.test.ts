// Extra records are deleted, and only these: what a row of the run was found under or written to stays, whatever its key is for the
// service; and a deletion counts once the record does not answer any more.

import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { RecordsClient } from '../../src/client/index.ts'
import type { ImportConfig } from '../../config/index.ts'
import type { ImportClient } from '../../src/import/ports.ts'
import { clientWith, importSceneOn, type Scene, type SceneService } from '../unit/import/scene.ts'
import { COLUMNS, cells, mappingOf, rowOf } from './contacts.ts'
import { startOtherService, type OtherServiceOptions } from './index.ts'
import { removalGroups } from '../removal-groups.ts'

const CONTACT = 'acme_contact'
const KEY = 'acme_external_id'
const DELETES = { repair: true, deleteExtra: true } as const

async function scene(options: OtherServiceOptions = {}, more: Partial<ImportConfig> = {}) {
  const names = { prefix: 'acme_', fieldTypes: 'plain' } as const
  const made = await importSceneOn(
    () => startOtherService({ ...options, retryAfter: '0' }),
    mappingOf(names),
    { object_type: CONTACT, matching_property: KEY, verify: 'all', ...more },
  )
  const held = () =>
    made.service
      .records(CONTACT)
      .map(({ id, properties }) => `${id} ${String(properties[KEY])}`)
      .toSorted()
  const ids = () => held().map((text) => text.split(' ')[0])
  return { ...made, held, ids }
}

const of = (id: string, first: string) => ({ ...rowOf(1), id, first, mail: `${id}@x.example` })
const file = (made: Pick<Scene<SceneService>, 'rows'>, ids: readonly string[], first = 'Ann') =>
  made.rows(COLUMNS, cells(ids.map((id) => of(id, first))))
const numbered = (name: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${name}${index}`)

const warningsOf = async (made: Pick<Scene<SceneService>, 'ledger'>, run: number) =>
  (await made.ledger.run(run))!.warnings

/** Entries of `in` are compared exactly, as the specification has it, although other comparisons fold case. */
const exactIn = (client: ImportClient): ImportClient =>
  clientWith(client, {
    queryRecords: async (...given) => {
      const filter = given[1]?.filter
      const answer = await client.queryRecords(...given)
      if (!filter || !('op' in filter) || filter.op !== 'in') return answer
      const asked = new Set((filter.value as unknown[]).map(String))
      const data = answer.data.filter(({ properties }) =>
        asked.has(String(properties[filter.property])),
      )
      return { ...answer, data }
    },
  })

describe.each([
  ['whose filters fold case too', (client: ImportClient) => client],
  ['whose upserts alone fold case', exactIn],
] as const)('at a service %s', (_, through) => {
  it('records that rows of other capitals were written to are not deleted', async () => {
    const made = await scene({ matching: 'folded' })
    file(made, [...numbered('D2-', 8), 'gone'])
    await made.run({ through })
    const before = made.ids()
    file(made, numbered('d2-', 8), 'Bea')
    const end = await made.reconcile(DELETES, { through })
    expect(end.books.states).toMatchObject({ updated: 8 })
    expect(end.books.readBack).toMatchObject({ equal: 8, missing: 0 })
    expect(end.differences.filter(({ kind }) => kind === 'extra').map(({ key }) => key)).toEqual([
      'gone',
    ])
    expect(end.state).toBe('complete')
    expect(made.ids().every((id) => before.includes(id))).toBe(true)
    expect(made.ids()).toHaveLength(8)
    expect(await made.reconcile({}, { through })).toMatchObject({
      state: 'complete',
      differences: [],
    })
    file(made, numbered('d2-', 8), 'Bea')
    expect((await made.run({ through })).books.states).toMatchObject({ unchanged: 8, created: 0 })
  })

  it('the record of a row that was not taken is not deleted under its other capitals', async () => {
    const made = await scene({ matching: 'folded' })
    file(made, ['AB', 'CD', 'EF'])
    await made.run({ through })
    // One does not map, one is refused.
    const refuses = (client: ImportClient): ImportClient =>
      clientWith(through(client), {
        batchUpsert: async (...given) => {
          const answer = await client.batchUpsert(...given)
          const data = answer.data.map(({ index }) => ({
            index,
            status: 422,
            problem: { code: 'validation_failed', status: 422, title: 'no' },
          }))
          return { ...answer, data } as unknown as Awaited<ReturnType<RecordsClient['batchUpsert']>>
        },
      })
    const [one, two] = cells([of('ab', 'Ann'), of('cd', 'Bea')])
    const bad = one!.map((cell, at) => (COLUMNS[at] === 'score' ? 'none' : cell))
    made.rows(COLUMNS, [bad, two!])
    const end = await made.reconcile(DELETES, { through: refuses })
    expect(end.books.states).toMatchObject({ invalid: 1, refused: 1 })
    expect(made.ids()).toHaveLength(2)
    // The first one is known when records are compared, the other one once it was sent.
    expect(await warningsOf(made, end.run)).toContainEqual(
      expect.stringMatching(/^1 record .*still_in_source/),
    )
    expect(await removalGroups(made.ledger, end.run)).toContainEqual(
      expect.objectContaining({ state: 'unproven', reason: 'row_not_taken', records: 1 }),
    )
  })
})

it('the record of a row is not extra by a key that the row had before, where the service keeps that key', async () => {
  const made = await scene({
    matching: 'folded',
    normalise: (value) => (/^ab\d$/i.test(value) ? value.toUpperCase() : value),
  })
  file(made, ['AB1', 'AB2', 'AB3', 'AB4'])
  await made.run()
  file(made, ['ab1', 'ab2', 'ab3'])
  await made.run()
  // One row does not map in this run; its key is known from the one before.
  const [one, ...others] = cells([of('ab1', 'Ann'), of('ab2', 'Ann'), of('ab3', 'Bea')])
  made.rows(COLUMNS, [one!.map((cell, at) => (COLUMNS[at] === 'score' ? 'none' : cell)), ...others])
  const extra = ({ differences }: Awaited<ReturnType<typeof made.reconcile>>) =>
    differences.filter(({ kind }) => kind === 'extra').map(({ key }) => key)
  expect(extra(await made.reconcile())).toEqual(['AB4'])
  expect(extra(await made.reconcile(DELETES))).toEqual(['AB4'])
  expect(made.held().map((text) => text.split(' ')[1])).toEqual(['AB1', 'AB2', 'AB3'])
})

it('what the service answers as deleted and still holds stays extra, in every run', async () => {
  const made = await scene()
  file(made, numbered('a', 130))
  await made.run()
  file(made, numbered('a', 5))
  let asked = 0
  const ignores = (client: ImportClient): ImportClient =>
    clientWith(client, {
      batchDelete: async (...given) => {
        const [, input] = given
        if (!('items' in input)) throw new Error('items were expected')
        asked++
        const kept = new Set(
          made
            .held()
            .filter((text) => /a12\d$/.test(text))
            .map((text) => text.split(' ')[0]),
        )
        const items = input.items.filter(({ id }) => !kept.has(id))
        const answer =
          items.length > 0 ? await client.batchDelete(given[0], { items }, given[2]) : null
        const data = input.items.map((_, index) => ({ index, status: 204 }))
        return { ...answer, data } as unknown as Awaited<ReturnType<RecordsClient['batchDelete']>>
      },
    })
  const end = await made.reconcile(DELETES, { through: ignores, approves: true })
  expect(asked).toBe(3)
  expect(end).toMatchObject({
    state: 'complete_with_rejects',
    message:
      '125 differ: 125 extra; 115 of them mended; 125 deletions due = 115 deleted + 10 rejected (outcome_unknown 10)',
  })
  expect(made.ids()).toHaveLength(15)
  expect(await removalGroups(made.ledger, end.run)).toContainEqual(
    expect.objectContaining({ state: 'outcome_unknown', reason: 'still_there', records: 10 }),
  )
  expect((await made.ledger.reconciled('contacts')).verifiedThrough).toBeNull()
  const looked = await made.reconcile()
  expect(looked).toMatchObject({
    state: 'complete_with_differences',
    message: '10 differ: 10 extra',
  })
  const mended = await made.reconcile(DELETES, { approves: true })
  expect(mended.state).toBe('complete')
  expect(made.ids()).toHaveLength(5)
})

it('what has changed, has another key or is gone since it was compared is not deleted; each refusal has its code', async () => {
  const made = await scene()
  file(made, [...numbered('a', 8), 'left'])
  await made.run()
  file(made, ['left'])
  const change = async (key: string, properties: Record<string, string>) =>
    await made.client.updateRecord(CONTACT, (await held(key))!.id, properties)
  const held = async (key: string) => {
    const filter = { property: KEY, op: 'eq', value: key } as const
    return (await made.client.queryRecords(CONTACT, { filter })).data[0]
  }
  const refused = (await held('a7'))!.id
  const refuses = (client: ImportClient): ImportClient =>
    clientWith(client, {
      batchDelete: async (...given) => {
        const [, input] = given
        if (!('items' in input)) throw new Error('items were expected')
        const items = input.items.filter(({ id }) => id !== refused)
        const answer = await client.batchDelete(given[0], { items }, given[2])
        const problem = { code: 'permission_denied', status: 403, title: 'no' }
        let next = 0
        const data = input.items.map(({ id }, index) =>
          id === refused ? { index, status: 403, problem } : { ...answer.data[next++], index },
        )
        return { ...answer, data } as unknown as Awaited<ReturnType<RecordsClient['batchDelete']>>
      },
    })
  const end = await made.reconcile(DELETES, {
    through: refuses,
    beforeClose: async () => {
      await change('a1', { [KEY]: 'person-1' })
      await change('a2', { acme_first_name: 'Zoe' })
      await made.client.deleteRecord(CONTACT, (await held('a3'))!.id)
    },
  })
  expect(end).toMatchObject({
    state: 'complete_with_rejects',
    message:
      '8 differ: 8 extra; 5 of them mended; 8 deletions due = 5 deleted (already_gone 1) + 2 skipped (changed_since 2) + 1 rejected (refused 1)',
  })
  expect(
    made
      .held()
      .map((text) => text.split(' ')[1])
      .toSorted(),
  ).toEqual(['a2', 'a7', 'left', 'person-1'])
  expect(await removalGroups(made.ledger, end.run)).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ state: 'changed_since', reason: 'key_changed', records: 1 }),
      expect.objectContaining({ state: 'changed_since', reason: 'record_changed', records: 1 }),
      expect.objectContaining({ state: 'refused', code: 'permission_denied', records: 1 }),
    ]),
  )
  // Compared again, the edited one is extra as it is now; the one with another key is not.
  const again = await made.reconcile(DELETES)
  expect(again.differences.map(({ key }) => key).toSorted()).toEqual(['a2', 'a7'])
  expect(again.state).toBe('complete')
})

it('a worker whose machine stood still after its look looks again before it deletes', async () => {
  const made = await scene()
  file(made, [...numbered('a', 8), 'left'])
  await made.run()
  file(made, ['left'])
  const now = Date.now
  let asleepMs = 0
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + asleepMs)
  onTestFinished(() => clock.mockRestore())
  let deletes = false
  const sleeps = (client: ImportClient): ImportClient =>
    clientWith(client, {
      queryRecords: async (...given) => {
        const answer = await client.queryRecords(...given)
        if (!deletes || asleepMs > 0) return answer
        asleepMs = 60_000
        const edited = answer.data.find(({ properties }) => properties[KEY] === 'a3')!
        await made.client.updateRecord(CONTACT, edited.id, { acme_first_name: 'Zoe' })
        return answer
      },
    })
  const end = await made.reconcile(DELETES, {
    through: sleeps,
    beforeClose: async () => {
      deletes = true
    },
  })
  expect(asleepMs).toBeGreaterThan(0)
  expect(end).toMatchObject({
    state: 'complete_with_differences',
    message:
      '8 differ: 8 extra; 7 of them mended; 8 deletions due = 7 deleted + 1 skipped (changed_since 1)',
  })
  expect(made.held().map((text) => text.split(' ')[1])).toEqual(['a3', 'left'])
})
