import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RecordBody, BatchWriteBody, BatchResponse } from '../../../src/contract/index.ts'
import { batchWriteBody, recordBody } from '../../../src/service/handlers/envelopes.ts'
import { expectProblem, manualClock, startApi } from './api.ts'
import type { Api } from './api.ts'
import { runs } from '../../runs.ts'

const clock = manualClock()
let api: Api
beforeAll(async () => {
  api = await startApi({ clock })
})
afterAll(() => api.service.close())

const contact = 'svc_contact'
const records = `/objects/${contact}/records/`
let used = 0
const fresh = () => `id-${(used += 1)}`
const create = (properties: object) => api.send('POST', records, { body: { data: { properties } } })
const patch = (id: string, properties: object) =>
  api.send('PATCH', `${records}${id}/`, { body: { data: { properties } } })

describe('one record', () => {
  it('is created, read at its Location, changed and deleted', async () => {
    const created = await create({ svc_first_name: 'Ada' })
    expect(created.status).toBe(201)
    const location = created.headers.get('location')!
    const path = location.replace('/rest/v1', '')
    const now = new Date(clock.nowMs).toISOString()
    expect(created.body.data).toMatchObject({
      object_type: contact,
      properties: { svc_first_name: 'Ada', svc_last_name: null, svc_created_at: now },
    })
    expect((await api.send('GET', path)).body).toEqual(created.body)
    clock.nowMs += 1_000
    const changed = await patch(created.body.data.id, { svc_last_name: 'Albers' })
    expect(changed.status).toBe(200)
    expect(changed.body.data.properties).toMatchObject({
      svc_first_name: 'Ada',
      svc_last_name: 'Albers',
      svc_created_at: now,
      svc_updated_at: new Date(clock.nowMs).toISOString(),
    })
    expect((await api.send('DELETE', path)).status).toBe(204)
    expectProblem(await api.send('GET', path), 404, 'not_found')
    expectProblem(await api.send('DELETE', path), 404, 'not_found')
    expectProblem(await patch(created.body.data.id, {}), 404, 'not_found')
  })

  it('is cleared by null, left alone by absence, and untouched by equal values', async () => {
    const values = { svc_first_name: 'Bela', svc_score: 1.5, svc_email: ['b@example.com'] }
    const { id } = (await create(values)).body.data
    clock.nowMs += 1_000
    const cleared = await patch(id, { svc_score: null, svc_email: [] })
    expect(cleared.body.data.properties).toMatchObject({
      svc_first_name: 'Bela',
      svc_score: null,
      svc_email: null,
    })
    clock.nowMs += 1_000
    const same = await patch(id, { svc_first_name: 'Bela', svc_score: null })
    expect(same.status).toBe(200)
    expect(same.body).toEqual(cleared.body)
  })

  it('takes a create_only value once, and an equal one again', async () => {
    const { id } = (await create({ svc_first_name: 'Chiara' })).body.data
    expect((await patch(id, { svc_source: 'fair' })).status).toBe(200)
    expect((await patch(id, { svc_source: 'fair' })).status).toBe(200)
    for (const svc_source of ['web', null]) {
      const answer = await patch(id, { svc_source, svc_first_name: 'lost' })
      expectProblem(answer, 422, 'request_invalid', 'schema_invalid')
      expect(answer.body.field).toBe('/data/properties/svc_source')
    }
    const kept = (await api.send('GET', `${records}${id}/`)).body.data.properties
    expect(kept).toMatchObject({ svc_source: 'fair', svc_first_name: 'Chiara' })
  })

  it('lists every violation with its pointer, and one alone without a list', async () => {
    const answer = await create({
      svc_email: 'not a list',
      svc_score: '1',
      'no/such~thing': 1,
      svc_created_at: '2026-01-01T00:00:00Z',
      svc_first_name: 'fine',
    })
    expectProblem(answer, 422, 'request_invalid', 'schema_invalid')
    expect(answer.body.field).toBe('/data/properties/svc_email')
    expect(answer.body.errors).toMatchObject([
      { field: '/data/properties/svc_email', reason: 'invalid_value' },
      { field: '/data/properties/svc_score', reason: 'invalid_value' },
      { field: '/data/properties/no~1such~0thing', reason: 'unknown_property' },
      { field: '/data/properties/svc_created_at', reason: 'read_only' },
    ])
    const single = await create({ svc_score: '1' })
    expect(single.body).toMatchObject({ field: '/data/properties/svc_score' })
    expect(single.body).not.toHaveProperty('errors')
    expectProblem(await create({ __proto__x: 1 }), 422, 'request_invalid', 'schema_invalid')
    const body = '{"data":{"properties":{"__proto__":{"svc_score":1}}}}'
    const proto = await api.send('POST', records, { body })
    expectProblem(proto, 422, 'request_invalid', 'schema_invalid')
  })

  it('cannot take the value of a unique property that another record holds', async () => {
    const svc_external_id = fresh()
    const first = (await create({ svc_external_id })).body.data
    const second = (await create({ svc_external_id: fresh() })).body.data
    for (const answer of [
      await create({ svc_external_id }),
      await patch(second.id, { svc_external_id }),
    ]) {
      expectProblem(answer, 409, 'conflict')
      expect(answer.body.field).toBe('/data/properties/svc_external_id')
    }
    await patch(first.id, { svc_external_id: null })
    expect((await patch(second.id, { svc_external_id })).status).toBe(200)
    await api.send('DELETE', `${records}${second.id}/`)
    expect((await create({ svc_external_id })).status).toBe(201)
  })
})

describe('upsert', () => {
  it('creates, then updates the record that holds the value', async () => {
    const svc_external_id = fresh()
    const created = await api.upsert(contact, 'svc_external_id', { svc_external_id })
    expect([created.status, created.body.created]).toEqual([201, true])
    const properties = { svc_external_id, svc_job_title: 'Owner' }
    const updated = await api.upsert(contact, 'svc_external_id', properties)
    expect([updated.status, updated.body.created]).toEqual([200, false])
    expect(updated.body.data).toMatchObject({ id: created.body.data.id, properties })
    const replayed = await api.upsert(contact, 'svc_external_id', properties)
    expect([replayed.status, replayed.body.data]).toEqual([200, updated.body.data])
  })

  it('matches by a value in its normal form, any of a list, and as records change', async () => {
    const name = fresh()
    const { id } = (await create({ svc_email: [`${name}@example.com`, `${name}@example.org`] }))
      .body.data
    const match = await api.upsert(contact, 'svc_email', {
      svc_email: [` ${name.toUpperCase()}@EXAMPLE.org`],
    })
    expect(match.body.data.id).toBe(id)
    expect(match.body.data.properties.svc_email).toEqual([`${name}@example.org`])
    // The first address is gone from the record, and so from the match.
    const again = await api.upsert(contact, 'svc_email', { svc_email: [`${name}@example.com`] })
    expect(again.status).toBe(201)
    await api.send('DELETE', `${records}${again.body.data.id}/`)
    const anew = await api.upsert(contact, 'svc_email', { svc_email: [`${name}@example.com`] })
    expect(anew.status).toBe(201)
  })

  it('refuses a value that two records hold', async () => {
    const svc_job_title = fresh()
    await create({ svc_job_title })
    await create({ svc_job_title })
    const answer = await api.upsert(contact, 'svc_job_title', { svc_job_title })
    expectProblem(answer, 409, 'conflict', 'ambiguous_match')
  })

  it.each([
    ['missing in the query', '', { svc_external_id: 'x' }],
    ['unknown', 'nope', { nope: 'x' }],
    ['missing in the body', 'svc_external_id', { svc_first_name: 'x' }],
    ['null in the body', 'svc_external_id', { svc_external_id: null }],
    ['an empty list', 'svc_email', { svc_email: [] }],
  ])('refuses a matching property that is %s', async (_name, matching, properties) => {
    const answer = await api.upsert(contact, matching, properties)
    expectProblem(answer, 422, 'request_invalid', 'invalid_matching_property')
  })

  it('reports a create_only violation together with the others', async () => {
    const svc_external_id = fresh()
    await create({ svc_external_id, svc_source: 'fair' })
    const properties = { svc_external_id, svc_source: 'web', svc_score: 'high' }
    const answer = await api.upsert(contact, 'svc_external_id', properties)
    expect(answer.body.errors.map((each: { reason: string }) => each.reason)).toEqual([
      'invalid_value',
      'create_only',
    ])
  })
})

describe('batch upsert', () => {
  it('answers each item for itself, in order', async () => {
    const [known, other, taken] = [fresh(), fresh(), fresh()]
    await create({ svc_external_id: known })
    await create({ svc_job_title: taken })
    await create({ svc_job_title: taken })
    const answer = await api.batch(contact, 'svc_external_id', [
      { svc_external_id: known, svc_first_name: 'Dmitri' },
      { svc_external_id: other },
      { svc_external_id: other, svc_first_name: 'Elif' },
      { svc_external_id: fresh(), svc_email: ['@'], svc_score: true },
      { svc_first_name: 'Farid' },
      { svc_external_id: null },
    ])
    expect(answer.status).toBe(200)
    const { data, summary } = BatchResponse.parse(answer.body)
    expect(summary).toEqual({ total: 6, succeeded: 3, failed: 3 })
    expect(data.map(({ index, status }) => [index, status])).toEqual([
      [0, 200],
      [1, 201],
      [2, 200],
      [3, 422],
      [4, 422],
      [5, 422],
    ])
    expect(data[2]!.record!.id).toBe(data[1]!.record!.id)
    expect(data[3]!.problem).toMatchObject({
      code: 'request_invalid',
      reason: 'schema_invalid',
      field: '/data/3/properties/svc_email',
      errors: [
        { field: '/data/3/properties/svc_email' },
        { field: '/data/3/properties/svc_score' },
      ],
    })
    for (const index of [4, 5]) {
      expect(data[index]!.problem).toMatchObject({
        reason: 'invalid_matching_property',
        field: `/data/${index}/properties/svc_external_id`,
      })
    }
    const ambiguous = await api.batch(contact, 'svc_job_title', [{ svc_job_title: taken }])
    expect(ambiguous.body.data[0].problem).toMatchObject({ status: 409, reason: 'ambiguous_match' })
    const clash = { svc_job_title: fresh(), svc_external_id: known }
    const conflict = await api.batch(contact, 'svc_job_title', [clash])
    expect(conflict.body.data[0].problem).toMatchObject({
      status: 409,
      code: 'conflict',
      field: '/data/0/properties/svc_external_id',
    })
  })

  it('is refused as a whole by gates, by the query parameter and by a wrong envelope', async () => {
    const item = { svc_external_id: fresh() }
    for (const matching of ['', 'nope']) {
      const answer = await api.batch(contact, matching, [item])
      expectProblem(answer, 422, 'request_invalid', 'invalid_matching_property')
    }
    const meeting = await api.batch('svc_meeting', 'nope', [item])
    expectProblem(meeting, 403, 'permission_denied', 'type_read_only')
    expectProblem(await api.batch('nope', 'nope', [item]), 404, 'not_found')
    const many = Array.from({ length: 51 }, () => item)
    expectProblem(await api.batch(contact, 'svc_external_id', many), 422, 'request_invalid')
    expectProblem(await api.batch(contact, 'svc_external_id', []), 422, 'request_invalid')
    const found = await api.query(contact, {
      filter: { property: 'svc_external_id', op: 'eq', value: item.svc_external_id },
    })
    expect(found.body.data).toEqual([])
    expect((await api.batch(contact, 'svc_external_id', many.slice(1))).status).toBe(200)
  })
})

describe('envelopes', () => {
  const json = fc.jsonValue({ maxDepth: 4 })
  const key = fc.constantFrom('data', 'properties', 'id', 'x')
  const near = fc.letrec<{ node: unknown }>((tie) => ({
    node: fc.oneof(
      { depthSize: 'small' },
      json,
      fc.dictionary(key, tie('node'), { maxKeys: 2 }),
      fc.array(tie('node'), { maxLength: 2 }),
    ),
  })).node
  const good = fc.record({ data: fc.record({ properties: fc.dictionary(fc.string(), json) }) })
  const passes = (check: () => unknown) => {
    try {
      check()
      return true
    } catch {
      return false
    }
  }

  it('pass by hand exactly what passes the schemas of the contract', () => {
    fc.assert(
      fc.property(fc.oneof(near, good), (body) => {
        expect(passes(() => recordBody(body))).toBe(RecordBody.safeParse(body).success)
        const data = [(body as { data?: unknown } | null)?.data]
        for (const each of [body, { data }]) {
          expect(passes(() => batchWriteBody(each))).toBe(BatchWriteBody.safeParse(each).success)
        }
      }),
    )
  })
})

describe('replay', () => {
  it('of any upsert, PATCH or batch update leaves the records as they are', async () => {
    const replayed = await startApi({ clock })
    try {
      const properties = fc.record(
        {
          svc_external_id: fc.constantFrom('a', 'b', 'c', null),
          svc_email: fc.constantFrom(
            null,
            [],
            ['A@example.com '],
            ['b@example.com', 'a@example.com'],
          ),
          svc_score: fc.constantFrom(null, 0, -0, 1.25, 'wrong'),
          svc_source: fc.constantFrom(null, 'web', 'fair'),
          svc_lifetime_value: fc.constantFrom(
            { amount: '1.50', unit: 'EUR' },
            { amount: '01.5', unit: 'EUR' },
          ),
          svc_last_contacted_at: fc.constantFrom(
            '2026-01-01T01:00:00+01:00',
            '2026-01-01T00:00:00Z',
          ),
        },
        { requiredKeys: [] },
      )
      const matching = fc.constantFrom('svc_external_id', 'svc_email')
      const state = () => JSON.stringify([...replayed.service.records(contact)])
      await fc.assert(
        fc.asyncProperty(matching, properties, async (by, each) => {
          const first = await replayed.upsert(contact, by, each)
          const before = state()
          clock.nowMs += 1_000
          const second = await replayed.upsert(contact, by, each)
          expect(second.status).toBe(first.status === 201 ? 200 : first.status)
          expect(second.body.data).toEqual(first.body.data)
          expect(state()).toBe(before)
        }),
        { numRuns: runs(150) },
      )
      expect(JSON.parse(state()).length).toBeGreaterThan(0)

      const { id } = replayed.service.records(contact)[0]!
      const path = `/objects/${contact}/records/${id}/`
      const patch = (given: object) =>
        replayed.send('PATCH', path, { body: { data: { properties: given } } })
      const batch = (given: object) =>
        replayed.send('POST', `/objects/${contact}/records/batch/update/`, {
          // The same record twice, as section 4.3 rule 2 says.
          body: { data: [given, given].map((each) => ({ id, properties: each })) },
        })
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(patch, batch), properties, async (write, each) => {
          const first = await write(each)
          const before = state()
          clock.nowMs += 1_000
          const second = await write(each)
          expect(second.status).toBe(first.status)
          expect(state()).toBe(before)
        }),
        { numRuns: runs(150) },
      )
    } finally {
      await replayed.service.close()
    }
  })
})
