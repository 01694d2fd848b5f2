// With before-images a row sends what it changes, and nothing else: plan, run and undo agree about texts that only look the same, about
// lists in another order, and about what they leave alone.

import { describe, expect, it } from 'vitest'
import { ROW_VERDICTS } from '../../../src/core/domain/row-changes.ts'
import { imageChangeReader } from '../../../src/import/judge/image-changes.ts'
import type { ImportClient } from '../../../src/import/ports.ts'
import { stagedPlan } from './plan-scene.ts'
import { clientWith, CONTACT, importScene, losesFirst, type Scene } from './scene.ts'

const NAMES = {
  svc_external_id: { column: 'id' },
  svc_first_name: { column: 'name' },
  svc_last_name: { column: 'last' },
  svc_email: { column: 'email', split: ';' },
  svc_website: { column: 'site' },
  svc_score: { column: 'score' },
  svc_last_contacted_at: { column: 'at' },
}
const HEAD = ['id', 'name', 'last', 'email', 'site', 'score', 'at']
const OURS = [
  'k1',
  'J\u00fcrgen',
  'Ober',
  'A@x.example;b@x.example',
  'https://x.example/Path',
  '10.5',
  '2026-01-31T08:15:00+01:00',
]
const fast = { tuning: { resend_backoff_ms: [1], item_backoff_ms: [1] } }

const keeping = (more = {}) => importScene(NAMES, { keep_before: true, verify: 'none', ...more })

/** What the service has, as another person may have left it: each text means the same as ours. */
const THEIRS = {
  svc_external_id: 'k1',
  svc_first_name: 'Ju\u0308rgen',
  svc_last_name: ' Ober',
  svc_email: ['b@x.example', 'a@x.example'],
  svc_website: 'https://x.example/path',
  svc_score: 10.5,
  svc_last_contacted_at: '2026-01-31T07:15:00Z',
}
const CHANGED = ['svc_first_name', 'svc_last_name', 'svc_email', 'svc_website']

const create = (scene: Scene, values: object) =>
  scene.client.createRecord(CONTACT, values as Record<string, string>)

const mapped = async (scene: Scene, key = 'k1') => {
  const { properties } = (await scene.held(key))!
  return Object.fromEntries(Object.keys(NAMES).map((name) => [name, properties[name] ?? null]))
}

async function changesOf({ ledger, sync }: Scene, run: number) {
  const { schema } = (await ledger.run(run))!
  const read = imageChangeReader({ config: sync.import, schema })
  const images = await ledger.images(run, { after: 0, limit: 100, verdicts: ROW_VERDICTS })
  return images.map((image) => ({
    key: image.key,
    verdict: image.verdict,
    changes: read(image).map(({ property }) => property),
    sent: Object.keys(JSON.parse(image.sent) as object),
    before: image.before === null ? null : Object.keys(JSON.parse(image.before) as object),
  }))
}

/** A client that notes the bodies of writes. */
function noted(more: Partial<ImportClient> = {}) {
  const bodies: { properties: Record<string, unknown> }[] = []
  const note = (body: unknown) => {
    const { body: text } = body as { body: string }
    bodies.push(...(JSON.parse(text) as { data: typeof bodies }).data)
  }
  const through = (client: ImportClient): ImportClient =>
    clientWith(client, {
      batchUpsert: async (...given) => {
        note(given[2])
        return await (more.batchUpsert ?? client.batchUpsert.bind(client))(...given)
      },
      batchUpdate: async (...given) => {
        note(given[1])
        return await client.batchUpdate(...given)
      },
    })
  return { bodies, through }
}

describe('a row with before-images', () => {
  it.each(['upsert', 'update'] as const)(
    'sends what its record has otherwise, if only as it is written, and takes all of it back (%s)',
    async (mode) => {
      const scene = await keeping({ mode })
      await create(scene, THEIRS)
      const before = await mapped(scene)
      scene.rows(HEAD, [OURS])
      const plan = await stagedPlan(scene)
      await plan.lookUp()
      const key = mode === 'upsert' ? ['svc_external_id'] : []
      const all = [...key, ...CHANGED].toSorted()
      const [planned] = await changesOf(scene, plan.run)
      expect(planned).toMatchObject({ verdict: 'update', changes: CHANGED.toSorted() })
      expect(planned!.sent.toSorted()).toEqual(all)
      const { bodies, through } = noted()
      const { run } = await scene.run({ through, plan: await plan.store() })
      expect(Object.keys(bodies[0]!.properties).toSorted()).toEqual(all)
      const [image] = await changesOf(scene, run)
      expect(image).toEqual(planned)
      expect(await mapped(scene)).toMatchObject({
        svc_first_name: 'J\u00fcrgen',
        svc_last_name: 'Ober',
        svc_email: ['a@x.example', 'b@x.example'],
        svc_website: 'https://x.example/Path',
      })
      const end = await scene.undo(run)
      expect(end).toMatchObject({ state: 'complete', books: { states: { updated: 1 } } })
      expect(await mapped(scene)).toEqual(before)
    },
  )

  it('knows what it left out as its own', async () => {
    const scene = await keeping({ on_conflict: 'theirs' })
    scene.rows(HEAD, [OURS])
    await scene.run()
    scene.rows(HEAD, [OURS.with(1, 'Jan')])
    const { bodies, through } = noted()
    await scene.run({ through })
    expect(bodies.map(({ properties }) => Object.keys(properties))).toEqual([
      ['svc_email', 'svc_external_id', 'svc_first_name'],
    ])
    // What was left out is known as ours all the same: a change of the source is no conflict.
    scene.rows(HEAD, [OURS.with(1, 'Jan').with(2, 'Unter')])
    const end = await scene.run()
    expect(end.books.states).toMatchObject({ updated: 1, protected: 0 })
    expect(await mapped(scene)).toMatchObject({ svc_first_name: 'Jan', svc_last_name: 'Unter' })
  })

  it('is read back by what it sent, and compared whole by a reconciliation', async () => {
    const scene = await keeping({ verify: 'all' })
    scene.rows(HEAD, [OURS])
    await scene.run()
    scene.rows(HEAD, [OURS.with(1, 'Jan')])
    const end = await scene.run()
    expect(end).toMatchObject({ state: 'complete', books: { states: { updated: 1 } } })
    const look = await scene.reconcile()
    expect(look.differences).toEqual([])
    const { id } = (await scene.held('k1'))!
    await scene.client.updateRecord(CONTACT, id, { svc_last_name: 'Theirs' })
    const found = await scene.reconcile()
    expect(found.differences).toMatchObject([{ field: 'svc_last_name', whose: 'service' }])
  })

  it.each([true, false])(
    'is done, or sent again as it was, where its answer is lost (carried out: %s)',
    async (isDone) => {
      const scene = await keeping()
      await create(scene, { svc_external_id: 'k1', svc_first_name: 'Old', svc_last_name: 'Ober' })
      scene.rows(HEAD, [OURS])
      const losing = losesFirst('batchUpsert', isDone)(scene.client)
      const { bodies, through } = noted({ batchUpsert: (...given) => losing.batchUpsert(...given) })
      const end = await scene.run({ ...fast, through })
      expect(end.state).toBe('complete')
      expect(bodies).toHaveLength(isDone ? 1 : 2)
      expect(bodies.at(-1)).toEqual(bodies[0])
      expect(bodies[0]!.properties).not.toHaveProperty('svc_last_name')
      await scene.undo(end.run)
      expect(await mapped(scene)).toMatchObject({
        svc_first_name: 'Old',
        svc_last_name: 'Ober',
        svc_email: null,
      })
    },
  )

  it.each(['none', 'all'] as const)(
    'makes its record whole where that goes while it is on its way (verify: %s)',
    async (verify) => {
      const scene = await keeping({ verify })
      const { id } = (await create(scene, { svc_external_id: 'k1', svc_last_name: 'Ober' })) as {
        id: string
      }
      scene.rows(HEAD, [OURS])
      let isThere = true
      const { through } = noted({
        batchUpsert: async (...given) => {
          if (isThere) await scene.client.deleteRecord(CONTACT, id)
          isThere = false
          return await scene.client.batchUpsert(...given)
        },
      })
      const end = await scene.run({ ...fast, through })
      expect(end).toMatchObject({
        state: 'complete',
        books: { states: { created: 1, updated: 0 } },
      })
      expect(await mapped(scene)).toMatchObject({
        svc_first_name: 'J\u00fcrgen',
        svc_last_name: 'Ober',
      })
      // It is a record of the run: an undo deletes it.
      const undone = await scene.undo(end.run)
      expect(undone.books.removals).toEqual({ deleted: 1 })
      expect(await scene.held('k1')).toBeNull()
    },
  )

  it('makes no record of a part, where its record goes before it is sent again', async () => {
    const scene = await keeping()
    const { id } = (await create(scene, { svc_external_id: 'k1', svc_last_name: 'Ober' })) as {
      id: string
    }
    scene.rows(HEAD, [OURS])
    let isFirst = true
    const { through } = noted({
      batchUpsert: async (...given) => {
        if (!isFirst) return await scene.client.batchUpsert(...given)
        isFirst = false
        await scene.client.deleteRecord(CONTACT, id)
        const result = { index: 0, status: 503, record: null, problem: null } as const
        const answer = await scene.client
          .batchUpsert(CONTACT, 'svc_external_id', { body: '{"data":[]}', count: 0 }, given[3])
          .catch(() => ({}))
        return { requestId: null, ...answer, data: [result] } as never
      },
    })
    const end = await scene.run({ ...fast, through })
    expect(end).toMatchObject({ state: 'complete', books: { states: { created: 1 } } })
    expect(await mapped(scene)).toMatchObject({
      svc_first_name: 'J\u00fcrgen',
      svc_last_name: 'Ober',
    })
  })
})

describe('two rows of one record', () => {
  it('leave it as the later row has it, if that one changed less when both were looked up', async () => {
    const scene = await keeping({ mode: 'update', matching_property: 'svc_email' })
    const emails = ['a@x.example', 'b@x.example']
    await create(scene, { ...THEIRS, svc_last_name: 'Ober', svc_email: emails })
    scene.rows(HEAD, [
      ['k1', 'Jan', 'Early', 'a@x.example', '', '', ''],
      ['k1', 'Late', 'Ober', 'b@x.example', '', '', ''],
    ])
    const end = await scene.run()
    expect(end.books.states).toMatchObject({ updated: 2 })
    const { data } = await scene.client.queryRecords(CONTACT, {})
    expect(data).toMatchObject([{ properties: { svc_first_name: 'Late', svc_last_name: 'Ober' } }])
  })
})

describe('what others wrote otherwise, and means the same', () => {
  it('is left to them where it is protected, and sets no row aside', async () => {
    for (const policy of ['theirs', 'reject'] as const) {
      const scene = await keeping({ on_conflict: policy })
      scene.rows(HEAD, [OURS.with(2, 'Before')])
      await scene.run()
      const { id } = (await scene.held('k1'))!
      await scene.client.updateRecord(CONTACT, id, { svc_last_name: ' Ober' })
      scene.rows(HEAD, [OURS.with(1, 'Jan')])
      const end = await scene.run()
      expect(end).toMatchObject({ state: 'complete', books: { states: { updated: 1 } } })
      expect(await mapped(scene)).toMatchObject({ svc_first_name: 'Jan', svc_last_name: ' Ober' })
    }
  })
})

describe('an undo', () => {
  it('knows a form that the service made by its answer, and leaves what a person wrote otherwise', async () => {
    const scene = await keeping()
    for (const key of ['k1', 'k2'])
      await create(scene, {
        svc_external_id: key,
        svc_email: ['old@x.example'],
        svc_website: 'https://x.example/old',
      })
    scene.rows(HEAD, [OURS, OURS.with(0, 'k2')])
    const { run } = await scene.run()
    // The service keeps e-mails in small letters.
    expect(await mapped(scene)).toMatchObject({ svc_email: ['a@x.example', 'b@x.example'] })
    const { id } = (await scene.held('k2'))!
    await scene.client.updateRecord(CONTACT, id, {
      svc_email: ['b@x.example', 'a@x.example'],
      svc_website: 'https://x.example/PATH',
    })
    await scene.undo(run)
    expect(await mapped(scene)).toMatchObject({
      svc_email: ['old@x.example'],
      svc_website: 'https://x.example/old',
    })
    expect(await mapped(scene, 'k2')).toMatchObject({
      svc_first_name: null,
      svc_email: ['b@x.example', 'a@x.example'],
      svc_website: 'https://x.example/PATH',
    })
  })
})
