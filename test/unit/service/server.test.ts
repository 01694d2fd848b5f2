// What happens on the connection: things that are not HTTP, slow senders, Expect, pipelining, TLS, and the end of a service.

import { once } from 'node:events'
import { request } from 'node:https'
import type { IncomingMessage } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { Problem } from '../../../src/contract/index.ts'
import { startService } from '../../../src/service/index.ts'
import type { RunningService, ServiceOptions } from '../../../src/service/index.ts'
import { selfSigned } from '../client/certificate.ts'
import { manualClock } from './api.ts'
import { answersIn, rawConnection } from './raw.ts'
import type { RawAnswer } from './raw.ts'

const services: RunningService[] = []
async function start(options: ServiceOptions = {}): Promise<RunningService> {
  const service = await startService(options)
  services.push(service)
  return service
}
afterEach(async () => {
  await Promise.all(services.splice(0).map((service) => service.close()))
})

const head = (service: RunningService, line: string, ...headers: string[]) =>
  [line, 'Host: x', `Authorization: Bearer ${service.key}`, ...headers, '', ''].join('\r\n')
const query = '/rest/v1/objects/svc_contact/records/query/'

function expectRefusal(answer: RawAnswer | undefined, status: number, code: string): void {
  expect(answer?.status).toBe(status)
  const problem = Problem.parse(answer!.body)
  expect(problem).toMatchObject({ status, code })
  expect(problem.request_id).toBe(answer!.headers.get('svc-request-id'))
  expect(answer!.headers.get('content-type')).toMatch(/^application\/problem\+json/)
  expect(answer!.headers.get('cache-control')).toBe('no-store')
  expect(answer!.headers.get('ratelimit-limit')).toMatch(/^\d+$/)
  expect(answer!.headers.get('ratelimit-remaining')).toMatch(/^\d+$/)
}

/** Sends, and waits until the service has answered and hung up. */
async function exchange(service: RunningService, text: string): Promise<RawAnswer[]> {
  const connection = await rawConnection(service.url)
  connection.send(text)
  return answersIn(await connection.closed())
}

describe('bytes that are no request are refused as a problem', () => {
  it.each([
    ['nonsense', 'NOT HTTP\r\n\r\n', 400],
    ['an unknown method', 'FETCH /rest/v1/ HTTP/1.1\r\nHost: x\r\n\r\n', 405],
    ['a tunnel', 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n', 405],
    ['two lengths', 'POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', 400],
    [
      'a length and chunks',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
      400,
    ],
    ['a header line without a name', 'GET / HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n', 400],
    ['a very long URL', `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
    ['very long headers', `GET / HTTP/1.1\r\nHost: x\r\nA: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
  ])('%s', async (_name, text, status) => {
    const service = await start()
    expectRefusal((await exchange(service, text))[0], status, 'request_invalid')
  })

  it('announces the end of v1 there too, and logs no byte of them', async () => {
    const lines: string[] = []
    const write = (fields: object) => void lines.push(JSON.stringify(fields))
    const service = await start({
      deprecation: { since: new Date(0), sunset: new Date('2027-01-01') },
      logger: { debug: write, info: write, warn: write, error: write },
    })
    const [answer] = await exchange(service, `NOT HTTP ${service.key}\r\n\r\n`)
    expect(answer?.headers.get('deprecation')).toBe('@0')
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0]!)).toMatchObject({ status: 400 })
    expect(lines.join()).not.toContain(service.key)
  })

  it('and do not hold their connection afterwards', async () => {
    const service = await startService({ stopGraceMs: 2 ** 31 - 1 })
    const connection = await rawConnection(service.url, { allowHalfOpen: true })
    connection.send('NOT HTTP\r\n\r\n')
    await connection.until(/\}$/)
    await service.close()
    connection.socket.destroy()
  })

  it('a request without the header Host, unless it is of HTTP/1.0', async () => {
    const service = await start()
    const [answer] = await exchange(service, 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n')
    expectRefusal(answer, 400, 'request_invalid')
    expect((await exchange(service, 'GET /rest/v1/ HTTP/1.0\r\n\r\n'))[0]?.status).toBe(200)
  })

  it('after a request that is being answered: nothing is mixed into its answer', async () => {
    const clock = manualClock()
    const asleep = hold(clock)
    const service = await start({ clock, latencyMs: 1 })
    const connection = await rawConnection(service.url)
    connection.send(`${head(service, 'GET /rest/v1/self/ HTTP/1.1')}NOT HTTP\r\n\r\n`)
    expect(await connection.closed()).toBe('')
    await asleep.begun
    asleep.release()
  })
})

describe('requests in a row on one connection', () => {
  it('are answered in order, each with an id of its own', async () => {
    const service = await start({ limitPerMinute: 100 })
    const body = '{"limit":1}'
    const lines = [`Content-Type: application/json`, `Content-Length: ${body.length}`]
    const answers = await exchange(
      service,
      head(service, 'GET /rest/v1/self/ HTTP/1.1') +
        head(service, `POST ${query} HTTP/1.1`, ...lines) +
        body +
        head(service, 'GET /rest/v1/nowhere/ HTTP/1.1') +
        head(service, 'GET http://x/rest/v1/self/ HTTP/1.1', 'Connection: close'),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 404, 200])
    expect(new Set(answers.map(({ headers }) => headers.get('svc-request-id'))).size).toBe(4)
    const remaining = answers.map(({ headers }) => headers.get('ratelimit-remaining'))
    expect(remaining).toEqual(['99', '98', '97', '96'])
  })

  it('go on after a body that was refused', async () => {
    const service = await start()
    const bodies = ['{', '{}', '{"a":1,"a":2}', '{"limit":1}']
    const answers = await exchange(
      service,
      bodies
        .map((body, index) => {
          const type = index === 1 ? 'text/plain' : 'application/json'
          const last = index === bodies.length - 1 ? ['Connection: close'] : []
          const lines = [`Content-Type: ${type}`, `Content-Length: ${body.length}`, ...last]
          return head(service, `POST ${query} HTTP/1.1`, ...lines) + body
        })
        .join(''),
    )
    expect(answers.map(({ status }) => status)).toEqual([400, 415, 400, 200])
  })
})

describe('Expect: 100-continue', () => {
  const expecting = (service: RunningService, path: string, length: number) =>
    head(
      service,
      `POST ${path} HTTP/1.1`,
      'Content-Type: application/json',
      `Content-Length: ${length}`,
      'Expect: 100-continue',
    )

  it('is answered before a body that will be read', async () => {
    const service = await start()
    const connection = await rawConnection(service.url)
    connection.send(expecting(service, query, 2))
    expect(await connection.until(/\r\n\r\n/)).toBe('HTTP/1.1 100 Continue\r\n\r\n')
    connection.send('{}')
    await connection.until(/HTTP\/1\.1 200 OK/)
    connection.socket.destroy()
  })

  it('spares a body that will not be read', async () => {
    const service = await start()
    for (const [path, length, status] of [
      [query, 5_000_000, 413],
      ['/rest/v1/nowhere/', 2, 404],
      ['/rest/v1/self/', 2, 405],
    ] as const) {
      const [answer] = await exchange(service, expecting(service, path, length))
      expect(answer?.status).toBe(status)
    }
  })

  it('of anything else is passed over', async () => {
    const service = await start()
    const lines = ['Expect: a miracle', 'Connection: close']
    const [answer] = await exchange(service, head(service, 'GET /rest/v1/self/ HTTP/1.1', ...lines))
    expect(answer?.status).toBe(200)
  })
})

describe('a body that is too long', () => {
  it('is refused before it has arrived', async () => {
    const service = await start()
    const connection = await rawConnection(service.url)
    const lines = ['Content-Type: application/json', 'Content-Length: 5000000']
    connection.send(`${head(service, `POST ${query} HTTP/1.1`, ...lines)}{`)
    await connection.until(/\}$/)
    expectRefusal(answersIn(connection.received())[0], 413, 'request_invalid')
    // Whoever goes on as if nothing had been said is cut off.
    await connection.closed()
  })
})

describe('a request that does not arrive', () => {
  it.each([
    ['nothing', ''],
    ['a part of its head', 'GET /rest/v1/ HTTP/1.1\r\nHost: x\r\nA: '],
  ])('is given up after a while: %s', async (_name, text) => {
    const service = await start({ requestTimeoutMs: 200 })
    expectRefusal((await exchange(service, text))[0], 408, 'timeout')
  })

  it('is given up after a while: a part of its body', async () => {
    const service = await start({ requestTimeoutMs: 200 })
    const lines = ['Content-Type: application/json', 'Content-Length: 100']
    const text = `${head(service, `POST ${query} HTTP/1.1`, ...lines)}{"limit`
    expectRefusal((await exchange(service, text))[0], 408, 'timeout')
    expect(service.stats().byStatus).toEqual({})
  })
})

describe('HTTPS', () => {
  const get = (service: RunningService, cert: string): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${service.key}` }
      // The certificate is of "test", whatever it is called here.
      const options = { ca: cert, checkServerIdentity: () => undefined, headers, agent: false }
      request(`${service.url}/rest/v1/self/`, options, resolve).once('error', reject).end()
    })

  it('is spoken with the given certificate, and the service names itself so', async () => {
    const tls = selfSigned()
    const service = await start({ tls })
    expect(service.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/)
    const answer = await get(service, tls.cert)
    expect(answer.statusCode).toBe(200)
    answer.resume()
    await once(answer, 'end')
    await expect(get(service, selfSigned().cert)).rejects.toThrow()
    // Plain HTTP gets no answer, and does no harm.
    expect(await exchange(service, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')).toEqual([])
    expect((await get(service, tls.cert)).statusCode).toBe(200)
  })

  it('is refused with a certificate or a key that is none, or with two that do not belong together', async () => {
    const { key, cert } = selfSigned()
    for (const [tls, message] of [
      [{ key, cert: 'x' }, 'a certificate in PEM was expected'],
      [{ key: 'x', cert }, 'a private key in PEM, not encrypted, was expected'],
      [{ key: cert, cert: key }, 'a certificate in PEM was expected'],
      [{ key: selfSigned().key, cert }, 'does not belong to the certificate'],
    ] as const) {
      const failure = startService({ tls })
      await expect(failure).rejects.toMatchObject({ code: 'service_tls' })
      await expect(failure).rejects.toThrow(message)
    }
  })
})

describe('a service that ends', () => {
  it('finishes what is in flight, and takes no more', async () => {
    const clock = manualClock()
    const asleep = hold(clock)
    const service = await startService({ clock, latencyMs: 1 })
    const silent = await rawConnection(service.url)
    const busy = await rawConnection(service.url)
    busy.send(head(service, 'GET /rest/v1/self/ HTTP/1.1'))
    await asleep.begun
    const closing = service.close()
    await silent.closed()
    await expect(rawConnection(service.url)).rejects.toThrow('ECONNREFUSED')
    asleep.release()
    const [answer] = answersIn(await busy.closed())
    expect(answer?.status).toBe(200)
    await closing
  })

  it('does not wait for ever', async () => {
    const clock = manualClock()
    const asleep = hold(clock)
    const service = await startService({ clock, latencyMs: 1, stopGraceMs: 50 })
    const busy = await rawConnection(service.url)
    busy.send(head(service, 'GET /rest/v1/self/ HTTP/1.1'))
    await asleep.begun
    await service.close()
    expect(await busy.closed()).toBe('')
    asleep.release()
  })

  it('does not wait for a connection that is kept alive', async () => {
    const service = await startService({ stopGraceMs: 2 ** 31 - 1 })
    const idle = await rawConnection(service.url)
    idle.send(head(service, 'GET /rest/v1/self/ HTTP/1.1'))
    await idle.until(/\}$/)
    await service.close()
    await idle.closed()
  })

  it('does not wait for a connection whose last answer began before the end', async () => {
    const clock = manualClock()
    const service = await startService({ clock, stopGraceMs: 2 ** 31 - 1 })
    const asleep = hold(clock)
    service.setFaults({ seed: 1, rate: 1, kinds: ['slow_body'] })
    const busy = await rawConnection(service.url)
    busy.send(head(service, 'GET /rest/v1/self/ HTTP/1.1'))
    await asleep.begun
    await busy.until(/keep-alive/)
    const closing = service.close()
    asleep.release()
    await closing
    expect(answersIn(await busy.closed())[0]?.status).toBe(200)
  })
})

/** Stops every sleep of a clock until it is let go. */
function hold(clock: { sleep(ms: number): Promise<void> }) {
  let release!: () => void
  const released = new Promise<void>((resolve) => (release = resolve))
  let begin!: () => void
  const begun = new Promise<void>((resolve) => (begin = resolve))
  clock.sleep = async () => {
    begin()
    await released
  }
  return { begun, release }
}
