// Rows that the run which wrote them has not read back, because it ended before, or was not to: the next run with `verify: all` reads them
// back, and sends none of them that the service holds as it was sent.

import { expect, it } from 'vitest'
import type { ImportConfig } from '../../../config/index.ts'
import { onSampledLedgers } from './each-ledger.ts'
import { CONTACT, importScene } from './scene.ts'
import { otherwise, watching } from './watching.ts'

const NAMES = { svc_external_id: { column: 'id' }, svc_first_name: { column: 'first' } }
const ROWS = [
  ['k1', 'Ada'],
  ['k2', 'Grace'],
  ['k3', 'Joan'],
]

async function cancelledScene(stores?: (name: string) => string, more: Partial<ImportConfig> = {}) {
  const scene = await importScene(NAMES, { verify: 'all', ...more })
  scene.rows(['id', 'first'], ROWS)
  const { through } = watching(stores)
  expect(await scene.run({ through, ending: 'cancelled' })).toMatchObject({
    state: 'cancelled',
    books: { states: { created: 3 } },
  })
  return scene
}

onSampledLedgers('rows that were written and not read back', () => {
  it('are read back by the next run, and sent by the one after it where they differ', async () => {
    const scene = await cancelledScene(otherwise)
    const reading = watching(otherwise)
    const read = await scene.run({ through: reading.through })
    expect(read).toMatchObject({
      state: 'complete_with_differences',
      message: '3 rows were accepted and read back otherwise: 3 different',
      books: { states: { unchanged: 3 }, readBack: { different: 3, equal: 0 } },
    })
    expect(reading.seen.sent).toBe(0)
    const left = await scene.ledger.report(read.run, {
      states: [],
      after: 0,
      limit: 10,
      isLeft: true,
      readBack: true,
    })
    expect(left.map(({ key, state, reason }) => [key, state, reason])).toEqual(
      ROWS.map(([key]) => [key, 'unchanged', 'read_back_different']),
    )
    const again = watching()
    expect(await scene.run({ through: again.through })).toMatchObject({
      state: 'complete',
      books: { states: { updated: 3 }, readBack: { equal: 3 } },
    })
    expect(again.seen.sent).toBe(3)
  })

  it('are read back once, and not sent, where the service holds them', async () => {
    const scene = await cancelledScene()
    const [first, second] = [watching(), watching()]
    expect(await scene.run({ through: first.through })).toMatchObject({
      state: 'complete',
      books: { states: { unchanged: 3 } },
    })
    expect(first.seen).toEqual({ sent: 0, lookUps: 1 })
    expect(await scene.run({ through: second.through })).toMatchObject({ state: 'complete' })
    expect(second.seen).toEqual({ sent: 0, lookUps: 0 })
  })

  it('are read back by the first run that comes to its end', async () => {
    const scene = await cancelledScene(otherwise)
    const { through } = watching(otherwise)
    expect(await scene.run({ through, ending: 'cancelled' })).toMatchObject({
      state: 'cancelled',
      books: { states: { unchanged: 3 }, readBack: { different: 0 } },
    })
    expect(await scene.run({ through })).toMatchObject({
      state: 'complete_with_differences',
      books: { states: { unchanged: 3 }, readBack: { different: 3 } },
    })
  })

  it('are missing where somebody has deleted their record, and made again', async () => {
    const scene = await cancelledScene()
    const { id } = (await scene.held('k2'))!
    await scene.client.deleteRecord(CONTACT, id)
    expect(await scene.run()).toMatchObject({
      state: 'complete_with_differences',
      books: { states: { unchanged: 3 }, readBack: { missing: 1 } },
    })
    expect(await scene.run()).toMatchObject({
      state: 'complete',
      books: { states: { created: 1, unchanged: 2 } },
    })
  })

  it('are looked up and compared where that is done before rows are sent', async () => {
    const scene = await cancelledScene(otherwise, { keep_before: true })
    const again = watching()
    expect(await scene.run({ through: again.through })).toMatchObject({
      state: 'complete',
      books: { states: { updated: 3 }, readBack: { equal: 3 } },
    })
    const equal = await cancelledScene(undefined, { keep_before: true })
    const [first, second] = [watching(), watching()]
    expect(await equal.run({ through: first.through })).toMatchObject({
      state: 'complete',
      books: { states: { unchanged: 3 } },
    })
    expect(first.seen.sent).toBe(0)
    await equal.run({ through: second.through })
    expect(second.seen).toEqual({ sent: 0, lookUps: 0 })
  })

  it.each([false, true])('of a create are its own (keep_before: %s)', async (keep_before) => {
    const scene = await cancelledScene(otherwise, { mode: 'create', keep_before })
    expect(await scene.run()).toMatchObject({
      state: 'complete_with_differences',
      books: { states: { unchanged: 3 }, readBack: { different: 3 } },
    })
  })

  it('are read back once by the first run that is to read all', async () => {
    const scene = await importScene(NAMES, { verify: 'all' })
    scene.rows(['id', 'first'], ROWS)
    const as = { name: scene.sync.name, import: { verify: 'none' as const } }
    await scene.run({ as, through: watching(otherwise).through })
    const [first, second] = [watching(), watching()]
    expect(await scene.run({ through: first.through })).toMatchObject({
      state: 'complete_with_differences',
      books: { states: { unchanged: 3 }, readBack: { different: 3 } },
    })
    await scene.run({ through: second.through })
    expect(second.seen).toEqual({ sent: 3, lookUps: 1 })
    const third = watching()
    expect(await scene.run({ through: third.through })).toMatchObject({ state: 'complete' })
    expect(third.seen).toEqual({ sent: 0, lookUps: 0 })
  })

  it('are believed by a run that reads a sample back', async () => {
    const scene = await cancelledScene(otherwise)
    const as = { name: scene.sync.name, import: { verify: 'sample' as const } }
    const { through, seen } = watching()
    expect(await scene.run({ as, through })).toMatchObject({
      state: 'complete',
      books: { states: { unchanged: 3 } },
    })
    expect(seen.lookUps).toBe(0)
  })
})
