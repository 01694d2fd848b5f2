// A listener that is flooded: real sockets on loopback, of one address and of many.

import { readFileSync } from 'node:fs'
import { createServer, request, type Server } from 'node:http'
import { createServer as createTlsServer, request as tlsRequest } from 'node:https'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { boundConnections, type ConnectionLimits } from '../../../src/net/connections.ts'
import { orHung } from '../../hang.ts'

const CERTIFICATES = new URL('../../fixtures/tls/', import.meta.url)
const tls = {
  cert: readFileSync(new URL('server.pem', CERTIFICATES)),
  key: readFileSync(new URL('server-key.pem', CERTIFICATES)),
}
const MAX = 24
const OF_ADDRESS = 8

const servers: Server[] = []
const sockets: Socket[] = []
const lines: Record<string, unknown>[] = []
const logger = { warn: (fields: object) => void lines.push(fields as Record<string, unknown>) }

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  lines.length = 0
})

/** Answers once a request is whole; `/in` is asked by a person who has logged in, `/wait` is never answered. */
async function open(isTls: boolean, more: Partial<ConnectionLimits> = {}) {
  const server = (isTls ? createTlsServer(tls) : createServer()) as Server
  const { prove } = boundConnections(server, {
    listener: 'test',
    connectionsMax: MAX,
    unprovedMax: OF_ADDRESS,
    times: null,
    logger,
    ...more,
  })
  const held = new Set<Socket>()
  server.on('connection', (socket) => {
    held.add(socket)
    socket.once('close', () => held.delete(socket))
  })
  server.on('request', (asked, answer) => {
    if (asked.url === '/in') prove(asked.socket)
    asked.resume().on('end', () => asked.url !== '/wait' && answer.end('ok'))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  servers.push(server)
  return { port: (server.address() as AddressInfo).port, held }
}

/** What a connection of a flood sends. */
const FLOODS: readonly (readonly [what: string, sends: string, isTls: boolean])[] = [
  ['nothing', '', false],
  ['nothing, where a handshake is expected', '', true],
  ['half of a handshake', '\x16\x03\x01\x02\x00\x01\x00', true],
  ['HTTP without TLS', 'GET / HTTP/1.1\r\n', true],
  ['half of a request line', 'GET /', false],
  ['half of a head', 'GET / HTTP/1.1\r\nHost: a\r\n', false],
  ['a head that drips', 'GET / HTTP/1.1\r\nX-', false],
  ['a body that never ends', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\nx', false],
  [
    'chunks that never end',
    'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n',
    false,
  ],
  ['empty lines', '\r\n\r\n', false],
]

const send = (port: number, from: string, text: string): Promise<Socket> =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, localAddress: from })
    sockets.push(socket)
    socket.on('error', () => resolve(socket))
    socket.once('connect', () => socket.write(text, () => resolve(socket)))
    socket.once('close', () => resolve(socket))
  })

/** One answer, on a connection of its own. */
const answerTo = (port: number, from: string, isTls: boolean): Promise<string> =>
  new Promise((resolve, reject) => {
    const at = {
      host: '127.0.0.1',
      port,
      localAddress: from,
      agent: false,
      rejectUnauthorized: false,
    }
    const ask = isTls ? tlsRequest : request
    ask(at, (answer) => {
      let text = ''
      answer.on('data', (part) => (text += part)).on('end', () => resolve(text))
    })
      .on('error', reject)
      .end()
  })

const ORIGINS = {
  'one address': () => '127.0.0.1',
  'many addresses': (at: number) => `127.0.1.${(at % 200) + 1}`,
} as const

describe.each(Object.keys(ORIGINS) as (keyof typeof ORIGINS)[])('a flood of %s', (origin) => {
  it.each(FLOODS)('that sends %s keeps nobody out', async (_, text, isTls) => {
    const { port, held } = await open(isTls)
    for (let at = 0; at < 3 * MAX; at++) await send(port, ORIGINS[origin](at), text)
    expect(await orHung('an answer', answerTo(port, '127.0.0.9', isTls))).toBe('ok')
    // Another one of the same address gets in too.
    expect(await orHung('an answer', answerTo(port, ORIGINS[origin](0), isTls))).toBe('ok')
    expect(held.size).toBeLessThanOrEqual(MAX)
    const why = origin === 'one address' ? 'share_of_address' : 'all_taken'
    // TLS ends what is no handshake by itself.
    if (isTls && text.startsWith('GET')) return
    expect(lines[0]).toEqual({ listener: 'test', why, address: expect.any(String), count: 1 })
    if (origin === 'one address') expect(lines).toHaveLength(1)
  })
})

it.each(FLOODS)('a connection that sends %s ends after its time', async (_, text, isTls) => {
  const { port } = await open(isTls, { times: { headMs: 30, firstRequestMs: 60 } })
  const socket = await send(port, '127.0.0.1', text)
  await ended(socket)
  expect(socket.closed).toBe(true)
})

const GET = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`
const answered = (socket: Socket) => new Promise((resolve) => socket.once('data', resolve))
/** What is not read never ends. */
const ended = async (socket: Socket) => {
  if (socket.closed) return
  await orHung('the end', new Promise((resolve) => socket.resume().once('close', resolve)))
}

it('closes no connection of a login for others, however many come', async () => {
  const { port } = await open(false, { provedBy: 'login' })
  const known = await send(port, '127.0.0.1', '')
  known.write(GET('/in'))
  await answered(known)
  for (let at = 0; at < 3 * MAX; at++)
    await answered(
      await send(port, ORIGINS['many addresses'](at), '').then(
        (socket) => (socket.write(GET('/')), socket),
      ),
    )
  known.write(GET('/in'))
  expect(String(await orHung('an answer', answered(known)))).toContain('200 OK')
})

it('keeps a request without a login within its time, also the second of a connection', async () => {
  const times = { headMs: 600_000, firstRequestMs: 50 }
  const { port } = await open(false, { provedBy: 'login', times })
  const socket = await send(port, '127.0.0.1', '')
  socket.write(GET('/'))
  await answered(socket)
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx')
  await ended(socket)
})

it('of connections that have all asked, the oldest that waits for nothing makes room', async () => {
  const { port, held } = await open(false)
  const waiting: Socket[] = []
  for (let at = 0; at < MAX; at++) {
    const socket = await send(port, '127.0.0.1', GET(at === 0 ? '/wait' : '/'))
    if (at > 0) await answered(socket)
    waiting.push(socket)
  }
  expect(await answerTo(port, '127.0.0.1', false)).toBe('ok')
  await ended(waiting[1]!)
  expect(waiting.map((socket) => socket.closed).indexOf(true)).toBe(1)
  expect(held.size).toBeLessThanOrEqual(MAX)
})

it('a proxy has no share, and its connections make no room', async () => {
  const { port } = await open(false, { isExempt: (address) => address === '127.0.0.1' })
  const own = await Promise.all(
    Array.from({ length: 2 * OF_ADDRESS }, () => send(port, '127.0.0.1', 'GET /')),
  )
  for (let at = 0; at < 2 * MAX; at++) await send(port, ORIGINS['many addresses'](at), '')
  const last = own.at(-1)!
  last.write(' HTTP/1.1\r\nHost: a\r\n\r\n')
  expect(String(await orHung('an answer', answered(last)))).toContain('200 OK')
  expect(own.every(({ closed }) => !closed)).toBe(true)
})
