// Sections 2.9 and 4.2: aggregates, compared with the records that were listed.

import type { FilterNode } from '../../contract/index.ts'
import { DecimalSum } from '../../core/decimal-sum.ts'
import { compareDecimals } from '../../core/decimal.ts'
import { broken, expectSuccess, valueKind } from '../expect.ts'
import { aggregateCall, leafEvidence } from '../calls.ts'
import type { RuleContext } from '../rule-context.ts'
import { filterDecimal, isMoney, matchesFilter } from '../filter-semantics.ts'
import { candidatesFor } from '../operands.ts'
import { Broken, Unchecked } from '../verdict.ts'
import type { Rule } from '../rule.ts'
import { readRule } from '../rule-kinds.ts'
import { within } from '../schema-probe.ts'
import type { ProbedRecord, ProbedProperty, RecordSample } from '../types.ts'
import { dataOf, fieldsOf } from '../wire.ts'

type Table = Awaited<ReturnType<typeof tableOf>>
type Row = Table['rows'][number]

const count = [{ op: 'count' }]
/** How far an average may differ from ours: the specification does not say how it is rounded. */
const AVERAGE_TOLERANCE = 1e-6

async function tableOf(kit: RuleContext, type: string, body: object, sent?: string) {
  const exchange = await kit.call(aggregateCall(type, body, sent))
  expectSuccess(exchange, [200])
  const { results, total_groups: total, has_more: hasMore } = fieldsOf(dataOf(exchange))
  if (!Array.isArray(results)) {
    throw broken(exchange, '/data/results', 'a list', valueKind(results))
  }
  const rows = results.map((row: unknown) => {
    const { group_by: group, value } = fieldsOf(row)
    return { group: fieldsOf(group), value }
  })
  return { exchange, rows, total, hasMore }
}

/** The records of a type that an aggregate is compared over, and the filter that selects them. */
interface Scope {
  readonly type: string
  readonly filter: FilterNode | null
  readonly records: readonly ProbedRecord[]
}

/**
 * A comparison with the records of a sample; a fault must be found twice, the second time with records that were read again,
 * because other clients may write meanwhile.
 * @throws Broken, Unchecked
 */
async function compared(
  kit: RuleContext,
  sample: RecordSample,
  compare: (scope: Scope) => Promise<void>,
): Promise<void> {
  const scopeOf = (each: RecordSample): Scope => {
    const type = each.type.name
    const scope = within(each)
    if (scope) return { type, ...scope }
    throw new Unchecked(`${type} has too many records to compare with`)
  }
  try {
    await compare(scopeOf(sample))
  } catch (error) {
    if (!(error instanceof Broken)) throw error
    await compare(scopeOf(await kit.probe.sampleAgain(sample)))
  }
}

const and = (a: FilterNode | null, b: FilterNode): FilterNode => (a ? { $and: [a, b] } : b)

/** A sample, and a single-value property of it that supports an aggregation and has at least one value. */
async function measurable(
  kit: RuleContext,
  op: string,
  fits: (value: unknown) => boolean,
): Promise<{ sample: RecordSample; property: ProbedProperty }> {
  for (const sample of await kit.probe.samples()) {
    const property = sample.type.properties.find(
      ({ name, field, isMulti }) =>
        field.aggregations.includes(op) &&
        !isMulti &&
        sample.records.some(({ properties }) => fits(properties[name])),
    )
    if (property) return { sample, property }
  }
  throw new Unchecked(`no record has a value that ${op} could be asked of: --write TYPE makes some`)
}

const isNumber = (value: unknown) => typeof value === 'number'

/** Where the value of an aggregate without groups is. */
const VALUE = '/data/results/0/value'

/** @throws Broken, unless a number of the answer is the one due; `as` says why it is due. */
function expectNumber({ exchange }: Table, at: string, got: unknown, due: number, as: string) {
  if (got === due) return
  const what = typeof got === 'number' ? String(got) : valueKind(got)
  throw broken(exchange, at, `${due}, ${as}`, what)
}

/** The value of the one row of an aggregate without groups. @throws Broken */
function oneValue({ exchange, rows }: Table): unknown {
  if (rows.length === 1) return rows[0]!.value
  throw broken(exchange, '/data/results', 'one row: there are no groups', `${rows.length} rows`)
}

function numberRule(
  op: 'sum' | 'avg' | 'min' | 'max',
  text: string,
  fits: (got: string, values: readonly string[]) => boolean,
): Rule {
  return readRule(`4.2.${op}`, text, async (kit) => {
    const { sample, property } = await measurable(kit, op, isNumber)
    await compared(kit, sample, async ({ type, filter, records }) => {
      const aggregations = [{ op, property: property.name }]
      const sent = `${op} of ${property.name}`
      const table = await tableOf(kit, type, { aggregations, filter }, sent)
      const value = oneValue(table)
      const decimal = typeof value === 'string' ? filterDecimal(value) : null
      if (decimal === null) throw broken(table.exchange, VALUE, 'a decimal text', valueKind(value))
      const values = records.flatMap(
        ({ properties }) => filterDecimal(properties[property.name]) ?? [],
      )
      if (fits(decimal, values)) return
      const expected = `the ${op} of the ${values.length} listed values`
      throw broken(table.exchange, VALUE, expected, 'another number')
    })
    return `of ${property.name}`
  })
}

function summed(values: readonly string[]): DecimalSum {
  const sum = new DecimalSum()
  for (const value of values) sum.add(value)
  return sum
}

const extreme = (values: readonly string[], sign: 1 | -1) =>
  values.toSorted((a, b) => sign * compareDecimals(a, b))[0]

/** A single-value property by which a sample's records fall into several groups, but few. @throws Unchecked */
async function groupable(
  kit: RuleContext,
): Promise<{ sample: RecordSample; property: ProbedProperty }> {
  let best: { sample: RecordSample; property: ProbedProperty; groups: number } | null = null
  for (const sample of await kit.probe.samples()) {
    for (const property of sample.type.properties) {
      if (property.isMulti || property.field.units.length > 0) continue
      const values = groupsOf(sample.records, property.name)
      const groups = values.has('null') ? values.size - 1 : values.size
      if (groups > 1 && groups <= 100 && (!best || groups < best.groups)) {
        best = { sample, property, groups }
      }
    }
    if (best) return best
  }
  throw new Unchecked('no type has records with different values to group by')
}

/** How many records have each value. */
function groupsOf(records: readonly ProbedRecord[], name: string): Map<string, number> {
  const groups = new Map<string, number>()
  for (const { properties } of records) {
    const key = JSON.stringify(properties[name] ?? null)
    groups.set(key, (groups.get(key) ?? 0) + 1)
  }
  return groups
}

const keyOf = ({ group }: Row) => JSON.stringify(Object.values(group))

export const section4Aggregate: readonly Rule[] = [
  readRule('4.2.count', 'count is the number of records.', async (kit) => {
    const sample = await kit.probe.sampleOf(1)
    await compared(kit, sample, async ({ type, filter, records }) => {
      const table = await tableOf(kit, type, { aggregations: count, filter }, 'count')
      expectNumber(table, VALUE, oneValue(table), records.length, 'as many as were listed')
    })
  }),
  readRule('4.2.filter', 'filter constrains the aggregated set.', async (kit) => {
    const samples = await kit.probe.samples()
    const candidate = candidatesFor('is_null', samples).find(({ splits }) => splits)
    if (!candidate) throw new Unchecked('no type has records that a filter tells apart')
    await compared(kit, candidate.sample, async ({ type, filter: scope, records }) => {
      const filter = and(scope, candidate.filter)
      const sent = `count, ${leafEvidence(candidate.filter)}`
      const table = await tableOf(kit, type, { aggregations: count, filter }, sent)
      const due = records.filter(
        ({ properties }) => matchesFilter(candidate.filter, properties) === 'yes',
      ).length
      const value = table.rows.length === 0 ? 0 : oneValue(table)
      expectNumber(table, VALUE, value, due, 'as many of those listed match')
    })
  }),
  numberRule(
    'sum',
    'sum of a number is a decimal text, and the sum of the values.',
    (got, values) => got === summed(values).total(),
  ),
  numberRule('avg', 'avg of a number is a decimal text, and the average.', (got, values) => {
    const average = Number(summed(values).average())
    return Math.abs(Number(got) - average) <= AVERAGE_TOLERANCE * Math.max(1, Math.abs(average))
  }),
  numberRule(
    'min',
    'min of a number is a decimal text, and the least value.',
    (got, values) => got === extreme(values, 1),
  ),
  numberRule(
    'max',
    'max of a number is a decimal text, and the greatest value.',
    (got, values) => got === extreme(values, -1),
  ),
  readRule(
    '4.2.currency-sum',
    'sum of a currency property is one {amount, unit} per currency.',
    async (kit) => {
      const { sample, property } = await measurable(kit, 'sum', isMoney)
      await compared(kit, sample, async ({ type, filter, records }) => {
        const body = { aggregations: [{ op: 'sum', property: property.name }], filter }
        const table = await tableOf(kit, type, body, `sum of ${property.name}`)
        const value = oneValue(table)
        const amounts = new Map<string, string[]>()
        for (const { properties } of records) {
          const money = properties[property.name]
          const amount = isMoney(money) ? filterDecimal(money.amount) : null
          if (!isMoney(money) || amount === null) continue
          amounts.set(money.unit, [...(amounts.get(money.unit) ?? []), amount])
        }
        const due = [...amounts].map(([unit, list]) => `${summed(list).total()} ${unit}`).toSorted()
        const list = Array.isArray(value) ? value : []
        const got = list.map((each: unknown) =>
          isMoney(each) && typeof each.amount === 'string'
            ? `${filterDecimal(each.amount)} ${each.unit}`
            : 'no {amount, unit}',
        )
        if (Array.isArray(value) && got.toSorted().join() === due.join()) return
        const expected = `${due.length} sums, one per currency of the listed values`
        const kind = Array.isArray(value) ? `${value.length} others` : valueKind(value)
        throw broken(table.exchange, VALUE, expected, kind)
      })
      return `of ${property.name}`
    },
  ),
  readRule('4.2.null', 'The value is null where no value applies.', async (kit) => {
    const { sample, property } = await measurable(kit, 'sum', isNumber)
    const { name } = property
    const filter = { property: name, op: 'is_null', value: true }
    const body = { aggregations: [{ op: 'max', property: name }], filter }
    const sent = `max of ${name} where it has no value`
    const table = await tableOf(kit, sample.type.name, body, sent)
    const held = table.rows.find(({ value }) => value !== null)
    if (!held) return
    throw broken(table.exchange, VALUE, 'null', valueKind(held.value))
  }),
  readRule(
    '4.2.group-by',
    'There is one row per group, and total_groups is their number.',
    async (kit) => {
      const { sample, property } = await groupable(kit)
      await compared(kit, sample, async ({ type, filter, records }) => {
        const body = { aggregations: count, group_by: [property.name], filter, limit: 100 }
        const table = await tableOf(kit, type, body, `count by ${property.name}`)
        const due = groupsOf(records, property.name)
        const found = new Map(
          table.rows.map(({ group, value }) => [
            JSON.stringify(group[property.name] ?? null),
            value,
          ]),
        )
        // The specification leaves open whether records without a value form a group of their own.
        const wrong = [...due].filter(([key, size]) => key !== 'null' && found.get(key) !== size)
        const extra = [...found.keys()].filter((key) => key !== 'null' && !due.has(key))
        if (wrong.length > 0 || extra.length > 0 || found.size !== table.rows.length) {
          const expected = `${due.size} groups of the sizes that were listed`
          const got = `${table.rows.length} rows, ${wrong.length} of the groups missing or of another size`
          throw broken(table.exchange, '/data/results', expected, got)
        }
        const rows = table.rows.length
        expectNumber(table, '/data/total_groups', table.total, rows, 'as there are rows')
      })
      return `by ${property.name}`
    },
  ),
  readRule(
    '4.2.limit',
    'limit is the most groups of a page, and has_more says that there are more.',
    async (kit) => {
      const { sample, property } = await groupable(kit)
      const { exchange, rows, hasMore } = await groupPage(kit, sample, property, 0)
      if (rows.length !== 1) {
        throw broken(exchange, '/data/results', 'one row', `${rows.length} rows`)
      }
      if (hasMore === true) return
      throw broken(exchange, '/data/has_more', 'true', String(hasMore))
    },
  ),
  readRule(
    '4.2.offset',
    'offset skips groups: page after page gives every group once.',
    async (kit) => {
      const { sample, property } = await groupable(kit)
      const all = await tableOf(kit, sample.type.name, {
        aggregations: count,
        group_by: [property.name],
      })
      if (all.hasMore === true) throw new Unchecked(`${property.name} has too many groups`)
      const total = all.rows.length
      const first = await groupPage(kit, sample, property, 0)
      const second = await groupPage(kit, sample, property, 1)
      const last = await groupPage(kit, sample, property, Math.max(0, total - 1))
      const beyond = await groupPage(kit, sample, property, total)
      const same = (a: Table, b: Table) =>
        a.rows[0] && b.rows[0] && keyOf(a.rows[0]) === keyOf(b.rows[0])
      if (same(first, second)) {
        throw broken(second.exchange, '/data/results', 'the second group', 'the first group again')
      }
      if (beyond.rows.length > 0) {
        const got = `${beyond.rows.length} rows`
        throw broken(beyond.exchange, '/data/results', 'no more groups', got)
      }
      if (last.hasMore === false && beyond.hasMore === false) return
      const faulty = last.hasMore === false ? beyond : last
      throw broken(faulty.exchange, '/data/has_more', 'false', String(faulty.hasMore))
    },
  ),
]

/** One group. */
async function groupPage(
  kit: RuleContext,
  sample: RecordSample,
  { name }: ProbedProperty,
  offset: number,
): Promise<Table> {
  const body = { aggregations: count, group_by: [name], limit: 1, offset }
  return await tableOf(kit, sample.type.name, body)
}
