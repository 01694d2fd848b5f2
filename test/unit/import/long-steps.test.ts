// What takes minutes in a ledger of millions of rows sends heartbeats meanwhile: without them the server would take the worker for
// dead, and give the step to another one.

import { expect, test } from 'vitest'
import { systemClock } from '../../../src/core/ports.ts'
import { importScene } from './scene.ts'

const BEAT_MS = 5_000

test('pruning, counting keys and closing send heartbeats', async () => {
  const scene = await importScene({ svc_external_id: { column: 'id' } })
  scene.rows(['id'], [['one'], ['two']])
  /** The method of the ledger that is at work. */
  let working: string | null = null
  const beating = new Set<string | null>()
  const { ledger } = scene
  for (const name of ['prune', 'keyCounts', 'settleLeftovers'] as const) {
    const method = ledger[name].bind(ledger) as (given: never) => Promise<unknown>
    Object.assign(ledger, {
      async [name](given: never) {
        working = name
        const result = await method(given)
        working = null
        return result
      },
    })
  }
  const clock = {
    ...systemClock,
    async sleep(ms: number, signal?: AbortSignal) {
      if (ms === BEAT_MS) beating.add(working)
      await systemClock.sleep(ms, signal)
    },
  }
  expect(await scene.run({ clock })).toMatchObject({ state: 'complete' })
  expect([...beating]).toEqual(expect.arrayContaining(['prune', 'keyCounts', 'settleLeftovers']))
})
