// A record that goes between the look-up of a row and its sending: an upsert makes a new one of the properties that were to change. The
// row is sent again, whole, or is set aside and says that its record is incomplete.

import { expect, it } from 'vitest'
import { isBalanced } from '../../../src/core/domain/books.ts'
import { ITEM_ATTEMPTS_MAX } from '../../../src/core/limits.ts'
import type { ImportClient } from '../../../src/import/ports.ts'
import type { ImportConfig } from '../../../config/index.ts'
import { onEachLedger } from './each-ledger.ts'
import { stagedPlan } from './plan-scene.ts'
import {
  clientWith,
  CONTACT,
  importScene,
  losesFirst,
  type RunOptions,
  type Scene,
} from './scene.ts'

const NAMES = {
  svc_external_id: { column: 'id' },
  svc_first_name: { column: 'first' },
  svc_last_name: { column: 'last' },
}
const HEAD = ['id', 'first', 'last']
const fast: RunOptions = { tuning: { resend_backoff_ms: [1], item_backoff_ms: [1] } }

/** A record that a run has written, and a row that changes one of its properties. */
async function written(more: Partial<ImportConfig> = {}) {
  const scene = await importScene(NAMES, { on_conflict: 'theirs', verify: 'none', ...more })
  scene.rows(HEAD, [['k1', 'A1', 'B1']])
  await scene.run(fast)
  scene.rows(HEAD, [['k1', 'A2', 'B1']])
  return scene
}

const remove = async (scene: Scene) =>
  await scene.client.deleteRecord(CONTACT, (await scene.held('k1'))!.id)

const namesOf = async (scene: Scene) => {
  const { properties } = (await scene.held('k1'))!
  return [properties['svc_first_name'], properties['svc_last_name']]
}

/** Does something right before the first batch. */
const before =
  (what: () => Promise<unknown>) =>
  (client: ImportClient): ImportClient => {
    let isDone = false
    return clientWith(client, {
      batchUpsert: async (...given) => {
        if (!isDone) await what()
        isDone = true
        return await client.batchUpsert(...given)
      },
    })
  }

/** The next run writes what the first one left out. */
async function goesOn(scene: Scene) {
  scene.rows(HEAD, [['k1', 'A2', 'B2']])
  const end = await scene.run(fast)
  expect(end).toMatchObject({ state: 'complete', books: { states: { updated: 1 } } })
  expect(end.books).not.toHaveProperty('kept')
  expect(await namesOf(scene)).toEqual(['A2', 'B2'])
}

/** The record goes when the row has one attempt left. */
const goneAtLast =
  (scene: Scene) =>
  (client: ImportClient): ImportClient => {
    let batches = 0
    return clientWith(client, {
      batchUpsert: async (...given) => {
        if (++batches === ITEM_ATTEMPTS_MAX) {
          await remove(scene)
          return await client.batchUpsert(...given)
        }
        given[3]!.permit?.unused()
        const result = { index: 0, status: 500, record: null, problem: null } as const
        return { requestId: null, data: [result] } as never
      },
    })
  }

onEachLedger('a record that was made of a part of a row', () => {
  it.each(['ours', 'theirs'] as const)(
    'gets the rest of it in the same run, and counts once (first_contact: %s)',
    async (first) => {
      const scene = await written({ first_contact: first })
      const end = await scene.run({ ...fast, through: before(() => remove(scene)) })
      expect(end).toMatchObject({
        state: 'complete',
        books: { states: { created: 1, updated: 0 } },
      })
      expect(isBalanced(end.books)).toBe(true)
      expect(await namesOf(scene)).toEqual(['A2', 'B1'])
      expect(await scene.ledger.imagesOf(end.run, [1])).toMatchObject(
        new Map([[1, { verdict: 'create', before: null }]]),
      )
      await goesOn(scene)
    },
  )

  it('gets the rest of it where the answer is lost', async () => {
    const scene = await written()
    const through = (client: ImportClient) =>
      before(() => remove(scene))(losesFirst('batchUpsert', true)(client))
    const end = await scene.run({ ...fast, through })
    expect(end.state).toBe('complete')
    expect(await namesOf(scene)).toEqual(['A2', 'B1'])
    await goesOn(scene)
  })

  it('keeps what others have given it since', async () => {
    const scene = await written({ first_contact: 'theirs' })
    let batches = 0
    const through = (client: ImportClient) =>
      clientWith(client, {
        batchUpsert: async (...given) => {
          if (++batches === 1) await remove(scene)
          const answer = await client.batchUpsert(...given)
          const { id } = (await scene.held('k1'))!
          if (batches === 1)
            await scene.client.updateRecord(CONTACT, id, { svc_last_name: 'person' })
          return answer
        },
      })
    const end = await scene.run({ ...fast, through })
    expect(end).toMatchObject({ state: 'complete', books: { states: { created: 1 } } })
    expect(end.books.kept).toEqual({ values: 1, rows: 1, reasons: { first_contact: 1 } })
    expect(await namesOf(scene)).toEqual(['A2', 'person'])
  })

  it('gets the rest of it from the next worker', async () => {
    const scene = await written()
    const settle = scene.ledger.settle.bind(scene.ledger)
    let isDead = false
    scene.ledger.settle = async (...given) => {
      if (isDead) return await settle(...given)
      isDead = true
      throw new Error('dead')
    }
    const end = await scene.run({ ...fast, tries: 2, through: before(() => remove(scene)) })
    expect(isDead).toBe(true)
    expect(end).toMatchObject({ state: 'complete', books: { states: { created: 1 } } })
    expect(await namesOf(scene)).toEqual(['A2', 'B1'])
    await goesOn(scene)
  })

  it('is named as incomplete where only what was planned may be sent', async () => {
    const scene = await written()
    const plan = await stagedPlan(scene)
    await plan.lookUp()
    const number = await plan.store()
    const end = await scene.run({ ...fast, plan: number, through: before(() => remove(scene)) })
    expect(end).toMatchObject({
      state: 'complete_with_rejects',
      books: { states: { conflict: 1, created: 0 } },
    })
    const [row] = await scene.ledger.report(end.run, { states: ['conflict'], after: 0, limit: 9 })
    const { id } = (await scene.held('k1'))!
    expect(row).toMatchObject({ reason: 'made_in_part', recordId: id })
    expect(row!.detail).toContain(`that is incomplete (record ${id})`)
    const next = await scene.run(fast)
    expect(next.state).toBe('complete')
    expect(await namesOf(scene)).toEqual(['A2', 'B1'])
  })

  it('is named as incomplete where no attempt is left', async () => {
    const scene = await written()
    const end = await scene.run({ ...fast, through: goneAtLast(scene) })
    expect(end).toMatchObject({
      state: 'complete_with_rejects',
      books: { states: { refused: 1, created: 0 } },
    })
    const [row] = await scene.ledger.report(end.run, { states: ['refused'], after: 0, limit: 9 })
    expect(row).toMatchObject({ reason: 'made_in_part' })
    expect(row!.detail).toContain('that is incomplete')
    expect((await scene.retry(end.run, undefined, fast)).state).toBe('complete')
    expect(await namesOf(scene)).toEqual(['A2', 'B1'])
  })

  it.each(['ours', 'theirs'] as const)(
    'gets the rest of it from a repair (first_contact: %s)',
    async (first) => {
      const scene = await written({ first_contact: first })
      const end = await scene.run({ ...fast, through: goneAtLast(scene) })
      expect(end.state).toBe('complete_with_rejects')
      const looked = await scene.reconcile({}, fast)
      expect(looked.state).toBe('complete_with_differences')
      expect(looked.differences).toMatchObject([{ key: 'k1', repaired: false }])
      const repaired = await scene.reconcile({ repair: true }, fast)
      expect(repaired).toMatchObject({ state: 'complete', differences: [{ repaired: true }] })
      expect(await namesOf(scene)).toEqual(['A2', 'B1'])
      await goesOn(scene)
    },
  )

  it('gets the rest of it in the same repair', async () => {
    const scene = await written()
    const through = before(() => remove(scene))
    const end = await scene.reconcile({ repair: true }, { ...fast, through })
    expect(end).toMatchObject({ state: 'complete', books: { states: { created: 1 } } })
    expect(end.differences).toMatchObject([{ key: 'k1', repaired: true }])
    expect(await namesOf(scene)).toEqual(['A2', 'B1'])
    await goesOn(scene)
  })
})
