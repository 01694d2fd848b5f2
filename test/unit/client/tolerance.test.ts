// What the client puts up with, because the specification leaves it open or lets it grow (sections 2.7, 2.8, 4.5, 7, 9).

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { silentLogger, type Logger } from '../../../src/core/ports.ts'
import { always, clientOf, failureOf, oneRecord, problem, record, startWire } from './wire.ts'
import type { AnswerParts } from './wire.ts'

/** A client of a service that answers so, in this order, the last answer for ever. */
const answeredBy = async (...answers: AnswerParts[]) =>
  clientOf((await startWire(always(...answers))).url)
const later = { added_later: { by: ['the service'] } }

const property = {
  name: 'svc_mood',
  label: 'Mood',
  field_type: 'hologram',
  writability: 'write_twice',
  operators: ['eq', 'resembles'],
  is_multi: false,
  is_unique: false,
  options: [{ value: 'a', label: 'A', ...later }],
  ...later,
}
const objectType = {
  name: 'svc_contact',
  label: 'Contact',
  label_plural: 'Contacts',
  kinds: ['person', 'avatar'],
  is_system: true,
  allows_custom_properties: true,
  writable_operations: ['create', 'merge', 'update', 'archive'],
  ...later,
}

describe('what may grow', () => {
  test('an object type with unknown operations, field types, operators and fields', async () => {
    const client = await answeredBy(
      { body: { data: [objectType], ...later } },
      { body: { data: { ...objectType, properties: [property] } } },
    )
    expect(await client.listObjectTypes()).toEqual([{ ...objectType, description: '', icon: '' }])
    expect(await client.readObjectType('svc_contact')).toMatchObject({
      writable_operations: ['create', 'merge', 'update', 'archive'],
      properties: [{ ...property, description: '', default_value: null }],
    })
  })

  test('but what has no word at all in the place of one is not believed', async () => {
    const wrong = { ...objectType, writable_operations: ['create', 7] }
    const both = { ...objectType, writable_operations: ['merge'], label: 7 }
    const client = await answeredBy({ body: { data: [wrong] } }, { body: { data: [both] } })
    const failure = await failureOf(client.listObjectTypes())
    expect(failure.message).toContain('its shape is wrong at /data/0/writable_operations/1')
    expect(await failureOf(client.listObjectTypes())).toMatchObject({ kind: 'distrusted' })
  })

  test('field types', async () => {
    const fieldType = {
      name: 'hologram',
      label: 'Hologram',
      value_type: 'cloud of points',
      operators: ['resembles'],
      aggregations: ['median'],
      sortable: false,
      units: ['lux'],
      ...later,
    }
    const client = await answeredBy({ body: { data: [fieldType] } })
    expect(await client.listFieldTypes()).toEqual([{ ...fieldType, description: '' }])
  })

  test('associations and edges of unknown cardinalities', async () => {
    const cardinality = 'one_to_seven'
    const association = {
      name: 'a',
      label: 'A',
      source: 'svc_contact',
      target: 'svc_x',
      cardinality,
    }
    const edge = { association_type: 'a', source_id: 'rec_1', target_id: 'rec_2', cardinality }
    const client = await answeredBy(
      { body: { data: [{ ...association, ...later }] } },
      { body: { data: [{ ...edge, ...later }], pagination: { has_more: false, ...later } } },
      { status: 201, body: { data: edge } },
    )
    expect(await client.listAssociations()).toMatchObject([association])
    expect((await client.listAssociationEdges('svc_contact', 'rec_1')).data).toMatchObject([edge])
    expect(await client.associateRecords('svc_contact', 'rec_1', 'a', 'rec_2')).toEqual(edge)
  })

  test('a problem of an unknown code is taken as what its status says', async () => {
    const told = (status: number) => ({ status, body: problem(status, 'brand_new_code') })
    const client = await answeredBy(told(404), told(409), told(503), told(422))
    const read = () => failureOf(client.readRecord('svc_contact', 'rec_1'))
    expect(await read()).toMatchObject({ problemCode: 'not_found', disposition: 'reject' })
    expect(await read()).toMatchObject({ problemCode: 'conflict', disposition: 'reject' })
    expect(await read()).toMatchObject({ problemCode: 'service_unavailable', disposition: 'retry' })
    expect(await read()).toMatchObject({ problemCode: 'request_invalid', disposition: 'halt' })
  })

  test('an unknown reason is handed on, and does not change what the code says', async () => {
    const body = problem(409, 'conflict', { reason: 'planets_misaligned' })
    const client = await answeredBy({ status: 409, body })
    expect(await failureOf(client.readRecord('svc_contact', 'rec_1'))).toMatchObject({
      reason: 'planets_misaligned',
      disposition: 'reject',
    })
  })
})

test('self: principal_id in place of principal, permissions absent, an unknown reach', async () => {
  const prose = { org_id: 7, principal_id: 'usr_1', reach: 'team', ...later }
  const client = await answeredBy({ body: { data: prose } })
  expect(await client.readSelf()).toEqual(prose)
})

describe('batches', () => {
  const pairs = (results: object[], succeeded: number) => ({
    data: results,
    summary: { total: 2, succeeded, failed: 2 - succeeded, ...later },
    ...later,
  })
  const items = [{ properties: {} }, { properties: {} }]

  test.each([200, 201, 207])(
    'status %i, items out of order, no record, more fields',
    async (status) => {
      const body = pairs(
        [
          { index: 1, status: 204, ...later },
          { index: 0, status: 200 },
        ],
        2,
      )
      const client = await answeredBy({ status, body })
      const { data, summary } = await client.batchUpsert('svc_contact', 'svc_email', { items })
      expect(data.map((item) => [item.index, item.status])).toEqual([
        [0, 200],
        [1, 204],
      ])
      expect(summary).toMatchObject({ total: 2, succeeded: 2 })
    },
  )

  test('an item whose problem has an unknown code, or none, is taken as its status', async () => {
    const { code: _, ...codeless } = problem(404, '')
    const body = pairs(
      [
        {
          index: 0,
          status: 409,
          problem: problem(409, 'brand_new_code', { reason: 'new_reason' }),
        },
        { index: 1, status: 404, problem: codeless },
      ],
      0,
    )
    const client = await answeredBy({ body })
    const { data } = await client.batchUpsert('svc_contact', 'svc_email', { items })
    expect(data.map((item) => item.problem)).toMatchObject([
      { code: 'conflict', reason: 'new_reason' },
      { code: 'not_found' },
    ])
  })

  test('values come as the service keeps them', async () => {
    const properties = {
      svc_email: ['ada@example.com'],
      svc_score: '10.50',
      svc_deal_value: { amount: '10.50', unit: 'EUR' },
    }
    const written = { id: 'rec_1', object_type: 'svc_contact', properties }
    const body = {
      data: [{ index: 0, status: 200, record: written }],
      summary: { total: 1, succeeded: 1, failed: 0 },
    }
    const client = await answeredBy({ body }, { body: { data: written } })
    const sent = { svc_email: ['Ada@Example.COM'], svc_score: 10.5 }
    const input = { items: [{ id: 'rec_1', properties: sent }] }
    const answer = await client.batchUpdate('svc_contact', input)
    expect(answer.data[0]!.record).toEqual(written)
    expect(await client.updateRecord('svc_contact', 'rec_1', sent)).toEqual(written)
  })
})

describe('a delete', () => {
  test.each([
    ['204', { status: 204, body: '' }],
    ['200 without a body', { status: 200, type: '', body: '' }],
    ['200 with JSON', { status: 200, body: { data: { id: 'rec_1', deleted: true } } }],
    ['200 with the record', oneRecord],
    ['202 with JSON', { status: 202, body: {} }],
  ])('is done: %s', async (_, answer) => {
    const client = await answeredBy(answer)
    expect(await client.deleteRecord('svc_contact', 'rec_1')).toBeUndefined()
  })

  test.each([
    ['HTML', { type: 'text/html', body: '<p>Please sign in</p>' }],
    ['half of a JSON', { body: '{"data":' }],
    ['a problem', { type: 'application/problem+json', body: problem(200, 'conflict') }],
  ])('is in doubt: 200 with %s', async (_, answer) => {
    const client = await answeredBy(answer)
    const failure = await failureOf(client.deleteRecord('svc_contact', 'rec_1'))
    expect(failure).toMatchObject({ kind: 'distrusted', outcomeUnknown: true })
  })
})

describe('pages', () => {
  test('short and empty ones with has_more, and a last one without next_cursor', async () => {
    const page = (ids: string[], pagination: object) => ({
      body: { data: ids.map((id) => record(id)), pagination, ...later },
    })
    const client = await answeredBy(
      page(['a', 'b'], { has_more: true, next_cursor: '1' }),
      page([], { has_more: true, next_cursor: '2', ...later }),
      page(['c'], { has_more: true, next_cursor: '3' }),
      page([], { has_more: false }),
    )
    const ids: string[] = []
    for await (const { data } of client.listRecordPages('svc_contact')) {
      ids.push(...data.map(({ id }) => id))
    }
    expect(ids).toEqual(['a', 'b', 'c'])
  })
})

test('a Retry-After may be an HTTP-date', async () => {
  const atMs = Date.UTC(2026, 0, 1)
  const clock = { now: () => atMs - 5_000, sleep: async () => {} }
  const headers = { 'Retry-After': new Date(atMs).toUTCString() }
  const body = problem(503, 'service_unavailable')
  const wire = await startWire(always({ status: 503, headers, body }))
  const client = clientOf(wire.url, { clock })
  const failure = await failureOf(client.readRecord('svc_contact', 'rec_1'))
  expect(failure.retryAfterMs).toBe(5_000)
})

test.each([
  [{ Deprecation: 'true' }, { deprecation: 'true', sunset: null }],
  [
    { Sunset: 'Sun, 30 Jun 2030 23:59:59 GMT' },
    { deprecation: null, sunset: 'Sun, 30 Jun 2030 23:59:59 GMT' },
  ],
  [{ Deprecation: '<script>' }, { deprecation: null, sunset: null }],
])('%j is warned of once, on a problem too', async (headers, fields) => {
  const warned: unknown[] = []
  const none = () => {}
  const warn: Logger['warn'] = (...args) => void warned.push(args)
  const logger = { debug: none, info: none, warn, error: none }
  const missing = { status: 404, body: problem(404, 'not_found'), headers }
  const wire = await startWire(always(missing, { ...oneRecord, headers }))
  const client = clientOf(wire.url, { logger })
  await failureOf(client.readRecord('svc_contact', 'rec_1'))
  await client.readRecord('svc_contact', 'rec_1')
  expect(warned).toEqual([[fields, 'service_deprecated']])
})

test('several Deprecation headers count as one with several values', async () => {
  const server = createServer((_, response) => {
    response.setHeader('Deprecation', ['@1893456000', '@1688169599'])
    response.end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const warned: object[] = []
  const logger = { ...silentLogger, warn: (fields: object) => void warned.push(fields) }
  const { port } = server.address() as AddressInfo
  const client = clientOf(`http://127.0.0.1:${port}`, { logger })
  await failureOf(client.readRecord('svc_contact', 'rec_1'))
  await client.close()
  expect(warned).toContainEqual({ deprecation: '@1893456000, @1688169599', sunset: null })
})
