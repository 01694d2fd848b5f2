// Rows that the run which wrote them has not read back, because it ended before, and that the source does not give again: those that came
// again themselves in a run of a query, and those that a person corrected. The next run of the sync reads them back.

import { expect, it } from 'vitest'
import type { ImportConfig } from '../../../config/index.ts'
import { onSampledLedgers } from './each-ledger.ts'
import { importScene, type RunOptions, type Scene } from './scene.ts'
import { answer, QUERY } from './query-answers.ts'
import { otherwise, watching } from './watching.ts'

const NAMES = { svc_external_id: { column: 'id' }, svc_first_name: { column: 'first' } }
const HEAD = ['id', 'first']
const PEOPLE = [
  ['k1', 'Ada'],
  ['k2', 'Grace'],
]

/** A sync of a query, whose rows are left over by the first run. */
async function leftScene(more: Partial<ImportConfig> = {}) {
  const scene = await importScene(NAMES, {
    from: QUERY,
    verify: 'all',
    ...more,
  })
  const { through } = watching(otherwise)
  expect(await scene.run({ through, answers: answer('9', PEOPLE) })).toMatchObject({
    state: 'complete_with_differences',
    books: { readBack: { different: 2 } },
  })
  return scene
}

const nothing = answer('9', [])

/** The rows come again, are sent, and the run is cancelled before it reads them back. */
async function cancelled(scene: Scene, stores?: (name: string) => string, more: RunOptions = {}) {
  const { through } = watching(stores)
  const options = { through, answers: nothing, ending: 'cancelled', ...more } as const
  expect(await scene.run(options)).toMatchObject({ books: { states: { updated: 2 } } })
}

onSampledLedgers('rows that came again and were not read back', () => {
  it('are read back by the next run, and sent by the one after it where they differ', async () => {
    const scene = await leftScene()
    await cancelled(scene, (name) => `${name} now`)
    const { through, seen } = watching()
    // The query has other columns by now.
    const answers = answer('9', [], ['first', 'id'])
    const read = await scene.run({ through, answers })
    expect(read).toMatchObject({
      rows: 2,
      state: 'complete_with_differences',
      books: { read: 2, states: { unchanged: 2 }, readBack: { different: 2, equal: 0 } },
    })
    expect(seen.sent).toBe(0)
    const again = watching()
    expect(await scene.run({ through: again.through, answers: nothing })).toMatchObject({
      state: 'complete',
      books: { states: { updated: 2 }, readBack: { equal: 2 } },
    })
    expect(again.seen.sent).toBe(2)
  })

  it('are read back once, by the first run that comes to its end', async () => {
    const scene = await leftScene()
    await cancelled(scene)
    const [first, second, third] = [watching(), watching(), watching()]
    const ends = { answers: nothing, through: first.through, ending: 'cancelled' } as const
    expect(await scene.run(ends)).toMatchObject({ books: { states: { unchanged: 2 } } })
    expect(await scene.run({ answers: nothing, through: second.through })).toMatchObject({
      state: 'complete',
      books: { states: { unchanged: 2 }, readBack: { different: 0, missing: 0 } },
    })
    expect([first.seen, second.seen]).toEqual([
      { sent: 0, lookUps: 0 },
      { sent: 0, lookUps: 1 },
    ])
    expect(await scene.run({ answers: nothing, through: third.through })).toMatchObject({
      rows: 0,
      state: 'complete',
    })
    expect(third.seen.lookUps).toBe(0)
  })

  it('do not come where the answer has their key, or a later run wrote it', async () => {
    const scene = await leftScene()
    await cancelled(scene)
    expect(await scene.run({ answers: answer('10', [['k1', 'Joan']]) })).toMatchObject({
      books: { read: 2, states: { updated: 1, unchanged: 1 } },
    })
    expect((await scene.held('k1'))?.properties['svc_first_name']).toBe('Joan')
    expect(await scene.run({ answers: nothing })).toMatchObject({ rows: 0, state: 'complete' })
  })

  it('are those of a retry too', async () => {
    const scene = await leftScene()
    const [left] = await scene.ledger.runs({ sync: 'contacts', limit: 1 })
    const { through } = watching((name) => `${name} now`)
    await scene.retry(left!.id, {}, { through, ending: 'cancelled' })
    expect(await scene.run({ answers: nothing })).toMatchObject({
      state: 'complete_with_differences',
      books: { states: { unchanged: 2 }, readBack: { different: 2 } },
    })
  })

  it('are looked up where that is done before rows are sent', async () => {
    const scene = await leftScene({ keep_before: true })
    await cancelled(scene, (name) => `${name} now`)
    const { through, seen } = watching()
    expect(await scene.run({ through, answers: nothing })).toMatchObject({
      state: 'complete',
      books: { states: { updated: 2 }, readBack: { equal: 2 } },
    })
    expect(seen.sent).toBe(2)
  })
})

onSampledLedgers('rows that a person corrected and that were not read back', () => {
  const EMAILS = { ...NAMES, svc_email: { column: 'email' } }
  const COLUMNS = [...HEAD, 'email']
  const SOURCE = [
    ['a', 'Ada', 'a@x.example'],
    ['b', 'Bea', 'no e-mail'],
    ['', 'Cid', 'c@x.example'],
  ]

  async function corrected(stores?: (name: string) => string, more: Partial<ImportConfig> = {}) {
    const scene = await importScene(EMAILS, { verify: 'all', missing_rows: 'delete', ...more })
    scene.rows(COLUMNS, SOURCE)
    const { run } = await scene.run()
    const correction = await scene.ledger.addCorrections(run, null, [
      { ordinal: 2, raw: ['b', 'Bea', 'b@x.example'] },
      { ordinal: 3, raw: ['c', 'Cid', 'c@x.example'] },
    ])
    const { through } = watching(stores)
    const retried = await scene.retry(run, { correction }, { through, ending: 'cancelled' })
    expect(retried.books.states).toMatchObject({ created: 2 })
    return scene
  }

  it('are read back by the next run, which sends nothing of them', async () => {
    const scene = await corrected(otherwise)
    const { through, seen } = watching()
    expect(await scene.run({ through })).toMatchObject({
      state: 'complete_with_differences',
      books: { states: { unchanged: 3, corrected: 2 }, readBack: { different: 2 } },
    })
    expect(seen.sent).toBe(0)
    // The corrections do not stand any more: the service does not hold them.
    expect(await scene.run()).toMatchObject({ books: { states: { invalid: 2, corrected: 0 } } })
  })

  it('are believed once they were read', async () => {
    const scene = await corrected(undefined, { missing_rows: 'ignore' })
    const [first, second] = [watching(), watching()]
    expect(await scene.run({ through: first.through })).toMatchObject({
      state: 'complete',
      books: { states: { unchanged: 3, corrected: 2 }, readBack: { different: 0 } },
    })
    expect(await scene.run({ through: second.through })).toMatchObject({
      state: 'complete',
      books: { states: { unchanged: 1, corrected: 2 } },
    })
    expect([first.seen.lookUps, second.seen.lookUps]).toEqual([1, 0])
  })

  it('do not come where their row is gone', async () => {
    const scene = await corrected()
    scene.rows(COLUMNS, SOURCE.slice(0, 1))
    expect(await scene.run({ approves: true })).toMatchObject({
      books: { read: 1, states: { unchanged: 1 } },
    })
  })
})
