// Runs that ask a person about what their rows change: always, or above rules. What was approved is sent, and nothing else.

import { describe, expect, it } from 'vitest'
import type { ImportConfig } from '../../../config/index.ts'
import { readPlan } from '../../../src/import/judge/stored-plan.ts'
import type { ImportClient } from '../../../src/import/ports.ts'
import { onEachLedger } from './each-ledger.ts'
import { clientWith, CONTACT, importScene, type Scene } from './scene.ts'

const NAMES = { svc_external_id: { column: 'id' }, svc_first_name: { column: 'name' } }
const HEAD = ['id', 'name']
const rows = (name: string, count = 4): string[][] =>
  Array.from({ length: count }, (_, at) => [`k${at}`, name])

const asking = (approve: ImportConfig['approve'], more = {}) =>
  importScene(NAMES, { ...(approve && { approve }), ...more })

const createOne = (scene: Scene, id: string, name: string) =>
  scene.client.createRecord(CONTACT, { svc_external_id: id, svc_first_name: name })

const change = async (scene: Scene, id: string, name: string) =>
  await scene.client.updateRecord(CONTACT, (await scene.held(id))!.id, { svc_first_name: name })

/** What a run waits for. */
const waits = () => {
  const said: (string | null)[] = []
  return { said, noteWait: (message: string | null) => said.push(message) }
}

onEachLedger('approve: plan', () => {
  it('asks with what every row does, and sends what was approved', async () => {
    const scene = await asking('plan')
    await createOne(scene, 'k1', 'theirs')
    await createOne(scene, 'k2', 'ours')
    scene.rows(HEAD, rows('ours', 230))
    const { said, noteWait } = waits()
    const end = await scene.run({ approves: true, noteWait })
    const plan = (await readPlan(scene.ledger, end.run))!
    expect(said).toEqual([
      `230 rows wait for approval: every run of the sync asks; plan of run ${end.run} (${plan.digest.slice(0, 12)}): 228 create, 1 update, 1 equal`,
    ])
    expect(end.state).toBe('complete')
    expect(end.books.states).toMatchObject({ created: 228, updated: 1, unchanged: 1 })
    // Nothing is left to be asked about.
    said.length = 0
    expect((await scene.run({ noteWait })).state).toBe('complete')
    expect(said).toEqual([])
  })

  it('sends nothing if it is rejected', async () => {
    const scene = await asking('plan')
    scene.rows(HEAD, rows('ours'))
    const end = await scene.run({ approves: false })
    expect(end.state).toBe('cancelled')
    expect(scene.service.records(CONTACT)).toEqual([])
  })

  it('leaves a record alone that has changed while a person decided', async () => {
    const scene = await asking('plan')
    await createOne(scene, 'k1', 'theirs')
    await createOne(scene, 'k2', 'theirs')
    scene.rows(HEAD, rows('ours'))
    const beforeVerdict = () => change(scene, 'k2', 'by hand')
    const end = await scene.run({ approves: true, beforeVerdict })
    expect(end.state).toBe('complete_with_rejects')
    expect(end.books.states).toMatchObject({ created: 2, updated: 1, conflict: 1 })
    expect((await scene.held('k2'))!.properties['svc_first_name']).toBe('by hand')
    // The images of what was approved stay those of the plan.
    const images = await scene.ledger.imagesOf(end.run, [1, 2, 3, 4])
    expect(images.get(3)!.before).toContain('theirs')
  })

  it('goes on where it was cut short', async () => {
    const scene = await asking('plan')
    scene.rows(HEAD, rows('ours', 450))
    let reads = 0
    const through = (client: ImportClient) =>
      clientWith(client, {
        queryRecords: async (...given) => {
          reads++
          if (reads === 3) throw new Error('the worker has stopped')
          return await client.queryRecords(...given)
        },
      })
    const { said, noteWait } = waits()
    const tuning = { in_flight: 1 }
    const end = await scene.run({ approves: true, noteWait, through, tries: 2, tuning })
    expect(said[0]).toContain('450 create')
    expect(end.books.states).toMatchObject({ created: 450 })
  })

  it('asks about a retry, and not about a reconciliation', async () => {
    const scene = await asking('plan')
    scene.rows(HEAD, rows('ours'))
    const { run } = await scene.run({ approves: false })
    const { said, noteWait } = waits()
    const retried = await scene.retry(run, {}, { approves: true, noteWait })
    expect(said).toHaveLength(1)
    expect(retried.books.states).toMatchObject({ created: 4 })
    await change(scene, 'k2', 'by hand')
    const repaired = await scene.reconcile({ repair: true }, { noteWait })
    expect(said).toHaveLength(1)
    expect(repaired.books.states).toMatchObject({ updated: 1, conflict: 0 })
  })
})

describe('rules', () => {
  it('count what rows change', async () => {
    const scene = await asking({ updates_max: 1, creates_max_percent: 90 })
    for (const id of ['k0', 'k1', 'k2']) await createOne(scene, id, 'theirs')
    await change(scene, 'k2', 'ours')
    scene.rows(HEAD, rows('ours', 40))
    const { said, noteWait } = waits()
    await scene.run({ noteWait })
    expect(said[0]).toMatch(
      /^40 rows wait for approval: 2 of them change a record, the limit updates_max is 1; 92\.5 % of them are new records, the limit creates_max_percent is 90; plan of run 1 \(\w{12}\): 37 create, 2 update, 1 equal$/,
    )
  })

  it('below which nobody is asked, and a record that changes meanwhile is sent as always', async () => {
    const scene = await asking({ updates_max: 5, updates_max_percent: 50 })
    await createOne(scene, 'k1', 'theirs')
    scene.rows(HEAD, rows('ours'))
    let isChanged = false
    const through = (client: ImportClient) =>
      clientWith(client, {
        batchUpsert: async (...given) => {
          if (!isChanged) await change(scene, 'k1', 'by hand')
          isChanged = true
          return await client.batchUpsert(...given)
        },
      })
    const end = await scene.run({ through })
    expect(end).toMatchObject({ state: 'complete', books: { states: { updated: 1, conflict: 0 } } })
  })

  it.each<[ImportConfig['approve'], string]>([
    [
      { updates_max_percent: 20 },
      '25 % of them change a record, the limit updates_max_percent is 20',
    ],
    [{ rows_max: 3 }, 'the limit rows_max is 3'],
    [{ rows_min: 9 }, 'the source has 4, the limit rows_min is 9'],
    [
      { creates_max_percent: 70 },
      '75 % of them are new records, the limit creates_max_percent is 70',
    ],
  ])('under `approve` are those of the import: %o', async (approve, text) => {
    const scene = await asking(approve)
    await createOne(scene, 'k1', 'theirs')
    scene.rows(HEAD, rows('ours'))
    const { said, noteWait } = waits()
    expect((await scene.run({ noteWait })).state).toBe('cancelled')
    expect(said[0]).toContain(text)
  })
})
