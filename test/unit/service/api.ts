// A started service as the tests of this folder call it: one request, its status, headers and JSON.

import { request, type Dispatcher } from 'undici'
import { expect } from 'vitest'
import { Problem, REQUEST_ID_HEADER } from '../../../src/contract/index.ts'
import type { Clock } from '../../../src/core/ports.ts'
import { startService } from '../../../src/service/index.ts'
import type { RunningService, ServiceOptions } from '../../../src/service/index.ts'

export interface Answer {
  status: number
  headers: Headers
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into foreign JSON
  body: any
  /** The body as it came. */
  text: string
}

/** Requests with one key, where they do not name another. */
export interface Caller {
  send(method: string, path: string, options?: SendOptions): Promise<Answer>
  create(type: string, properties: object): Promise<Answer>
  update(type: string, id: string, properties: object): Promise<Answer>
  remove(type: string, id: string): Promise<Answer>
  query(type: string, body: object): Promise<Answer>
  upsert(type: string, matching: string, properties: object): Promise<Answer>
  /** A batch upsert. */
  batch(type: string, matching: string, items: object[]): Promise<Answer>
  link(type: string, source: string, association: string, target: string): Promise<Answer>
}

export interface Api extends Caller {
  service: RunningService
  /** The same service, for another key. */
  as(key: string): Caller
}

export interface SendOptions {
  /** An object is sent as JSON, a text as it is. */
  body?: unknown
  key?: string | null
  headers?: Record<string, string>
  /** The connections that it may be sent over. */
  dispatcher?: Dispatcher
}

export async function startApi(options: ServiceOptions = {}): Promise<Api> {
  const service = await startService(options)
  const as = (key: string) => callerWith(service, key)
  return { service, as, ...as(service.key) }
}

function callerWith({ url }: RunningService, ownKey: string): Caller {
  const send: Caller['send'] = async (
    method,
    path,
    { body, key = ownKey, headers, dispatcher } = {},
  ) => {
    // Not `fetch`: its streams cost more than the service's answer.
    const answer = await request(url + (path.startsWith('/docs') ? '' : '/rest/v1') + path, {
      method: method as Dispatcher.HttpMethod,
      ...(dispatcher === undefined ? {} : { dispatcher }),
      headers: {
        accept: '*/*',
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined
        ? {}
        : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await answer.body.text()
    const isJson = text !== '' && String(answer.headers['content-type']).includes('json')
    return {
      status: answer.statusCode,
      headers: new Headers(
        Object.entries(answer.headers).map(([name, value]) => [name, String(value)]),
      ),
      body: isJson ? JSON.parse(text) : text,
      text,
    }
  }
  const at = (type: string) => `/objects/${type}/records/`
  const write = (matching: string) => `?matching_property=${matching}`
  const one = (properties: object) => ({ body: { data: { properties } } })
  return {
    send,
    create: (type, properties) => send('POST', at(type), one(properties)),
    update: (type, id, properties) => send('PATCH', `${at(type)}${id}/`, one(properties)),
    remove: (type, id) => send('DELETE', `${at(type)}${id}/`),
    query: (type, body) => send('POST', `${at(type)}query/`, { body }),
    upsert: (type, matching, properties) =>
      send('PUT', at(type) + write(matching), one(properties)),
    batch: (type, matching, items) =>
      send('POST', `${at(type)}batch/upsert/${write(matching)}`, {
        body: { data: items.map((properties) => ({ properties })) },
      }),
    link: (type, source, association, target_id) =>
      send('PUT', `${at(type)}${source}/associations/${association}/`, {
        body: { data: { target_id } },
      }),
  }
}

/** Sections 1, 2.12 and 8: what every refusal looks like. */
export function expectProblem(answer: Answer, status: number, code: string, reason?: string): void {
  expect({ status: answer.status, code: answer.body.code, reason: answer.body.reason }).toEqual({
    status,
    code,
    reason,
  })
  expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/)
  const problem = Problem.parse(answer.body)
  expect(problem.status).toBe(status)
  expect(problem.type).toMatch(new RegExp(`^http://127\\.0\\.0\\.1:\\d+/docs/errors/${code}$`))
  expect(problem.request_id).toBe(answer.headers.get(REQUEST_ID_HEADER))
  expectStandardHeaders(answer)
}

export function expectStandardHeaders({ headers }: Answer): void {
  expect(headers.get(REQUEST_ID_HEADER)).toMatch(/^req_/)
  expect(headers.get('cache-control')).toBe('no-store')
  expect(headers.get('ratelimit-limit')).toMatch(/^\d+$/)
  expect(headers.get('ratelimit-remaining')).toMatch(/^\d+$/)
}

/** A clock that stands still until it is moved. */
export function manualClock(startMs = Date.UTC(2026, 5, 1)): Clock & { nowMs: number } {
  const clock = {
    nowMs: startMs,
    now: () => clock.nowMs,
    sleep: async (ms: number) => void (clock.nowMs += ms),
  }
  return clock
}
