// Aggregates (sections 2.9 and 4.2): one pass over the records, a state for each group, then the groups in their order.
// Promises kept here: sums and averages are exact; the order of groups depends only on their keys, so that pages fit together;
// however many groups there are, no step of the work is long.

import { createHash } from 'node:crypto'
import { compareDecimals, decimalOfNumber } from '../../core/decimal.ts'
import { DecimalSum } from '../../core/decimal-sum.ts'
import type { AggregateData } from '../../contract/index.ts'
import type { CurrencyValue } from '../schema/currency.ts'
import type { Scalar, StoredValue } from '../schema/field-types.ts'
import type { CompiledProperty } from '../schema/object-types.ts'
import type { Aggregation, Groups } from '../store/kept-groups.ts'
import { sortedPositions, type Steps } from '../store/scan.ts'
import type { StoredValues } from '../store/slots.ts'

/** A map that grows copies itself at once: with more groups than this a new one is begun, and they are united at the end. */
const MAPPED_MAX = 2 ** 15
/** Groups that are united between two looks at the clock, and the items that they count as. */
const BLOCK = 256
const BLOCK_ITEMS = 16
const ID_CHARS_MAX = 1_000

type AggregateValue = AggregateData['results'][number]['value']

/** How the value of a group is computed from its records; a state is undefined before the first one. */
interface Tally<State> {
  add(state: State | undefined, values: StoredValues): State | undefined
  unite(a: State, b: State): State
  result(state: State | undefined): AggregateValue
}

/** What is computed from values. */
interface Measure<Item, State, Result> {
  add(state: State | undefined, value: Item): State
  unite(a: State, b: State): State
  result(state: State): Result
}

/** A number, the text of a date, or the amount of a currency value. */
type Plain = number | string
type PlainMeasure = Measure<Plain, unknown, string>
type Compare<Item> = (a: Item, b: Item) => number
/** The value of the one property that is grouped by, or a list of those of several. */
type GroupKey = StoredValue | readonly StoredValue[]

/**
 * Section 2.9. A property of several values is computed over all of them, and groups by its whole list. The records come
 * in pieces, so that other requests get their turn between two pieces.
 */
export async function groupsOf(
  pieces: AsyncIterable<readonly StoredValues[]>,
  aggregation: Aggregation,
  steps: Steps,
): Promise<Groups> {
  const { groupBy } = aggregation
  const tally = tallyOf(aggregation)
  const keys: GroupKey[] = []
  const states: unknown[] = []
  let places = new Map<StoredValue, number>()
  const placeOf = (id: StoredValue, values: StoredValues): number => {
    const known = places.get(id)
    if (known !== undefined) return known
    if (places.size >= MAPPED_MAX) places = new Map()
    places.set(id, keys.length)
    states.push(undefined)
    return keys.push(keyOf(values, groupBy)) - 1
  }
  if (groupBy.length === 0) placeOf(null, {})
  for await (const records of pieces) {
    for (const values of records) {
      const place = placeOf(groupId(values, groupBy), values)
      states[place] = tally.add(states[place], values)
    }
  }
  const all = await united(keys, states, { groupBy, tally }, steps)
  return {
    total: all.keys.length,
    page: (limit, offset) => ({
      total_groups: all.keys.length,
      results: all.keys.slice(offset, offset + limit).map((key, index) => ({
        group_by: namedKey(key, groupBy),
        value: tally.result(all.states[offset + index]),
      })),
      has_more: offset + limit < all.keys.length,
    }),
  }
}

/** The groups in order, each once. */
async function united(
  keys: readonly GroupKey[],
  states: readonly unknown[],
  { groupBy, tally }: { groupBy: Aggregation['groupBy']; tally: Tally<unknown> },
  steps: Steps,
): Promise<{ keys: GroupKey[]; states: unknown[] }> {
  const compare = comparisonOf(groupBy)
  const sorted = await sortedPositions(
    keys.length,
    (a, b) => compare(keys[a]!, keys[b]!) || a - b,
    steps,
  )
  const all = { keys: [] as GroupKey[], states: [] as unknown[] }
  for (let at = 0; at < sorted.length; at += BLOCK) {
    for (const place of sorted.subarray(at, at + BLOCK)) {
      const last = all.keys.length - 1
      const state = states[place]
      if (last < 0 || compare(all.keys[last]!, keys[place]!) !== 0) {
        all.keys.push(keys[place]!)
        all.states.push(state)
      } else if (all.states[last] === undefined) all.states[last] = state
      else if (state !== undefined) all.states[last] = tally.unite(all.states[last], state)
    }
    if (steps.isDue(BLOCK_ITEMS)) await steps.pause()
  }
  return all
}

/** The same for equal values, and only for those: a stored value has one normal form. */
function groupId(values: StoredValues, groupBy: readonly CompiledProperty[]): StoredValue {
  if (groupBy.length === 0) return null
  if (groupBy.length > 1) return shortId(JSON.stringify(groupBy.map(({ name }) => values[name])))
  const value = values[groupBy[0]!.name]!
  return typeof value === 'object' && value !== null ? shortId(JSON.stringify(value)) : value
}

/** A long id is its hash: the ids of all groups are in memory at once. */
const shortId = (id: string): string =>
  id.length > ID_CHARS_MAX ? createHash('sha256').update(id).digest('base64') : id

function keyOf(values: StoredValues, groupBy: readonly CompiledProperty[]): GroupKey {
  if (groupBy.length === 1) return values[groupBy[0]!.name]!
  return groupBy.map(({ name }) => values[name]!)
}

function namedKey(
  key: GroupKey,
  groupBy: readonly CompiledProperty[],
): Record<string, StoredValue> {
  if (groupBy.length === 1) return { [groupBy[0]!.name]: key as StoredValue }
  return Object.fromEntries(
    groupBy.map(({ name }, index) => [name, (key as readonly StoredValue[])[index]!]),
  )
}

/** Zero for equal keys only. */
function comparisonOf(groupBy: readonly CompiledProperty[]): Compare<GroupKey> {
  const compares = groupBy.map(valueComparison)
  if (compares.length === 1) return compares[0] as Compare<GroupKey>
  return (a, b) => {
    for (const [index, compare] of compares.entries()) {
      const order = compare(
        (a as readonly StoredValue[])[index]!,
        (b as readonly StoredValue[])[index]!,
      )
      if (order !== 0) return order
    }
    return 0
  }
}

/** The order of the field type; lists item by item; null last. */
function valueComparison({ wire, field }: CompiledProperty): Compare<StoredValue> {
  const compare = (
    wire.field_type === 'currency' ? compareUnitFirst : field.compare
  ) as Compare<Scalar>
  return (a, b) => {
    if (a === null || b === null) return Number(a === null) - Number(b === null)
    if (!Array.isArray(a) || !Array.isArray(b)) return compare(a as Scalar, b as Scalar)
    for (let index = 0; index < a.length && index < b.length; index += 1) {
      const order = compare(a[index]!, b[index]!)
      if (order !== 0) return order
    }
    return a.length - b.length
  }
}

/** By unit, then by amount. Comparing their worth would need exchange rates, and equal worth would leave the order open. */
function compareUnitFirst(a: CurrencyValue, b: CurrencyValue): number {
  if (a.unit !== b.unit) return a.unit < b.unit ? -1 : 1
  return compareDecimals(a.amount, b.amount)
}

function tallyOf({ op, property }: Aggregation): Tally<unknown> {
  if (op === 'count') return countOf(property?.name) as Tally<unknown>
  const { name, wire, field } = property!
  if (wire.field_type !== 'currency')
    return valuesOf(name, measureOf(op, field.compare as Compare<Plain>)) as Tally<unknown>
  const amounts = measureOf(op, compareDecimals as Compare<Plain>)
  return valuesOf(name, byUnit(amounts)) as Tally<unknown>
}

function measureOf(op: 'sum' | 'avg' | 'min' | 'max', compare: Compare<Plain>): PlainMeasure {
  if (op === 'min') return extreme(compare, -1) as PlainMeasure
  if (op === 'max') return extreme(compare, 1) as PlainMeasure
  const sum: Measure<Plain, DecimalSum, string> = {
    add: (state = new DecimalSum(), value) => {
      state.add(value)
      return state
    },
    unite: (a, b) => {
      a.addSum(b)
      return a
    },
    // A state has an addend, so it has a result.
    result: (state) => (op === 'sum' ? state.total()! : state.average()!),
  }
  return sum as PlainMeasure
}

/** Counts records; with a name, only those that have a value of that property. */
function countOf(name: string | undefined): Tally<number> {
  return {
    add: (state = 0, values) => (name === undefined || values[name] !== null ? state + 1 : state),
    unite: (a, b) => a + b,
    result: (state = 0) => state,
  }
}

function valuesOf<Item, State>(
  name: string,
  measure: Measure<Item, State, AggregateValue>,
): Tally<State> {
  return {
    add: (state, values) => {
      const value = values[name] as Item | Item[] | null
      if (value === null) return state
      if (!Array.isArray(value)) return measure.add(state, value)
      return value.reduce<State | undefined>((sum, each) => measure.add(sum, each), state)
    },
    unite: (a, b) => measure.unite(a, b),
    result: (state) => (state === undefined ? null : measure.result(state)),
  }
}

/** The least or the greatest value. */
function extreme(compare: Compare<Plain>, side: 1 | -1): Measure<Plain, Plain, string> {
  const better = (best: Plain, value: Plain) => (compare(value, best) * side > 0 ? value : best)
  return {
    add: (best, value) => (best === undefined ? value : better(best, value)),
    unite: better,
    result: (best) => (typeof best === 'number' ? decimalOfNumber(best) : best),
  }
}

/** One result for each currency, in the order of their codes. */
function byUnit(
  measure: PlainMeasure,
): Measure<CurrencyValue, Map<string, unknown>, CurrencyValue[]> {
  return {
    add: (states = new Map(), { amount, unit }) =>
      states.set(unit, measure.add(states.get(unit), amount)),
    unite: (a, b) => {
      for (const [unit, state] of b)
        a.set(unit, a.has(unit) ? measure.unite(a.get(unit), state) : state)
      return a
    },
    result: (states) =>
      [...states]
        .map(([unit, state]) => ({ amount: measure.result(state), unit }))
        .toSorted(({ unit: a }, { unit: b }) => (a < b ? -1 : 1)),
  }
}
