// Imports that keep what records held before their rows were sent: each image is that of the record right before the first sending,
// and a row whose record has its values already is not sent.

import { expect, it } from 'vitest'
import { isBalanced } from '../../../src/core/domain/books.ts'
import { ROW_VERDICTS } from '../../../src/core/domain/row-changes.ts'
import { onEachLedger } from './each-ledger.ts'
import { CONTACT, importScene, losesFirst, type Scene } from './scene.ts'

const NAMES = {
  svc_external_id: { column: 'id' },
  svc_first_name: { column: 'name' },
  svc_email: { column: 'email' },
}
const HEAD = ['id', 'name', 'email']
const fast = { tuning: { resend_backoff_ms: [1], item_backoff_ms: [1] } }

const keeping = (more = {}) => importScene(NAMES, { keep_before: true, verify: 'all', ...more })

const numbered = (count: number, name: string): string[][] =>
  Array.from({ length: count }, (_, at) => [`k${at}`, `${name} ${at}`, `k${at}@example.com`])

const createOne = (scene: Scene, id: string, name: string) =>
  scene.client.createRecord(CONTACT, { svc_external_id: id, svc_first_name: name })

async function imagesOf(scene: Scene, run: number) {
  const found = await scene.ledger.images(run, { after: 0, limit: 1_000, verdicts: ROW_VERDICTS })
  return found.map(({ key, verdict, recordId, before, sent, state }) => ({
    key,
    verdict,
    recordId,
    before: before === null ? null : (JSON.parse(before) as unknown),
    sent: JSON.parse(sent) as unknown,
    state,
  }))
}

onEachLedger('before-images', () => {
  it('hold what each record held, of what is sent', async () => {
    const scene = await keeping()
    const { id } = (await createOne(scene, 'k1', 'theirs')) as { id: string }
    scene.rows(HEAD, [
      ['k0', 'ours 0', 'k0@example.com'],
      ['k1', 'ours 1', 'k1@example.com'],
    ])
    const end = await scene.run(fast)
    expect(end).toMatchObject({ state: 'complete', books: { states: { created: 1, updated: 1 } } })
    const sent = (at: number) => ({
      svc_external_id: `k${at}`,
      svc_first_name: `ours ${at}`,
      svc_email: [`k${at}@example.com`],
    })
    expect(await imagesOf(scene, end.run)).toEqual([
      {
        key: 'k0',
        verdict: 'create',
        recordId: null,
        before: null,
        sent: sent(0),
        state: 'created',
      },
      {
        key: 'k1',
        verdict: 'update',
        recordId: id,
        before: { svc_external_id: 'k1', svc_first_name: 'theirs', svc_email: null },
        sent: sent(1),
        state: 'updated',
      },
    ])
    expect(await scene.ledger.imageCounts(end.run)).toMatchObject({ create: 1, update: 1 })
  })

  it('leave a row out whose record has its values already', async () => {
    const scene = await keeping()
    scene.rows(HEAD, numbered(230, 'ours'))
    await scene.run(fast)
    const other = { name: 'others' }
    // Another sync of the same rows knows nothing of them.
    const end = await scene.run({ ...fast, as: other })
    expect(end).toMatchObject({ state: 'complete', books: { states: { unchanged: 230 } } })
    expect(isBalanced(end.books)).toBe(true)
    expect(await imagesOf(scene, end.run)).toEqual([])
    // What was found to be equal is accepted.
    scene.rows(HEAD, numbered(231, 'ours'))
    const next = await scene.run({ ...fast, as: other })
    expect(next.books.states).toMatchObject({ unchanged: 230, created: 1 })
    expect(await imagesOf(scene, next.run)).toMatchObject([{ key: 'k230', verdict: 'create' }])
  })

  it.each([true, false])(
    'are those before the first sending, if its answer was lost (carried out: %s)',
    async (isDone) => {
      const scene = await keeping()
      await createOne(scene, 'k0', 'theirs')
      scene.rows(HEAD, numbered(3, 'ours'))
      const through = losesFirst('batchUpsert', isDone)
      const end = await scene.run({ ...fast, through })
      expect(end.state).toBe('complete')
      expect(await imagesOf(scene, end.run)).toMatchObject([
        { key: 'k0', verdict: 'update', before: { svc_first_name: 'theirs' } },
        { key: 'k1', verdict: 'create', before: null },
        { key: 'k2', verdict: 'create', before: null },
      ])
    },
  )

  it('of an update leave the key alone, and know its record', async () => {
    const scene = await keeping({ mode: 'update' })
    const { id } = (await createOne(scene, 'k1', 'theirs')) as { id: string }
    scene.rows(HEAD, [
      ['k0', 'ours 0', ''],
      ['k1', 'ours 1', ''],
    ])
    const end = await scene.run(fast)
    expect(end.books.states).toMatchObject({ not_found: 1, updated: 1 })
    expect(await imagesOf(scene, end.run)).toEqual([
      {
        key: 'k1',
        verdict: 'update',
        recordId: id,
        before: { svc_first_name: 'theirs' },
        sent: { svc_first_name: 'ours 1' },
        state: 'updated',
      },
    ])
  })

  it('name a key that was written before, and finds no record now', async () => {
    const scene = await keeping()
    scene.rows(HEAD, [['k1', 'ours', '']])
    const first = await scene.run(fast)
    const [{ recordId }] = (
      await scene.ledger.acceptedRecords(first.run, ['k1'])
    ).values() as unknown as [{ recordId: string }]
    await scene.client.deleteRecord(CONTACT, recordId)
    scene.rows(HEAD, [['k1', 'ours again', '']])
    const end = await scene.run(fast)
    expect(await imagesOf(scene, end.run)).toMatchObject([{ verdict: 'unknown', before: null }])
  })

  it('are not kept where nobody asks for them', async () => {
    const scene = await importScene(NAMES, {})
    scene.rows(HEAD, numbered(3, 'ours'))
    const end = await scene.run(fast)
    expect(await imagesOf(scene, end.run)).toEqual([])
  })
})
