// An import of rows of hundreds of kilobytes: what goes out in one body, and all that is on its way.

import { setTimeout as wait } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { BODY_CHARS_MAX } from '../../../src/import/outbox/body-room.ts'
import { clientWith, importScene } from './scene.ts'

it('an import of large rows sends bodies of 2 MiB, and has few of them on their way', async () => {
  const scene = await importScene({
    svc_external_id: { column: 'id' },
    svc_notes: { column: 'notes' },
  })
  const notes = 'x'.repeat(600_000)
  scene.rows(
    ['id', 'notes'],
    Array.from({ length: 24 }, (_, index) => [`c-${index}`, notes]),
  )
  const counts: number[] = []
  let chars = 0
  let most = 0
  const end = await scene.run({
    tuning: { in_flight: 64 },
    through: (client) =>
      clientWith(client, {
        async batchUpsert(...given) {
          const [, , input] = given
          if (!('body' in input)) throw new Error('it has no text')
          const { body, count } = input
          counts.push(count)
          chars += body.length
          most = Math.max(most, chars)
          await wait(20)
          try {
            return await client.batchUpsert(...given)
          } finally {
            chars -= body.length
          }
        },
      }),
  })
  expect(end).toMatchObject({ state: 'complete', books: { states: { created: 24 } } })
  expect(counts.filter((count) => count === 3)).toHaveLength(8)
  expect(counts).toHaveLength(8)
  expect(most).toBeLessThan(6 * BODY_CHARS_MAX)
})
