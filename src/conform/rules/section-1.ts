// Section 1: what holds for every endpoint.

import { isJsonObject } from '../../core/json.ts'
import {
  broken,
  everyAnswer,
  expectSuccess,
  fault,
  isSuccess,
  valueKind,
  plainWord,
} from '../expect.ts'
import type { Rule } from '../rule.ts'
import { acceptedRule, answerRule, readRule } from '../rule-kinds.ts'
import { dataOf, fieldsOf, problemOf, requestIdHeader, type WireExchange } from '../wire.ts'

const mediaOf = ({ headers }: WireExchange) => headers['content-type']?.split(';')[0]?.trim()

function media(exchange: WireExchange, expected: string) {
  const got = mediaOf(exchange)
  if (got?.toLowerCase() === expected) return null
  return fault('content-type', expected, got === undefined ? 'no such header' : plainWord(got))
}

export const section1: readonly Rule[] = [
  acceptedRule('1.public-root', 'GET /rest/v1/ needs no key.', {
    operation: 'readRoot',
    as: 'nobody',
  }),
  acceptedRule('1.public-openapi', 'GET /rest/v1/openapi.json needs no key.', {
    operation: 'readOpenApi',
    as: 'nobody',
  }),
  readRule(
    '1.root-payload',
    'GET /rest/v1/ returns the version, the address of the OpenAPI document and that of the documentation.',
    async (kit) => {
      const exchange = await kit.call({ operation: 'readRoot' })
      expectSuccess(exchange, [200])
      const texts = Object.values(fieldsOf(dataOf(exchange))).filter(
        (value) => typeof value === 'string' && value !== '',
      )
      if (texts.length >= 3) return
      const expected = 'at least three texts: version, OpenAPI URL, docs URL'
      throw broken(exchange, '/data', expected, `${texts.length} of them`)
    },
  ),
  answerRule(
    '1.data-envelope',
    'Successful answers wrap their payload in {"data": …}.',
    (exchange) => {
      if (!isSuccess(exchange) || exchange.operation === 'readOpenApi') return undefined
      if (exchange.bytes === 0) return undefined
      const { json } = exchange
      if (isJsonObject(json) && 'data' in json) return null
      const got = isJsonObject(json) ? 'an object without it' : valueKind(json)
      return fault('/data', 'an object with the member data', got)
    },
  ),
  answerRule(
    '1.success-media-type',
    'Successful answers with a body are application/json.',
    (exchange) =>
      isSuccess(exchange) && exchange.bytes > 0 ? media(exchange, 'application/json') : undefined,
  ),
  answerRule(
    '1.problem-media-type',
    'Every answer that is not 2xx is application/problem+json.',
    (exchange) => (isSuccess(exchange) ? undefined : media(exchange, 'application/problem+json')),
  ),
  {
    id: '1.request-id-header',
    text: 'The header Svc-Request-Id, with the prefix of the service, is on every answer.',
    phase: 'answers',
    check: ({ exchanges }) => {
      const count = everyAnswer(exchanges, ({ headers }) =>
        requestIdHeader(headers)
          ? null
          : fault('svc-request-id', 'a text that is not empty', 'no such header'),
      )
      const names = new Set(exchanges.map(({ headers }) => requestIdHeader(headers)![0]))
      return `${count}; the header is ${[...names].map(plainWord).join(', ')}`
    },
  },
  answerRule('1.request-id-body', 'request_id is in every error body.', (exchange) => {
    if (isSuccess(exchange)) return undefined
    const id = problemOf(exchange)['request_id']
    if (typeof id === 'string' && id !== '') return null
    return fault('/request_id', 'a text that is not empty', valueKind(id))
  }),
  answerRule('1.no-store', 'Every answer carries Cache-Control: no-store.', ({ headers }) => {
    const got = headers['cache-control']
    if (got?.toLowerCase().includes('no-store')) return null
    return fault('cache-control', 'no-store', plainWord(got))
  }),
]
