// Others change a record between the answer to its row and the reading back (`verify: all`). What is read is theirs: neither an undo nor a
// removal takes it for a form of the service's own.

import { expect, it } from 'vitest'
import { DELETION_STATES } from '../../../src/core/domain/outcomes.ts'
import type { ImportClient } from '../../../src/import/ports.ts'
import type { ImportConfig } from '../../../config/index.ts'
import { onSampledLedgers } from './each-ledger.ts'
import { clientWith, CONTACT, importScene, type RunOptions, type Scene } from './scene.ts'

const NAMES = { svc_external_id: { column: 'id' }, svc_first_name: { column: 'first' } }
const HEAD = ['id', 'first']
const fast: RunOptions = { tuning: { resend_backoff_ms: [1], item_backoff_ms: [1] } }

/** A value in another form, and one that is none. */
const EDITS = ['ANNA', 'person']

const keeping = (more: Partial<ImportConfig> = {}) =>
  importScene(NAMES, { keep_before: true, verify: 'all', ...more })

/** Others change the first name right after it was written. */
const edits =
  (scene: Scene, value: string) =>
  (client: ImportClient): ImportClient =>
    clientWith(client, {
      batchUpsert: async (...given) => {
        const answer = await client.batchUpsert(...given)
        const { id } = (await scene.held('k1'))!
        await scene.client.updateRecord(CONTACT, id, { svc_first_name: value })
        return answer
      },
    })

const nameOf = async (scene: Scene) => (await scene.held('k1'))?.properties['svc_first_name']

onSampledLedgers('an edit between a write and its reading back', () => {
  it.each(EDITS)('is left by an undo of an update (%s)', async (value) => {
    const scene = await keeping()
    scene.rows(HEAD, [['k1', 'old']])
    await scene.run(fast)
    scene.rows(HEAD, [['k1', 'anna']])
    const end = await scene.run({ ...fast, through: edits(scene, value) })
    expect(end).toMatchObject({
      state: 'complete_with_differences',
      books: { readBack: { different: 1 } },
    })
    await scene.undo(end.run, {}, fast)
    expect(await nameOf(scene)).toBe(value)
  })

  it.each(EDITS)('keeps a record of the run from an undo (%s)', async (value) => {
    const scene = await keeping()
    scene.rows(HEAD, [['k1', 'anna']])
    const end = await scene.run({ ...fast, through: edits(scene, value) })
    const undone = await scene.undo(end.run, {}, fast)
    expect(undone.books.removals).toEqual({ changed_since: 1 })
    expect(await nameOf(scene)).toBe(value)
  })

  it.each(EDITS)(
    'is no form of ours later either: a removal leaves the record (%s)',
    async (value) => {
      const scene = await keeping({ missing_rows: 'delete' })
      const other = ['k2', 'other']
      scene.rows(HEAD, [['k1', 'anna'], other])
      await scene.run({ ...fast, through: edits(scene, value) })
      expect((await scene.run(fast)).state).toBe('complete')
      expect(await nameOf(scene)).toBe('anna')
      const { id } = (await scene.held('k1'))!
      await scene.client.updateRecord(CONTACT, id, { svc_first_name: value })
      scene.rows(HEAD, [other])
      const end = await scene.run({ ...fast, approves: true })
      const { rows } = await scene.ledger.removals(end.run, {
        after: 0,
        limit: 9,
        states: DELETION_STATES,
      })
      expect(rows).toMatchObject([
        { key: 'k1', state: 'changed_since', reason: 'values_changed', detail: 'svc_first_name' },
      ])
      expect(await nameOf(scene)).toBe(value)
    },
  )
})
