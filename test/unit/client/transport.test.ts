// The transport against a service that misbehaves in each way: nothing is believed that is not the service's own answer.

import { createServer as createHttpServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { RecordsClient } from '../../../src/client/index.ts'
import { selfSigned } from './certificate.ts'
import {
  KEY,
  always,
  batchBody,
  bytesOf,
  clientOf,
  failureOf,
  oneRecord,
  problem,
  startWire,
} from './wire.ts'
import { settled } from './virtual-time.ts'
import type { AnswerParts } from './wire.ts'

const read = (client: ReturnType<typeof clientOf>) => client.readRecord('svc_contact', 'rec_1')
const write = (client: ReturnType<typeof clientOf>) =>
  client.updateRecord('svc_contact', 'rec_1', {})

test('a request has the method, path, headers and body of the contract', async () => {
  const data = batchBody(2).data.map((item) => ({ ...item, record: null }))
  const wire = await startWire(always({ body: { ...batchBody(2), data } }))
  const client = clientOf(`${wire.url}/pre fix/`)
  const body = '{"data":[{"properties":{"b":1,"a":2}}, {"properties":{}}]}'
  await client.batchUpsert('a/b é', 'svc_email&x', { body, count: 2 })
  const [seen] = wire.seen
  const query = 'matching_property=svc_email%26x'
  const path = '/pre%20fix/rest/v1/objects/a%2Fb%20%C3%A9/records/batch/upsert/'
  expect(seen!.line).toBe(`POST ${path}?${query} HTTP/1.1`)
  expect(seen!.head).toContain(`authorization: Bearer ${KEY}`)
  expect(seen!.head).toContain('accept-encoding: identity')
  expect(seen!.head).toContain('content-type: application/json')
  expect(seen!.body).toBe(body)
})

test('a public operation carries no key', async () => {
  const data = { version: 'v1', openapi_url: 'u', docs_url: 'd' }
  const wire = await startWire(always({ body: { data } }))
  const client = clientOf(wire.url, { key: () => Promise.reject(new Error('not asked')) })
  expect(await client.readRoot()).toEqual(data)
  expect(wire.seen[0]!.head).not.toMatch(/authorization/i)
})

const html = '<html><body>502</body></html>'
const good = JSON.stringify(oneRecord.body)
const notBelieved: Record<string, AnswerParts & { block?: string }> = {
  'HTML with 200': { type: 'text/html', body: html, block: 'contract' },
  'HTML with 502': { status: 502, type: 'text/html', body: html },
  'HTML with 403': { status: 403, type: 'text/html', body: html },
  'no media type': { type: '', body: good, block: 'contract' },
  'a problem as application/json': {
    status: 404,
    type: 'application/json',
    body: problem(404, 'not_found'),
  },
  'a problem whose code is no text': { status: 409, body: { ...problem(409, ''), code: 7 } },
  'a problem of another status': { status: 409, body: problem(422, 'request_invalid') },
  'a problem without a code, of an unknown status': {
    status: 418,
    body: { ...problem(418, 'x'), code: undefined },
  },
  'a success as a problem': { type: 'application/problem+json', body: good, block: 'contract' },
  'another charset': { type: 'application/json; charset=latin1', body: good, block: 'contract' },
  gzip: {
    body: gzipSync(good),
    headers: { 'content-encoding': 'gzip' },
    block: 'contract',
  },
  'an encoding that was not asked for': {
    body: good,
    headers: { 'content-encoding': 'br' },
    block: 'contract',
  },
  'plain text that poses as gzip': {
    body: good,
    headers: { 'content-encoding': 'gzip' },
    block: 'contract',
  },
  'half of the JSON': { body: good.slice(0, -4), block: 'contract' },
  'an empty body': { body: '', block: 'contract' },
  'a list': { body: '[]', block: 'contract' },
  'two byte order marks': { body: `\uFEFF\uFEFF${good}`, block: 'contract' },
  'a byte order mark of UTF-16': {
    body: Buffer.from(`\uFEFF${good}`, 'utf16le'),
    block: 'contract',
  },
  'bytes that are not UTF-8': {
    body: Buffer.from(good.replace('rec_1', '\xff'), 'latin1'),
    block: 'contract',
  },
  'JSON nested too deep': {
    body: `{"data":${'['.repeat(200_000)}${']'.repeat(200_000)}}`,
    block: 'contract',
  },
  'properties nested too deep': {
    body: `{"data":{"id":"r","object_type":"t","properties":{"p":${'['.repeat(50_000)}${']'.repeat(50_000)}}}}`,
    block: 'contract',
  },
  'a wrong shape': { body: { data: { id: 7 } }, block: 'contract' },
  'an unknown success': { status: 202, type: 'application/json', body: good, block: 'contract' },
}

test.each([
  ['a success', good, 200, 'application/json'],
  ['a problem', JSON.stringify(problem(404, 'not_found')), 404, 'application/problem+json'],
  ['with another letter', good.replace('rec_1', 'ré'), 200, 'application/json'],
])('%s that begins with a byte order mark is read', async (_, body, status, type) => {
  const wire = await startWire(always({ status, type, body: `\uFEFF${body}` }))
  const answer = read(clientOf(wire.url))
  if (status === 404) expect((await failureOf(answer)).problemCode).toBe('not_found')
  else if (body === good) expect(await answer).toMatchObject({ id: 'rec_1' })
  else expect((await failureOf(answer)).otherId).toBe('ré')
})

describe('not believed', () => {
  test.each(Object.entries(notBelieved))('%s', async (_, { block = 'service', ...answer }) => {
    const wire = await startWire(always(answer))
    const client = clientOf(wire.url)
    const ofRead = await failureOf(read(client))
    expect(ofRead).toMatchObject({ kind: 'distrusted', disposition: 'retry', block })
    expect(ofRead.outcomeUnknown).toBe(false)
    expect(ofRead.message).not.toContain('<')
    expect((await failureOf(write(client))).outcomeUnknown).toBe(true)
    const { status = 200 } = answer
    expect(client.quota.closed).toMatchObject([{ status }, { status }])
  })

  test('an answer that is not HTTP', async () => {
    const wire = await startWire((socket) => void socket.end('SSH-2.0-OpenSSH\r\n'))
    const client = clientOf(wire.url)
    expect(await failureOf(write(client))).toMatchObject({
      kind: 'distrusted',
      outcomeUnknown: true,
    })
    expect(client.quota.closed).toEqual(['lost'])
  })

  test('an answer that is too long, with or without saying so', async () => {
    const body = JSON.stringify({ data: 'x'.repeat(5_000) })
    const chunked = `HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n`
    for (const bytes of [bytesOf({ body }), chunked]) {
      const wire = await startWire((socket) => void socket.write(bytes))
      const client = clientOf(wire.url, { bodyBytesMax: 1_000 })
      const failure = await failureOf(read(client))
      expect(failure.kind).toBe('distrusted')
      expect(failure.message).toContain('longer than 1000 bytes')
    }
  })

  test('an answer without an end, piece by piece, ends by the deadline', async () => {
    const head = 'HTTP/1.1 200 X\r\ncontent-type: application/json\r\n'
    const wire = await startWire((socket) => {
      socket.write(`${head}transfer-encoding: chunked\r\n\r\n`)
      const drip = setInterval(() => socket.write('1\r\n \r\n'), 5)
      socket.once('close', () => clearInterval(drip))
    })
    const failure = await failureOf(read(clientOf(wire.url, { timeoutMs: 100 })))
    expect(failure).toMatchObject({ kind: 'no_answer', disposition: 'retry' })
    expect(failure.message).toBe('readRecord: no answer within 0.1 s')
  })

  test('a bomb: a small body that would be a long one is never unpacked', async () => {
    const body = gzipSync(Buffer.alloc(64 * 1_024 * 1_024, '1'))
    const wire = await startWire(always({ body, headers: { 'content-encoding': 'gzip' } }))
    const client = clientOf(wire.url, { bodyBytesMax: 1_024 * 1_024 })
    const failure = await failureOf(read(client))
    expect(failure.message).toContain('its content encoding is not identity')
  })

  test.each([301, 302, 307, 308])('redirect %i, and the key goes nowhere else', async (status) => {
    const target = await startWire(always(oneRecord))
    const redirect = { status, headers: { location: target.url } }
    const type = 'application/problem+json'
    const posing = { ...redirect, type, body: problem(status, 'service_unavailable') }
    const wire = await startWire(always(redirect, posing))
    const client = clientOf(wire.url)
    const refused = { kind: 'distrusted', disposition: 'retry', block: 'contract' }
    expect(await failureOf(read(client))).toMatchObject(refused)
    expect(await failureOf(read(client))).toMatchObject(refused)
    expect(target.seen).toEqual([])
  })
})

test.each(['application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"'])(
  'believed: %s',
  async (type) => {
    const wire = await startWire(always({ ...oneRecord, type }))
    expect(await read(clientOf(wire.url))).toMatchObject({ id: 'rec_1' })
  },
)

test.each(['J\u00fcrgen', '\u6771\u4eac', '\u{1f600}', '\ufeff', 'Ju\u0308rgen', 'a\u0000b'])(
  'every character of a text arrives: %j',
  async (text) => {
    const data = {
      id: 'rec_1',
      object_type: 'svc_contact',
      properties: { name: text, long: `${text}x`.repeat(9_000) },
    }
    const wire = await startWire(always({ body: { data } }))
    expect(await read(clientOf(wire.url))).toEqual(data)
  },
)

describe('no answer', () => {
  const torn: Record<string, (socket: Socket) => void> = {
    'closed before an answer': (socket) => socket.destroy(),
    'reset before an answer': (socket) => socket.resetAndDestroy(),
    'closed within the head': (socket) => socket.end('HTTP/1.1 200 X\r\ncontent-ty'),
    'shorter than its content-length': (socket) =>
      socket.end(bytesOf({ ...oneRecord, headers: { 'content-length': '500' } })),
    'chunked without an end': (socket) =>
      socket.end(
        `HTTP/1.1 200 X\r\ncontent-type: application/json\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n${good.length.toString(16)}\r\n${good}\r\n`,
      ),
  }
  test.each(Object.entries(torn))('%s', async (_, respond) => {
    const wire = await startWire(respond)
    const client = clientOf(wire.url)
    const ofRead = await failureOf(read(client))
    expect(ofRead).toMatchObject({ kind: 'no_answer', disposition: 'retry', block: 'service' })
    expect(ofRead.message).toContain('connection closed')
    expect(ofRead.outcomeUnknown).toBe(false)
    expect((await failureOf(write(client))).outcomeUnknown).toBe(true)
    expect(client.quota.closed).toEqual(['lost', 'lost'])
    expect(wire.seen).toHaveLength(2)
  })

  test('torn in the middle, without a content-length', async () => {
    const head = 'HTTP/1.1 200 X\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n'
    const wire = await startWire((socket) => socket.end(head + good.slice(0, 20)))
    expect((await failureOf(read(clientOf(wire.url)))).kind).toBe('distrusted')
  })

  test('refused: nothing was sent, and the permit goes back', async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    await new Promise((resolve) => server.close(resolve))
    const client = clientOf(`http://127.0.0.1:${port}`)
    const failure = await failureOf(write(client))
    expect(failure.message).toBe(
      `updateRecord: connection refused by 127.0.0.1:${port}; start what listens there, or correct the address`,
    )
    expect(failure).toMatchObject({ kind: 'no_answer', outcomeUnknown: false })
    expect(client.quota.closed).toEqual(['unused'])
  })

  test.each([
    ['before the head', (socket: Socket) => void socket.write('')],
    ['within the body', (socket: Socket) => void socket.write(bytesOf(oneRecord).subarray(0, -5))],
  ])('the deadline covers silence %s', async (_, respond) => {
    const wire = await startWire(respond)
    const client = clientOf(wire.url, { timeoutMs: 500 })
    const failure = await failureOf(write(client))
    expect(failure.message).toBe('updateRecord: no answer within 0.5 s')
    expect(failure.outcomeUnknown).toBe(true)
    expect(client.quota.closed).toEqual(['lost'])
  })

  test('a request that never got a connection was certainly not sent', async () => {
    const wire = await startWire(() => {})
    const client = clientOf(wire.url, { timeoutMs: 500, connections: 1 })
    // Both deadlines pass at one moment: the second must not get the connection that the first one leaves.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const both = [failureOf(write(client)), failureOf(write(client))]
    for (let turns = 0; turns < 1_000 && wire.seen.length === 0; turns++) await settled()
    for (let turns = 0; turns < 20; turns++) await settled()
    vi.advanceTimersByTime(500)
    const [first, second] = await Promise.all(both)
    expect([first!.outcomeUnknown, second!.outcomeUnknown]).toEqual([true, false])
    expect(client.quota.closed).toEqual(['lost', 'unused'])
    vi.useRealTimers()
    await client.close()
    expect(wire.seen).toHaveLength(1)
  })

  test('a closed client', async () => {
    const wire = await startWire(always(oneRecord))
    const client = clientOf(wire.url)
    await client.close()
    expect((await failureOf(write(client))).message).toContain('the client is closed')
    expect(client.quota.closed).toEqual(['unused'])
  })
})

test('a certificate that nobody vouches for halts, whatever the environment says', async () => {
  const server = createTlsServer(selfSigned(), (_, response) => response.end('{}'))
  server.on('tlsClientError', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED']
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
  onTestFinished(() => {
    if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
    else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const client = clientOf(`https://127.0.0.1:${port}`)
  expect(await failureOf(write(client))).toMatchObject({
    kind: 'no_answer',
    disposition: 'halt',
    block: 'service',
    outcomeUnknown: false,
    message: expect.stringMatching(
      `^updateRecord: the certificate of 127.0.0.1:${port} is not trusted: it is self-signed; set .ca. `,
    ),
  })
  expect(client.quota.closed).toEqual(['unused'])
})

test('a service that speaks HTTP where the address says https is reported as that', async () => {
  const server = createHttpServer((_, response) => response.end('{}'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const client = clientOf(`https://127.0.0.1:${port}`)
  const failure = await failureOf(write(client))
  expect(failure).toMatchObject({ kind: 'distrusted', outcomeUnknown: false })
  expect(failure.message).toBe(
    `updateRecord: 127.0.0.1:${port} answers, but not with TLS; is its address http://? Only this machine is asked without TLS; any other needs it`,
  )
})

test('what is over leaves no timer behind', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  const wire = await startWire(always(oneRecord))
  const client = clientOf(wire.url)
  const before = timers()
  await Promise.all([read(client), write(client)])
  await client.close()
  // Timers of tests before may run out meanwhile.
  expect(timers()).toBeLessThanOrEqual(before)
})

test.each([
  ['connections', 0],
  ['timeoutMs', Number.NaN],
  ['timeoutMs', 2 ** 31],
  ['bodyBytesMax', 1.5],
])('client option %s of %d is refused', (name, value) => {
  const create = () => new RecordsClient({ baseUrl: 'http://127.0.0.1:1', key: KEY, [name]: value })
  expect(create).toThrow(`Client option ${name}: a whole number from 1 to`)
})
