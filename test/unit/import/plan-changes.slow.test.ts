// The look-up of planned rows: each has an image that says what a run does with it, and nothing is written to the service.

import { describe, expect, it } from 'vitest'
import { clientWith, CONTACT, importScene, type Scene } from './scene.ts'
import { stagedPlan } from './plan-scene.ts'

const NAMES = {
  svc_external_id: { column: 'id' },
  svc_first_name: { column: 'name' },
  svc_email: { column: 'email' },
}
const HEAD = ['id', 'name', 'email']
const numbered = (count: number): string[][] =>
  Array.from({ length: count }, (_, at) => [`k${at}`, `ours ${at}`, ''])

const createOne = async (scene: Scene, id: string, name: string) =>
  await scene.client.createRecord(CONTACT, { svc_external_id: id, svc_first_name: name })

describe('the look-up of planned rows', () => {
  it('says of each what a run does with it, and writes nothing', async () => {
    const scene = await importScene(NAMES)
    scene.rows(HEAD, [
      ['gone', 'ours', ''],
      ['equal', 'before', ''],
    ])
    const end = await scene.run()
    const gone = (await scene.held('gone'))!
    await scene.client.deleteRecord(CONTACT, gone.id)
    await createOne(scene, 'update', 'theirs')
    await createOne(scene, 'same', 'ours')
    scene.rows(HEAD, [
      ['new', 'ours', ''],
      ['update', 'ours', ''],
      ['same', 'ours', ''],
      ['gone', 'ours now', ''],
      ['equal', 'before', ''],
    ])
    const plan = await stagedPlan(scene)
    expect(plan.run).toBeLessThan(0)
    expect(end.state).toBe('complete')
    expect(await plan.lookUp()).toEqual({ done: true, planned: 4, rows: 4, requests: 1 })
    expect(await plan.verdicts()).toEqual({
      new: 'create',
      update: 'update',
      same: 'equal',
      gone: 'unknown',
    })
    expect(await scene.held('new')).toBeNull()
    expect((await scene.held('update'))?.properties).toMatchObject({ svc_first_name: 'theirs' })
  })

  it.each([
    ['create', { k0: 'create', k1: 'exists', k2: 'exists' }],
    ['update', { k0: 'not_found', k1: 'update', k2: 'equal' }],
  ] as const)('says what the mode %s leaves as it is', async (mode, verdicts) => {
    const scene = await importScene(NAMES, { mode })
    const { id } = (await createOne(scene, 'k1', 'theirs')) as { id: string }
    await createOne(scene, 'k2', 'ours 2')
    scene.rows(HEAD, numbered(3))
    const plan = await stagedPlan(scene)
    await plan.lookUp()
    expect(await plan.verdicts()).toEqual(verdicts)
    expect((await scene.ledger.imagesOf(plan.run, [2])).get(2)).toMatchObject({
      recordId: id,
      before: mode === 'create' ? null : JSON.stringify({ svc_first_name: 'theirs' }),
    })
  })

  it('names a key that several records have', async () => {
    const scene = await importScene(
      { svc_external_id: { column: 'id' }, svc_email: { column: 'email' } },
      { matching_property: 'svc_email' },
    )
    for (const id of ['a', 'b'])
      await scene.client.createRecord(CONTACT, {
        svc_external_id: id,
        svc_email: ['x@example.com'],
      })
    scene.rows(['id', 'email'], [['c', 'x@example.com']])
    const plan = await stagedPlan(scene)
    await plan.lookUp()
    expect(await plan.verdicts()).toEqual({ 'x@example.com': 'ambiguous' })
  })

  it('says of a sync that only links which rows are found', async () => {
    const scene = await importScene(
      { svc_external_id: { column: 'id' } },
      {
        mode: 'link',
        empty: 'reject',
        links: [
          {
            association: 'svc_contact_company',
            to: 'svc_company',
            by: 'svc_domain',
            column: 'domain',
            missing: 'park',
          },
        ],
      },
    )
    await createOne(scene, 'k1', 'theirs')
    scene.rows(
      ['id', 'domain'],
      [
        ['k1', 'a.example'],
        ['k1', 'b.example'],
        ['k2', 'a.example'],
      ],
    )
    const plan = await stagedPlan(scene)
    expect(await plan.lookUp()).toMatchObject({ done: true, rows: 3, requests: 1 })
    expect(await plan.verdicts()).toEqual({ k1: 'exists', k2: 'not_found' })
  })

  it('takes a sample that is spread evenly, and goes on with all of them', async () => {
    const scene = await importScene(NAMES)
    scene.rows(HEAD, numbered(1_250))
    const plan = await stagedPlan(scene)
    expect(await plan.lookUp({ sample: 5 })).toEqual({
      done: true,
      planned: 1_250,
      rows: 5,
      requests: 1,
    })
    expect(Object.keys(await plan.verdicts())).toEqual(['k249', 'k499', 'k749', 'k999', 'k1249'])
    // The same sample has its images already.
    expect(await plan.lookUp({ sample: 5 })).toMatchObject({ rows: 5, requests: 1 })
    expect(await plan.lookUp()).toMatchObject({ done: true, rows: 1_250, requests: 14 })
    expect(plan.beats()).toBeGreaterThanOrEqual(1_250)
  })

  it('ends after as many requests as it may make, in all calls together', async () => {
    const scene = await importScene(NAMES)
    scene.rows(HEAD, numbered(1_250))
    const plan = await stagedPlan(scene)
    const limited = { done: true, rows: 300, requests: 3 }
    expect(await plan.lookUp({ limitRequests: 3 })).toMatchObject(limited)
    expect(await plan.lookUp({ limitRequests: 3 })).toMatchObject(limited)
  })

  it('goes on where a failure, or the end of its time, has left it', async () => {
    const scene = await importScene(NAMES)
    scene.rows(HEAD, numbered(2_300))
    let asked = 0
    const failing = await stagedPlan(scene, {
      tuning: { in_flight: 1, segment_ms: 0 },
      through: (client) =>
        clientWith(client, {
          queryRecords: async (...given) => {
            if (++asked === 4) throw new Error('cut')
            return await client.queryRecords(...given)
          },
        }),
    })
    await expect(failing.lookUp()).rejects.toThrow('cut')
    expect(await failing.lookUp()).toMatchObject({ done: false, rows: 1_300, requests: 13 })
    expect(await failing.lookUp()).toMatchObject({ done: false, rows: 2_300, requests: 23 })
    expect(await failing.lookUp()).toMatchObject({ done: true, rows: 2_300, requests: 23 })
  })
})
