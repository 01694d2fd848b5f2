// Values that the service did not take, and values that it keeps in a form of its own: only the latter are as good as equal. A
// real service; between it and the run a client that leaves a property out of what is sent, or changes it.

import { expect, test } from 'vitest'
import type { ImportClient } from '../../../src/import/ports.ts'
import { clientWith, importScene } from './scene.ts'

const PROPERTIES = {
  svc_external_id: { column: 'id' },
  svc_first_name: { column: 'name' },
  svc_last_name: { column: 'note' },
}
const HEAD = ['id', 'name', 'note']
const rowsOf = (note: (index: number) => string, count = 3) =>
  Array.from({ length: count }, (_, index) => [`c-${index}`, 'Ada', note(index)])

/** What becomes of each item's properties on the way; null leaves the property out. */
const storing =
  (change: (note: string) => string | null) =>
  (client: ImportClient): ImportClient =>
    clientWith(client, {
      batchUpsert: (type, matching, batch, options) => {
        const { body, count } = batch as { body: string; count: number }
        const { data } = JSON.parse(body) as { data: { properties: Record<string, string> }[] }
        const items = data.map(({ properties, ...item }) => {
          const { svc_last_name: sent, ...others } = properties
          const stored = sent === undefined ? null : change(sent)
          const kept = stored === null ? others : { ...others, svc_last_name: stored }
          return { ...item, properties: kept }
        })
        return client.batchUpsert(
          type,
          matching,
          { body: JSON.stringify({ data: items }), count },
          options,
        )
      },
    })
const ignoring = { through: storing(() => null) }
const sceneOf = (verify: 'all' | 'none' = 'all') => importScene(PROPERTIES, { verify })

test('a property that the service ignores stays a difference, however often it is sent', async () => {
  const scene = await sceneOf()
  scene.rows(
    HEAD,
    rowsOf((index) => `note ${index}`),
  )
  expect(await scene.run()).toMatchObject({ state: 'complete' })
  const read = { equal: 0, different: 3, missing: 0, normalised: 0 }
  for (const version of ['NOTE2', 'NOTE3'])
    for (let again = 0; again < 3; again++) {
      scene.rows(
        HEAD,
        rowsOf((index) => `${version} ${index}`),
      )
      const ended = await scene.run(ignoring)
      expect(ended).toMatchObject({
        state: 'complete_with_differences',
        books: { readBack: read, states: { updated: 3 } },
      })
      const [first] = await scene.ledger.report(ended.run, {
        states: [],
        after: 0,
        limit: 1,
        isLeft: true,
        readBack: true,
      })
      expect(first).toMatchObject({
        reason: 'read_back_different',
        column: 'note',
        detail: `svc_last_name: sent "${version} 0", the service holds "note 0" (the service keeps its old value)`,
      })
    }
  const looked = await scene.reconcile({}, ignoring)
  expect(looked.state).toBe('complete_with_differences')
  expect(looked.differences).toHaveLength(3)
  const mended = await scene.reconcile({ repair: true }, ignoring)
  expect(mended.state).toBe('complete_with_differences')
  expect((await scene.ledger.reconciled('contacts')).verifiedThrough).toBeNull()
})

test.each([
  ['that only look alike', 'note 1', 'NOTE 1'],
  ['that are cleared', 'note 1', ''],
  ['of which the old one is a part', 'note', 'note and more'],
])('old values %s are not taken for forms of the new ones', async (_, old, now) => {
  const scene = await importScene(PROPERTIES, { verify: 'all', empty: 'clear' })
  scene.rows(
    HEAD,
    rowsOf(() => old),
  )
  await scene.run()
  scene.rows(
    HEAD,
    rowsOf(() => now),
  )
  for (let again = 0; again < 3; again++)
    expect(await scene.run(ignoring)).toMatchObject({ state: 'complete_with_differences' })
})

test('values that were there before the first run are no forms of what is sent, and neither is no value', async () => {
  const scene = await sceneOf()
  const { client } = scene
  for (const [id, note] of [
    ['c-0', 'before'],
    ['c-1', null],
  ] as const)
    await client.batchUpsert('svc_contact', 'svc_external_id', {
      body: JSON.stringify({
        data: [{ properties: { svc_external_id: id, svc_last_name: note } }],
      }),
      count: 1,
    })
  scene.rows(
    HEAD,
    rowsOf((index) => `note ${index}`, 3),
  )
  for (let again = 0; again < 3; again++)
    expect(await scene.run(ignoring)).toMatchObject({
      state: 'complete_with_differences',
      books: { readBack: { different: 3, normalised: 0 } },
    })
})

test('a value that a person has changed meanwhile is no form of one that was not taken', async () => {
  const scene = await sceneOf()
  scene.rows(
    HEAD,
    rowsOf(() => 'one'),
  )
  await scene.run()
  const through = storing((note) => (note === 'two' ? 'called him' : note))
  scene.rows(
    HEAD,
    rowsOf(() => 'two'),
  )
  for (let again = 0; again < 3; again++)
    expect(await scene.run({ through })).toMatchObject({ state: 'complete_with_differences' })
})

test.each<[string, string, (note: string) => string]>([
  ['in small letters', 'Ada LOVELACE', (note) => note.toLowerCase()],
  ['without its spaces', 'Ada  Lovelace', (note) => note.replaceAll(/\s+/g, ' ')],
  ['cut short', 'Ada Lovelace, Countess', (note) => note.slice(0, 12)],
  ['with a prefix', '020 7946 0018', (note) => `+44${note.replaceAll(' ', '')}`],
])('a value that is kept %s is sent twice, and told by every run', async (_, note, change) => {
  const scene = await sceneOf()
  scene.rows(
    HEAD,
    rowsOf(() => note),
  )
  const through = storing(change)
  const message = '3 rows were normalised by the service'
  const normalised = { readBack: { equal: 0, different: 0, missing: 0, normalised: 3 } }
  expect(await scene.run({ through })).toMatchObject({ state: 'complete_with_differences' })
  expect(await scene.run({ through })).toMatchObject({
    state: 'complete',
    message,
    books: { ...normalised, states: { updated: 3 } },
  })
  for (let again = 0; again < 2; again++)
    expect(await scene.run({ through })).toMatchObject({
      state: 'complete',
      message,
      books: { ...normalised, states: { unchanged: 3 } },
    })
  const shown = await scene.reconcile({}, { through })
  expect(shown).toMatchObject({ state: 'complete', message: `both sides are equal; ${message}` })
  // Another field of the rows changes: what is known of this one stays.
  scene.rows(
    HEAD,
    rowsOf(() => note).map(([id, , text]) => [id!, 'Bea', text!]),
  )
  expect(await scene.run({ through })).toMatchObject({
    state: 'complete',
    books: { ...normalised, states: { updated: 3 } },
  })
})
