// Rows whose answer is lost after they were carried out, and whose records a person changes before they are looked up: the run wrote them,
// so books, base and undo have them as written, and what the person changed stays.

import { expect, it } from 'vitest'
import { isBalanced } from '../../../src/core/domain/books.ts'
import { onSampledLedgers } from './each-ledger.ts'
import {
  CONTACT,
  importScene,
  losesFirst,
  type RunEnd,
  type RunOptions,
  type Scene,
} from './scene.ts'

const NAMES = {
  svc_external_id: { column: 'id' },
  svc_first_name: { column: 'first' },
  svc_last_name: { column: 'last' },
}
const HEAD = ['id', 'first', 'last']
const fast = { tuning: { resend_backoff_ms: [1], item_backoff_ms: [1] } }

const sceneOf = (more: object) => importScene(NAMES, { keep_before: true, ...more })

const source = (scene: Scene, name: string) =>
  scene.rows(HEAD, [
    ['k1', `${name} first`, `${name} last`],
    ['k2', `${name} first`, `${name} last`],
  ])

async function change(scene: Scene, properties: Record<string, string | null>) {
  const { id } = (await scene.held('k1'))!
  await scene.client.updateRecord(CONTACT, id, properties)
}

const namesOf = async (scene: Scene, key = 'k1') => {
  const { properties } = (await scene.held(key))!
  return [properties['svc_first_name'], properties['svc_last_name']]
}

/** Loses the answer of the first batch, which was carried out; a person changes a record before that is known. */
const losing = (
  scene: Scene,
  operation: 'batchUpsert' | 'batchUpdate' = 'batchUpsert',
): RunOptions => ({
  ...fast,
  through: losesFirst(operation, true, {
    meanwhile: () => change(scene, { svc_last_name: 'person' }),
  }),
})

const isUpdated = (end: RunEnd) => {
  expect(isBalanced(end.books)).toBe(true)
  expect(end.books.states).toMatchObject({ updated: 2, protected: 0, refused: 0, conflict: 0 })
}

onSampledLedgers('a row that was written without an answer, and changed by a person since', () => {
  it.each(['theirs', 'reject'])('is written, and stays ours (on_conflict: %s)', async (policy) => {
    const scene = await sceneOf({ on_conflict: policy })
    source(scene, 'a')
    await scene.run(fast)
    source(scene, 'b')
    isUpdated(await scene.run(losing(scene)))
    expect(await namesOf(scene)).toEqual(['b first', 'person'])
    source(scene, 'c')
    const next = await scene.run(fast)
    if (policy === 'theirs') {
      expect(await namesOf(scene)).toEqual(['c first', 'person'])
      expect(next.books.kept).toMatchObject({ values: 1, rows: 1 })
      return
    }
    // The person's value alone is in the way.
    expect(next.books.states).toMatchObject({ updated: 1, refused: 1 })
    await change(scene, { svc_last_name: 'b last' })
    source(scene, 'd')
    expect((await scene.run(fast)).books.states).toMatchObject({ updated: 2 })
    expect(await namesOf(scene)).toEqual(['d first', 'd last'])
  })

  it.each(['theirs', 'reject'])('is undone but for that (on_conflict: %s)', async (policy) => {
    const scene = await sceneOf({ on_conflict: policy })
    source(scene, 'a')
    await scene.run(fast)
    source(scene, 'b')
    const { run } = await scene.run(losing(scene))
    await scene.undo(run, {}, fast)
    expect(await namesOf(scene)).toEqual(['a first', 'person'])
    expect(await namesOf(scene, 'k2')).toEqual(['a first', 'a last'])
  })

  it('is restored by the undo that wrote it, which can be undone', async () => {
    const scene = await sceneOf({ on_conflict: 'theirs' })
    source(scene, 'a')
    await scene.run(fast)
    source(scene, 'b')
    const { run } = await scene.run(fast)
    const undo = await scene.undo(run, {}, losing(scene, 'batchUpdate'))
    isUpdated(undo)
    expect(await namesOf(scene)).toEqual(['a first', 'person'])
    source(scene, 'c')
    await scene.run(fast)
    expect(await namesOf(scene)).toEqual(['c first', 'person'])
  })

  it('can be restored again by the undo of the undo that wrote it', async () => {
    const scene = await sceneOf({})
    source(scene, 'a')
    await scene.run(fast)
    source(scene, 'b')
    const { run } = await scene.run(fast)
    const undo = await scene.undo(run, {}, losing(scene, 'batchUpdate'))
    await scene.undo(undo.run, {}, fast)
    expect(await namesOf(scene)).toEqual(['b first', 'person'])
  })

  it('stays kept where it was not written', async () => {
    const scene = await sceneOf({ on_conflict: 'theirs' })
    source(scene, 'a')
    await scene.run(fast)
    source(scene, 'b')
    const end = await scene.run({
      ...fast,
      through: losesFirst('batchUpsert', false, {
        meanwhile: () => change(scene, { svc_first_name: 'by', svc_last_name: 'person' }),
      }),
    })
    expect(end.books.states).toMatchObject({ updated: 1, protected: 1 })
    expect(await namesOf(scene)).toEqual(['by', 'person'])
  })
})
