// A batch answer is believed as a whole or not at all. The hand-written check is held against the contract's schema.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readBatch } from '../../../src/client/batch.ts'
import { itemDisposition } from '../../../src/client/disposition.ts'
import { BATCH_ITEM_STATUSES, BatchResponse } from '../../../src/contract/index.ts'
import type { BatchItemResult } from '../../../src/contract/index.ts'
import { always, batchBody, clientOf, failureOf, problem, record, startWire } from './wire.ts'
import { runs } from '../../runs.ts'

const result = (index: number, status: BatchItemResult['status']): BatchItemResult => {
  if (itemDisposition({ status }) !== 'accepted') {
    return { index, status, problem: problem(status, 'conflict') as BatchItemResult['problem'] }
  }
  return { index, status, record: status === 204 ? null : record(`rec_${index}`) }
}

/** Well-formed answers, results in any order. */
const answersUpTo = (maxLength: number) =>
  fc
    .array(fc.constantFrom(...BATCH_ITEM_STATUSES), { minLength: 1, maxLength })
    .chain((statuses) => {
      const data = statuses.map((status, index) => result(index, status))
      const succeeded = statuses.filter((status) => status < 300).length
      const summary = { total: data.length, succeeded, failed: data.length - succeeded }
      const shuffled = fc.shuffledSubarray(data, { minLength: data.length })
      return shuffled.map((order) => ({ data: order, summary }))
    })

test('a whole answer is believed, in whatever order, and comes in the order of the request', () => {
  fc.assert(
    fc.property(answersUpTo(50), (answer) => {
      const read = readBatch(structuredClone(answer), answer.data.length)
      expect(read.data.map((item) => item.index)).toEqual(answer.data.map((_, index) => index))
      expect(new Set(read.data.map((item) => JSON.stringify(item)))).toEqual(
        new Set(answer.data.map((item) => JSON.stringify(item))),
      )
      expect(read.summary).toEqual(answer.summary)
    }),
    { numRuns: runs(500) },
  )
})

type Node = { [key: string | number]: Node | undefined }

const wrongValues = fc.constantFrom<unknown>(
  undefined,
  null,
  -1,
  50,
  0.5,
  '0',
  200.5,
  202,
  207,
  418,
  599,
  '200',
  {},
  [],
  '',
  NaN,
  Infinity,
)

test("nothing is believed that the contract's schema refuses, or whose sums do not fit", () => {
  const paths = [
    ['data'],
    ['summary'],
    ['summary', 'total'],
    ['summary', 'succeeded'],
    ['summary', 'failed'],
    ['data', 0],
    ['data', 0, 'index'],
    ['data', 0, 'status'],
    ['data', 0, 'record'],
    ['data', 0, 'problem'],
    ['data', 0, 'record', 'id'],
    ['data', 0, 'record', 'properties'],
    ['data', 0, 'problem', 'code'],
    ['data', 0, 'problem', 'errors'],
  ]
  let refused = 0
  fc.assert(
    fc.property(answersUpTo(6), fc.constantFrom(...paths), wrongValues, (answer, path, wrong) => {
      const broken = structuredClone(answer) as unknown as Node
      const holder = path
        .slice(0, -1)
        .reduce<Node | null | undefined>((at, key) => at?.[key], broken)
      fc.pre(holder != null)
      holder![path.at(-1)!] = wrong as Node
      let believed: ReturnType<typeof readBatch> | null = null
      try {
        believed = readBatch(broken, answer.data.length)
      } catch (error) {
        refused++
        expect((error as Error).message).not.toMatch(/undefined|Cannot/)
      }
      if (!believed) return
      // A problem without a code, or with an unknown one, got that of its status.
      expect(BatchResponse.safeParse(believed).success).toBe(true)
      const accepted = believed.data.filter((item) => item.status < 300)
      expect(believed.summary).toMatchObject({
        total: answer.data.length,
        succeeded: accepted.length,
        failed: answer.data.length - accepted.length,
      })
      expect(believed.data.map((item) => item.index)).toEqual(answer.data.map((_, index) => index))
      for (const item of believed.data) expect(item.problem != null).toBe(item.status >= 300)
    }),
    { numRuns: runs(3_000) },
  )
  expect(refused).toBeGreaterThan(runs(500))
})

test.each([
  ['one missing', { data: [result(0, 200)], summary: { total: 2, succeeded: 2, failed: 0 } }],
  ['one twice', { ...batchBody(2), data: [result(0, 200), result(0, 200)] }],
  ['one too many', batchBody(3)],
  ['beyond the request', { ...batchBody(2), data: [result(0, 200), result(2, 200)] }],
  ['sums that do not fit', { ...batchBody(2), data: [result(0, 200), result(1, 409)] }],
  [
    'a failure without a problem',
    {
      data: [result(0, 200), { index: 1, status: 503 }],
      summary: { total: 2, succeeded: 1, failed: 1 },
    },
  ],
])('not believed: %s; the outcome is unknown', async (_, body) => {
  const wire = await startWire(always({ body }))
  const items = [{ properties: { a: 1 } }, { properties: { a: 2 } }]
  const failure = await failureOf(clientOf(wire.url).batchUpsert('svc_contact', 'a', { items }))
  expect(failure).toMatchObject({
    kind: 'distrusted',
    disposition: 'retry',
    block: 'contract',
    outcomeUnknown: true,
  })
})

test.each([200, 201, 207])('status %i is believed', async (status) => {
  const wire = await startWire(always({ status, body: batchBody(2) }))
  const client = clientOf(wire.url)
  const answer = await client.batchCreate('svc_contact', {
    items: [{ properties: {} }, { properties: {} }],
  })
  expect(answer.data).toHaveLength(2)
  const raw = await client.call('batchCreate', { path: { object_type: 't' }, body: { data: [] } })
  expect(raw.body.summary.total).toBe(2)
})

test('an item of success that holds an error is not believed', () => {
  const summary = { total: 1, succeeded: 1, failed: 0 }
  const item = { ...result(0, 200), error: { code: 'forbidden', status: 403 } }
  expect(() => readBatch({ data: [item], summary }, 1)).toThrow('an accepted item has a problem')
  expect(readBatch({ data: [{ ...item, error: null }], summary }, 1).data).toHaveLength(1)
})
