// One call: permits, the quota's refusals, the key, aborts and problems.

import { expect, test } from 'vitest'
import { QuotaWait } from '../../../src/core/errors.ts'
import { PROBLEM_CODES } from '../../../src/contract/index.ts'
import type { Logger } from '../../../src/core/ports.ts'
import {
  KEY,
  always,
  batchBody,
  bytesOf,
  clientOf,
  failureOf,
  oneRecord,
  problem,
  recordingQuota,
  startWire,
} from './wire.ts'

const read = (client: ReturnType<typeof clientOf>, options = {}) =>
  client.readRecord('svc_contact', 'rec_1', options)
const write = (client: ReturnType<typeof clientOf>, options = {}) =>
  client.updateRecord('svc_contact', 'rec_1', {}, options)
const refused = {
  status: 429,
  headers: { 'Retry-After': '7', 'RateLimit-Limit': '60', 'RateLimit-Remaining': '0' },
  body: problem(429, 'rate_limited'),
}

test('an answer of any status is shown to its permit, headers as they came', async () => {
  const headers = { 'RateLimit-Limit': ' 60', 'ratelimit-remaining': 'soon', 'Retry-After': '1.5' }
  const wire = await startWire(
    always({ ...oneRecord, headers }, { status: 503, body: problem(503, 'service_unavailable') }),
  )
  const client = clientOf(wire.url)
  await read(client)
  await failureOf(read(client))
  expect(client.quota.closed).toEqual([
    { status: 200, limit: '60', remaining: 'soon', retryAfter: '1.5' },
    { status: 503, limit: undefined, remaining: undefined, retryAfter: undefined },
  ])
})

test('a 429 is a wait: the same bytes go again with a new permit, and nobody hears of it', async () => {
  const html = { status: 429, type: 'text/html', body: '<p>slow down</p>' }
  const wire = await startWire(always(refused, html, { body: batchBody(1) }))
  const client = clientOf(wire.url)
  const permit = client.quota.permit()
  const body = '{"data":[{"properties":{"a":1}}]}'
  const options = { permit, priority: 'backfill', maxWaitMs: 9_000 } as const
  const answer = await client.batchUpsert('svc_contact', 'svc_email', { body, count: 1 }, options)
  expect(answer.data).toHaveLength(1)
  expect(wire.seen.map((seen) => seen.body)).toEqual([body, body, body])
  expect(client.quota.closed).toMatchObject([{ status: 429 }, { status: 429 }, { status: 200 }])
  expect(client.quota.asked).toHaveLength(2)
  for (const asked of client.quota.asked) {
    expect(asked.priority).toBe('backfill')
    expect(asked.maxWaitMs).toBeLessThanOrEqual(9_000)
  }
})

test('a 429 goes back to a caller that looks again first, and the quota knows of it', async () => {
  const wire = await startWire(always(refused, { body: batchBody(1) }))
  const client = clientOf(wire.url)
  const body = '{"data":[{"properties":{"a":1}}]}'
  const error = await client
    .batchUpsert('svc_contact', 'svc_email', { body, count: 1 }, { waitsOut429: false })
    .catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(QuotaWait)
  expect((error as QuotaWait).retryAfterMs).toBe(7_000)
  expect(wire.seen).toHaveLength(1)
  expect(client.quota.closed).toMatchObject([{ status: 429, retryAfter: '7' }])
})

test('a 429 whose body is torn is a wait all the same', async () => {
  const wire = await startWire((socket, _, count) =>
    count === 1 ? socket.end(bytesOf(refused).subarray(0, -9)) : socket.write(bytesOf(oneRecord)),
  )
  expect(await read(clientOf(wire.url))).toMatchObject({ id: 'rec_1' })
})

test("refused for ever: 100 rounds, then QuotaWait with the service's own wait", async () => {
  const wire = await startWire(always(refused))
  const client = clientOf(wire.url)
  const error = await write(client).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(QuotaWait)
  expect((error as QuotaWait).retryAfterMs).toBe(7_000)
  expect(wire.seen).toHaveLength(100)
  expect(client.quota.closed).toHaveLength(100)
})

test('a longer wait than allowed leaves the call as QuotaWait, by the default quota too', async () => {
  const wire = await startWire(always(refused))
  const client = clientOf(wire.url, { quota: undefined })
  const error = await write(client, { maxWaitMs: 6_000 }).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(QuotaWait)
  expect((error as QuotaWait).retryAfterMs).toBeGreaterThan(6_000)
  expect((error as QuotaWait).retryAfterMs).toBeLessThanOrEqual(7_000)
  expect(wire.seen).toHaveLength(1)
})

test('a 401 reads the key again; another key is tried once', async () => {
  const keys = ['old-key-0001\n', 'new-key-0002', 'newer-key-0003', 'newest-key-0004']
  const refusal = { status: 401, body: problem(401, 'unauthenticated') }
  const wire = await startWire(always(refusal, oneRecord, refusal))
  const client = clientOf(wire.url, { key: async () => keys.shift()! })
  expect(await read(client)).toMatchObject({ id: 'rec_1' })
  const sent = wire.seen.map((seen) => /authorization: (.*)/.exec(seen.head)?.[1])
  expect(sent).toEqual(['Bearer old-key-0001', 'Bearer new-key-0002'])
  expect(await failureOf(read(client))).toMatchObject({ disposition: 'halt', block: 'auth' })
  expect(wire.seen).toHaveLength(4)
  expect(keys).toHaveLength(1)
  expect(client.quota.closed).toHaveLength(4)
  expect(client.quota.closed).not.toContain(null)
})

test('a key that changes with every reading is tried twice, no more', async () => {
  let reads = 0
  const wire = await startWire(always({ status: 401, body: problem(401, 'unauthenticated') }))
  const client = clientOf(wire.url, { key: async () => `key-number-${reads++}` })
  expect(await failureOf(read(client))).toMatchObject({ block: 'auth' })
  expect([wire.seen.length, reads]).toEqual([2, 2])
})

test('what was waited already shortens the waits to come', async () => {
  const wire = await startWire(always(refused, refused, oneRecord))
  let nowMs = 0
  const clock = { now: () => nowMs, sleep: () => Promise.reject(new Error('not asked')) }
  const quota = recordingQuota()
  const acquire: typeof quota.acquire = (options) => {
    nowMs += 4_000
    return quota.acquire(options)
  }
  const client = clientOf(wire.url, { clock, quota: { ...quota, acquire } })
  await read(client, { maxWaitMs: 10_000 })
  expect(quota.asked.map((asked) => asked.maxWaitMs)).toEqual([10_000, 6_000, 2_000])
})

test('a 401 with an unchanged key is not sent again', async () => {
  let reads = 0
  const wire = await startWire(always({ status: 401, body: problem(401, 'unauthenticated') }))
  const client = clientOf(wire.url, { key: async () => (reads++, KEY) })
  expect(await failureOf(write(client))).toMatchObject({
    kind: 'problem',
    disposition: 'halt',
    block: 'auth',
    outcomeUnknown: false,
  })
  expect([wire.seen.length, reads]).toEqual([1, 2])
})

test('requests at the same time share one reading of the key', async () => {
  let reads = 0
  const wire = await startWire(always(oneRecord))
  const client = clientOf(wire.url, { key: async () => (reads++, KEY) })
  await Promise.all([read(client), read(client), read(client)])
  expect(reads).toBe(1)
})

test.each([
  ['too short', 'secret1', 'got 7 characters'],
  ['an inner newline', 'secret-first\nsecret-second', 'got 26 characters'],
  ['not ASCII', 'secret-ключ', 'got 11 characters'],
  ['two newlines', 'secret-secret\n\n', 'got 14 characters'],
])('a bad key, %s: nothing is sent, and only its length is told', async (_, key, told) => {
  const wire = await startWire(always(oneRecord))
  const client = clientOf(wire.url, { key: async () => key })
  const failure = await failureOf(read(client))
  expect(failure).toMatchObject({ disposition: 'halt', block: 'auth', outcomeUnknown: false })
  expect(failure.message).toContain(told)
  expect(failure.message).not.toContain('secret')
  expect(client.quota.closed).toEqual(['unused'])
  expect(wire.seen).toEqual([])
})

test('a key that cannot be read: no foreign message, and asked again next time', async () => {
  const wire = await startWire(always(oneRecord))
  let broken = true
  const client = clientOf(wire.url, {
    key: () => (broken ? Promise.reject(new Error(`bad line: ${KEY}`)) : Promise.resolve(KEY)),
  })
  expect((await failureOf(read(client))).message).toBe('The API key could not be read')
  broken = false
  expect(await read(client)).toMatchObject({ id: 'rec_1' })
})

test('an abort before sending prevents a write, and the permit goes back', async () => {
  const wire = await startWire(always(oneRecord))
  const client = clientOf(wire.url)
  const signal = AbortSignal.abort(new Error('cancelled'))
  const permit = client.quota.permit()
  await expect(write(client, { signal, permit })).rejects.toThrow('cancelled')
  await expect(write(client, { signal })).rejects.toThrow('cancelled')
  expect(client.quota.closed).toEqual(['unused'])
  expect(wire.seen).toEqual([])
})

test('an abort during a request ends a read at once, and lets a write finish', async () => {
  const abort = new AbortController()
  const wire = await startWire((socket, seen) => {
    abort.abort(new Error('cancelled'))
    if (seen.line.startsWith('PATCH')) setImmediate(() => socket.write(bytesOf(oneRecord)))
  })
  const { signal } = abort
  const client = clientOf(wire.url)
  expect(await write(client, { signal })).toMatchObject({ id: 'rec_1' })
  const reading = new AbortController()
  const silent = await startWire(() => reading.abort(new Error('cancelled too')))
  const other = clientOf(silent.url)
  await expect(read(other, { signal: reading.signal })).rejects.toThrow('cancelled too')
  expect(other.quota.closed).toEqual(['lost'])
})

test.each(['..', '.', '', '\uD800'])(
  'path parameter %j is refused, nothing is sent',
  async (id) => {
    const wire = await startWire(always(oneRecord))
    const client = clientOf(wire.url)
    const permit = client.quota.permit()
    await expect(client.readRecord('svc_contact', id, { permit })).rejects.toMatchObject({
      code: 'path_invalid',
    })
    expect(client.quota.closed).toEqual(['unused'])
    expect(wire.seen).toEqual([])
  },
)

test('a batch of 0 or 51 is refused before anything is sent', async () => {
  const wire = await startWire(always(oneRecord))
  const client = clientOf(wire.url)
  const permit = client.quota.permit()
  await expect(client.batchDelete('t', { items: [] }, { permit })).rejects.toMatchObject({
    code: 'batch_size',
    message: 'A batch of 1 to 50 items was expected, got 0',
  })
  await expect(client.batchUpsert('t', 'm', { body: '{}', count: 51 })).rejects.toThrow('got 51')
  expect(client.quota.closed).toEqual(['unused'])
})

test('a problem becomes a failure with every fact, and its detail stays out of the message', async () => {
  const errors = [
    { field: '/data/1/properties/a', detail: 'secret value', reason: 'schema_invalid' },
  ]
  const body = problem(422, 'request_invalid', {
    reason: 'schema_invalid',
    field: '/data/1/properties/a',
    errors,
    request_id: 'req_body',
  })
  const wire = await startWire(
    always({ status: 422, body, headers: { 'X-Request-Id': 'req_head', 'Retry-After': '3' } }),
  )
  const failure = await failureOf(write(clientOf(wire.url)))
  expect(failure).toMatchObject({
    message:
      'updateRecord: the service answered 422 request_invalid (schema_invalid) at /data/1/properties/a for svc_contact',
    kind: 'problem',
    disposition: 'reject',
    outcomeUnknown: false,
    status: 422,
    problemCode: 'request_invalid',
    reason: 'schema_invalid',
    field: '/data/1/properties/a',
    errors,
    requestId: 'req_body',
    retryAfterMs: 3_000,
    detail: 'what the service says',
  })
})

test('a message names the first fields and reasons of a problem, and no words of the service', async () => {
  const fault = (name: string, reason: string | null) => ({
    field: `/data/properties/${name}`,
    reason,
    detail: `${name}: got "canary"`,
  })
  const body = problem(422, 'request_invalid', {
    reason: 'schema_invalid',
    field: '/data/properties/a',
    errors: [
      fault('a', 'invalid_value'),
      fault('b', null),
      // Neither a pointer nor a reason: it may be a value.
      { field: 'canary@example.com', reason: 'canary@example.com', detail: '' },
      fault('c', 'Canary value'),
      fault('d', 'unknown_property'),
    ],
  })
  const wire = await startWire(always({ status: 422, body }))
  const failure = await failureOf(write(clientOf(wire.url)))
  expect(failure.message).toBe(
    'updateRecord: the service answered 422 request_invalid (schema_invalid) at /data/properties/a (invalid_value), /data/properties/b, /data/properties/c and 1 more for svc_contact',
  )
})

test.each([
  ['17', 'record 17 of svc_contact'],
  ['canary@example.com', 'svc_contact'],
])('a record that is not found is named by its id: %s', async (id, about) => {
  const wire = await startWire(always({ status: 404, body: problem(404, 'not_found') }))
  const failure = await failureOf(clientOf(wire.url).readRecord('svc_contact', id))
  expect(failure.message).toBe(`readRecord: the service answered 404 not_found for ${about}`)
})

test.each([
  [405, 'request_invalid', 'halt', 'contract'],
  [406, 'request_invalid', 'halt', 'contract'],
  [413, 'request_invalid', 'reject', 'contract'],
  [415, 'request_invalid', 'halt', 'contract'],
  [422, 'request_invalid', 'reject', 'contract'],
  [401, 'unauthenticated', 'halt', 'auth'],
  [504, 'timeout', 'retry', 'service'],
])(
  'a problem of status %i that names no code is taken as %s',
  async (status, code, disposition, block) => {
    const { code: _, ...body } = problem(status, code)
    const wire = await startWire(always({ status, body }))
    const failure = await failureOf(write(clientOf(wire.url)))
    expect(failure).toMatchObject({ kind: 'problem', problemCode: code, disposition, block })
  },
)

const html = { status: 413, type: 'text/html', body: '<h1>413 Request Entity Too Large</h1>' }
const said = { status: 413, body: problem(413, 'request_invalid', { reason: 'body_too_large' }) }

test.each([
  ['a proxy in HTML', html, 'distrusted', 'the request is too large (status 413)'],
  ['a proxy in plain text', { ...html, type: 'text/plain', body: '' }, 'distrusted', 'too large'],
  [
    'the service',
    said,
    'problem',
    '413 request_invalid (body_too_large) for svc_contact: the request is too large',
  ],
  [
    'the service in other words',
    { status: 413, body: problem(413, 'internal_error') },
    'problem',
    'the request is too large',
  ],
])(
  'too large, says %s: certainly not carried out, and less may pass',
  async (_, answer, kind, words) => {
    const wire = await startWire(always(answer))
    const client = clientOf(wire.url)
    const input = { items: [{ properties: {} }, { properties: {} }] }
    for (const request of [
      failureOf(client.batchUpsert('svc_contact', 'svc_email', input)),
      failureOf(client.batchCreate('svc_contact', input)),
    ]) {
      const failure = await request
      expect(failure).toMatchObject({ kind, status: 413, disposition: 'reject', block: 'contract' })
      expect(failure.outcomeUnknown).toBe(false)
      expect(failure.problemCode).toBeDefined()
      expect(failure.message).toContain(words)
      expect(failure.message).not.toContain('<')
    }
    // A query cannot be taken apart.
    expect(await failureOf(client.queryRecords('svc_contact'))).toMatchObject({
      disposition: 'halt',
    })
  },
)

test('foreign text that poses as a reason or a request id is left out', async () => {
  const body = problem(409, 'conflict', { reason: `${KEY} <b>`, request_id: 'a\nb' })
  const wire = await startWire(always({ status: 409, body }))
  const failure = await failureOf(write(clientOf(wire.url)))
  expect([failure.reason, failure.requestId]).toEqual([undefined, undefined])
})

test('the request id comes from the one header that is called so, of whatever prefix', async () => {
  const one = { 'Acme-REQUEST-id': 'req_1' }
  const wire = await startWire(
    always(
      { body: batchBody(1), headers: one },
      { body: batchBody(1), headers: { ...one, 'X-Request-Id': 'req_2' } },
    ),
  )
  const client = clientOf(wire.url)
  const ids = [1, 2].map(() => client.batchDelete('svc_contact', { items: [{ id: 'rec_1' }] }))
  expect((await Promise.all(ids)).map((answer) => answer.requestId).toSorted()).toEqual([
    null,
    'req_1',
  ])
})

test.each(PROBLEM_CODES.filter((code) => code !== 'rate_limited'))(
  'after %s a write is in doubt only where it may have been carried out',
  async (code) => {
    const wire = await startWire(always({ status: 500, body: problem(500, code) }))
    const client = clientOf(wire.url)
    const inDoubt = ['timeout', 'internal_error'].includes(code)
    expect((await failureOf(write(client))).outcomeUnknown).toBe(inDoubt)
    expect((await failureOf(read(client))).outcomeUnknown).toBe(false)
  },
)

test('a deprecation is warned of once', async () => {
  const warned: [object, string][] = []
  const none = () => {}
  const warn: Logger['warn'] = (fields, event) => void warned.push([fields, event])
  const headers = { Deprecation: '@1688169599', Sunset: 'Sun, 30 Jun 2030 23:59:59 GMT' }
  const wire = await startWire(always({ ...oneRecord, headers }))
  const logger = { debug: none, info: none, warn, error: none }
  const client = clientOf(wire.url, { logger, quota: recordingQuota() })
  await read(client)
  await read(client)
  expect(warned).toEqual([
    [{ deprecation: headers.Deprecation, sunset: headers.Sunset }, 'service_deprecated'],
  ])
})

test('a refusal says where, why and of which type; a pointer that may hold a value is left out', async () => {
  const at = (field: string, more: object = {}) =>
    always({ status: 400, body: problem(400, 'request_invalid', { field, ...more }) })
  const messageOf = async (respond: ReturnType<typeof always>) => {
    const client = clientOf((await startWire(respond)).url)
    return (await failureOf(client.queryRecords('svc_contact', { limit: 1_000 }))).message
  }
  expect(await messageOf(at('/limit'))).toBe(
    'queryRecords: the service answered 400 request_invalid at /limit for svc_contact',
  )
  const errors = [{ field: '/filter/value', detail: 'no', reason: 'invalid_filter' }]
  const body = problem(400, 'request_invalid', { errors })
  expect(await messageOf(always({ status: 400, body }))).toBe(
    'queryRecords: the service answered 400 request_invalid at /filter/value (invalid_filter) for svc_contact',
  )
  expect(await messageOf(at('/filter/bob@example.com'))).toBe(
    'queryRecords: the service answered 400 request_invalid for svc_contact',
  )
})

test('the fingerprint is that of the key in use, also after it has changed', async () => {
  let key = 'rsk_first_key'
  const client = clientOf('http://localhost:1', { key: () => Promise.resolve(key) })
  const first = await client.keyFingerprint()
  expect(await client.keyFingerprint()).toBe(first)
  key = 'rsk_second_key'
  await client.renewKey()
  const second = await client.keyFingerprint()
  expect(second).not.toBe(first)
  key = 'rsk_first_key'
  await client.renewKey()
  expect(await client.keyFingerprint()).toBe(first)
})
