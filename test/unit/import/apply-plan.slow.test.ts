// A plan that is applied: a run sends what was planned, and nothing else; records that have changed since are left alone.

import { expect, it } from 'vitest'
import { isBalanced } from '../../../src/core/domain/books.ts'
import { PLAN_AGE_MAX_MS } from '../../../src/core/limits.ts'
import { readNotAsPlanned } from '../../../src/import/judge/applied-plan.ts'
import type { ImportClient } from '../../../src/import/ports.ts'
import { onEachLedger } from './each-ledger.ts'
import { stagedPlan } from './plan-scene.ts'
import { clientWith, CONTACT, importScene, losesFirst, type Scene } from './scene.ts'

const NAMES = {
  svc_external_id: { column: 'id' },
  svc_first_name: { column: 'name' },
  svc_email: { column: 'email' },
}
const HEAD = ['id', 'name', 'email']
const fast = { tuning: { resend_backoff_ms: [1], item_backoff_ms: [1] } }

const numbered = (count: number, name: string): string[][] =>
  Array.from({ length: count }, (_, at) => [`k${at}`, `${name} ${at}`, `k${at}@example.com`])

const createOne = (scene: Scene, id: string, name: string) =>
  scene.client.createRecord(CONTACT, { svc_external_id: id, svc_first_name: name })

const change = async (scene: Scene, id: string, name: string) => {
  const { id: record } = (await scene.held(id))!
  await scene.client.updateRecord(CONTACT, record, { svc_first_name: name })
}

async function planned(scene: Scene, config = {}) {
  const plan = await stagedPlan(scene, { config })
  await plan.lookUp()
  return { ...plan, number: await plan.store() }
}

const reasons = async (scene: Scene, run: number) => {
  const items = await scene.ledger.report(run, { states: ['conflict'], after: 0, limit: 100 })
  return items.map(({ key, code, reason, field, detail }) => ({ key, code, reason, field, detail }))
}

onEachLedger('a plan', () => {
  it('is applied as it was made', async () => {
    const scene = await importScene(NAMES)
    await createOne(scene, 'k1', 'theirs')
    await scene.client.createRecord(CONTACT, {
      svc_external_id: 'k2',
      svc_first_name: 'ours 2',
      svc_email: ['k2@example.com'],
    })
    scene.rows(HEAD, numbered(120, 'ours'))
    const { number, verdicts } = await planned(scene)
    expect(await verdicts()).toMatchObject({ k0: 'create', k1: 'update', k2: 'equal' })
    const end = await scene.run({ ...fast, plan: number })
    expect(end.state).toBe('complete')
    expect(end.books.states).toMatchObject({ created: 118, updated: 1, unchanged: 1, conflict: 0 })
    expect(await scene.ledger.imageCounts(end.run)).toMatchObject({ create: 118, update: 1 })
    expect((await scene.held('k1'))!.properties['svc_first_name']).toBe('ours 1')
  })

  it.each([
    [true, false],
    [false, true],
  ])('is applied if before-images are set otherwise since (%s, then %s)', async (then, now) => {
    const scene = await importScene(NAMES, { keep_before: now })
    await createOne(scene, 'k0', 'theirs')
    scene.rows(HEAD, numbered(2, 'ours'))
    const { number } = await planned(scene, { keep_before: then })
    const end = await scene.run({ ...fast, plan: number })
    expect(end.books.states).toMatchObject({ created: 1, updated: 1 })
    // A run that keeps to a plan keeps them in any case.
    expect(await scene.ledger.imageCounts(end.run)).toMatchObject({ create: 1, update: 1 })
  })

  it('says what it has written over where others have made a record while the row was on its way', async () => {
    const scene = await importScene(NAMES)
    scene.rows(HEAD, numbered(3, 'ours'))
    const { number } = await planned(scene)
    const through = (client: ImportClient) =>
      clientWith(client, {
        batchUpsert: async (...given) => {
          await createOne(scene, 'k1', 'theirs').catch(() => {})
          return await client.batchUpsert(...given)
        },
      })
    const end = await scene.run({ ...fast, plan: number, through })
    expect(end.books.states).toMatchObject({ created: 2, updated: 1 })
    expect(end.books.writtenOver).toEqual({ values: 2, rows: 1 })
    expect(isBalanced(end.books)).toBe(true)
  })

  it('has written over nothing where another row of the run has made the record', async () => {
    const scene = await importScene(NAMES)
    scene.rows(HEAD, numbered(2, 'ours'))
    const { number } = await planned(scene)
    const through = (client: ImportClient) =>
      clientWith(client, {
        batchUpsert: async (...given) => {
          const answer = await client.batchUpsert(...given)
          // The service takes both keys for one.
          const [first] = answer.data
          return { ...answer, data: [first!, { ...first!, status: 200 }] }
        },
      })
    const end = await scene.run({ ...fast, plan: number, through })
    expect(end.books.writtenOver).toBeUndefined()
  })

  it('leaves records alone that have changed since, each with both values', async () => {
    const scene = await importScene(NAMES)
    for (const id of ['k1', 'k2', 'k3', 'k4', 'k5']) await createOne(scene, id, 'theirs')
    await change(scene, 'k5', 'ours 5')
    scene.rows(HEAD, [...numbered(5, 'ours'), ['k5', 'ours 5', ''], ['k6', 'ours 6', '']])
    const { number } = await planned(scene)
    const gone = (await scene.held('k3'))!.id
    await change(scene, 'k2', 'by hand')
    await scene.client.deleteRecord(CONTACT, gone)
    await change(scene, 'k5', 'by hand too')
    const { id: made } = (await createOne(scene, 'k6', 'by hand')) as { id: string }
    const end = await scene.run({ ...fast, plan: number })
    expect(end.state).toBe('complete_with_rejects')
    expect(isBalanced(end.books)).toBe(true)
    expect(end.books.states).toMatchObject({ created: 1, updated: 2, conflict: 4 })
    const field = '/properties/svc_first_name'
    const said = { code: null, reason: 'changed_since_plan' }
    const none = 'no record that the API key sees'
    expect(await reasons(scene, end.run)).toEqual([
      {
        ...said,
        key: 'k2',
        field,
        detail: 'svc_first_name: "theirs" when the plan was made, "by hand" now',
      },
      {
        ...said,
        key: 'k3',
        field: null,
        detail: `when the plan was made record ${gone} had the key, now ${none} has it`,
      },
      {
        ...said,
        key: 'k5',
        field,
        detail: 'svc_first_name: "ours 5" when the plan was made, "by hand too" now',
      },
      {
        ...said,
        key: 'k6',
        field: null,
        detail: `when the plan was made ${none} had the key, now record ${made} has it`,
      },
    ])
    expect((await scene.held('k2'))!.properties['svc_first_name']).toBe('by hand')
    expect(await scene.held('k3')).toBeNull()
    expect((await scene.held('k6'))!.properties['svc_first_name']).toBe('by hand')
    // Who has seen them sends them all the same.
    const retried = await scene.retry(end.run, {}, fast)
    expect(retried.books.states).toMatchObject({ created: 1, updated: 3 })
  })

  it('leaves a record alone that was deleted since (mode update)', async () => {
    const scene = await importScene(NAMES, { mode: 'update' })
    await createOne(scene, 'k1', 'theirs')
    scene.rows(HEAD, numbered(2, 'ours'))
    const { number } = await planned(scene)
    await scene.client.deleteRecord(CONTACT, (await scene.held('k1'))!.id)
    const end = await scene.run({ ...fast, plan: number })
    expect(end.books.states).toMatchObject({ not_found: 1, conflict: 1 })
  })

  it.each([true, false])(
    'is replayed where an answer was lost (carried out: %s)',
    async (isDone) => {
      const scene = await importScene(NAMES)
      await createOne(scene, 'k0', 'theirs')
      scene.rows(HEAD, numbered(3, 'ours'))
      const { number } = await planned(scene)
      const through = losesFirst('batchUpsert', isDone)
      const end = await scene.run({ ...fast, plan: number, through })
      expect(end).toMatchObject({ state: 'complete', books: { states: { conflict: 0 } } })
      expect((await scene.held('k0'))!.properties['svc_first_name']).toBe('ours 0')
    },
  )
})

onEachLedger('a plan is refused', () => {
  const refusal = async (scene: Scene, plan: number, more = {}) => {
    const before = scene.service.records(CONTACT).map((record) => JSON.stringify(record))
    const error = await scene.run({ ...fast, plan, ...more }).then(
      () => null,
      (thrown: Error) => thrown,
    )
    const after = scene.service.records(CONTACT).map((record) => JSON.stringify(record))
    expect(after).toEqual(before)
    return error?.message
  }

  it('if there is none, or it is of another sync', async () => {
    const scene = await importScene(NAMES)
    scene.rows(HEAD, numbered(3, 'ours'))
    expect(await refusal(scene, 7)).toBe(
      'Plan 7 cannot be applied: there is none of this number. Make a new one: records-sync plan contacts --diff',
    )
    const { number } = await planned(scene)
    expect(await refusal(scene, number, { as: { name: 'others' } })).toBe(
      `Plan ${number} cannot be applied: it is a plan of contacts. Apply it with: records-sync run contacts --plan ${number}`,
    )
    expect(await scene.ledger.runs({ limit: 9 })).toEqual([])
  })

  it('if it is not whole, not done, or old', async () => {
    const scene = await importScene(NAMES)
    scene.rows(HEAD, numbered(300, 'ours'))
    const plan = await stagedPlan(scene)
    expect(await refusal(scene, -plan.run)).toContain('it did not come to its end')
    await plan.lookUp({ sample: 100 })
    const number = await plan.store()
    expect(await refusal(scene, number)).toContain('only some of its rows were looked up')
    await plan.lookUp()
    await plan.store(new Date(Date.now() - PLAN_AGE_MAX_MS - 1_000).toISOString())
    expect(await refusal(scene, number)).toContain('more than 7 days old')
    await plan.store()
    expect((await scene.run({ ...fast, plan: number })).state).toBe('complete')
  })

  it('if a run has applied it, also in part', async () => {
    const scene = await importScene(NAMES)
    scene.rows(HEAD, numbered(3, 'ours'))
    const { number } = await planned(scene)
    const { run } = await scene.run({ ...fast, plan: number })
    expect(await refusal(scene, number)).toContain(`run ${run} has applied it. Make a new one`)
    scene.rows(HEAD, numbered(3, 'other'))
    const { number: second } = await planned(scene)
    const cut = await scene.run({ ...fast, plan: second, ending: 'cancelled' })
    expect(await refusal(scene, second)).toContain(
      `run ${cut.run} has applied it, and did not come to its end`,
    )
  })

  it('if rows have changed, and the ledger keeps which', async () => {
    const scene = await importScene(NAMES)
    scene.rows(HEAD, numbered(5, 'ours'))
    const { number } = await planned(scene)
    scene.rows(HEAD, [...numbered(4, 'ours'), ['k4', 'other', ''], ['k9', 'new', '']])
    const message = await refusal(scene, number)
    expect(message).toBe(
      `Plan ${number} cannot be applied: changed since it was made: 2 rows of the source; nothing was sent. Make a new one: records-sync plan contacts --diff`,
    )
    const [run] = await scene.ledger.runs({ limit: 1 })
    expect(await readNotAsPlanned(scene.ledger, run!.id)).toEqual({
      plan: number,
      parts: ['rows'],
      rows: 2,
      keys: ['k4', 'k9'],
    })
    // A run that was refused has not applied it.
    scene.rows(HEAD, numbered(5, 'ours'))
    expect((await scene.run({ ...fast, plan: number })).state).toBe('complete')
  })

  it('if another run has sent its rows since, and the source is the same', async () => {
    const scene = await importScene(NAMES)
    scene.rows(HEAD, numbered(5, 'ours'))
    const { number } = await planned(scene)
    const { number: second } = await planned(scene)
    const { run } = await scene.run({ ...fast, plan: second })
    const message = await refusal(scene, number)
    expect(message).toContain(
      `changed since it was made: what is to be sent of 5 rows, as run ${run} came between;`,
    )
    expect(message).not.toContain('of the source')
  })

  it('if only the order of rows, or the mapping has changed', async () => {
    const scene = await importScene(NAMES)
    scene.rows(HEAD, numbered(3, 'ours'))
    const { number } = await planned(scene)
    scene.rows(HEAD, numbered(3, 'ours').toReversed())
    expect(await refusal(scene, number)).toContain('since it was made: the order of the rows;')
    scene.rows(HEAD, numbered(3, 'ours'))
    const as = { name: 'contacts', import: { mode: 'create' } as const }
    expect(await refusal(scene, number, { as })).toContain(
      'since it was made: the configuration of the import;',
    )
  })
})
