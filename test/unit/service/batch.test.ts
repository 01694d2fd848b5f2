// Batches of create, update and delete (section 4.4); batch upsert is in writes.test.ts. An item is answered as the
// request for it alone would be, and changes nothing where it is refused.

import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { BatchResponse, REQUEST_ID_HEADER } from '../../../src/contract/index.ts'
import type { BatchItemResult } from '../../../src/contract/index.ts'
import { expectProblem, expectStandardHeaders, manualClock, startApi } from './api.ts'
import type { Answer, Api } from './api.ts'
import { runs } from '../../runs.ts'

const clock = manualClock()
let api: Api
beforeAll(async () => {
  api = await startApi({ clock })
})
afterAll(() => api.service.close())
beforeEach(() => api.service.setFaults(null))

const contact = 'svc_contact'
type Kind = 'create' | 'update' | 'upsert' | 'delete'
const kinds: Kind[] = ['create', 'update', 'upsert', 'delete']
let used = 0
const fresh = () => `id-${(used += 1)}`
const created = async (properties: object = {}): Promise<string> =>
  (await api.create(contact, properties)).body.data.id

function send(kind: Kind, items: unknown[], { type = contact, key = api.service.key } = {}) {
  const query = kind === 'upsert' ? '?matching_property=svc_external_id' : ''
  const path = `/objects/${type}/records/batch/${kind}/${query}`
  return api.send('POST', path, { key, body: { data: items } })
}

/** One result per item, in order, with a body that fits its status; the summary adds up. */
function resultsOf(answer: Answer, items: number): BatchItemResult[] {
  expect(answer.status).toBe(200)
  expectStandardHeaders(answer)
  expect(answer.headers.get('location')).toBeNull()
  const { data, summary } = BatchResponse.parse(answer.body)
  expect(data.map(({ index }) => index)).toEqual(Array.from({ length: items }, (_, at) => at))
  const failed = data.filter(({ status }) => status >= 400)
  expect(summary).toEqual({ total: items, succeeded: items - failed.length, failed: failed.length })
  for (const { index, status, record, problem, ...rest } of data) {
    expect(rest).toEqual({})
    expect(record !== undefined).toBe(status === 200 || status === 201)
    expect(problem !== undefined).toBe(status >= 400)
    if (!problem) continue
    expect(problem.status).toBe(status)
    expect(problem.request_id).toBe(answer.headers.get(REQUEST_ID_HEADER))
    for (const { field } of [problem, ...(problem.errors ?? [])]) {
      if (field !== undefined) expect(field).toMatch(new RegExp(`^/data/${index}(/|$)`))
    }
  }
  return data
}

const statusesOf = (results: BatchItemResult[]) => results.map(({ status }) => status)
const stored = (id: string) => api.service.records(contact).find((record) => record.id === id)

describe('batch create', () => {
  it('creates what is right, refuses what is wrong, and points into the item', async () => {
    const [first, second] = [fresh(), fresh()]
    const before = api.service.records(contact)
    const items = [
      { properties: { svc_external_id: first, svc_first_name: 'Ada' } },
      { properties: { svc_external_id: second, svc_score: '1', svc_email: ['@'] } },
      { properties: { svc_external_id: first } },
      { properties: { 'no/such~thing': 1 } },
      { properties: {} },
      { properties: { svc_external_id: second } },
    ]
    const results = resultsOf(await send('create', items), 6)
    expect(statusesOf(results)).toEqual([201, 422, 409, 422, 201, 201])
    const now = new Date(clock.nowMs).toISOString()
    expect(results[0]!.record).toMatchObject({
      object_type: contact,
      properties: { svc_external_id: first, svc_first_name: 'Ada', svc_created_at: now },
    })
    expect(results[1]!.problem).toMatchObject({
      code: 'request_invalid',
      reason: 'schema_invalid',
      field: '/data/1/properties/svc_score',
      errors: [
        { field: '/data/1/properties/svc_score', reason: 'invalid_value' },
        { field: '/data/1/properties/svc_email', reason: 'invalid_value' },
      ],
    })
    expect(results[2]!.problem).toMatchObject({
      code: 'conflict',
      field: '/data/2/properties/svc_external_id',
    })
    expect(results[3]!.problem!.field).toBe('/data/3/properties/no~1such~0thing')
    const records = [0, 4, 5].map((index) => results[index]!.record)
    expect(api.service.records(contact)).toEqual([...before, ...records])
  })
})

describe('batch update', () => {
  it('changes, clears and leaves alone as a single update does, and misses what is not there', async () => {
    const [id, other] = [await created({ svc_score: 1 }), await created({ svc_source: 'fair' })]
    const taken = fresh()
    await created({ svc_external_id: taken })
    const gone = await created()
    await api.remove(contact, gone)
    clock.nowMs += 1_000
    const items = [
      { id, properties: { svc_first_name: 'Bela' } },
      { id: gone, properties: { svc_first_name: 'lost' } },
      { id: 'nothing', properties: {} },
      { id: other, properties: { svc_source: 'web', svc_first_name: 'lost' } },
      { id: other, properties: { svc_external_id: taken } },
      { id, properties: { svc_score: null } },
    ]
    const results = resultsOf(await send('update', items), 6)
    expect(statusesOf(results)).toEqual([200, 404, 404, 422, 409, 200])
    // The same record twice: the second item finds what the first one wrote.
    expect(results[0]!.record!.properties).toMatchObject({ svc_first_name: 'Bela', svc_score: 1 })
    expect(results[5]!.record).toEqual(stored(id))
    const properties = {
      svc_first_name: 'Bela',
      svc_score: null,
      svc_updated_at: new Date(clock.nowMs).toISOString(),
    }
    expect(stored(id)!.properties).toMatchObject(properties)
    for (const index of [1, 2]) {
      expect(results[index]!.problem).toMatchObject({
        code: 'not_found',
        title: 'Not Found',
        field: `/data/${index}/id`,
      })
    }
    expect(results[3]!.problem).toMatchObject({
      reason: 'schema_invalid',
      field: '/data/3/properties/svc_source',
    })
    expect(results[4]!.problem).toMatchObject({
      code: 'conflict',
      field: '/data/4/properties/svc_external_id',
    })
    expect(stored(other)!.properties).toMatchObject({ svc_source: 'fair', svc_first_name: null })
  })

  it('answers equal values with the record, however often they come', async () => {
    const svc_external_id = fresh()
    const id = await created({ svc_external_id, svc_first_name: 'Chiara' })
    const before = stored(id)
    clock.nowMs += 1_000
    const item = { id, properties: { svc_external_id, svc_first_name: 'Chiara' } }
    for (let time = 0; time < 2; time += 1) {
      const results = resultsOf(await send('update', [item, item]), 2)
      expect(results.map(({ status, record }) => [status, record])).toEqual([
        [200, before],
        [200, before],
      ])
    }
  })
})

describe('batch delete', () => {
  it('deletes each once, and misses it the second time', async () => {
    const [id, kept, other] = [await created(), await created(), await created()]
    const items = [{ id }, { id: 'nothing' }, { id: other }, { id }]
    const results = resultsOf(await send('delete', items), 4)
    expect(statusesOf(results)).toEqual([204, 404, 204, 404])
    expect(results[3]!.problem).toMatchObject({ code: 'not_found', field: '/data/3/id' })
    expect([id, kept, other].map((each) => stored(each) !== undefined)).toEqual([
      false,
      true,
      false,
    ])
    expectProblem(await api.send('GET', `/objects/${contact}/records/${id}/`), 404, 'not_found')
  })

  it('frees the unique values of what it deletes', async () => {
    const svc_external_id = fresh()
    const id = await created({ svc_external_id })
    const item = { properties: { svc_external_id } }
    expect(statusesOf(resultsOf(await send('create', [item]), 1))).toEqual([409])
    resultsOf(await send('delete', [{ id }]), 1)
    expect(statusesOf(resultsOf(await send('create', [item]), 1))).toEqual([201])
  })
})

describe('each kind of batch', () => {
  const item = (kind: Kind, id = 'nothing') => ({
    ...(kind === 'update' || kind === 'delete' ? { id } : {}),
    ...(kind === 'delete' ? {} : { properties: { svc_external_id: fresh() } }),
  })

  it.each(kinds)('takes 1 to 50 items: %s', async (kind) => {
    const many = Array.from({ length: 51 }, () => item(kind))
    const before = api.service.records(contact)
    for (const items of [[], many]) {
      const answer = await send(kind, items)
      expectProblem(answer, 422, 'request_invalid')
      expect(answer.body.field).toBe('/data')
    }
    expect(api.service.records(contact)).toEqual(before)
    resultsOf(await send(kind, many.slice(0, 50)), 50)
    resultsOf(await send(kind, many.slice(0, 1)), 1)
  })

  it.each<[Kind, string, unknown, string]>([
    ['create', 'an id', { id: 'a', properties: {} }, '/data/1'],
    ['create', 'no properties', {}, '/data/1'],
    ['create', 'properties that are a list', { properties: [] }, '/data/1/properties'],
    ['update', 'no id', { properties: {} }, '/data/1'],
    ['update', 'an empty id', { id: '', properties: {} }, '/data/1/id'],
    ['update', 'no properties', { id: 'a' }, '/data/1'],
    ['update', 'an unknown key', { id: 'a', properties: {}, x: 1 }, '/data/1'],
    ['delete', 'a number as id', { id: 7 }, '/data/1/id'],
    ['delete', 'properties', { id: 'a', properties: {} }, '/data/1'],
    ['delete', 'null', null, '/data/1'],
  ])('is refused whole where an item of %s has %s', async (kind, _name, wrong, field) => {
    const id = await created()
    const before = api.service.records(contact)
    const answer = await send(kind, [item(kind, id), wrong])
    expectProblem(answer, 400, 'request_invalid')
    expect(answer.body.field).toBe(field)
    expect(api.service.records(contact)).toEqual(before)
  })

  it.each(kinds)(
    'passes the gates as a whole, before its items are looked at: %s',
    async (kind) => {
      const grants = { [contact]: { read: true, write: false } }
      const reader = api.service.mintKey({ grants })
      for (const items of [[item(kind)], [], [7]]) {
        const forbidden = await send(kind, items, { key: reader })
        expectProblem(forbidden, 403, 'permission_denied', 'write_forbidden')
        for (const key of [reader, api.service.key]) {
          for (const type of ['svc_meeting', 'svc_risk']) {
            const answer = await send(kind, items, { type, key })
            expectProblem(answer, 403, 'permission_denied', 'type_read_only')
          }
        }
        for (const type of ['project', 'no_such_type']) {
          const unknown = await send(kind, items, { key: reader, type })
          expectProblem(unknown, 403, 'permission_denied', 'write_forbidden')
        }
      }
    },
  )

  it.each([
    ['item_503', 503, 'service_unavailable'],
    ['item_500', 500, 'internal_error'],
  ] as const)('leaves out the items that a fault %s hits', async (fault, status, code) => {
    for (const kind of kinds) {
      const ids = await Promise.all(Array.from({ length: 20 }, () => created()))
      const before = new Map(api.service.records(contact).map((record) => [record.id, record]))
      const items = ids.map((id) => item(kind, id))
      api.service.setFaults({ seed: 5, rate: 1, kinds: [fault] })
      clock.nowMs += 1_000
      const results = resultsOf(await send(kind, items), 20)
      api.service.setFaults(null)
      const failed = results.filter((result) => result.status >= 400)
      expect(failed.length).toBeGreaterThan(2)
      expect(failed.length).toBeLessThan(18)
      const isNew = kind === 'create' || kind === 'upsert'
      for (const { index, problem } of failed) {
        expect(problem).toMatchObject({ status, code })
        if (!isNew) expect(stored(ids[index]!)).toEqual(before.get(ids[index]!))
      }
      const after = new Map(api.service.records(contact).map((record) => [record.id, record]))
      const touched = results.filter((result) => result.status < 400)
      for (const { index, record } of touched) {
        if (kind === 'delete') expect(after.has(ids[index]!)).toBe(false)
        else expect(after.get(record!.id)).toEqual(record)
      }
      const change = { create: 1, upsert: 1, update: 0, delete: -1 }[kind] * touched.length
      expect(after.size - before.size).toBe(change)
    }
  })
})

describe('a batch of anything', () => {
  it('is answered as its items alone would be, one after the other', async () => {
    let orgs = 1_000
    const properties = fc.record(
      {
        svc_external_id: fc.constantFrom('a', 'b', null, 7),
        svc_score: fc.constantFrom(1, 2, null, 'wrong'),
        svc_source: fc.constantFrom('web', 'fair'),
      },
      { requiredKeys: [] },
    )
    // Five records at the start: the sixth is never there.
    const which = fc.nat(5)
    const items = fc.array(fc.record({ which, properties }), { minLength: 1, maxLength: 8 })
    const kind = fc.constantFrom<Kind>('create', 'update', 'delete')
    await fc.assert(
      fc.asyncProperty(kind, items, async (of, all) => {
        /** A new org, the ids of its five records, and a caller. */
        const world = async () => {
          const orgId = (orgs += 1)
          api.service.addOrg(orgId)
          const key = api.service.mintKey({ orgId })
          const caller = api.as(key)
          const ids: string[] = []
          for (let index = 0; index < 5; index += 1) {
            const start = { svc_external_id: index === 0 ? 'a' : null, svc_score: index }
            ids.push((await caller.create(contact, start)).body.data.id)
          }
          return { orgId, key, caller, ids: [...ids, 'nothing'] }
        }
        const [whole, single] = [await world(), await world()]
        const batch = all.map((each) => ({
          ...(of === 'create' ? {} : { id: whole.ids[each.which] }),
          ...(of === 'delete' ? {} : { properties: each.properties }),
        }))
        const results = resultsOf(await send(of, batch, { key: whole.key }), all.length)
        for (const [index, each] of all.entries()) {
          const id = single.ids[each.which]!
          const alone =
            of === 'create'
              ? await single.caller.create(contact, each.properties)
              : of === 'update'
                ? await single.caller.update(contact, id, each.properties)
                : await single.caller.remove(contact, id)
          const { status, record, problem } = results[index]!
          expect(status).toBe(alone.status)
          expect(record?.properties).toEqual(alone.body.data?.properties)
          expect([problem?.code, problem?.reason]).toEqual([alone.body.code, alone.body.reason])
          const { field } = alone.body as { field?: string }
          const rooted = field?.replace(/^\/data/, `/data/${index}`)
          // A single request names its record in the path.
          expect(problem?.field).toBe(status === 404 ? `/data/${index}/id` : rooted)
        }
        const values = ({ orgId }: { orgId: number }) =>
          api.service.records(contact, orgId).map((record) => record.properties)
        expect(values(whole)).toEqual(values(single))
      }),
      { numRuns: runs(60) },
    )
  })
})
