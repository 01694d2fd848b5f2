// The golden exchanges against the client alone: a server plays the written answer; what arrives there must be the
// written request, and what the client makes of the answer must be what the answer says.

import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { OPERATIONS, type Operation, type OperationId } from '../../src/contract/index.ts'
import { RecordsClient } from '../../src/client/index.ts'
import { QuotaWait, ServiceFailure } from '../../src/core/errors.ts'
import { exchanges, filled, type Exchange } from './golden.ts'

const played = exchanges.filter((exchange) => exchange.client === undefined)
/** What the requests run first would have kept, by the names under which they keep it. */
const keptBy = ({ given = [] }: Exchange) =>
  new Map([
    ['url', 'https://crm.example.com'],
    ...given
      .flatMap((request) => Object.keys(request.as ?? {}))
      .map((name) => [name, name === 'cursor' ? 'opaque.cursor' : `rec_${name}`] as const),
  ])

/** Values where the written answer leaves them open. */
function concrete<Value>(value: Value): Value {
  const text = JSON.stringify(value)
  if (text === undefined) return value
  return JSON.parse(
    text
      .replaceAll('"{{integer}}"', '7')
      .replaceAll('"{{digits}}"', '"30"')
      .replaceAll('"{{string}}"', '"text"')
      .replaceAll('"{{string or null}}"', 'null')
      .replaceAll('"{{boolean}}"', 'true')
      .replaceAll('"{{list}}"', '[]')
      .replaceAll('"{{any}}"', '{}'),
  ) as Value
}

/** With a field more in every object but a record's properties: clients tolerate it (section 9.4). */
function grown(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(grown)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, each]) => [
    name,
    name === 'properties' && !Array.isArray(each) ? each : grown(each),
  ])
  return { ...Object.fromEntries(entries), added_later: { by: 'the service' } }
}

let close = async () => {}
afterEach(async () => await close())

interface Arrived {
  method: string
  path: string
  headers: IncomingMessage['headers']
  body: string
}

async function play(exchange: Exchange): Promise<{ url: string; arrived: Arrived[] }> {
  const { status, headers = {}, body } = concrete(filled(exchange.response, keptBy(exchange)))
  const arrived: Arrived[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk: Buffer) => (text += chunk.toString()))
    request.on('end', () => {
      arrived.push({
        method: request.method!,
        path: request.url!,
        headers: request.headers,
        body: text,
      })
      response.writeHead(status, {
        'content-type': status < 300 ? 'application/json' : 'application/problem+json',
        'svc-request-id': 'golden-1',
        'ratelimit-limit': '600',
        'ratelimit-remaining': '599',
        ...headers,
      })
      response.end(body === undefined ? undefined : JSON.stringify(grown(body)))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, arrived }
}

/** Path parameters and query of a written request, by the operation's path. */
function partsOf(exchange: Exchange) {
  const { path, body } = filled(exchange.request, keptBy(exchange))
  const [pathname = '', search = ''] = path.split('?')
  const operation: Operation = OPERATIONS[exchange.operation]
  const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!)
  const pattern = operation.path.replaceAll(/\{\w+\}/g, '([^/]+)')
  const values = new RegExp(`^/rest/v1${pattern}$`).exec(pathname)
  expect(values, `${pathname} is a path of ${exchange.operation}`).not.toBeNull()
  return {
    path: Object.fromEntries(names.map((name, index) => [name, values![index + 1]!])),
    query: Object.fromEntries(new URLSearchParams(search)),
    body,
  }
}

/** Calls the method of the operation with the arguments that the written request implies. */
function call(client: RecordsClient, exchange: Exchange): Promise<unknown> {
  const { path, query, body } = partsOf(exchange)
  const type = path['object_type']!
  const id = path['id']!
  const matching = query['matching_property']!
  const data = (body as { data?: never } | undefined)?.data
  const { properties, target_id } = (data ?? {}) as { properties: never; target_id: string }
  const items = { items: data! }
  const options = { maxWaitMs: 0 }
  switch (exchange.operation) {
    case 'readRoot':
      return client.readRoot(options)
    case 'readOpenApi':
      return client.readOpenApi(options)
    case 'readSelf':
      return client.readSelf(options)
    case 'listObjectTypes':
      return client.listObjectTypes(options)
    case 'readObjectType':
      return client.readObjectType(type, options)
    case 'listFieldTypes':
      return client.listFieldTypes(options)
    case 'listRecords':
      return client.listRecords(
        type,
        { cursor: query['cursor'], properties: query['properties']?.split(',') },
        options,
      )
    case 'createRecord':
      return client.createRecord(type, properties, options)
    case 'upsertRecord':
      return client.upsertRecord(type, matching, properties, options)
    case 'readRecord':
      return client.readRecord(type, id, options)
    case 'updateRecord':
      return client.updateRecord(type, id, properties, options)
    case 'deleteRecord':
      return client.deleteRecord(type, id, options)
    case 'queryRecords':
      return client.queryRecords(type, body as never, options)
    case 'aggregateRecords':
      return client.aggregateRecords(type, body as never, options)
    case 'batchCreate':
      return client.batchCreate(type, items, options)
    case 'batchUpdate':
      return client.batchUpdate(type, items, options)
    case 'batchUpsert':
      return client.batchUpsert(type, matching, items, options)
    case 'batchDelete':
      return client.batchDelete(type, items, options)
    case 'listAssociations':
      return client.listAssociations(options)
    case 'listAssociationEdges':
      return client.listAssociationEdges(type, id, query['cursor'], options)
    case 'associateRecords':
      return client.associateRecords(type, id, path['association_type']!, target_id, options)
  }
}

test('every operation of the contract is played: a success and a problem', () => {
  for (const id of Object.keys(OPERATIONS) as OperationId[]) {
    const statuses = played
      .filter((exchange) => exchange.operation === id)
      .map((exchange) => exchange.response.status)
    expect(
      statuses.some((status) => status < 300),
      `${id}: success`,
    ).toBe(true)
    // The public operations have no problem that a typed client can cause.
    const isPublic = !OPERATIONS[id].authenticated
    expect(isPublic || statuses.some((status) => status >= 400), `${id}: problem`).toBe(true)
  }
})

test('most exchanges are played to the client', () => {
  expect(played.length).toBeGreaterThan(exchanges.length / 2)
})

describe('the client', () => {
  test.each(
    played.map((exchange) => [`${exchange.operation}: ${exchange.title}`, exchange] as const),
  )('%s', async (_, exchange) => {
    const { url, arrived } = await play(exchange)
    const client = new RecordsClient({
      baseUrl: url,
      key: 'golden-key-0123456789',
      discover: false,
      // A read that failed would be asked again.
      retries: 0,
    })
    const outcome = await call(client, exchange).then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    )
    await client.close()

    expect(arrived).toHaveLength(1)
    const sent = arrived[0]!
    const golden = filled(exchange.request, keptBy(exchange))
    expect({ method: sent.method, path: sent.path }).toEqual({
      method: golden.method,
      path: golden.path,
    })
    const { authenticated } = OPERATIONS[exchange.operation]
    expect(sent.headers.authorization).toBe(
      authenticated ? 'Bearer golden-key-0123456789' : undefined,
    )
    if (golden.body !== undefined) {
      expect(sent.headers['content-type']).toBe('application/json')
      expect(JSON.parse(sent.body)).toEqual(golden.body)
    } else expect(sent.body).toBe('')

    const { status, body } = concrete(filled(exchange.response, keptBy(exchange))) as {
      status: number
      body?: never
    }
    if (status === 429)
      return expect((outcome as { error: unknown }).error).toBeInstanceOf(QuotaWait)
    if (status >= 400) {
      const error = (outcome as { error: unknown }).error
      expect(error).toBeInstanceOf(ServiceFailure)
      const problem = body as unknown as Record<string, unknown>
      expect(error).toMatchObject({
        kind: 'problem',
        status,
        problemCode: problem['code'],
        reason: problem['reason'],
        field: problem['field'],
        requestId: 'golden-1',
        detail: 'text',
      })
      const errors = (problem['errors'] ?? []) as { field: string; reason?: string }[]
      expect(
        (error as ServiceFailure).errors.map(({ field, reason }) => ({ field, reason })),
      ).toEqual(errors.map(({ field, reason = null }) => ({ field, reason })))
      return
    }
    expect(outcome).not.toHaveProperty('error')
    const value = (outcome as { value: unknown }).value
    if (status === 204) return expect(value).toBeUndefined()
    const answer = body as unknown as {
      data: unknown
      pagination?: unknown
      created?: boolean
      summary?: unknown
    }
    if (exchange.operation === 'readOpenApi')
      return expect(value).toMatchObject({ openapi: '3.1.0' })
    if (exchange.operation === 'upsertRecord')
      return expect(value).toMatchObject({ record: answer.data, created: answer.created })
    if (answer.pagination)
      return expect(value).toMatchObject({ data: answer.data, pagination: answer.pagination })
    if (answer.summary)
      return expect(value).toMatchObject({
        data: answer.data,
        summary: answer.summary,
        requestId: 'golden-1',
      })
    expect(value).toMatchObject(answer.data as object)
  })
})
