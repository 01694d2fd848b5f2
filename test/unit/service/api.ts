// A started service as the tests of this folder call it: one request, its status, headers and JSON.

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
}

export interface Api {
  service: RunningService
  send(method: string, path: string, options?: SendOptions): Promise<Answer>
  query(type: string, body: object): Promise<Answer>
  upsert(type: string, matching: string, properties: object): Promise<Answer>
  batch(type: string, matching: string, items: object[]): Promise<Answer>
}

export interface SendOptions {
  /** An object is sent as JSON, a text as it is. */
  body?: unknown
  key?: string | null
  headers?: Record<string, string>
}

export async function startApi(options: ServiceOptions = {}): Promise<Api> {
  const service = await startService(options)
  const send: Api['send'] = async (method, path, { body, key = service.key, headers } = {}) => {
    const response = await fetch(
      service.url + (path.startsWith('/docs') ? '' : '/rest/v1') + path,
      {
        method,
        headers: {
          ...(key === null ? {} : { authorization: `Bearer ${key}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined
          ? {}
          : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      },
    )
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json')
    return {
      status: response.status,
      headers: response.headers,
      body: isJson ? JSON.parse(text) : text,
    }
  }
  const write = (matching: string) => `?matching_property=${matching}`
  return {
    service,
    send,
    query: (type, body) => send('POST', `/objects/${type}/records/query/`, { body }),
    upsert: (type, matching, properties) =>
      send('PUT', `/objects/${type}/records/${write(matching)}`, {
        body: { data: { properties } },
      }),
    batch: (type, matching, items) =>
      send('POST', `/objects/${type}/records/batch/upsert/${write(matching)}`, {
        body: { data: items.map((properties) => ({ properties })) },
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
