// Reads that fail: whatever a run has read back, looked up, sent once more or deleted is kept, and is not done again. The real
// activities, begun again and again where they fail, as Temporal does it; the client fails some of the reads.

import { expect, test } from 'vitest'
import { ServiceFailure } from '../../../src/core/errors.ts'
import type { ImportClient } from '../../../src/import/ports.ts'
import { clientWith, CONTACT, importScene } from './scene.ts'

const PROPERTIES = {
  svc_external_id: { column: 'id' },
  svc_first_name: { column: 'name' },
}
const HEAD = ['id', 'name']
const people = (count: number, name = 'Ada') =>
  Array.from({ length: count }, (_, index) => [`c-${index + 1}`, name])
const TRIES = 200

const noAnswer = () =>
  new ServiceFailure('no answer came', {
    kind: 'no_answer',
    disposition: 'retry',
    block: 'service',
    outcomeUnknown: false,
  })

/** Fails each `every`-th read of records, and counts them all. */
function failing(every: number) {
  const counts = { reads: 0, failed: 0, schemas: 0 }
  const fails = () => {
    counts.reads++
    if (counts.reads % every !== 0) return false
    counts.failed++
    return true
  }
  const through = (client: ImportClient): ImportClient =>
    clientWith(client, {
      queryRecords: async (...given) => {
        if (fails()) throw noAnswer()
        return await client.queryRecords(...given)
      },
      readRecord: async (...given) => {
        if (fails()) throw noAnswer()
        return await client.readRecord(...given)
      },
      readObjectType: async (...given) => {
        counts.schemas++
        return await client.readObjectType(...given)
      },
    })
  return { counts, through, options: { through, tries: TRIES } }
}

test('verify with 5 % failing reads takes the reads that it needs, and one for each that failed', async () => {
  const scene = await importScene(PROPERTIES, { verify: 'all' })
  scene.rows(HEAD, people(6_000))
  const { counts, options } = failing(20)
  const ended = await scene.run(options)
  expect(ended).toMatchObject({ state: 'complete' })
  expect(ended.books.readBack).toMatchObject({ equal: 6_000 })
  expect(counts.failed).toBeGreaterThan(2)
  expect(counts.reads).toBe(60 + counts.failed)
})

test('looking up what would be created goes on after a failed read', async () => {
  const scene = await importScene(PROPERTIES, { creates_max_percent: 50 })
  scene.rows(HEAD, people(2_000))
  const { counts, options } = failing(4)
  const ended = await scene.run({ ...options, approves: true })
  expect(ended).toMatchObject({ state: 'complete', books: { states: { created: 2_000 } } })
  expect(counts.reads).toBe(20 + counts.failed)
})

test('a reconciliation keeps every row that it compared, and every key that it looked for', async () => {
  const scene = await importScene(PROPERTIES)
  scene.rows(HEAD, people(1_200))
  await scene.run()
  // 100 records are gone, of which each costs a read by its id; 600 keys are in the source no more.
  const { data } = await scene.client.queryRecords(CONTACT, {
    filter: { property: 'svc_external_id', op: 'in', value: people(100).map(([id]) => id!) },
    limit: 100,
  } as Parameters<typeof scene.client.queryRecords>[1])
  for (const { id } of data) await scene.client.deleteRecord(CONTACT, id)
  scene.rows(HEAD, people(600))
  const { counts, options } = failing(20)
  const ended = await scene.reconcile({}, { ...options, tuning: { in_flight: 1 } })
  expect(ended).toMatchObject({
    state: 'complete_with_differences',
    message: '700 differ: 100 missing, 600 extra',
  })
  // 6 pages of keys and 100 records by id, 6 pages of keys that the source lacks; a failed read is asked for again, and
  // the page of keys that a failed record was on is read once more.
  expect(counts.reads).toBeLessThan(112 + 3 * counts.failed)
  expect(counts.failed).toBeGreaterThan(4)
})
