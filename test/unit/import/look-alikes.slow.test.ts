// What is read back of a value may be a form that the service made of it, or an edit by a person between the write and the reading. Which
// of them it is shows in the answer, in two runs, or in several rows; where nothing shows it, it is protected.

import { expect, it } from 'vitest'
import type { ImportConfig } from '../../../config/index.ts'
import type { ImportClient } from '../../../src/import/ports.ts'
import { onSampledLedgers } from './each-ledger.ts'
import {
  clientWith,
  CONTACT,
  importScene,
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
const fast: RunOptions = { tuning: { resend_backoff_ms: [1], item_backoff_ms: [1] } }
const KEYS = ['k1', 'k2', 'k3', 'k4']

const protecting = (more: Partial<ImportConfig> = {}) =>
  importScene(NAMES, { on_conflict: 'theirs', verify: 'all', ...more })

async function change(scene: Scene, key: string, first: string) {
  const { id } = (await scene.held(key))!
  await scene.client.updateRecord(CONTACT, id, { svc_first_name: first })
}

const firstOf = async (scene: Scene, key = 'k1') =>
  (await scene.held(key))?.properties['svc_first_name']

/** Whether the service answers with the record. */
type Answers = 'bare' | 'shown'

/** A service that writes first names in capitals, where it does. */
const service =
  (answers: Answers, { capitals = true, meanwhile = async () => {} } = {}) =>
  (client: ImportClient): ImportClient =>
    clientWith(client, {
      batchUpsert: async (type, matching, given, options) => {
        const { body, count } = given as { body: string; count: number }
        const changed = body.replaceAll(
          /("svc_first_name":")([^"]*)/g,
          (_, name: string, value: string) => name + (capitals ? value.toUpperCase() : value),
        )
        const answer = await client.batchUpsert(type, matching, { body: changed, count }, options)
        await meanwhile()
        if (answers === 'shown') return answer
        return { ...answer, data: answer.data.map((one) => ({ ...one, record: undefined })) }
      },
    })

const rowsOf = (first: string, keys = KEYS) => keys.map((key) => [key, `${first}${key}`, 'B'])

const kept = ({ books }: RunEnd) => books.kept?.reasons ?? {}

onSampledLedgers('what looks like a form of a value', () => {
  it.each<[Answers, 'theirs' | 'reject']>([
    ['bare', 'theirs'],
    ['shown', 'theirs'],
    ['shown', 'reject'],
  ])('stays where others may have written it (%s, %s)', async (answers, onConflict) => {
    const scene = await protecting({ on_conflict: onConflict })
    scene.rows(HEAD, [['k1', 'anna', 'B']])
    const meanwhile = async () => await change(scene, 'k1', 'ANNA')
    await scene.run({ ...fast, through: service(answers, { capitals: false, meanwhile }) })
    scene.rows(HEAD, [['k1', 'berta', 'B']])
    const end = await scene.run(fast)
    expect(await firstOf(scene)).toBe('ANNA')
    if (onConflict === 'theirs') expect(kept(end)).toEqual({ look_alike: 1 })
    else expect(end.books.states).toMatchObject({ refused: 1 })
  })

  it('is ours if the answer has shown it, also after other properties were sent', async () => {
    const scene = await protecting()
    const through = service('shown')
    for (const [first, last] of [
      ['anna', 'B'],
      ['anna', 'C'],
      ['berta', 'C'],
    ]) {
      scene.rows(HEAD, [['k1', first!, last!]])
      await scene.run({ ...fast, through })
    }
    expect(await firstOf(scene)).toBe('BERTA')
  })

  it('is ours if two runs have sent the value and read it alike', async () => {
    const scene = await protecting()
    const through = service('bare')
    const as = {
      name: 'contacts',
      import: { on_conflict: 'ours', first_contact: 'theirs' },
    } as const
    scene.rows(HEAD, [['k1', 'anna', 'B']])
    await scene.run({ ...fast, through, as })
    await scene.run({ ...fast, through, as })
    scene.rows(HEAD, [['k1', 'berta', 'B']])
    await scene.run({ ...fast, through })
    expect(await firstOf(scene)).toBe('BERTA')
  })

  it('is ours if several rows show it and none speaks against it', async () => {
    const scene = await protecting()
    const through = service('bare')
    scene.rows(HEAD, rowsOf('anna'))
    // An edit that no rule makes of what was sent is that of a person.
    const meanwhile = async () => await change(scene, 'k4', 'Annak4')
    await scene.run({ ...fast, through: service('bare', { meanwhile }) })
    scene.rows(HEAD, rowsOf('berta'))
    const end = await scene.run({ ...fast, through })
    expect(kept(end)).toEqual({ look_alike: 1 })
    expect(await Promise.all(KEYS.map((key) => firstOf(scene, key)))).toEqual([
      'BERTAK1',
      'BERTAK2',
      'BERTAK3',
      'Annak4',
    ])
    // What was learnt is known to later runs, which have one row each.
    for (const first of ['clara', 'dora']) {
      scene.rows(HEAD, [['k1', first, 'B'], ...rowsOf('berta', ['k2', 'k3'])])
      await scene.run({ ...fast, through })
    }
    expect(await firstOf(scene)).toBe('DORA')
  })

  it('is protected in a run in which one row holds such a value as it was sent', async () => {
    const scene = await protecting()
    scene.rows(HEAD, rowsOf('anna'))
    const edited = ['k1', 'k2', 'k3']
    const meanwhile = async () => {
      for (const key of edited) await change(scene, key, `ANNA${key.toUpperCase()}`)
    }
    await scene.run({ ...fast, through: service('bare', { capitals: false, meanwhile }) })
    scene.rows(HEAD, rowsOf('berta'))
    const end = await scene.run({ ...fast, through: service('bare', { capitals: false }) })
    expect(kept(end)).toEqual({ look_alike: 3 })
    expect(await firstOf(scene, 'k1')).toBe('ANNAK1')
    expect(await firstOf(scene, 'k4')).toBe('bertak4')
  })
})
