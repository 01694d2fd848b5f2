// A slice of time that ends while every lane waits for the quota: nobody takes a permit only to give it back.

import { expect, test } from 'vitest'
import type { AcquireOptions, Permit, Quota } from '../../../src/core/ports.ts'
import type { ImportClient } from '../../../src/import/ports.ts'
import { clientWith, importScene } from './scene.ts'

/** Grants nothing until the callers of the first slice have gone; from then on the real quota does. */
function closedAtFirst(real: Quota) {
  const counts = { gaveUp: 0, granted: 0, unused: 0 }
  const quota: Quota = {
    limitPerMinute: () => real.limitPerMinute(),
    acquire: async (options: AcquireOptions = {}): Promise<Permit> => {
      if (counts.gaveUp === 0 && options.priority !== 'interactive')
        await new Promise((_, reject) => {
          options.signal!.addEventListener('abort', () => {
            counts.gaveUp += 1
            reject(options.signal!.reason)
          })
        })
      const permit = await real.acquire(options)
      counts.granted += 1
      return {
        observe: (answer) => permit.observe(answer),
        lost: () => permit.lost(),
        unused: () => {
          counts.unused += 1
          permit.unused()
        },
      }
    },
  }
  return { quota, counts }
}

test('a slice ends on time although no permit came, and the next one goes on', async () => {
  const scene = await importScene({
    svc_external_id: { column: 'id' },
    svc_first_name: { column: 'name' },
  })
  scene.rows(
    ['id', 'name'],
    Array.from({ length: 120 }, (_, index) => [`c-${index}`, 'Ada']),
  )
  let counts: { gaveUp: number; granted: number; unused: number } | null = null
  let quota: Quota | null = null
  const through = (client: ImportClient): ImportClient => {
    if (quota === null) ({ quota, counts } = closedAtFirst(client.quota))
    return clientWith(client, { quota })
  }
  const ended = await scene.run({ through, tuning: { segment_ms: 1_000, in_flight: 4 } })
  expect(ended.state).toBe('complete')
  expect(ended.books.states.created).toBe(120)
  expect(counts!.gaveUp).toBe(4)
}, 600_000)
