// Reads of many records: they leave room for other requests, and end. Turns of the event loop are counted, not time.

import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SYSTEM_TYPES } from '../../../src/service/schema/system-types.ts'
import { ADMINISTRATOR } from '../../../src/service/auth/keys.ts'
import { preparedQuery, readPage } from '../../../src/service/query/queries.ts'
import type { Query } from '../../../src/service/query/queries.ts'
import { Scan, Steps, sortedPositions } from '../../../src/service/store/scan.ts'
import { RecordStore } from '../../../src/service/store/record-store.ts'
import type { StoredValues } from '../../../src/service/store/slots.ts'
import { VisibleRecords } from '../../../src/service/store/visible-records.ts'
import { expectProblem, startApi } from './api.ts'
import type { Api } from './api.ts'

const type = SYSTEM_TYPES.get('svc_contact')!
const sight = { user: ADMINISTRATOR, reach: 'org' } as const
const everything: Query = { filter: null, search: null, sort: null, properties: null, limit: 100 }
const leaf = (value: unknown, op = 'contains') => ({ property: 'svc_first_name', op, value })
const scanOf = (maxMs = 600_000) => new Scan({ maxMs, isAbandoned: () => false })

function storeOf(count: number, firstName = (index: number) => `Name ${index % 97}`) {
  const store = new RecordStore(type)
  for (let seq = 1; seq <= count; seq += 1) {
    const properties: StoredValues = {}
    for (const name of type.properties.keys()) properties[name] = null
    properties['svc_first_name'] = firstName(seq)
    properties['svc_external_id'] = `id-${seq}`
    store.insert(seq, `rec_${String(seq).padStart(7, '0')}`, properties)
  }
  return store
}

/** How many turns of the event loop others had while the work was under way. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0
  let isOver = false
  const over = () => void (isOver = true)
  void work.then(over, over)
  while (!isOver) {
    await turn()
    turns += 1
  }
  await work
  return turns
}

const search = (store: RecordStore, query: Partial<Query>, scan = scanOf()) =>
  readPage(
    new VisibleRecords(store, sight),
    preparedQuery({ ...everything, ...query }, type, true),
    100,
    null,
    scan,
  )

describe('a scan lets others have their turn', () => {
  const store = storeOf(20_000)

  it.each<[string, Partial<Query>]>([
    ['by a filter that matches nothing', { filter: leaf('zzzz') as Query['filter'] }],
    ['by words that stand nowhere', { search: 'zzzz yyyy' }],
    [
      'in an order that is made for it',
      {
        filter: leaf('zzzz') as Query['filter'],
        sort: { property: 'svc_first_name', direction: 'desc' },
      },
    ],
  ])('%s', async (_what, query) => {
    // A step is at most 500 records.
    expect(await turnsDuring(search(store, query))).toBeGreaterThanOrEqual(39)
  })

  it('and several of them have one step between two turns, not one each', async () => {
    const filter = leaf('zzzz') as Query['filter']
    const all = Promise.all(Array.from({ length: 5 }, () => search(store, { filter })))
    expect(await turnsDuring(all)).toBeGreaterThanOrEqual(5 * 39 - 5)
  })
})

describe('the answer is the same as in one go', () => {
  it('in an order that is made while others write', async () => {
    const names = (index: number) => `n${(index * 7_919) % 1_000}`
    const store = storeOf(5_000, names)
    const sort = { property: 'svc_first_name', direction: 'asc' } as const
    const reading = search(store, { sort })
    const put = (seq: number, name: string) => {
      const slot = store.get(`rec_${String(seq).padStart(7, '0')}`)!
      store.replace(slot, { ...slot.record.properties, svc_first_name: name })
    }
    const change = [
      () => put(4_999, 'a first'),
      () => put(1, 'b second'),
      () => put(1, 'a zeroth'),
      () => store.delete(store.get('rec_0004999')!),
      () =>
        store.insert(5_001, 'rec_0005001', {
          ...storeOf(1).get('rec_0000001')!.record.properties,
          svc_first_name: 'a new',
        }),
    ]
    for (const each of change) {
      await turn()
      each()
    }
    await reading
    const { records } = await search(store, { sort })
    const expected = [...store.live()]
      .map(({ seq, record }) => ({
        seq,
        name: record.properties['svc_first_name'] as string,
        id: record.id,
      }))
      .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.seq - b.seq))
      .slice(0, 100)
      .map(({ id }) => id)
    expect(records.map((text) => (JSON.parse(text) as { id: string }).id)).toEqual(expected)
    expect(expected.slice(0, 2)).toEqual(['rec_0005001', 'rec_0000001'])
  })

  it('sorted, however many there are', async () => {
    for (const count of [0, 1, 499, 500, 501, 1_733, 4_096]) {
      const keys = Array.from({ length: count }, (_, index) => (index * 31) % 50)
      const compare = (a: number, b: number) => keys[a]! - keys[b]! || a - b
      const sorted = await sortedPositions(count, compare, new Steps())
      expect([...sorted]).toEqual([...keys.keys()].toSorted(compare))
    }
  })
})

describe('a scan ends', () => {
  const store = storeOf(2_000)
  const filter = leaf('zzzz') as Query['filter']
  const refusal = { facts: expect.objectContaining({ status: 504, code: 'timeout' }) }

  it('with 504 where its time is over', async () => {
    await expect(search(store, { filter }, scanOf(0))).rejects.toMatchObject(refusal)
  })
  it('where nobody waits for it any more', async () => {
    const scan = new Scan({ maxMs: 600_000, isAbandoned: () => true })
    await expect(search(store, { filter }, scan)).rejects.toMatchObject(refusal)
  })
  it('where one record alone is too much for one step', async () => {
    const long = storeOf(1, () => 'a'.repeat(1_000_000))
    const parts = Array.from({ length: 100 }, (_, index) => `b${'a'.repeat(1_000)}${index}`)
    const query = { filter: leaf(parts, 'contains_any') as Query['filter'] }
    await expect(search(long, query)).rejects.toMatchObject(refusal)
    const short = { filter: leaf('aab') as Query['filter'] }
    expect((await search(long, short)).records).toEqual([])
  })
  it('with 503 where the properties change meanwhile', async () => {
    const changing = storeOf(2_000)
    const reading = search(changing, { filter })
    changing.changeType({ ...type })
    await expect(reading).rejects.toMatchObject({ facts: expect.objectContaining({ status: 503 }) })
  })
})

describe('over HTTP', () => {
  let api: Api
  beforeAll(async () => void (api = await startApi({ seedRecords: 5_000 })))
  afterAll(() => api.service.close())
  const root = () => api.send('GET', '/', { key: null })
  const many = (count: number) => ({ $or: Array.from({ length: count }, () => leaf('zzzz')) })

  it('the root answers while a query of every leaf that is allowed is under way', async () => {
    await root()
    let isOver = false
    const query = api.query('svc_contact', { filter: many(500) }).finally(() => (isOver = true))
    const { requests } = api.service.stats()
    while (api.service.stats().requests === requests) await turn()
    let answered = 0
    while (!isOver) {
      await root()
      answered += 1
    }
    expect((await query).status).toBe(200)
    expect(answered).toBeGreaterThan(3)
  })

  it.each([
    ['501 leaves', { filter: many(501) }, 'too_many_filter_groups', '/filter'],
    ['20,000 leaves', { filter: many(20_000) }, 'too_many_filter_groups', '/filter'],
    ...['in', 'not_in', 'contains_any', 'not_contains_any'].map(
      (op) =>
        [
          `101 values of ${op}`,
          { filter: leaf(Array.from({ length: 101 }, String), op) },
          'invalid_filter',
          '/filter/value',
        ] as const,
    ),
  ] as const)('%s are refused', async (_what, body, reason, field) => {
    const answer = await api.query('svc_contact', body)
    expectProblem(answer, 422, 'request_invalid', reason)
    expect(answer.body.field).toBe(field)
  })

  it('what takes too long is 504', async () => {
    const slow = await startApi({ seedRecords: 600, scanMaxMs: 0 })
    try {
      const filter = leaf('zzzz')
      expectProblem(await slow.query('svc_contact', { filter }), 504, 'timeout')
      const path = '/objects/svc_contact/records/aggregate/'
      const body = { aggregations: [{ op: 'count' }], group_by: ['svc_external_id'] }
      expectProblem(await slow.send('POST', path, { body }), 504, 'timeout')
      expect((await slow.query('svc_contact', { limit: 10 })).status).toBe(200)
    } finally {
      await slow.service.close()
    }
  })

  it('a key that is revoked while its query is under way gets nothing', async () => {
    const key = api.service.mintKey()
    const { requests } = api.service.stats()
    const query = api.as(key).query('svc_contact', { filter: many(500) })
    while (api.service.stats().requests === requests) await turn()
    // The body is read, and the scan has begun, in the turns that follow; it takes more of them.
    await turn()
    api.service.revokeKey(key)
    expectProblem(await query, 401, 'unauthenticated')
  })
})
