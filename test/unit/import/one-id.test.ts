// A service that answers that it created every row as one and the same record contradicts itself: the run says so.

import { expect, test } from 'vitest'
import type { RecordsClient } from '../../../src/client/index.ts'
import { clientWith, CONTACT, importScene } from './scene.ts'

test('rows that were all created as one record are told, and the run is not complete', async () => {
  const scene = await importScene({ svc_external_id: { column: 'id' } })
  const rows = Array.from({ length: 51 }, (_, index) => [`k${index}`])
  scene.rows(['id'], rows)
  const answersAlike = async (...given: Parameters<RecordsClient['batchUpsert']>) => {
    const [, , input] = given
    const count = 'items' in input ? input.items.length : input.count
    const record = { id: 'rec_same', object_type: CONTACT, properties: {} }
    return {
      data: Array.from({ length: count }, (_, index) => ({ index, status: 201, record })),
      summary: { total: count, succeeded: count, failed: 0 },
      requestId: null,
    } as unknown as Awaited<ReturnType<RecordsClient['batchUpsert']>>
  }
  const end = await scene.run({
    through: (client) => clientWith(client, { batchUpsert: answersAlike }),
  })
  expect(scene.service.records(CONTACT)).toHaveLength(0)
  expect(end.state).toBe('complete_with_differences')
  // None of the others is taken for held: the next run sends them again.
  const next = await scene.run()
  expect(next.books.states.created).toBeGreaterThanOrEqual(50)
})
