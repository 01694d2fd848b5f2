// Section 4.6: filters that are refused, and why.

import { FILTER_OPERATORS } from '../../contract/index.ts'
import type { FilterOperator } from '../../contract/index.ts'
import { everyAnswer, expectRefusal } from '../expect.ts'
import { evidenceText } from '../rule-context.ts'
import type { RuleContext } from '../rule-context.ts'
import { NotApplicable, Unchecked } from '../verdict.ts'
import type { Rule } from '../rule.ts'
import type { ProbedProperty } from '../types.ts'
import { kindOfProperty, valueFor, wrongValueFor } from '../values.ts'
import { problemOf } from '../wire.ts'

const code = 'request_invalid'

interface Asked {
  readonly type: string
  readonly property: ProbedProperty
}

/** A property that supports an operator. @throws NotApplicable */
async function propertyWith(
  kit: RuleContext,
  fits: (property: ProbedProperty) => boolean,
  what: string,
): Promise<Asked> {
  for (const { name: type, properties } of await kit.survey.types()) {
    const property = properties.find(
      (each) => fits(each) && (kit.hasRates || each.field.units.length === 0),
    )
    if (property) return { type, property }
  }
  throw new NotApplicable(`no property ${what}`)
}

const supports = (op: FilterOperator) => (property: ProbedProperty) =>
  property.operators.includes(op)

/** A valid leaf, for tests to spoil. */
async function leaf(kit: RuleContext) {
  const { type, property } = await propertyWith(kit, supports('is_null'), 'supports is_null')
  return { type, leaf: { property: property.name, op: 'is_null', value: true } }
}

type Leaf = Awaited<ReturnType<typeof leaf>>['leaf']

/** What is malformed, and a tree with that fault. */
const malformed: readonly [word: string, what: string, tree: (leaf: Leaf) => unknown][] = [
  ['unknown-key', 'an unknown key in a leaf', (good) => ({ ...good, conform: 1 })],
  ['group-key', 'an unknown key beside $and', (good) => ({ $and: [good], conform: 1 })],
  ['two-groups', '$and and $or in one node', (good) => ({ $and: [good], $or: [good] })],
  ['mixed', "a leaf's keys beside $and", (good) => ({ $and: [good], ...good })],
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

const malformedRule = ([word, what, tree]: (typeof malformed)[number]): Rule => ({
  id: `4.6.${word}`,
  text: `A filter with ${what} is 400 request_invalid.`,
  phase: 'reads',
  async check(kit) {
    const good = await leaf(kit)
    const filter = tree(good.leaf)
    expectRefusal(await kit.query(good.type, { filter }), { statuses: [400], code })
  },
})

const wrong = (reason: string) => ({ statuses: [422], code, reason })

export const section4Filters: readonly Rule[] = [
  ...malformed.map(malformedRule),
  {
    id: '4.6.aggregate-malformed',
    text: 'The same holds for the filter of an aggregate.',
    phase: 'reads',
    async check(kit) {
      const { type } = await leaf(kit)
      const body = { aggregations: [{ op: 'count' }], filter: { $and: [] } }
      expectRefusal(await kit.aggregate(type, body), { statuses: [400], code })
      const other = { property: 'conform_no_such_property', op: 'eq', value: 'x' }
      const unknown = { aggregations: [{ op: 'count' }], filter: other }
      expectRefusal(await kit.aggregate(type, unknown), wrong('unknown_property'))
    },
  },
  {
    id: '4.6.unknown-property',
    text: 'A filter by a property that the type lacks is 422, reason unknown_property.',
    phase: 'reads',
    async check(kit) {
      const filter = { property: 'conform_no_such_property', op: 'eq', value: 'x' }
      const exchange = await kit.query(await kit.anyType(), { filter })
      expectRefusal(exchange, wrong('unknown_property'))
    },
  },
  {
    id: '4.6.operator-not-supported',
    text: 'A filter by an operator that the field type does not support is 422, reason operator_not_supported.',
    phase: 'reads',
    async check(kit) {
      const lacking = ({ operators }: ProbedProperty) =>
        FILTER_OPERATORS.find((op) => !operators.includes(op))
      const { type, property } = await propertyWith(
        kit,
        (each) => lacking(each) !== undefined && each.operators.length > 0,
        'lacks an operator',
      )
      const op = lacking(property)!
      const value = valueOfShape(op, property)
      const exchange = await kit.query(type, { filter: { property: property.name, op, value } })
      expectRefusal(exchange, wrong('operator_not_supported'))
    },
  },
  {
    id: '4.6.invalid-value',
    text: 'A value that does not match the field type is 422, reason invalid_filter.',
    phase: 'reads',
    async check(kit) {
      const fits = (each: ProbedProperty) =>
        supports('eq')(each) && wrongValueFor(each) !== undefined
      const kinds = new Set<string>()
      for (const { name: type, properties } of await kit.survey.types()) {
        for (const property of properties.filter(fits)) {
          const kind = kindOfProperty(property)
          if (kinds.has(kind) || kind === 'money') continue
          kinds.add(kind)
          const filter = { property: property.name, op: 'eq', value: wrongValueFor(property)! }
          expectRefusal(await kit.query(type, { filter }), wrong('invalid_filter'))
        }
      }
      if (kinds.size === 0) throw new NotApplicable('no property supports eq')
      return `by ${[...kinds].join(', ')}`
    },
  },
  {
    id: '4.6.is-null-boolean',
    text: 'is_null takes a boolean.',
    phase: 'reads',
    async check(kit) {
      const good = await leaf(kit)
      const filter = { ...good.leaf, value: 'yes' }
      expectRefusal(await kit.query(good.type, { filter }), { statuses: [400, 422], code })
    },
  },
  {
    id: '4.6.in-list',
    text: 'in takes a list.',
    phase: 'reads',
    async check(kit) {
      const { type, property } = await propertyWith(kit, supports('in'), 'supports in')
      const filter = { property: property.name, op: 'in', value: 'conform' }
      expectRefusal(await kit.query(type, { filter }), { statuses: [400, 422], code })
    },
  },
  {
    id: '4.6.unknown-sort',
    text: 'A sort by a property that the type lacks is 422, reason unknown_property.',
    phase: 'reads',
    async check(kit) {
      const body = { sorts: [{ property: 'conform_no_such_property', direction: 'asc' }] }
      expectRefusal(await kit.query(await kit.anyType(), body), wrong('unknown_property'))
    },
  },
  {
    id: '4.6.unsupported-aggregation',
    text: 'An aggregation that the field type does not have is 422, reason unsupported_aggregation.',
    phase: 'reads',
    async check(kit) {
      const { type, property } = await propertyWith(
        kit,
        ({ field }) => field.valueType !== '' && !field.aggregations.includes('sum'),
        'lacks the aggregation sum',
      )
      const body = { aggregations: [{ op: 'sum', property: property.name }] }
      expectRefusal(await kit.aggregate(type, body), wrong('unsupported_aggregation'))
    },
  },
  {
    id: '4.6.exchange-rates',
    text: 'Without exchange rates, a currency filter is 503 service_unavailable with Retry-After.',
    phase: 'answers',
    check: ({ exchanges }) => {
      const isMeant = (each: (typeof exchanges)[number]) =>
        problemOf(each)['reason'] === 'exchange_rate_unavailable'
      if (!exchanges.some(isMeant)) throw new NotApplicable('the exchange rates are available')
      return everyAnswer(exchanges, (exchange) => {
        if (!isMeant(exchange)) return undefined
        const isRight =
          exchange.status === 503 &&
          problemOf(exchange)['code'] === 'service_unavailable' &&
          /^\d+$/.test(exchange.headers['retry-after'] ?? '')
        const expected = '503 service_unavailable with Retry-After'
        return isRight ? null : { at: '', expected, got: `status ${exchange.status}` }
      })
    },
  },
  {
    id: '4.6.too-many-groups',
    text: 'Too many groups are 422, reason too_many_filter_groups.',
    phase: 'reads',
    async check(kit) {
      const { type, leaf: good } = await leaf(kit)
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
  },
]

/** A value of the form that an operator takes, and of the property's own type. */
function valueOfShape(op: FilterOperator, property: ProbedProperty): unknown {
  if (op === 'is_null') return true
  const value = [valueFor(property, 'conform', 1) ?? 'conform'].flat()
  return ['in', 'not_in', 'contains_any', 'not_contains_any'].includes(op) ? value : value[0]
}
