// A service behind a real proxy: what goes through it, and what a person reads where it is in the way.

import { createServer as createHttp, type IncomingMessage } from 'node:http'
import { createServer as createHttps } from 'node:https'
import {
  connect,
  createServer as createPlain,
  type AddressInfo,
  type Server,
  type Socket,
} from 'node:net'
import { createServer as createTls } from 'node:tls'
import { Client } from 'undici'
import { expect, onTestFinished, test } from 'vitest'
import { networkFault } from '../../../src/core/network-faults.ts'
import { createConnect } from '../../../src/outbound/connect.ts'
import { proxyFor } from '../../../src/outbound/proxy.ts'
import { postWebhook } from '../../../src/monitoring/webhook.ts'
import { systemClock } from '../../../src/core/ports.ts'
import { issue } from '../client/certificate.ts'
import { bytesOf, clientOf, failureOf, oneRecord } from '../client/wire.ts'

const ca = issue({ isCa: true, commonName: 'our CA' })
const HOST = 'crm.corp.invalid'
const server = issue({ by: ca, names: [HOST] })
const LOGIN = 'me:s3cret'

async function listen(listener: Server): Promise<number> {
  const open = new Set<Socket>()
  listener.on('connection', (socket: Socket) => open.add(socket.on('error', () => {})))
  listener.on('tlsClientError', () => {})
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    for (const socket of open) socket.destroy()
    await new Promise((resolve) => listener.close(resolve))
  })
  return (listener.address() as AddressInfo).port
}

const service = () =>
  listen(
    createTls(server, (socket) => {
      socket.on('error', () => {})
      socket.on('data', () => socket.write(bytesOf(oneRecord)))
    }),
  )

/** A proxy that notes what it is asked for, and connects to this machine. */
async function startProxy(answers: (request: IncomingMessage) => string | null = () => null) {
  const asked: string[] = []
  const proxy = createHttp()
  proxy.on('connect', (request: IncomingMessage, client: Socket) => {
    asked.push(request.url!)
    client.on('error', () => {})
    const refusal = answers(request)
    if (refusal !== null) return client.end(refusal)
    const target = connect(Number(request.url!.split(':').at(-1)), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      client.pipe(target).pipe(client)
    })
    target.on('error', () => client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'))
  })
  return { port: await listen(proxy), asked }
}

const clientThrough = (port: number, proxy: string, more: object = {}) =>
  clientOf(`https://${HOST}:${port}`, {
    ca: ca.cert,
    env: { HTTPS_PROXY: proxy },
    retries: 0,
    ...more,
  })
const read = (client: ReturnType<typeof clientOf>) => client.readRecord('svc_contact', 'rec_1')

test('requests share the tunnel of a connection, and the name is resolved by the proxy', async () => {
  const port = await service()
  const proxy = await startProxy()
  const client = clientThrough(port, `http://127.0.0.1:${proxy.port}`, { connections: 1 })
  for (let count = 0; count < 3; count++) expect(await read(client)).toBeDefined()
  expect(proxy.asked).toEqual([`${HOST}:${port}`])
  await client.close()
})

test('a login is given to the proxy alone', async () => {
  const port = await service()
  const seen: (string | undefined)[] = []
  const proxy = await startProxy(({ headers }) => {
    seen.push(headers['proxy-authorization'], headers.authorization)
    return null
  })
  await read(clientThrough(port, `http://${LOGIN}@127.0.0.1:${proxy.port}`))
  expect(seen).toEqual([`Basic ${Buffer.from(LOGIN).toString('base64')}`, undefined])
})

test('a host of NO_PROXY is not asked for at the proxy', async () => {
  const proxy = await startProxy()
  const env = { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`, NO_PROXY: '.invalid' }
  const failure = await failureOf(read(clientOf(`https://${HOST}`, { env, retries: 0 })))
  expect(failure.message).toContain(`the host name of ${HOST}:443 does not resolve`)
  expect(proxy.asked).toEqual([])
})

const answering = (head: string) => async () => (await startProxy(() => head)).port
const raw = (respond: (socket: Socket) => void) => () => listen(createPlain(respond))
const closed = async () => {
  const port = await listen(createPlain())
  return port === 1 ? 2 : 1
}

const FAULTS: Readonly<
  Record<string, [start: () => Promise<number>, said: RegExp, scheme?: string]>
> = {
  'nothing listens': [
    closed,
    /the proxy 127\.0\.0\.1:1 \(HTTPS_PROXY\) cannot be used: connection refused by 127\.0\.0\.1:1; correct HTTPS_PROXY/,
  ],
  'a login is missing': [
    answering('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'),
    /asks for a login \(status 407\); set HTTPS_PROXY to http:\/\/USER:PASSWORD@HOST:PORT/,
  ],
  'a refusal': [
    answering('HTTP/1.1 403 Forbidden\r\n\r\n'),
    /refuses a connection to crm\.corp\.invalid:\d+ \(status 403\); let whoever runs the proxy allow it/,
  ],
  'a method that it does not know': [
    answering('HTTP/1.1 405 Method Not Allowed\r\n\r\n'),
    /refuses a connection .*status 405/,
  ],
  'a redirect to a login page': [
    answering('HTTP/1.1 302 Found\r\nlocation: http://login.corp\r\n\r\n'),
    /refuses a connection .*status 302/,
  ],
  'a bad gateway': [
    answering('HTTP/1.1 502 Bad Gateway\r\n\r\n'),
    /did not reach crm\.corp\.invalid:\d+ \(status 502\); correct the address if it is wrong/,
  ],
  unavailable: [
    answering('HTTP/1.1 503 Service Unavailable\r\n\r\n'),
    /did not reach .*status 503/,
  ],
  'a gateway timeout': [
    answering('HTTP/1.1 504 Gateway Timeout\r\n\r\n'),
    /did not reach .*status 504/,
  ],
  'a page of HTML': [
    answering('HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n<html>welcome</html>'),
    /answers, but not with TLS|TLS handshake/,
  ],
  'another protocol': [
    raw((socket) => void socket.end('SSH-2.0-OpenSSH_9\r\n')),
    /does not answer as an HTTP proxy; correct HTTPS_PROXY/,
  ],
  'a connection that is closed': [
    raw((socket) => socket.destroy()),
    /does not answer as an HTTP proxy/,
  ],
  'an endless head': [
    raw((socket) => void socket.write(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(20_000)}`)),
    /does not answer as an HTTP proxy/,
  ],
  'TLS that it does not speak': [
    raw((socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
    /cannot be used: .* answers, but not with TLS/,
    'https',
  ],
  'a certificate that is not trusted': [
    () => listen(createHttps(issue({ by: ca, names: ['127.0.0.1'] }))),
    /cannot be used: the certificate of 127\.0\.0\.1:\d+ is not trusted: no CA .*; set NODE_EXTRA_CA_CERTS/,
    'https',
  ],
}

test.each(Object.entries(FAULTS))(
  '%s has its own words',
  async (_, [start, said, scheme = 'http']) => {
    const proxy = `${scheme}://127.0.0.1:${await start()}`
    const client = clientThrough(443, proxy, { timeoutMs: 2_000 })
    const { message, outcomeUnknown } = await failureOf(read(client))
    expect(message).toMatch(said)
    expect(message).not.toContain('is the service running')
    expect(outcomeUnknown).toBe(false)
  },
)

test('a proxy that stays silent is named, within the time of a connection', async () => {
  const port = await raw(() => {})()
  const proxy = proxyFor(`https://${HOST}`, { HTTPS_PROXY: `http://127.0.0.1:${port}` })
  const client = new Client(`https://${HOST}`, { connect: createConnect({ timeout: 200, proxy }) })
  const error = await client.request({ method: 'GET', path: '/' }).catch((cause: unknown) => cause)
  expect(networkFault(error, `${HOST}:443`)?.what).toBe(
    `the proxy 127.0.0.1:${port} (HTTPS_PROXY) cannot be used: no connection to 127.0.0.1:${port} in time`,
  )
  await client.destroy()
})

test('a login that is not accepted is not shown', async () => {
  const proxy = await startProxy(() => 'HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
  const client = clientThrough(443, `http://${LOGIN}@127.0.0.1:${proxy.port}`)
  const { message } = await failureOf(read(client))
  expect(message).toMatch(/does not accept the login in its URL \(status 407\)/)
  expect(message).not.toMatch(/s3cret|me:/)
})

test('a request through a proxy that is silent ends by its deadline', async () => {
  const port = await raw(() => {})()
  const client = clientThrough(443, `http://127.0.0.1:${port}`, { timeoutMs: 300 })
  const began = performance.now()
  await failureOf(read(client))
  // Far below the ten seconds that a connection may take.
  expect(performance.now() - began).toBeLessThan(9_000)
})

const post = (address: string, env: Record<string, string>, file?: string) =>
  postWebhook(
    { url: { env: 'URL' }, ca: file },
    { text: 'x' },
    { env: { ...env, URL: address }, clock: systemClock },
  )

test('a webhook goes through the proxy, and its faults do not name its host', async () => {
  const proxy = await startProxy(() => 'HTTP/1.1 403 Forbidden\r\n\r\n')
  const env = { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` }
  const refusal = await post('https://hooks.corp.invalid/secret-path', env)
  expect(refusal).toMatch(
    /^no answer came: the proxy .* refuses a connection to its receiver \(status 403\)/,
  )
  expect(refusal).not.toMatch(/hooks|secret-path/)
  expect(proxy.asked[0]).toBe('hooks.corp.invalid:443')
})
