// The golden exchanges against the service alone, as bytes over HTTP.

import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { describe, expect, test } from 'vitest'
import type { OperationId } from '../../src/contract/index.ts'
import { HANDLERS } from '../../src/service/handlers/index.ts'
import { startService } from '../../src/service/index.ts'
import { EXAMPLE_ORG_ID, EXAMPLE_SECRET } from '../../src/service/openapi/examples.ts'
import { at, differencesOf, exchanges, filled, type GoldenRequest } from './golden.ts'

interface Answer {
  status: number
  headers: IncomingHttpHeaders
  body: unknown
}

function send(url: string, key: string | null, golden: GoldenRequest): Promise<Answer> {
  const body = golden.raw ?? (golden.body === undefined ? undefined : JSON.stringify(golden.body))
  return new Promise((resolve, reject) => {
    const sending = httpRequest(
      new URL(golden.path, url),
      {
        method: golden.method,
        headers: {
          ...(key === null ? {} : { authorization: `Bearer ${key}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...golden.headers,
        },
      },
      (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => (text += chunk))
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: text === '' ? undefined : (JSON.parse(text) as unknown),
          }),
        )
      },
    )
    sending.once('error', reject)
    sending.end(body)
  })
}

test('every operation of the service has golden exchanges: a success and a problem', () => {
  const operations = Object.keys(HANDLERS) as OperationId[]
  expect(operations.length).toBeGreaterThan(10)
  for (const operation of operations) {
    const statuses = exchanges
      .filter((exchange) => exchange.operation === operation)
      .map((exchange) => exchange.response.status)
    expect(
      statuses.some((status) => status < 300),
      `${operation}: success`,
    ).toBe(true)
    expect(
      statuses.some((status) => status >= 400),
      `${operation}: problem`,
    ).toBe(true)
  }
})

describe('the service answers as written', () => {
  test.each(
    exchanges.map((exchange) => [`${exchange.operation}: ${exchange.title}`, exchange] as const),
  )('%s', async (_, exchange) => {
    const service = await startService({
      orgId: EXAMPLE_ORG_ID,
      secret: EXAMPLE_SECRET,
      limitPerMinute: exchange.limit ?? null,
    })
    try {
      const reader = service.mintKey({ grants: { svc_contact: { read: true, write: false } } })
      const keys = { full: service.key, none: null, unknown: 'rsk_unknown_key_of_nobody', reader }
      service.setExchangeRates(exchange.rates ?? true)
      const kept = new Map([
        ['key', service.key],
        ['url', service.url],
      ])
      for (const given of exchange.given ?? []) {
        const answer = await send(service.url, service.key, filled(given, kept))
        expect(answer.status).toBeLessThan(300)
        for (const [name, pointer] of Object.entries(given.as ?? {}))
          kept.set(name, String(at(answer.body, pointer)))
      }
      if (exchange.fault) service.setFaults({ seed: 1, rate: 1, kinds: [exchange.fault] })
      const answer = await send(
        service.url,
        keys[exchange.key ?? 'full'],
        filled(exchange.request, kept),
      )
      const expected = filled(exchange.response, kept)
      expect(answer.status).toBe(expected.status)
      expect(differencesOf(expected.body ?? undefined, answer.body, exchange.only)).toEqual([])
      for (const [name, value] of Object.entries(expected.headers ?? {}))
        expect(differencesOf(value, answer.headers[name], undefined)).toEqual([])
      // Section 1, on every response.
      expect(answer.headers['svc-request-id']).toMatch(/\S/)
      expect(answer.headers['cache-control']).toBe('no-store')
      expect(answer.headers['ratelimit-limit']).toMatch(/^\d+$/)
      expect(answer.headers['ratelimit-remaining']).toMatch(/^\d+$/)
      if (answer.status === 204) return
      const media = answer.status < 300 ? 'application/json' : 'application/problem+json'
      expect(answer.headers['content-type']?.split(';')[0]).toBe(media)
      if (answer.status < 300) return
      // Section 2.12: nothing but its fields, and the request's id.
      const problem = answer.body as Record<string, unknown>
      const known = [
        'type',
        'title',
        'status',
        'detail',
        'code',
        'reason',
        'field',
        'errors',
        'request_id',
      ]
      expect(Object.keys(problem).filter((name) => !known.includes(name))).toEqual([])
      expect(problem['request_id']).toBe(answer.headers['svc-request-id'])
      expect(String(problem['type']).endsWith(`/errors/${String(problem['code'])}`)).toBe(true)
      // A reason or a list of errors that was not written is one too many.
      const written = expected.body as Record<string, unknown>
      for (const name of ['reason', 'errors']) expect(name in problem, name).toBe(name in written)
    } finally {
      await service.close()
    }
  })
})
