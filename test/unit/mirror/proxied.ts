// A service behind a proxy that changes answers, as gateways and other services do.

import http from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  startService,
  type RunningService,
  type ServiceOptions,
} from '../../../src/service/index.ts'

export interface Asked {
  readonly method: string
  readonly url: string
  readonly body: string
}

export interface Given {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Buffer
}

export interface ProxyRules {
  /** Answers in place of the service: with what it returns, with a torn connection, or never. */
  before?: (asked: Asked) => Given | 'torn' | 'silent' | undefined
  /** Changes the service's answer, or answers otherwise. */
  after?: (asked: Asked, given: Given) => Given | 'torn' | 'silent' | undefined | void
}

export type ProxiedService = RunningService & {
  readonly rules: ProxyRules
  readonly asked: Asked[]
}

export const given = (status: number, type: string, body: string | object): Given => ({
  status,
  headers: { 'content-type': type },
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
})

export const problemOf = (status: number, code: string, more: object = {}): Given =>
  given(status, 'application/problem+json', {
    type: 'about:blank',
    title: 'Said',
    status,
    detail: 'as it is',
    code,
    ...more,
  })

async function readGiven(answer: http.IncomingMessage): Promise<Given> {
  const got: Buffer[] = []
  for await (const part of answer) got.push(part as Buffer)
  return { status: answer.statusCode!, headers: { ...answer.headers }, body: Buffer.concat(got) }
}

export async function startProxied(options: ServiceOptions = {}): Promise<ProxiedService> {
  const service = await startService(options)
  const up = new URL(service.url)
  const rules: ProxyRules = {}
  const log: Asked[] = []
  const pass = async (request: http.IncomingMessage, response: http.ServerResponse) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const asked = {
      method: request.method!,
      url: request.url!,
      body: Buffer.concat(parts).toString('utf8'),
    }
    log.push(asked)
    const send = (answer: Given | 'torn' | 'silent') => {
      if (answer === 'silent') return
      if (answer === 'torn') {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
        response.write('{"data": [')
        setImmediate(() => response.destroy())
        return
      }
      const {
        'content-length': _,
        'transfer-encoding': __,
        connection: ___,
        ...headers
      } = answer.headers
      response.writeHead(answer.status, headers).end(answer.body)
    }
    const own = rules.before?.(asked)
    if (own !== undefined) return send(own)
    const headers = { ...request.headers, host: up.host }
    const passed = http.request(
      { host: up.hostname, port: up.port, path: asked.url, method: asked.method, headers },
      (answer) => {
        void readGiven(answer).then((answered) => send(rules.after?.(asked, answered) ?? answered))
      },
    )
    passed.on('error', () => response.destroy())
    passed.end(asked.body)
  }
  const server = http.createServer((request, response) => void pass(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await service.close()
  }
  return Object.assign(Object.create(service) as RunningService, {
    url: `http://127.0.0.1:${port}`,
    close,
    rules,
    asked: log,
  })
}
