// How far staging and verifying are is noted while they are at it.

import { expect, test } from 'vitest'
import { systemClock } from '../../../src/core/ports.ts'
import { readShare } from '../../../src/runs/step-share.ts'
import { clientWith, importScene } from './scene.ts'

test('a file that is read, and rows that are read back, show their share', async () => {
  const scene = await importScene({ svc_external_id: { column: 'id' } }, { verify: 'all' })
  scene.rows(
    ['id'],
    Array.from({ length: 2_500 }, (_, index) => [`c-${index + 1}`]),
  )
  // Staging, and each page that is read back, takes a second.
  let [offsetMs, stepMs] = [0, 1_000]
  const clock = { ...systemClock, now: () => Date.now() + (offsetMs += stepMs) }
  const staged: (number | null)[] = []
  const verified: (number | null)[] = []
  const { run } = await scene.run({
    clock,
    through: (client) =>
      clientWith(client, {
        async batchUpsert(...given) {
          stepMs = 0
          staged.push(await readShare(scene.ledger, 1, 'stage'))
          return await client.batchUpsert(...given)
        },
        async queryRecords(...given) {
          stepMs = 1_000
          verified.push(await readShare(scene.ledger, 1, 'verify'))
          return await client.queryRecords(...given)
        },
      }),
  })
  expect(run).toBe(1)
  expect(staged[0]).toBe(1)
  expect(verified).toHaveLength(25)
  expect(verified.slice(0, 3)).toEqual([null, 0.04, 0.08])
})
