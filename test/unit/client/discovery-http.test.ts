// Discovery over real HTTP: variants in front of the real service, used through the client from the document to the answer;
// and what becomes of a document that cannot be had.

import { createServer } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { RecordsClient } from '../../../src/client/index.ts'
import type { ClientOptions } from '../../../src/client/index.ts'
import type { Logger } from '../../../src/core/ports.ts'
import { startService } from '../../../src/service/index.ts'
import { manualClock } from '../service/api.ts'
import { startOtherService } from '../../other-service/index.ts'
import { fixture, startVariant } from './variant-service.ts'
import type { Rules } from './variant-service.ts'
import {
  KEY,
  always,
  batchBody,
  clientOf,
  failureOf,
  oneRecord,
  problem,
  record,
  startWire,
} from './wire.ts'

function clientFor(url: string, key: string, options: Partial<ClientOptions> = {}): RecordsClient {
  const client = new RecordsClient({ baseUrl: url, key, ...options })
  onTestFinished(() => client.close())
  return client
}

/** Writes, reads and links through a variant whose names begin with `prefix`; gives the requests that it saw. */
async function work(name: string, rules: Rules, prefix = 'svc_'): Promise<string[]> {
  const { url, service, seen } = await startVariant({ document: fixture(name), rules, prefix })
  const client = clientFor(url, service.key)
  const contact = `${prefix}contact`
  const [id, first, email] = [`${prefix}external_id`, `${prefix}first_name`, `${prefix}email`]
  const items = [
    { properties: { [id]: 'seed-1', [first]: 'Ada' } },
    { properties: { [id]: 'new-1', [first]: 'Zoe' } },
    { properties: { [id]: 'new-2', [email]: ['no address'] } },
  ]
  const answer = await client.batchUpsert(contact, id, { items })
  expect(answer.data.map(({ status }) => status)).toEqual([200, 201, 422])
  expect(answer.data[2]!.problem).toMatchObject({
    code: 'request_invalid',
    reason: 'schema_invalid',
    field: expect.stringMatching(`^/data/2/properties/${email}`) as string,
  })
  expect(answer.summary).toEqual({ total: 3, succeeded: 2, failed: 1 })
  expect(answer.requestId).toMatch(/^req_/)

  const filter = { property: id, op: 'in' as const, value: ['seed-1', 'new-1', 'new-2'] }
  const page = await client.queryRecords(contact, { filter })
  expect(page.data.map(({ properties }) => properties[first]).toSorted()).toEqual(['Ada', 'Zoe'])

  const company = await client.createRecord(`${prefix}company`, { [`${prefix}name`]: 'Acme' })
  const edge = await client.associateRecords(
    contact,
    page.data[0]!.id,
    `${prefix}contact_company`,
    company.id,
  )
  expect(edge).toMatchObject({ source_id: page.data[0]!.id, target_id: company.id })
  return seen
}

const records = '/objects/svc_contact/records'

describe('variants in front of the real service', () => {
  test('put-batch, of a service whose names begin with acme_', async () => {
    const at = '/rest/v1/objects/*/records/'
    const seen = await work(
      'put-batch',
      {
        [`PUT ${at}batch/`]: ({ params: [type], body: { matching_property: by, ...body } }) => [
          `POST /objects/${type}/records/batch/upsert/?matching_property=${by}`,
          body,
        ],
        [`POST ${at}query/`]: ({ params: [type], body }) => [
          `POST /objects/${type}/records/query/`,
          body,
        ],
        [`POST ${at}`]: ({ params: [type], body }) => [`POST /objects/${type}/records/`, body],
        [`PUT ${at}*/associations/`]: ({ params: [type, id], body: { data } }) => [
          `PUT /objects/${type}/records/${id}/associations/${data.association_type}/`,
          { data: { target_id: data.target_id } },
        ],
      },
      'acme_',
    )
    expect(seen.slice(0, 3)).toEqual([
      'GET /rest/v1/openapi.json',
      'PUT /rest/v1/objects/acme_contact/records/batch/ (key)',
      'POST /rest/v1/objects/acme_contact/records/query/ (key)',
    ])
  })

  test('dashed', async () => {
    const at = '/rest/v1/objects/*/records'
    const seen = await work('dashed', {
      [`POST ${at}/batch-upsert`]: ({ params: [type], query, body }) => [
        `POST /objects/${type}/records/batch/upsert/?matching_property=${query.get('matchingProperty')}`,
        body,
      ],
      [`POST ${at}/search`]: ({ params: [type], body }) => [
        `POST /objects/${type}/records/query/`,
        body,
      ],
      [`POST ${at}`]: ({ params: [type], body }) => [`POST /objects/${type}/records/`, body],
      [`PUT ${at}/*/links/*/*`]: ({ params: [type, id, link, target], body }) => {
        expect(body).toBeUndefined()
        return [
          `PUT /objects/${type}/records/${id}/associations/${link}/`,
          { data: { target_id: target } },
        ]
      },
    })
    expect(seen).toContain(`POST /rest/v1${records}/batch-upsert (key)`)
  })

  test('batch-first', async () => {
    const at = '/rest/v1/objects/*/records/'
    const seen = await work('batch-first', {
      'POST /rest/v1/batch/*/upsert/': ({ params: [type], body }) => [
        `POST /objects/${type}/records/batch/upsert/?matching_property=${body.data[0].matching_property}`,
        {
          data: body.data.map(({ properties }: { properties: object }) => ({ properties })),
        },
      ],
      [`POST ${at}query/`]: ({ params: [type], body }) => [
        `POST /objects/${type}/records/query/`,
        body,
      ],
      [`POST ${at}`]: ({ params: [type], body }) => [`POST /objects/${type}/records/`, body],
      [`PUT ${at}*/associations/*/`]: ({ params: [type, id, link], body }) => {
        expect(Object.keys(body)).toEqual(['target_id'])
        return [`PUT /objects/${type}/records/${id}/associations/${link}/`, { data: body }]
      },
    })
    expect(seen).toContain('POST /rest/v1/batch/svc_contact/upsert/ (key)')
  })

  test('single-only: one upsert for each item, and an answer as a batch has it', async () => {
    const at = '/rest/v1/objects/*/records/'
    const seen = await work('single-only', {
      [`PUT ${at}`]: ({ params: [type], query, body }) => [
        `PUT /objects/${type}/records/?${query}`,
        body,
      ],
      [`POST ${at}query/`]: ({ params: [type], body }) => [
        `POST /objects/${type}/records/query/`,
        body,
      ],
      [`POST ${at}`]: ({ params: [type], body }) => [`POST /objects/${type}/records/`, body],
      [`PUT ${at}*/associations/*/`]: ({ params: [type, id, link], body }) => [
        `PUT /objects/${type}/records/${id}/associations/${link}/`,
        { data: body },
      ],
    })
    expect(seen.slice(0, 5)).toEqual([
      'GET /rest/v1/openapi.json',
      ...Array.from({ length: 3 }, () => `PUT /rest/v1${records}/ (key)`),
      `POST /rest/v1${records}/query/ (key)`,
    ])
  })

  test('our own service: everything as expected, and one request more than without', async () => {
    const service = await startService()
    onTestFinished(() => service.close())
    const client = clientFor(service.url, service.key)
    await Promise.all([client.readSelf(), client.listObjectTypes(), client.readSelf()])
    await client.listFieldTypes()
    expect(service.stats().byOperation).toEqual({
      readOpenApi: 1,
      readSelf: 2,
      listObjectTypes: 1,
      listFieldTypes: 1,
    })
    const { warnings } = await client.resolution()
    expect(warnings).toEqual([])
  })
})

interface Canned {
  readonly status?: number
  readonly body?: unknown
  readonly text?: string
  /** The connection ends instead. */
  readonly isTorn?: boolean
}
type Paths = Readonly<Record<string, Canned>>

/** A service of canned answers by path; everything else is an answer to `readSelf`. */
async function startPaths(answers: () => Paths): Promise<{ url: string; seen: IncomingMessage[] }> {
  const seen: IncomingMessage[] = []
  const server = createServer((request, response) => {
    seen.push(request)
    const self: Canned = { body: { data: { org_id: 1, reach: 'org' } } }
    const answer = answers()[request.url!] ?? self
    if (answer.isTorn === true) return void request.socket.destroy()
    const { status = 200, body, text = JSON.stringify(body) } = answer
    const type = status < 300 ? 'application/json' : 'application/problem+json'
    response.writeHead(status, { 'content-type': type }).end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

const usualPlace = '/rest/v1/openapi.json'
const notFound = { status: 404, body: problem(404, 'not_found') }
const meDocument = { openapi: '3.1.0', paths: { '/rest/v1/me': { get: {} } } }
const pathsOf = (seen: readonly IncomingMessage[]) => seen.map(({ url }) => url)
const warnings = (said: string[]): Logger => {
  const none = () => {}
  const warn: Logger['warn'] = (fields) => {
    said.push(...((fields as { warnings?: string[] }).warnings ?? []))
  }
  return { debug: none, info: none, error: none, warn }
}

describe('where the document is', () => {
  test.each([
    ['relative', () => '../docs/openapi.json?v=2'],
    ['absolute', (url: string) => `${url}/rest/docs/openapi.json?v=2`],
  ])('not at its usual place: where the root says, %s; never with the key', async (_, told) => {
    const { url, seen } = await startPaths(() => ({
      [usualPlace]: notFound,
      '/rest/v1/': { body: { data: { openapi_url: told(url) } } },
      '/rest/docs/openapi.json?v=2': { body: meDocument },
    }))
    await clientFor(url, KEY).readSelf()
    expect(pathsOf(seen)).toEqual([
      usualPlace,
      '/rest/v1/',
      '/rest/docs/openapi.json?v=2',
      '/rest/v1/me',
    ])
    const keys = seen.map(({ headers }) => headers.authorization)
    expect(keys).toEqual([undefined, undefined, undefined, `Bearer ${KEY}`])
  })

  test('the root says its usual place, where it is not: asked for once', async () => {
    const { url, seen } = await startPaths(() => ({
      [usualPlace]: notFound,
      '/rest/v1/': { body: { data: { openapi_url: usualPlace } } },
    }))
    await clientFor(url, KEY).readSelf()
    expect(pathsOf(seen)).toEqual([usualPlace, '/rest/v1/', '/rest/v1/self/'])
  })

  test('on another origin it is not asked for', async () => {
    const other = await startPaths(() => ({}))
    const { url, seen } = await startPaths(() => ({
      [usualPlace]: notFound,
      '/rest/v1/': { body: { data: { openapi_url: `${other.url}${usualPlace}` } } },
    }))
    const said: string[] = []
    await clientFor(url, KEY, { logger: warnings(said) }).readSelf()
    expect(said).toEqual([
      'no OpenAPI document: it is on another origin; the usual requests are used',
    ])
    expect(other.seen).toEqual([])
    expect(seen.at(-1)!.url).toBe('/rest/v1/self/')
  })

  test('a document that names another server: the key stays with the configured one', async () => {
    const other = await startPaths(() => ({}))
    const { url, seen } = await startPaths(() => ({
      [usualPlace]: { body: { ...meDocument, servers: [{ url: other.url }] } },
    }))
    await clientFor(url, KEY).readSelf()
    expect(pathsOf(seen)).toEqual([usualPlace, '/rest/v1/me'])
    expect(other.seen).toEqual([])
  })

  test('where the configuration says', async () => {
    const { url, seen } = await startPaths(() => ({ '/rest/v1/schema.json': { body: meDocument } }))
    await clientFor(url, KEY, { operations: { readOpenApi: 'GET /schema.json' } }).readSelf()
    expect(pathsOf(seen)).toEqual(['/rest/v1/schema.json', '/rest/v1/me'])
  })

  test('behind a prefix, whether the document knows it or not', async () => {
    const answers = { '/crm/rest/v1/openapi.json': { body: meDocument } }
    const { url, seen } = await startPaths(() => answers)
    await clientFor(`${url}/crm`, KEY).readSelf()
    expect(pathsOf(seen)).toEqual(['/crm/rest/v1/openapi.json', '/crm/rest/v1/me'])
  })
})

describe('a document that cannot be had', () => {
  test.each([
    ['404', notFound, 'status 404'],
    ['401', { status: 401, body: problem(401, 'unauthenticated') }, 'status 401'],
    ['a redirect', { status: 301, text: '' }, 'status 301'],
    ['HTML', { text: '<html>' }, 'it is not complete JSON'],
  ])('%s, for good: our own requests, one warning, not asked for again', async (_, answer, why) => {
    const { url, seen } = await startPaths(() => ({ [usualPlace]: answer, '/rest/v1/': notFound }))
    const said: string[] = []
    const clock = manualClock()
    const client = clientFor(url, KEY, { logger: warnings(said), clock })
    await client.readSelf()
    clock.nowMs += 3_600_000
    await client.readSelf()
    expect(said).toEqual([`no OpenAPI document: ${why}; the usual requests are used`])
    expect(pathsOf(seen)).toEqual([usualPlace, '/rest/v1/', '/rest/v1/self/', '/rest/v1/self/'])
  })

  test('503, for now: our own requests, and asked for again a minute later', async () => {
    const answer = { status: 503, body: problem(503, 'service_unavailable') }
    let isDown = true
    const { url, seen } = await startPaths(() => ({
      [usualPlace]: isDown ? answer : { body: meDocument },
    }))
    const clock = manualClock()
    const client = clientFor(url, KEY, { clock })
    await client.readSelf()
    await client.readSelf()
    isDown = false
    clock.nowMs += 60_000
    await client.readSelf()
    await client.readSelf()
    expect(pathsOf(seen)).toEqual([
      usualPlace,
      '/rest/v1/self/',
      '/rest/v1/self/',
      usualPlace,
      '/rest/v1/me',
      '/rest/v1/me',
    ])
  })

  test('503, for now, and a clock that is set back meanwhile does not make the minute longer', async () => {
    let isDown = true
    const { url, seen } = await startPaths(() => ({
      [usualPlace]: isDown
        ? { status: 503, body: problem(503, 'service_unavailable') }
        : { body: meDocument },
    }))
    const clock = manualClock()
    const client = clientFor(url, KEY, { clock })
    await client.readSelf()
    isDown = false
    clock.nowMs -= 3_600_000
    await client.readSelf()
    await client.readSelf()
    expect(pathsOf(seen)).toEqual([
      usualPlace,
      '/rest/v1/self/',
      usualPlace,
      '/rest/v1/me',
      '/rest/v1/me',
    ])
  })

  test('a service that cannot be reached is told as ever', async () => {
    const client = clientFor('http://127.0.0.1:1', KEY)
    expect(await failureOf(client.readSelf())).toMatchObject({
      kind: 'no_answer',
      disposition: 'retry',
      block: 'service',
      outcomeUnknown: false,
    })
  })

  test('a service that ends while its document is read, and starts again: no usual request goes out instead', async () => {
    const service = await startOtherService({ paths: 'other' })
    onTestFinished(() => service.close())
    const hold = service.hold(({ operation }) => {
      if (operation === 'readOpenApi') service.kill()
      return false
    })
    const client = clientFor(service.url, service.key, { retries: 0 })
    expect(await failureOf(client.listObjectTypes())).toMatchObject({ kind: 'no_answer' })
    expect(await failureOf(client.listObjectTypes())).toMatchObject({ kind: 'no_answer' })
    hold.open()
    await service.restart()
    await client.listObjectTypes()
    expect(service.seen.map(({ operation }) => operation)).toEqual([
      'readOpenApi',
      'readOpenApi',
      'listObjectTypes',
    ])
  })

  test('a document whose answers are torn: no usual request goes out, until it was so three times', async () => {
    let isTorn = true
    const { url, seen } = await startPaths(() => ({
      [usualPlace]: isTorn ? { isTorn } : { body: meDocument },
    }))
    const client = clientFor(url, KEY, { retries: 0 })
    const noAnswer = { kind: 'no_answer', outcomeUnknown: false }
    expect(await failureOf(client.readSelf())).toMatchObject(noAnswer)
    isTorn = false
    await client.readSelf()
    expect(new Set(pathsOf(seen))).toEqual(new Set([usualPlace, '/rest/v1/me']))
    isTorn = true
    const other = clientFor(url, KEY, { retries: 0 })
    for (let reading = 1; reading < 3; reading++)
      expect(await failureOf(other.readSelf())).toMatchObject(noAnswer)
    expect(pathsOf(seen)).not.toContain('/rest/v1/self/')
    // A service that never answers may have none.
    await other.readSelf()
    expect(pathsOf(seen).at(-1)).toBe('/rest/v1/self/')
  })

  test('a service that is away for long: no usual request goes out, however often it is asked', async () => {
    let isTorn = true
    const { url, seen } = await startPaths(() => ({
      [usualPlace]: isTorn ? { isTorn } : { body: meDocument },
      '/rest/v1/': { isTorn },
    }))
    const client = clientFor(url, KEY, { retries: 0 })
    for (let reading = 1; reading <= 5; reading++)
      expect(await failureOf(client.readSelf())).toMatchObject({ kind: 'no_answer' })
    isTorn = false
    await client.readSelf()
    expect(new Set(pathsOf(seen))).toEqual(new Set([usualPlace, '/rest/v1/', '/rest/v1/me']))
  })

  test('so is a key that is refused', async () => {
    const service = await startService()
    onTestFinished(() => service.close())
    const failure = await failureOf(clientFor(service.url, KEY).readSelf())
    expect(failure).toMatchObject({ status: 401, disposition: 'halt', block: 'auth' })
  })

  test('longer than an answer may be: a warning', async () => {
    const { url } = await startPaths(() => ({ [usualPlace]: { text: ' '.repeat(2_000) } }))
    const said: string[] = []
    await clientFor(url, KEY, { bodyBytesMax: 1_000, logger: warnings(said) }).readSelf()
    expect(said[0]).toContain('the answer is longer than 1000 bytes')
  })

  test('an abort ends the wait for it, and the permit that came along goes back', async () => {
    const abort = new AbortController()
    const wire = await startWire(() => abort.abort(new Error('cancelled')))
    const client = clientOf(wire.url, { discover: true })
    const permit = client.quota.permit()
    const reading = client.readRecord('t', 'rec_1', { signal: abort.signal, permit })
    await expect(reading).rejects.toThrow('cancelled')
    expect(client.quota.closed).toEqual(['unused'])
    expect(wire.seen.map(({ line }) => line)).toEqual([`GET ${usualPlace} HTTP/1.1`])
    let isRead = false
    void client.resolution().then(() => (isRead = true))
    await new Promise((resolve) => setImmediate(resolve))
    expect(isRead).toBe(false)
    // The client waits for it when it closes.
    for (const socket of wire.sockets) socket.destroy()
  })

  test('no permit is spent on it, and its answer teaches the quota nothing', async () => {
    const headers = { 'RateLimit-Limit': '1', 'RateLimit-Remaining': '0' }
    const wire = await startWire(always({ body: meDocument, headers }, oneRecord))
    const client = clientOf(wire.url, { discover: true })
    await client.readRecord('svc_contact', 'rec_1')
    expect(client.quota.closed).toMatchObject([{ status: 200, limit: undefined }])
  })
})

test('a replay has the same bytes, wherever the matching property goes', async () => {
  const bodies: string[] = []
  for (const name of ['put-batch', 'batch-first']) {
    const wire = await startWire(always({ body: fixture(name) }, { body: batchBody(2) }))
    const client = clientOf(wire.url, { discover: true })
    const body = '{"data":[{"properties":{"a":0.1}},{"properties":{"b":null,"a":1e21}}]}'
    await client.batchUpsert('svc_contact', 'a', { body, count: 2 })
    await client.batchUpsert('svc_contact', 'a', { body, count: 2 })
    expect(wire.seen[1]!.body).toBe(wire.seen[2]!.body)
    bodies.push(wire.seen[1]!.body)
  }
  expect(bodies).toEqual([
    '{"matching_property":"a","data":[{"properties":{"a":0.1}},{"properties":{"b":null,"a":1e+21}}]}',
    '{"data":[{"matching_property":"a","properties":{"a":0.1}},{"matching_property":"a","properties":{"b":null,"a":1e+21}}]}',
  ])
})

describe('upserts one by one', () => {
  const upserted = (created: boolean) => ({ body: { data: record(), created } })
  const items = [1, 2, 3].map((value) => ({ properties: { a: value } }))
  const upsert = async (answers: Parameters<typeof always>, options = {}) => {
    const wire = await startWire(always({ body: fixture('single-only') }, ...answers))
    const client = clientOf(wire.url, { discover: true })
    const permit = client.quota.permit()
    const work = client.batchUpsert('svc_contact', 'a', { items }, { permit, ...options })
    return { wire, client, work }
  }

  test('each has a permit of its own, and the first the one that came along', async () => {
    const { wire, client, work } = await upsert([upserted(true), upserted(false)])
    expect((await work).data.map(({ index, status }) => [index, status])).toEqual([
      [0, 201],
      [1, 200],
      [2, 200],
    ])
    expect(wire.seen.slice(1).map(({ body }) => body)).toEqual(
      items.map((item) => JSON.stringify({ data: item })),
    )
    expect(client.quota.asked).toHaveLength(2)
    expect(client.quota.closed).toMatchObject([{ status: 200 }, { status: 200 }, { status: 200 }])
  })

  test.each([
    [409, 'conflict', { reason: 'ambiguous_match' }, 409],
    [422, 'request_invalid', { field: '/data/properties/a' }, 422],
    [400, 'request_invalid', {}, 422],
    [403, 'permission_denied', {}, 403],
    [500, 'internal_error', {}, 500],
  ])('%i %s concerns the item alone', async (status, code, more, told) => {
    const refusal = { status, body: problem(status, code, { request_id: 'req_9', ...more }) }
    const { work } = await upsert([upserted(true), refusal, upserted(true)])
    const { data, summary } = await work
    expect(summary).toEqual({ total: 3, succeeded: 2, failed: 1 })
    expect(data[1]).toMatchObject({
      index: 1,
      status: told,
      problem: {
        status: told,
        code,
        request_id: 'req_9',
        ...('field' in more && { field: '/data/1/properties/a' }),
      },
    })
    expect(data[2]).toMatchObject({ index: 2, status: 201 })
  })

  test.each([
    [403, 'permission_denied', { reason: 'write_forbidden' }, 'halt'],
    [401, 'unauthenticated', {}, 'halt'],
    [422, 'request_invalid', { reason: 'invalid_matching_property' }, 'halt'],
    [503, 'service_unavailable', {}, 'retry'],
    [504, 'timeout', {}, 'retry'],
  ])(
    '%i %s ends the batch, whose outcome is unknown from the second item on',
    async (status, code, more, disposition) => {
      const refusal = { status, body: problem(status, code, more) }
      const first = await failureOf((await upsert([refusal])).work)
      expect(first).toMatchObject({ disposition, outcomeUnknown: code === 'timeout' })
      const { wire, client, work } = await upsert([upserted(true), refusal])
      const second = await failureOf(work)
      expect(second).toMatchObject({ disposition, status, outcomeUnknown: true })
      expect(second.message).toContain('1 of 3 items of the batch were answered before')
      expect(wire.seen).toHaveLength(3)
      expect(client.quota.closed).not.toContain(null)
    },
  )

  test('a signal prevents what was not begun, and lets a batch under way come to its end', async () => {
    const abort = new AbortController()
    const { work } = await upsert([upserted(true)], { signal: abort.signal })
    abort.abort(new Error('cancelled'))
    await expect(work).rejects.toThrow('cancelled')
    const late = new AbortController()
    const wire = await startWire((socket, seen, count) => {
      if (count === 2) late.abort(new Error('cancelled'))
      always({ body: fixture('single-only') }, upserted(true))(socket, seen, count)
    })
    const client = clientOf(wire.url, { discover: true })
    const answer = await client.batchUpsert('svc_contact', 'a', { items }, { signal: late.signal })
    expect(answer.summary.succeeded).toBe(3)
  })

  test.each([
    ['text that is no batch', { body: '{"data":{}}', count: 1 }, 'body_invalid'],
    ['another number of items', { body: '{"data":[{"properties":{}}]}', count: 2 }, 'body_invalid'],
    ['too many', { items: Array.from({ length: 51 }, () => ({ properties: {} })) }, 'batch_size'],
  ])('%s is refused before anything is sent', async (_, input, code) => {
    const wire = await startWire(always({ body: fixture('single-only') }))
    const client = clientOf(wire.url, { discover: true })
    const permit = client.quota.permit()
    await expect(client.batchUpsert('t', 'a', input, { permit })).rejects.toMatchObject({ code })
    expect(client.quota.closed).toEqual(['unused'])
    expect(wire.seen).toHaveLength(1)
  })
})
