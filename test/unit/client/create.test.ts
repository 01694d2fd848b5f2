// Creates: what may have been carried out is never sent again, by nobody here.

import { expect, test } from 'vitest'
import { OutcomeUnknown } from '../../../src/client/index.ts'
import type { RecordsClient } from '../../../src/client/index.ts'
import {
  always,
  batchBody,
  bytesOf,
  clientOf,
  failureOf,
  oneRecord,
  problem,
  startWire,
} from './wire.ts'
import type { Respond } from './wire.ts'

const creates: [string, (client: RecordsClient) => Promise<unknown>][] = [
  ['createRecord', (client) => client.createRecord('svc_contact', { svc_score: 1 })],
  ['batchCreate', (client) => client.batchCreate('svc_contact', { items: [{ properties: {} }] })],
]
const lost: [string, Respond][] = [
  ['no answer', (socket) => socket.destroy()],
  ['half an answer', (socket) => socket.end(bytesOf(oneRecord).subarray(0, -5))],
  ['HTML with 502', always({ status: 502, type: 'text/html', body: '<p>bad gateway</p>' })],
  ['HTML with 200', always({ type: 'text/html', body: '<p>welcome</p>' })],
  ['a redirect', always({ status: 307, headers: { location: '/elsewhere' } })],
  ['504', always({ status: 504, body: problem(504, 'timeout') })],
  ['500', always({ status: 500, body: problem(500, 'internal_error') })],
]

const inDoubt = creates.flatMap(([name, create]) =>
  lost.map(([how, respond]) => [name, how, create, respond] as const),
)

test.each(inDoubt)('%s is in doubt after %s', async (name, _, create, respond) => {
  const wire = await startWire(respond)
  const failure = await failureOf(create(clientOf(wire.url)))
  expect(failure).toBeInstanceOf(OutcomeUnknown)
  expect(failure).toMatchObject({ name: 'OutcomeUnknown', outcomeUnknown: true })
  expect(failure.disposition).toBe('halt')
  expect(failure.message).toMatch(new RegExp(`^${name}: .*may have been carried out`))
  expect(wire.seen).toHaveLength(1)
})

test.each(creates)(
  '%s that was certainly not carried out may be tried again',
  async (_, create) => {
    const busy = { status: 503, body: problem(503, 'service_unavailable') }
    const wire = await startWire(always(busy))
    const failure = await failureOf(create(clientOf(wire.url)))
    expect(failure).not.toBeInstanceOf(OutcomeUnknown)
    expect(failure).toMatchObject({ disposition: 'retry', outcomeUnknown: false })
    expect(wire.seen).toHaveLength(1)
  },
)

test('a refusal by the quota or of the key is certain: the create goes again', async () => {
  const keys = ['old-key-0001', 'new-key-0002']
  const wire = await startWire(
    always(
      { status: 429, body: problem(429, 'rate_limited') },
      { status: 401, body: problem(401, 'unauthenticated') },
      { status: 201, body: batchBody(1) },
    ),
  )
  const client = clientOf(wire.url, { key: () => keys.shift()! })
  const answer = await client.batchCreate('svc_contact', { items: [{ properties: {} }] })
  expect(answer.summary.succeeded).toBe(1)
  expect(wire.seen).toHaveLength(3)
})

test('an upsert in doubt may be sent again, by whoever asked', async () => {
  const wire = await startWire(always({ status: 504, body: problem(504, 'timeout') }))
  const failure = await failureOf(
    clientOf(wire.url).upsertRecord('svc_contact', 'svc_email', { svc_email: ['a@example.com'] }),
  )
  expect(failure).not.toBeInstanceOf(OutcomeUnknown)
  expect(failure).toMatchObject({ disposition: 'retry', outcomeUnknown: true })
})

test.each([
  ['/rest/v1/objects/svc_contact/records/rec%201/', 'rec 1'],
  ['https://crm.example.com/rest/v1/objects/svc_contact/records/rec_1?x=1', 'rec_1'],
])('a 201 that has a Location and no body is a record: %s', async (location, id) => {
  const wire = await startWire(always({ status: 201, headers: { location }, body: '' }))
  const record = await clientOf(wire.url).createRecord('svc_contact', { svc_score: 1 })
  expect(record).toEqual({ id, object_type: 'svc_contact', properties: { svc_score: 1 } })
  expect(wire.seen).toHaveLength(1)
})

test.each([
  ['no Location', {}],
  ['a Location without an id', { location: '/' }],
  ['a Location that is not well encoded', { location: '/records/%E0%A4%A/' }],
])('a 201 without a body and with %s is in doubt', async (_, headers) => {
  const wire = await startWire(always({ status: 201, headers, body: '' }))
  const failure = await failureOf(clientOf(wire.url).createRecord('svc_contact', {}))
  expect(failure).toBeInstanceOf(OutcomeUnknown)
})
