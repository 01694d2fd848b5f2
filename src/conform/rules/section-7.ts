// Section 7: errors.

import { CODE_STATUSES, PROBLEM_CODES, REASONS } from '../../contract/index.ts'
import type { OperationId, ProblemCode, ProblemReason } from '../../contract/index.ts'
import { NO_RECORD } from '../calls.ts'
import { broken, expectRefusal, fault, isSuccess, plainWord, answerText } from '../expect.ts'
import { answerRule, readRule, refusalRule } from '../rule-kinds.ts'
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

/** Whether the specification states the status of a code. */
const STATED: Readonly<Record<ProblemCode, boolean>> = {
  unauthenticated: true,
  request_invalid: false,
  not_found: false,
  permission_denied: true,
  conflict: false,
  rate_limited: true,
  timeout: false,
  service_unavailable: true,
  internal_error: false,
}
/** Whether the specification leaves the status of a reason open. */
const OPEN: Readonly<Record<ProblemReason, boolean>> = {
  invalid_matching_property: true,
  ambiguous_match: true,
  type_read_only: false,
  write_forbidden: false,
  schema_invalid: false,
  cursor_invalid: true,
  unknown_property: false,
  operator_not_supported: false,
  invalid_filter: false,
  unsupported_sort: false,
  unsupported_aggregation: false,
  filter_too_deep: false,
  too_many_filter_groups: false,
  exchange_rate_unavailable: false,
}

export const section7: readonly Rule[] = [
  answerRule(
    '7.code-status',
    'unauthenticated is 401, permission_denied 403, rate_limited 429, service_unavailable 503.',
    (exchange) => {
      const code = PROBLEM_CODES.find((each) => each === problemOf(exchange)['code'])
      if (isSuccess(exchange) || code === undefined || !STATED[code]) return undefined
      const [due] = CODE_STATUSES[code]
      if (due === exchange.status) return null
      return fault('/code', `status ${due} with ${code}`, `status ${exchange.status}`)
    },
  ),
  answerRule(
    '7.reason-code',
    'A reason that is known comes with its code, and its status where one is stated.',
    (exchange) => {
      const { reason, code } = problemOf(exchange)
      if (isSuccess(exchange) || typeof reason !== 'string' || !(reason in REASONS)) {
        return undefined
      }
      const due = REASONS[reason as ProblemReason]
      const isOpen = OPEN[reason as ProblemReason]
      if (code === due.code && (isOpen || exchange.status === due.status)) return null
      const status = isOpen ? '' : ` ${due.status}`
      return fault('/reason', `${due.code}${status} with ${reason}`, answerText(exchange))
    },
  ),
  answerRule(
    '7.list-statuses',
    'A list endpoint answers 200 or one of the ten documented statuses.',
    ({ operation, status }) => {
      if (!listOperations.includes(operation)) return undefined
      if (status === 200 || listStatuses.includes(status)) return null
      return fault('', `200 or ${listStatuses.join(', ')}`, `status ${status}`)
    },
  ),
  readRule(
    '7.method',
    'A disallowed method is 405, and Allow lists the supported ones.',
    async (kit) => {
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
        throw broken(exchange, 'allow', 'GET among others', what)
      }
    },
  ),
  refusalRule({
    id: '7.accept',
    text: 'A request that accepts no JSON is 406.',
    refused: { operation: 'listObjectTypes', headers: { accept: 'text/csv' } },
    refusal: { statuses: [406] },
  }),
  refusalRule({
    id: '7.unknown-record',
    text: 'A record that does not exist is not_found.',
    of: (kit) => kit.anyType(),
    refused: (objectType) => ({ operation: 'readRecord', objectType, id: NO_RECORD }),
    refusal: { code: 'not_found' },
  }),
  readRule('7.unknown-path', 'A path that does not exist is refused.', async (kit) => {
    expectRefusal(await kit.callPath('/conform-no-such-path/'), {})
  }),
  refusalRule({
    id: '7.not-json',
    text: 'A body that is not JSON is request_invalid.',
    of: (kit) => kit.anyType(),
    refused: (objectType) => ({
      operation: 'queryRecords',
      objectType,
      body: '{"limit": ',
      sent: 'a body that ends too early',
    }),
    refusal: { code: 'request_invalid' },
  }),
]
