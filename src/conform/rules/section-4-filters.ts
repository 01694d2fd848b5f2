// Section 4.6: filters that are refused, and why.

import { FILTER_OPERATORS, type FilterOperator } from '../../contract/index.ts'
import { NO_PROPERTY, aggregateCall, evidenceText, queryCall } from '../calls.ts'
import { expectRefusal, fault } from '../expect.ts'
import type { RuleContext } from '../rule-context.ts'
import { NotApplicable, Unchecked } from '../verdict.ts'
import type { Rule } from '../rule.ts'
import { answerRule, readRule, refusalRule } from '../rule-kinds.ts'
import type { ProbedProperty } from '../types.ts'
import { kindOfProperty, valueFor, wrongValueFor, type ValueKind } from '../values.ts'
import { problemOf } from '../wire.ts'

const code = 'request_invalid'
const wrong = (reason: string) => ({ statuses: [422], code, reason })
const malformed = { statuses: [400], code }
/** A filter or a sort by what no type has. */
const nowhere = { property: NO_PROPERTY, op: 'eq', value: 'x' }
const count = [{ op: 'count' }]

/** A property to filter by. @throws NotApplicable */
const propertyThat =
  (what: string, fits: (property: ProbedProperty) => boolean) => (kit: RuleContext) =>
    kit.probe.propertyWhere(
      (each) => fits(each) && (kit.hasRates || each.field.units.length === 0),
      `no property ${what}`,
    )

const supporting = (op: FilterOperator) =>
  propertyThat(`supports ${op}`, ({ operators }) => operators.includes(op))

const isNull = ({ name }: ProbedProperty) => ({ property: name, op: 'is_null', value: true })
type Leaf = ReturnType<typeof isNull>

/** What is malformed, and a tree with that fault. */
const trees: readonly [word: string, what: string, tree: (leaf: Leaf) => unknown][] = [
  ['unknown-key', 'an unknown key in a leaf', (good) => ({ ...good, conform: 1 })],
  ['group-key', 'an unknown key next to $and', (good) => ({ $and: [good], conform: 1 })],
  ['two-groups', '$and and $or in one node', (good) => ({ $and: [good], $or: [good] })],
  ['mixed', "a leaf's keys next to $and", (good) => ({ $and: [good], ...good })],
  ['empty-and', 'an empty $and', () => ({ $and: [] })],
  ['empty-or', 'an empty $or', () => ({ $or: [] })],
  ['empty-node', 'a node without keys', () => ({})],
  ['and-no-list', '$and that is no list', (good) => ({ $and: good })],
  ['child-no-node', 'a child that is no node', () => ({ $or: ['conform'] })],
  ['missing-value', 'a leaf without value', ({ property, op }) => ({ property, op })],
  ['missing-op', 'a leaf without op', ({ property, value }) => ({ property, value })],
  ['missing-property', 'a leaf without property', ({ op, value }) => ({ op, value })],
  ['unknown-op', 'an operator outside the vocabulary', (good) => ({ ...good, op: 'sounds_like' })],
  ['deep', 'a malformed node within groups', (good) => ({ $and: [good, { $or: [{ $and: [] }] }] })],
]

const treeRule = ([word, what, tree]: (typeof trees)[number]): Rule =>
  refusalRule({
    id: `4.6.${word}`,
    text: `A filter with ${what} is 400 request_invalid.`,
    of: supporting('is_null'),
    refused: ({ type, property }) => queryCall(type, { filter: tree(isNull(property)) }),
    refusal: malformed,
  })

/** An operator that a property does not support. */
const lacking = ({ operators }: ProbedProperty) =>
  FILTER_OPERATORS.find((op) => !operators.includes(op))

export const section4Filters: readonly Rule[] = [
  ...trees.map(treeRule),
  readRule(
    '4.6.aggregate-malformed',
    'The same holds for the filter of an aggregate.',
    async (kit) => {
      const { type } = await supporting('is_null')(kit)
      const broken = aggregateCall(type, { aggregations: count, filter: { $and: [] } })
      expectRefusal(await kit.call(broken), malformed)
      const unknown = aggregateCall(type, { aggregations: count, filter: nowhere })
      expectRefusal(await kit.call(unknown), wrong('unknown_property'))
    },
  ),
  refusalRule({
    id: '4.6.unknown-property',
    text: 'A filter by a property that the type lacks is 422, reason unknown_property.',
    of: (kit) => kit.anyType(),
    refused: (type) => queryCall(type, { filter: nowhere }),
    refusal: wrong('unknown_property'),
  }),
  refusalRule({
    id: '4.6.operator-not-supported',
    text: 'A filter by an operator that the field type does not support is 422, reason operator_not_supported.',
    of: propertyThat(
      'lacks an operator',
      (each) => lacking(each) !== undefined && each.operators.length > 0,
    ),
    refused: ({ type, property }) => {
      const op = lacking(property)!
      const value = valueOfShape(op, property)
      return queryCall(type, { filter: { property: property.name, op, value } })
    },
    refusal: wrong('operator_not_supported'),
  }),
  refusalRule({
    id: '4.6.invalid-value',
    text: 'A value that does not match the field type is 422, reason invalid_filter.',
    of: ofEachKind,
    refused: (kinds) =>
      [...kinds.values()].map(({ type, property }) =>
        queryCall(type, {
          filter: { property: property.name, op: 'eq', value: wrongValueFor(property)! },
        }),
      ),
    refusal: wrong('invalid_filter'),
    note: (kinds) => `by ${[...kinds.keys()].join(', ')}`,
  }),
  refusalRule({
    id: '4.6.is-null-boolean',
    text: 'is_null takes a boolean.',
    of: supporting('is_null'),
    refused: ({ type, property }) =>
      queryCall(type, { filter: { ...isNull(property), value: 'yes' } }),
    refusal: { statuses: [400, 422], code },
  }),
  refusalRule({
    id: '4.6.in-list',
    text: 'in takes a list.',
    of: supporting('in'),
    refused: ({ type, property }) =>
      queryCall(type, { filter: { property: property.name, op: 'in', value: 'conform' } }),
    refusal: { statuses: [400, 422], code },
  }),
  refusalRule({
    id: '4.6.unknown-sort',
    text: 'A sort by a property that the type lacks is 422, reason unknown_property.',
    of: (kit) => kit.anyType(),
    refused: (type) => queryCall(type, { sorts: [{ property: NO_PROPERTY, direction: 'asc' }] }),
    refusal: wrong('unknown_property'),
  }),
  refusalRule({
    id: '4.6.unsupported-aggregation',
    text: 'An aggregation that the field type does not have is 422, reason unsupported_aggregation.',
    of: propertyThat(
      'lacks the aggregation sum',
      ({ field }) => field.valueType !== '' && !field.aggregations.includes('sum'),
    ),
    refused: ({ type, property }) =>
      aggregateCall(type, { aggregations: [{ op: 'sum', property: property.name }] }),
    refusal: wrong('unsupported_aggregation'),
  }),
  answerRule(
    '4.6.exchange-rates',
    'Without exchange rates, a currency filter is 503 service_unavailable with Retry-After.',
    (exchange) => {
      const { code: got, reason } = problemOf(exchange)
      if (reason !== 'exchange_rate_unavailable') return undefined
      const isRight =
        exchange.status === 503 &&
        got === 'service_unavailable' &&
        /^\d+$/.test(exchange.headers['retry-after'] ?? '')
      const expected = '503 service_unavailable with Retry-After'
      return isRight ? null : fault('', expected, `status ${exchange.status}`)
    },
    new NotApplicable('the exchange rates are available'),
  ),
  readRule(
    '4.6.too-many-groups',
    'Too many groups are 422, reason too_many_filter_groups.',
    async (kit) => {
      const { type, property } = await supporting('is_null')(kit)
      const good = isNull(property)
      const groups = 1_000
      const filter = { $or: Array.from({ length: groups }, () => ({ $and: [good] })) }
      const exchange = await kit.query(
        type,
        { filter, limit: 1 },
        `${groups} groups ${evidenceText(good)}`,
      )
      if (exchange.status === 200) {
        throw new Unchecked(`the cap is not stated, and ${groups} groups are within it`)
      }
      expectRefusal(exchange, wrong('too_many_filter_groups'))
    },
  ),
]

/** Properties to filter wrongly by `eq`, one of each kind of value. @throws NotApplicable */
async function ofEachKind(kit: RuleContext) {
  const kinds = new Map<ValueKind, { type: string; property: ProbedProperty }>()
  for (const { name: type, properties } of await kit.probe.types()) {
    for (const property of properties) {
      const kind = kindOfProperty(property)
      const fits = property.operators.includes('eq') && wrongValueFor(property) !== undefined
      if (fits && kind !== 'money' && !kinds.has(kind)) kinds.set(kind, { type, property })
    }
  }
  if (kinds.size === 0) throw new NotApplicable('no property supports eq')
  return kinds
}

/** A value of the form that an operator takes, and of the property's own type. */
function valueOfShape(op: FilterOperator, property: ProbedProperty): unknown {
  if (op === 'is_null') return true
  const value = [valueFor(property, 'conform', 1) ?? 'conform'].flat()
  return ['in', 'not_in', 'contains_any', 'not_contains_any'].includes(op) ? value : value[0]
}
