// Aggregates (sections 2.9 and 4.2): one pass over the records, a tally for each group, one page of the groups.
// Promises kept here: sums and averages are exact; the order of groups depends only on their keys, so that pages fit together.

import { compareDecimals, decimalOfNumber } from '../../core/decimal.ts'
import { DecimalSum } from '../../core/decimal-sum.ts'
import type { AGGREGATIONS, AggregateData } from '../../contract/index.ts'
import type { CurrencyValue } from '../schema/currency.ts'
import type { Scalar, StoredValue } from '../schema/field-types.ts'
import type { CompiledProperty } from '../schema/object-types.ts'
import { sortedInSteps, type Steps } from './scan.ts'
import type { StoredValues } from '../store/record-store.ts'

export interface Aggregation {
  readonly op: (typeof AGGREGATIONS)[number]
  /** A property whose field type has `op`; for a count, any. Null counts records, whether they have a value or not. */
  readonly property: CompiledProperty | null
  /** Empty: all records are one group, which exists even if there is no record. */
  readonly groupBy: readonly CompiledProperty[]
  /** Groups of the page, at most. */
  readonly limit: number
  /** Groups before the page. */
  readonly offset: number
}

/** What is computed from the records of one group. */
interface Tally {
  add(values: StoredValues): void
  result(): AggregateData['results'][number]['value']
}

/** What is computed from values. */
interface Measure<Item, Result> {
  add(value: Item): void
  /** Null without values. */
  result(): Result | null
}

/** A number, the text of a date, or the amount of a currency value. */
type Plain = number | string
type PlainMeasure = Measure<Plain, string>
type Compare<Item> = (a: Item, b: Item) => number

interface Group {
  readonly keys: readonly StoredValue[]
  readonly tally: Tally
}

/**
 * Section 2.9. A property of several values is computed over all of them, and groups by its whole list. The records come
 * in pieces, so that other requests get their turn between two pieces.
 */
export async function aggregate(
  pieces: AsyncIterable<readonly StoredValues[]>,
  aggregation: Aggregation,
  steps: Steps,
): Promise<AggregateData> {
  const { groupBy, limit, offset } = aggregation
  const groups = await groupsOf(pieces, aggregation, steps)
  return {
    total_groups: groups.length,
    results: groups.slice(offset, offset + limit).map(({ keys, tally }) => ({
      group_by: Object.fromEntries(groupBy.map(({ name }, index) => [name, keys[index]!])),
      value: tally.result(),
    })),
    has_more: offset + limit < groups.length,
  }
}

/** Every group, in order. */
async function groupsOf(
  pieces: AsyncIterable<readonly StoredValues[]>,
  aggregation: Aggregation,
  steps: Steps,
): Promise<Group[]> {
  const { groupBy } = aggregation
  const groups = new Map<StoredValue, Group>()
  if (groupBy.length === 0) groups.set(null, { keys: [], tally: newTally(aggregation) })
  for await (const records of pieces) {
    for (const values of records) {
      const id = groupBy.length === 0 ? null : groupId(values, groupBy)
      let group = groups.get(id)
      if (!group) {
        group = { keys: groupBy.map(({ name }) => values[name]!), tally: newTally(aggregation) }
        groups.set(id, group)
      }
      group.tally.add(values)
    }
  }
  const compare = (a: Group, b: Group) => compareKeys(a.keys, b.keys, groupBy)
  return await sortedInSteps([...groups.values()], compare, steps)
}

/** The same for equal values, and only for those: a stored value has one normal form. */
function groupId(values: StoredValues, groupBy: readonly CompiledProperty[]): StoredValue {
  if (groupBy.length > 1) return JSON.stringify(groupBy.map(({ name }) => values[name]))
  const value = values[groupBy[0]!.name]!
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value
}

function compareKeys(
  a: readonly StoredValue[],
  b: readonly StoredValue[],
  groupBy: readonly CompiledProperty[],
) {
  for (let index = 0; index < groupBy.length; index += 1) {
    const order = compareValues(a[index]!, b[index]!, groupBy[index]!)
    if (order !== 0) return order
  }
  return 0
}

/** The order of the field type; lists item by item; null last. */
function compareValues(a: StoredValue, b: StoredValue, property: CompiledProperty): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  const { wire, field } = property
  const compare = (
    wire.field_type === 'currency' ? compareUnitFirst : field.compare
  ) as Compare<Scalar>
  if (!Array.isArray(a) || !Array.isArray(b)) return compare(a as Scalar, b as Scalar)
  for (let index = 0; index < a.length && index < b.length; index += 1) {
    const order = compare(a[index]!, b[index]!)
    if (order !== 0) return order
  }
  return a.length - b.length
}

/** By unit, then by amount. Comparing their worth would need exchange rates, and equal worth would leave the order open. */
function compareUnitFirst(a: CurrencyValue, b: CurrencyValue): number {
  if (a.unit !== b.unit) return a.unit < b.unit ? -1 : 1
  return compareDecimals(a.amount, b.amount)
}

function newTally({ op, property }: Aggregation): Tally {
  if (op === 'count') return countOf(property?.name)
  const { name, wire, field } = property!
  if (wire.field_type !== 'currency') {
    return tallyOf(name, newMeasure(op, field.compare as Compare<Plain>))
  }
  return tallyOf(
    name,
    byUnit(() => newMeasure(op, compareDecimals as Compare<Plain>)),
  )
}

function newMeasure(op: 'sum' | 'avg' | 'min' | 'max', compare: Compare<Plain>): PlainMeasure {
  if (op === 'min') return extreme(compare, -1)
  if (op === 'max') return extreme(compare, 1)
  const sum = new DecimalSum()
  return {
    add: (value) => sum.add(value),
    result: () => (op === 'sum' ? sum.total() : sum.average()),
  }
}

/** Counts records; with a name, only those that have a value of that property. */
function countOf(name: string | undefined): Tally {
  let records = 0
  return {
    add: (values) => {
      if (name === undefined || values[name] !== null) records += 1
    },
    result: () => records,
  }
}

function tallyOf<Item>(name: string, measure: Measure<Item, string | CurrencyValue[]>): Tally {
  return {
    add: (values) => {
      const value = values[name] as Item | Item[] | null
      if (value === null) return
      if (Array.isArray(value)) for (const each of value) measure.add(each)
      else measure.add(value)
    },
    result: () => measure.result(),
  }
}

/** The least or the greatest value. */
function extreme(compare: Compare<Plain>, side: 1 | -1): PlainMeasure {
  let best: Plain | null = null
  return {
    add: (value) => {
      if (best === null || compare(value, best) * side > 0) best = value
    },
    result: () => (typeof best === 'number' ? decimalOfNumber(best) : best),
  }
}

/** One result for each currency, in the order of their codes. */
function byUnit(measureOfUnit: () => PlainMeasure): Measure<CurrencyValue, CurrencyValue[]> {
  const measures = new Map<string, PlainMeasure>()
  return {
    add: ({ amount, unit }) => {
      let measure = measures.get(unit)
      if (!measure) measures.set(unit, (measure = measureOfUnit()))
      measure.add(amount)
    },
    result: () => {
      if (measures.size === 0) return null
      return [...measures]
        .map(([unit, measure]) => ({ amount: measure.result()!, unit }))
        .toSorted(({ unit: a }, { unit: b }) => (a < b ? -1 : 1))
    },
  }
}
