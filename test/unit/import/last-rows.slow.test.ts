// Two rows of a run have one record at the service. The later one is sent once more when the run ends: what others have changed by then
// stays as the settings say.

import { expect, it } from 'vitest'
import type { ImportConfig } from '../../../config/index.ts'
import { ROW_VERDICTS } from '../../../src/core/domain/row-changes.ts'
import { onEachLedger } from './each-ledger.ts'
import { CONTACT, importScene, type RunOptions, type Scene } from './scene.ts'

const HEAD = ['id', 'first', 'last']
const fast: RunOptions = { tuning: { resend_backoff_ms: [1], item_backoff_ms: [1] } }

/** The service knows no capitals in e-mails. */
const twins = (more: Partial<ImportConfig> = {}) =>
  importScene(
    {
      svc_email: { column: 'id', type: 'text' },
      svc_first_name: { column: 'first' },
      svc_last_name: { column: 'last' },
    },
    { matching_property: 'svc_email', verify: 'none', ...more },
  )

const rows = (scene: Scene, one: string, other: string, last = 'L') =>
  scene.rows(HEAD, [
    ['a@example.com', one, last],
    ['A@example.com', other, last],
  ])

const theRecord = (scene: Scene) => scene.service.records(CONTACT)[0]!

const namesOf = (scene: Scene) => {
  const { properties } = theRecord(scene)
  return [properties['svc_first_name'], properties['svc_last_name']]
}

const edits = (scene: Scene, first: string) => async () => {
  await scene.client.updateRecord(CONTACT, theRecord(scene).id, { svc_first_name: first })
}

onEachLedger('the later of two rows with one record', () => {
  it('comes last, and nothing of it is kept where nobody else writes', async () => {
    const scene = await twins({ on_conflict: 'theirs' })
    for (const at of ['1', '2', '3']) {
      rows(scene, `A${at}`, `B${at}`, `L${at}`)
      const end = await scene.run(fast)
      expect(end.books.kept?.values ?? 0).toBe(0)
      expect(namesOf(scene)).toEqual([`B${at}`, `L${at}`])
    }
    expect(scene.service.records(CONTACT)).toHaveLength(1)
  })

  it('is sent without what others have changed since (theirs)', async () => {
    const scene = await twins({ on_conflict: 'theirs' })
    rows(scene, 'A1', 'B1')
    await scene.run(fast)
    rows(scene, 'A2', 'B2', 'M')
    const end = await scene.run({ ...fast, beforeClose: edits(scene, 'person') })
    expect(namesOf(scene)).toEqual(['person', 'M'])
    expect(end.books.kept).toEqual({ values: 1, rows: 1, reasons: { changed: 1 } })
  })

  it('is left if others have changed its record since (reject)', async () => {
    const scene = await twins({ on_conflict: 'reject' })
    rows(scene, 'A1', 'B1')
    await scene.run(fast)
    rows(scene, 'A2', 'B2')
    const end = await scene.run({ ...fast, beforeClose: edits(scene, 'person') })
    expect(namesOf(scene)[0]).toBe('person')
    expect(end.state).toBe('complete_with_differences')
    const states = ['created', 'updated'] as const
    const found = await scene.ledger.report(end.run, { states, after: 0, limit: 9, readBack: true })
    expect(found).toMatchObject([{}, { reason: 'changed_by_others' }])
    expect(found[1]!.detail).toContain('was not sent again after it')
  })

  it('is written over others with ours, and its image has what it sends', async () => {
    const scene = await twins({ keep_before: true })
    rows(scene, 'A1', 'B1')
    await scene.run(fast)
    // The last name is the same on both sides when the rows are looked up.
    rows(scene, 'A2', 'B2')
    const end = await scene.run({
      ...fast,
      beforeClose: async () => {
        const names = { svc_last_name: 'person' }
        await scene.client.updateRecord(CONTACT, theRecord(scene).id, names)
      },
    })
    expect(namesOf(scene)).toEqual(['B2', 'L'])
    const images = await scene.ledger.images(end.run, {
      after: 0,
      limit: 9,
      verdicts: ROW_VERDICTS,
    })
    expect(JSON.parse(images[1]!.sent)).toMatchObject({ svc_last_name: 'L' })
  })
})
