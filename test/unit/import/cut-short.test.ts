// Runs that end before their time, and answers that say nothing certain: told as what they are.

import { expect, test } from 'vitest'
import { QuotaWait, ServiceFailure } from '../../../src/core/errors.ts'
import { emptyStates } from '../../../src/core/domain/books.ts'
import { closeImport } from '../../../src/import/steps/close.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { openRun, row } from '../../suites/ledger/scene.ts'
import { startOtherService } from '../../other-service/index.ts'
import type { ImportClient } from '../../../src/import/ports.ts'
import { clientWith, importScene, importSceneOn } from './scene.ts'

test('a run that ends while its source is read says that it was not read to its end', async () => {
  const ledger = openSqliteLedger(':memory:')
  const { id } = await openRun(ledger)
  const fence = await ledger.beginStage(id, ['id'])
  await ledger.stageItems(id, fence, [row(1, 'a'), row(2, 'b')])
  const { books, message, state } = await closeImport(ledger, id, { kind: 'cancelled' })
  expect(state).toBe('cancelled')
  expect(books).toMatchObject({
    read: 2,
    readToEnd: false,
    states: { ...emptyStates(), not_sent: 2 },
  })
  expect(message).toBe(
    'the source was not read to its end: 2 rows of it were, and nothing was sent',
  )
  await ledger.close()
})

test('items answered 500 and sent again are replayed', async () => {
  const s = await importSceneOn(
    () => startOtherService({ itemFaults: { rate: 0.2, applied: 0.5, status: 500 } }),
    { acme_external_id: { column: 'id' } },
    { object_type: 'acme_contact', matching_property: 'acme_external_id' },
  )
  s.rows(
    ['id'],
    Array.from({ length: 200 }, (_, index) => [`c-${index}`]),
  )
  const { books } = await s.run({ tuning: { item_backoff_ms: [0] } })
  expect(s.service.count('acme_contact')).toBe(200)
  expect(books.states.created).toBeLessThan(200)
  // "created" is a lower bound, and the flag says by how much at most.
  expect(books.states.created + books.replayed).toBeGreaterThanOrEqual(200)
})

test('a batch that may have been carried out stays in doubt, whatever its second sending is told', async () => {
  const lost = new ServiceFailure('batchUpsert: the connection broke', {
    kind: 'no_answer',
    disposition: 'retry',
    block: 'service',
    outcomeUnknown: true,
  })
  const refusals: Record<string, () => Error> = {
    'a wait for the quota': () => new QuotaWait(300_000),
    'a refused key': () =>
      new ServiceFailure('batchUpsert: the service answered 401', {
        kind: 'problem',
        disposition: 'halt',
        block: 'auth',
        outcomeUnknown: false,
        status: 401,
      }),
  }
  for (const [what, refusal] of Object.entries(refusals)) {
    const s = await importScene({ svc_external_id: { column: 'id' } })
    s.rows(
      ['id'],
      Array.from({ length: 120 }, (_, index) => [`c-${index}`]),
    )
    let sendings = 0
    const through = (client: ImportClient) =>
      clientWith(client, {
        batchUpsert: async (...given) => {
          if (sendings++ === 0) {
            await client.batchUpsert(...given)
            throw lost
          }
          given[3]?.permit?.unused()
          throw refusal()
        },
      })
    const tuning = { in_flight: 1, resend_backoff_ms: [1] }
    await expect(s.run({ through, tuning })).rejects.toThrow()
    const { states } = await s.ledger.books(1)
    expect({ what, sent: states.in_flight, planned: states.pending }).toEqual({
      what,
      sent: 50,
      planned: 70,
    })
    expect(await s.held('c-0')).not.toBeNull()
  }
})

test.each([500, 503] as const)(
  'a row that was answered %i, and then cancelled, is looked up: it may have been written',
  async (status) => {
    const scene = await importScene({ svc_external_id: { column: 'id' } })
    scene.rows(['id'], [['written'], ['not written']])
    let sendings = 0
    /** Both rows are answered with the failure; the service holds the first one, and takes no second sending. */
    const through = (client: ImportClient) =>
      clientWith(client, {
        batchUpsert: async (type, matching, batch, options) => {
          options?.permit?.unused()
          if (sendings++ > 0)
            throw new ServiceFailure('batchUpsert: the service answered 401', {
              kind: 'problem',
              disposition: 'halt',
              block: 'auth',
              outcomeUnknown: false,
              status: 401,
            })
          await scene.client.createRecord(type, { svc_external_id: 'written' } as never)
          const { count } = batch as { count: number }
          const problem = { type: 'about:blank', title: 'Failed', status, code: 'internal_error' }
          return {
            data: Array.from({ length: count }, (_, index) => ({ index, status, problem })),
            summary: { total: count, succeeded: 0, failed: count },
            requestId: null,
          } as never
        },
      })
    const end = await scene.run({
      through,
      ending: 'cancelled',
      tuning: { in_flight: 1, item_backoff_ms: [1] },
    })
    expect(end).toMatchObject({
      state: 'cancelled',
      books: { states: { updated: 1, outcome_unknown: 1, not_sent: 0 }, inDoubt: 1 },
    })
    expect(await scene.held('written')).not.toBeNull()
  },
)
