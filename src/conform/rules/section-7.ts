// Section 7: errors.

import { CODE_STATUSES, REASONS } from '../../contract/index.ts'
import type { OperationId, ProblemCode, ProblemReason } from '../../contract/index.ts'
import { broken, everyAnswer, expectRefusal, isSuccess, plainWord, answerText } from '../expect.ts'
import { NO_RECORD } from '../rule-context.ts'
import type { Rule } from '../rule.ts'
import { problemOf } from '../wire.ts'

const listOperations: readonly (OperationId | null)[] = [
  'listObjectTypes',
  'listFieldTypes',
  'listRecords',
  'queryRecords',
  'aggregateRecords',
]
const listStatuses = [400, 401, 403, 405, 406, 422, 429, 500, 503, 504]

/** The codes whose status the specification states. */
const stated: readonly ProblemCode[] = [
  'unauthenticated',
  'permission_denied',
  'rate_limited',
  'service_unavailable',
]
/** The reasons whose status the specification leaves open. */
const openStatus: readonly ProblemReason[] = [
  'cursor_invalid',
  'invalid_matching_property',
  'ambiguous_match',
]

export const section7: readonly Rule[] = [
  {
    id: '7.code-status',
    text: 'unauthenticated is 401, permission_denied 403, rate_limited 429, service_unavailable 503.',
    phase: 'answers',
    check: ({ exchanges }) =>
      everyAnswer(exchanges, (exchange) => {
        const code = stated.find((each) => each === problemOf(exchange)['code'])
        if (isSuccess(exchange) || code === undefined) return undefined
        const [due] = CODE_STATUSES[code]
        if (due === exchange.status) return null
        const got = `status ${exchange.status}`
        return { at: '/code', expected: `status ${due} with ${code}`, got }
      }),
  },
  {
    id: '7.reason-code',
    text: 'A reason that is known comes with its code, and its status where one is stated.',
    phase: 'answers',
    check: ({ exchanges }) =>
      everyAnswer(exchanges, (exchange) => {
        const { reason, code } = problemOf(exchange)
        if (isSuccess(exchange) || typeof reason !== 'string' || !(reason in REASONS)) {
          return undefined
        }
        const due = REASONS[reason as ProblemReason]
        const isOpen = openStatus.includes(reason as ProblemReason)
        if (code === due.code && (isOpen || exchange.status === due.status)) return null
        const status = isOpen ? '' : ` ${due.status}`
        return {
          at: '/reason',
          expected: `${due.code}${status} with ${reason}`,
          got: answerText(exchange),
        }
      }),
  },
  {
    id: '7.list-statuses',
    text: 'A list endpoint answers 200 or one of the ten documented statuses.',
    phase: 'answers',
    check: ({ exchanges }) =>
      everyAnswer(exchanges, ({ operation, status }) => {
        if (!listOperations.includes(operation)) return undefined
        if (status === 200 || listStatuses.includes(status)) return null
        return { at: '', expected: `200 or ${listStatuses.join(', ')}`, got: `status ${status}` }
      }),
  },
  {
    id: '7.method',
    text: 'A disallowed method is 405, and Allow lists the supported ones.',
    phase: 'reads',
    async check(kit) {
      // Without a body: however a service reads the request, there is nothing to write.
      for (const call of [
        { operation: 'readSelf', method: 'PUT' },
        { operation: 'listObjectTypes', method: 'PATCH' },
        { operation: 'listFieldTypes', method: 'PUT' },
      ] as const) {
        const exchange = await kit.call(call)
        expectRefusal(exchange, { statuses: [405] })
        const got = exchange.headers['allow']
        if (got?.split(',').some((method) => method.trim() === 'GET')) continue
        const what = got === undefined ? 'no such header' : plainWord(got)
        throw broken(exchange, { at: 'allow', expected: 'GET among others', got: what })
      }
    },
  },
  {
    id: '7.accept',
    text: 'A request that accepts no JSON is 406.',
    phase: 'reads',
    async check(kit) {
      const headers = { accept: 'text/csv' }
      expectRefusal(await kit.call({ operation: 'listObjectTypes', headers }), { statuses: [406] })
    },
  },
  {
    id: '7.unknown-record',
    text: 'A record that does not exist is not_found.',
    phase: 'reads',
    async check(kit) {
      const objectType = await kit.anyType()
      const exchange = await kit.call({ operation: 'readRecord', objectType, id: NO_RECORD })
      expectRefusal(exchange, { code: 'not_found' })
    },
  },
  {
    id: '7.unknown-path',
    text: 'A path that does not exist is refused.',
    phase: 'reads',
    async check(kit) {
      expectRefusal(await kit.callPath('/conform-no-such-path/'), {})
    },
  },
  {
    id: '7.not-json',
    text: 'A body that is not JSON is request_invalid.',
    phase: 'reads',
    async check(kit) {
      const objectType = await kit.anyType()
      const call = { operation: 'queryRecords', objectType, body: '{"limit": ' } as const
      const exchange = await kit.call({ ...call, sent: 'a body that ends too early' })
      expectRefusal(exchange, { code: 'request_invalid' })
    },
  },
]
