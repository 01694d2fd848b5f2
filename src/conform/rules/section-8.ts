// Section 8: limits.

import { everyAnswer, expectRefusal, expectSuccess, plainWord } from '../expect.ts'
import * as contract from '../../contract/index.ts'
import type { RuleContext } from '../rule-context.ts'
import { NotApplicable, Unchecked } from '../verdict.ts'
import type { Rule } from '../rule.ts'
import { kindOfProperty } from '../values.ts'

const invalid = { code: 'request_invalid' } as const
const wrong = (reason: string) => ({ ...invalid, statuses: [422], reason })
const count = [{ op: 'count' }]

const wholeNumber = (value: string | undefined) => /^\d+$/.test(value?.trim() ?? '')

/** A request that is within a limit, and one that is beyond. */
function boundRule(
  id: string,
  text: string,
  ask: (kit: RuleContext, type: string, isWithin: boolean) => ReturnType<RuleContext['query']>,
): Rule {
  return {
    id,
    text,
    phase: 'reads',
    async check(kit) {
      const type = await kit.anyType()
      expectSuccess(await ask(kit, type, true), [200])
      expectRefusal(await ask(kit, type, false), invalid)
    },
  }
}

/** A leaf within groups; the leaf is a level of its own. */
function nested(levels: number, leaf: object): object {
  return levels <= 1 ? leaf : { $and: [nested(levels - 1, leaf)] }
}

/** A leaf about a property that supports the operator. @throws NotApplicable */
async function leafOf(kit: RuleContext, op: contract.FilterOperator, isText = false) {
  for (const { name: type, properties } of await kit.survey.types()) {
    const property = properties.find(
      (each) => each.operators.includes(op) && (!isText || kindOfProperty(each) === 'text'),
    )
    if (property) return { type, name: property.name }
  }
  throw new NotApplicable(`no ${isText ? 'text ' : ''}property supports ${op}`)
}

export const section8: readonly Rule[] = [
  {
    id: '8.rate-headers',
    text: 'RateLimit-Limit and RateLimit-Remaining are on every answer.',
    phase: 'answers',
    check: ({ exchanges }) =>
      everyAnswer(exchanges, ({ headers }) => {
        const at = ['ratelimit-limit', 'ratelimit-remaining'].find(
          (name) => !wholeNumber(headers[name]),
        )
        if (at === undefined) return null
        return {
          at,
          expected: 'a whole number',
          got: headers[at] ? plainWord(headers[at]) : 'no such header',
        }
      }),
  },
  {
    id: '8.retry-after',
    text: 'Retry-After, in seconds, is on every 429 and 503.',
    phase: 'answers',
    check: ({ exchanges }) => {
      const meant = exchanges.filter(({ status }) => status === 429 || status === 503)
      if (meant.length === 0) throw new NotApplicable('no answer was 429 or 503')
      return everyAnswer(meant, ({ headers }) => {
        const got = headers['retry-after']
        if (wholeNumber(got)) return null
        const at = 'retry-after'
        return {
          at,
          expected: 'a whole number of seconds',
          got: got ? plainWord(got) : 'no such header',
        }
      })
    },
  },
  boundRule('8.query-limit-least', 'limit of a query is 1 at least.', (kit, type, isWithin) =>
    kit.query(type, { limit: isWithin ? 1 : 0 }),
  ),
  boundRule('8.query-limit-most', 'limit of a query is 100 at most.', (kit, type, isWithin) =>
    kit.query(type, { limit: contract.PAGE_LIMIT_MAX + (isWithin ? 0 : 1) }),
  ),
  boundRule(
    '8.aggregate-limit-least',
    'limit of an aggregate is 1 at least.',
    (kit, type, isWithin) => kit.aggregate(type, { aggregations: count, limit: isWithin ? 1 : 0 }),
  ),
  boundRule(
    '8.aggregate-limit-most',
    'limit of an aggregate is 100 at most.',
    (kit, type, isWithin) =>
      kit.aggregate(type, {
        aggregations: count,
        limit: contract.PAGE_LIMIT_MAX + (isWithin ? 0 : 1),
      }),
  ),
  boundRule('8.offset', 'offset is 0 at least.', (kit, type, isWithin) =>
    kit.aggregate(type, { aggregations: count, offset: isWithin ? 0 : -1 }),
  ),
  boundRule('8.aggregations', 'There is exactly one aggregation.', (kit, type, isWithin) =>
    kit.aggregate(type, { aggregations: isWithin ? count : [...count, ...count] }),
  ),
  boundRule('8.no-aggregation', 'aggregations is required.', (kit, type, isWithin) =>
    kit.aggregate(type, isWithin ? { aggregations: count } : {}),
  ),
  boundRule(
    '8.aggregation-op',
    'An aggregation is count, sum, avg, min or max.',
    (kit, type, isWithin) =>
      kit.aggregate(type, { aggregations: [{ op: isWithin ? 'count' : 'median' }] }),
  ),
  boundRule('8.search', 'search has at most 200 characters.', (kit, type, isWithin) => {
    const length = contract.SEARCH_CHARS_MAX + (isWithin ? 0 : 1)
    return kit.query(type, { search: 'q'.repeat(length), limit: 1 })
  }),
  {
    id: '8.sorts',
    text: 'There is at most one sort.',
    phase: 'reads',
    async check(kit) {
      for (const { name, properties } of await kit.survey.types()) {
        const sortable = properties.filter(
          ({ field, isMulti }) => field.sortable && !isMulti && field.units.length === 0,
        )
        if (sortable.length < 2) continue
        const sorts = sortable
          .slice(0, 2)
          .map((property) => ({ property: property.name, direction: 'asc' }))
        expectSuccess(await kit.query(name, { sorts: sorts.slice(0, 1), limit: 1 }), [200])
        expectRefusal(await kit.query(name, { sorts }), invalid)
        return
      }
      throw new NotApplicable('no type has two properties that can be sorted on')
    },
  },
  {
    id: '8.filter-depth',
    text: 'A filter has at most 8 levels; deeper is 422, reason filter_too_deep.',
    phase: 'reads',
    async check(kit) {
      const { type, name } = await leafOf(kit, 'is_null')
      const leaf = { property: name, op: 'is_null', value: true }
      // The specification leaves open whether the leaf counts: 8 with the leaf are within, 9 without it are beyond.
      const within = nested(contract.FILTER_DEPTH_MAX, leaf)
      expectSuccess(await kit.query(type, { filter: within, limit: 1 }, '8 levels'), [200])
      const beyond = nested(contract.FILTER_DEPTH_MAX + 2, leaf)
      expectRefusal(
        await kit.query(type, { filter: beyond }, '10 levels'),
        wrong('filter_too_deep'),
      )
    },
  },
  {
    id: '8.in-values',
    text: 'An in list has at most 100 values; a longer one is 422, reason invalid_filter.',
    phase: 'reads',
    async check(kit) {
      const { type, name } = await leafOf(kit, 'in', true)
      const filter = (length: number) => ({
        property: name,
        op: 'in',
        value: Array.from({ length }, (_, index) => `conform-${index}`),
      })
      const within = { filter: filter(contract.IN_VALUES_MAX), limit: 1 }
      expectSuccess(await kit.query(type, within, '100 values'), [200])
      const beyond = { filter: filter(contract.IN_VALUES_MAX + 1), limit: 1 }
      expectRefusal(await kit.query(type, beyond, '101 values'), wrong('invalid_filter'))
    },
  },
  {
    id: '8.batch-empty',
    text: 'A batch has 1 item at least.',
    phase: 'writes',
    async check(kit) {
      const bench = kit.bench()
      const objectType = bench.typeName
      const body = { data: [] }
      expectRefusal(await kit.call({ operation: 'batchCreate', objectType, body }), invalid)
      expectRefusal(await kit.call({ operation: 'batchUpdate', objectType, body }), invalid)
      expectRefusal(await kit.call({ operation: 'batchDelete', objectType, body }), invalid)
      const matchingProperty = bench.key.name
      const upsert = { operation: 'batchUpsert', objectType, matchingProperty, body } as const
      expectRefusal(await kit.call(upsert), invalid)
    },
  },
  {
    id: '8.batch-items',
    text: 'A batch has 50 items at most.',
    phase: 'writes',
    async check(kit) {
      const bench = kit.bench()
      const objectType = bench.typeName
      // Ids that no record has: whatever the service does with them, nothing is written.
      const data = Array.from({ length: contract.BATCH_ITEMS_MAX + 1 }, (_, index) => ({
        id: `conform-no-such-record-${index}`,
      }))
      const within = { data: data.slice(0, contract.BATCH_ITEMS_MAX) }
      const sent = '50 ids that no record has'
      const answer = await kit.call({ operation: 'batchDelete', objectType, body: within, sent })
      expectSuccess(answer)
      const beyond = {
        operation: 'batchDelete',
        objectType,
        body: { data },
        sent: '51 items',
      } as const
      expectRefusal(await kit.call(beyond), invalid)
      const items = data.map(() => ({ properties: bench.identity() }))
      const create = { operation: 'batchCreate', objectType, body: { data: items } } as const
      expectRefusal(await kit.call({ ...create, sent: '51 items' }), invalid)
      const updates = data.map(({ id }) => ({ id, properties: {} }))
      const update = { operation: 'batchUpdate', objectType, body: { data: updates } } as const
      expectRefusal(await kit.call({ ...update, sent: '51 items' }), invalid)
      const matchingProperty = bench.key.name
      const upsert = { ...create, operation: 'batchUpsert', matchingProperty } as const
      expectRefusal(await kit.call({ ...upsert, sent: '51 items' }), invalid)
    },
  },
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
