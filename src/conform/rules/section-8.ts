// Section 8: limits.

import { aggregateCall, queryCall } from '../calls.ts'
import { expectRefusal, fault, plainWord } from '../expect.ts'
import { answerRule, refusalRule } from '../rule-kinds.ts'
import * as contract from '../../contract/index.ts'
import type { RuleContext } from '../rule-context.ts'
import { NotApplicable, Unchecked } from '../verdict.ts'
import type { Rule } from '../rule.ts'
import type { ProbedProperty } from '../types.ts'
import { kindOfProperty, type ValueKind } from '../values.ts'

const invalid = { code: 'request_invalid' } as const
const wrong = (reason: string) => ({ ...invalid, statuses: [422], reason })
const count = [{ op: 'count' }]

const wholeNumber = (value: string | undefined) => /^\d+$/.test(value?.trim() ?? '')
const headerText = (value: string | undefined) => (value ? plainWord(value) : 'no such header')

const most = { limit: contract.PAGE_LIMIT_MAX }
const tooMuch = { limit: contract.PAGE_LIMIT_MAX + 1 }
const longest = 'q'.repeat(contract.SEARCH_CHARS_MAX)

const countCall = (type: string, body: object) =>
  aggregateCall(type, { aggregations: count, ...body })

type Bound = readonly [word: string, text: string, within: object, beyond: object]

/** Limits on the body of a query: a body that is within, and one that is beyond. */
const queryBounds: readonly Bound[] = [
  ['query-limit-least', 'limit of a query is 1 at least.', { limit: 1 }, { limit: 0 }],
  ['query-limit-most', 'limit of a query is 100 at most.', most, tooMuch],
]
/** The same for an aggregate, as changes to one that counts. */
const aggregateBounds: readonly Bound[] = [
  ['aggregate-limit-least', 'limit of an aggregate is 1 at least.', { limit: 1 }, { limit: 0 }],
  ['aggregate-limit-most', 'limit of an aggregate is 100 at most.', most, tooMuch],
  ['offset', 'offset is 0 at least.', { offset: 0 }, { offset: -1 }],
  ['aggregations', 'There is exactly one aggregation.', {}, { aggregations: [...count, ...count] }],
  // JSON leaves out what is undefined.
  ['no-aggregation', 'aggregations is required.', {}, { aggregations: undefined }],
  [
    'aggregation-op',
    'An aggregation is count, sum, avg, min or max.',
    {},
    { aggregations: [{ op: 'median' }] },
  ],
]
const searchBound: Bound = [
  'search',
  'search has at most 200 characters.',
  { search: longest, limit: 1 },
  { search: `${longest}q`, limit: 1 },
]

const boundRule =
  (request: typeof countCall) =>
  ([word, text, within, beyond]: Bound): Rule =>
    refusalRule({
      id: `8.${word}`,
      text,
      of: (kit) => kit.anyType(),
      accepted: (type) => request(type, within),
      refused: (type) => request(type, beyond),
      refusal: invalid,
    })

/** A leaf within groups; the leaf is a level of its own. */
function nested(levels: number, property: ProbedProperty): object {
  if (levels <= 1) return { property: property.name, op: 'is_null', value: true }
  return { $and: [nested(levels - 1, property)] }
}

const oneOf = (length: number, { name }: ProbedProperty) => ({
  property: name,
  op: 'in',
  value: Array.from({ length }, (_, index) => `conform-${index}`),
})

/** Ids that no record has: whatever the service does with them, nothing is written. */
const tooMany = Array.from({ length: contract.BATCH_ITEMS_MAX + 1 }, (_, index) => ({
  id: `conform-no-such-record-${index}`,
}))

/** A property that supports the operator. @throws NotApplicable */
const supporting = (op: contract.FilterOperator, kind?: ValueKind) => (kit: RuleContext) =>
  kit.probe.propertyWhere(
    (each) => each.operators.includes(op) && (!kind || kindOfProperty(each) === kind),
    `no ${kind ? `${kind} ` : ''}property supports ${op}`,
  )

/** Two sorts that the service accepts one at a time. @throws NotApplicable */
async function twoSorts(kit: RuleContext) {
  for (const { name: type, properties } of await kit.probe.types()) {
    const sortable = properties.filter(
      ({ field, isMulti }) => field.sortable && !isMulti && field.units.length === 0,
    )
    const sorts = sortable.slice(0, 2).map(({ name }) => ({ property: name, direction: 'asc' }))
    if (sorts.length === 2) return { type, sorts }
  }
  throw new NotApplicable('no type has two properties that can be sorted on')
}

export const section8: readonly Rule[] = [
  answerRule(
    '8.rate-headers',
    'RateLimit-Limit and RateLimit-Remaining are on every answer.',
    ({ headers }) => {
      const at = ['ratelimit-limit', 'ratelimit-remaining'].find(
        (name) => !wholeNumber(headers[name]),
      )
      if (at === undefined) return null
      return fault(at, 'a whole number', headerText(headers[at]))
    },
  ),
  answerRule(
    '8.retry-after',
    'Retry-After, in seconds, is on every 429 and 503.',
    ({ status, headers: { 'retry-after': got } }) => {
      if (status !== 429 && status !== 503) return undefined
      if (wholeNumber(got)) return null
      return fault('retry-after', 'a whole number of seconds', headerText(got))
    },
    new NotApplicable('no answer was 429 or 503'),
  ),
  ...queryBounds.map(boundRule(queryCall)),
  ...aggregateBounds.map(boundRule(countCall)),
  boundRule(queryCall)(searchBound),
  refusalRule({
    id: '8.sorts',
    text: 'There is at most one sort.',
    of: twoSorts,
    accepted: ({ type, sorts }) => queryCall(type, { sorts: sorts.slice(0, 1), limit: 1 }),
    refused: ({ type, sorts }) => queryCall(type, { sorts }),
    refusal: invalid,
  }),
  refusalRule({
    id: '8.filter-depth',
    text: 'A filter has at most 8 levels; deeper is 422, reason filter_too_deep.',
    of: supporting('is_null'),
    // The specification leaves open whether the leaf counts: 8 with the leaf are within, 9 without it are beyond.
    accepted: ({ type, property }) =>
      queryCall(
        type,
        { filter: nested(contract.FILTER_DEPTH_MAX, property), limit: 1 },
        '8 levels',
      ),
    refused: ({ type, property }) =>
      queryCall(type, { filter: nested(contract.FILTER_DEPTH_MAX + 2, property) }, '10 levels'),
    refusal: wrong('filter_too_deep'),
  }),
  refusalRule({
    id: '8.in-values',
    text: 'An in list has at most 100 values; a longer one is 422, reason invalid_filter.',
    of: supporting('in', 'text'),
    accepted: ({ type, property }) =>
      queryCall(type, { filter: oneOf(contract.IN_VALUES_MAX, property), limit: 1 }, '100 values'),
    refused: ({ type, property }) =>
      queryCall(
        type,
        { filter: oneOf(contract.IN_VALUES_MAX + 1, property), limit: 1 },
        '101 values',
      ),
    refusal: wrong('invalid_filter'),
  }),
  refusalRule({
    id: '8.batch-empty',
    text: 'A batch has 1 item at least.',
    phase: 'writes',
    of: (kit) => kit.bench(),
    refused: (bench) => [
      bench.batchOf('batchCreate', []),
      bench.batchOf('batchUpdate', []),
      bench.batchOf('batchDelete', []),
      bench.batchOf('batchUpsert', []),
    ],
    refusal: invalid,
  }),
  refusalRule({
    id: '8.batch-items',
    text: 'A batch has 50 items at most.',
    phase: 'writes',
    of: (kit) => kit.bench(),
    accepted: (bench) =>
      bench.batchOf(
        'batchDelete',
        tooMany.slice(0, contract.BATCH_ITEMS_MAX),
        '50 ids that no record has',
      ),
    statuses: [],
    refused: (bench) => {
      const records = tooMany.map(() => ({ properties: bench.identity() }))
      const updates = tooMany.map(({ id }) => ({ id, properties: {} }))
      return [
        bench.batchOf('batchDelete', tooMany, '51 items'),
        bench.batchOf('batchCreate', records, '51 items'),
        bench.batchOf('batchUpdate', updates, '51 items'),
        bench.batchOf('batchUpsert', records, '51 items'),
      ]
    },
    refusal: invalid,
  }),
  {
    id: '8.rate-limited',
    text: 'A request beyond the limit is 429 rate_limited.',
    phase: 'answers',
    check: ({ exchanges }) => {
      const meant = exchanges.filter(({ status }) => status === 429)
      if (meant.length === 0) throw new Unchecked('the limit was not reached, and is not provoked')
      for (const exchange of meant)
        expectRefusal(exchange, { statuses: [429], code: 'rate_limited' })
      return `${meant.length} answers`
    },
  },
]
