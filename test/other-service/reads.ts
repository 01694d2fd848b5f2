// Listings, queries and aggregates, page by page.

import { randomBytes } from 'node:crypto'
import { addDecimals, compareDecimals, decimal, divideDecimal, formatDecimal } from './decimal.ts'
import { filterOf, searchOf, sortOf } from './filters.ts'
import type { Habits } from './habits.ts'
import { format, isObject, isNumber, textOf } from './json.ts'
import type { Json, JsonObject } from './json.ts'
import { aggregationsOf, instant } from './kinds.ts'
import { Refusal, malformed, wrong } from './refusal.ts'
import { valuesOf } from './store.ts'
import type { Org, Rec } from './store.ts'
import type { PropertyDef, TypeDef } from './types.ts'

/** Where a cursor stands. */
interface Position {
  readonly about: string
  readonly query: JsonObject
  /** The last record given; null before the first. */
  readonly last: Rec | null
  /** Empty pages in a row. */
  readonly empty: number
}

const PAGE_MAX = 100
const WORKED_MAX = 16

export class Pages {
  readonly #habits: () => Habits
  readonly #random: () => number
  readonly #cursors = new Map<string, Position>()
  /** What queries found, the latest last. */
  readonly #worked = new Map<string, readonly Rec[]>()
  /** Pages that were read of a type, for `standsStill`. */
  readonly #read = new Map<string, number>()

  constructor(habits: () => Habits, random: () => number) {
    this.#habits = habits
    this.#random = random
  }

  /** A page of what a listing or a query finds. `query` is without its cursor. */
  page(
    org: Org,
    type: TypeDef,
    about: string,
    query: JsonObject,
    cursor: Json | undefined,
  ): JsonObject {
    const habits = this.#habits()
    const limit = limitOf(query)
    const position = this.#position(cursor, about, query)
    const records = this.#records(org, type, position.query)
    const fields = fieldsOf(position.query['properties'], org, type)
    const shown = (some: readonly Rec[]) => some.map((record) => representation(record, fields))
    const count = (this.#read.get(type.name) ?? 0) + 1
    this.#read.set(type.name, count)
    const still = habits.standsStill
    if (still?.type === type.name && count >= still.from) {
      return this.#answer(shown(records.slice(0, limit)), { ...position, last: null })
    }
    const sort = sortOf(position.query['sorts'], org, type)
    const before = sort?.before ?? ((a: Rec, b: Rec) => a.seq - b.seq)
    const { last } = position
    const start = last === null ? 0 : firstAfter(records, (record) => before(record, last) > 0)
    const size = this.#size(limit, position.empty)
    const page = records.slice(start, start + size)
    const isMore =
      start + page.length < records.length || (habits.pages === 'empty' && page.length > 0)
    return this.#answer(
      shown(page),
      isMore
        ? {
            ...position,
            last: page.at(-1) ?? last,
            empty: page.length === 0 ? position.empty + 1 : 0,
          }
        : null,
    )
  }

  /** Pages are counted from here. */
  restart(): void {
    this.#read.clear()
  }

  #answer(data: readonly JsonObject[], next: Position | null): JsonObject {
    const token = next && this.#token(next)
    return { data, pagination: { has_more: token !== null, next_cursor: token } }
  }

  #token(position: Position): string {
    const isSame = this.#habits().cursors === 'same'
    const token = isSame
      ? Buffer.from(`${position.about} ${position.last?.id} ${position.empty}`).toString(
          'base64url',
        )
      : randomBytes(18).toString('base64url')
    this.#cursors.set(token, position)
    return token
  }

  #position(cursor: Json | undefined, about: string, query: JsonObject): Position {
    const { limit: _, ...rest } = query
    if (cursor == null) return { about, query: rest, last: null, empty: 0 }
    const found = typeof cursor === 'string' ? this.#cursors.get(cursor) : undefined
    const isOther =
      Object.keys(rest).length > 0 && found !== undefined && format(found.query) !== format(rest)
    if (!found || found.about !== about || isOther) {
      throw new Refusal(400, 'request_invalid', 'the cursor is not one of this query', {
        reason: 'cursor_invalid',
      })
    }
    return found
  }

  #size(limit: number, empty: number): number {
    const { pages } = this.#habits()
    if (pages === 'full') return limit
    if (pages === 'empty' && empty < 3 && this.#random() < 0.3) return 0
    return 1 + Math.floor(this.#random() * limit)
  }

  /** What the query finds, in its order. */
  #records(org: Org, type: TypeDef, query: JsonObject): readonly Rec[] {
    const habits = this.#habits()
    const { filter = null, search = null, sorts = null } = query
    const name = `${org.id} ${org.version} ${habits.matching} ${type.name} ${format([filter, search, sorts])}`
    const known = this.#worked.get(name)
    if (known) return known
    const [test, found] = [filterOf(filter, org, type, habits), searchOf(search)]
    const sort = sortOf(sorts, org, type)
    const records = org.list(type.name).filter((record) => test(record) && found(record))
    if (sort) records.sort(sort.before)
    this.#worked.set(name, records)
    if (this.#worked.size > WORKED_MAX) this.#worked.delete(this.#worked.keys().next().value!)
    return records
  }
}

function firstAfter(records: readonly Rec[], isAfter: (record: Rec) => boolean): number {
  let [low, high] = [0, records.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (isAfter(records[middle]!)) high = middle
    else low = middle + 1
  }
  return low
}

export function limitOf(body: JsonObject): number {
  const limit = body['limit'] ?? PAGE_MAX
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1 || limit > PAGE_MAX) {
    throw malformed('limit is 1 to 100', '/limit')
  }
  return limit
}

function fieldsOf(names: Json | undefined, org: Org, type: TypeDef): readonly string[] | null {
  if (names == null) return null
  if (!Array.isArray(names) || names.some((name) => typeof name !== 'string')) {
    throw malformed('properties is a list of names', '/properties')
  }
  const unknown = (names as string[]).findIndex((name) => !org.property(type, name))
  if (unknown >= 0) throw wrong('unknown_property', 'no such property', `/properties/${unknown}`)
  return names as string[]
}

export const representation = (
  { id, type, properties }: Rec,
  fields: readonly string[] | null = null,
): JsonObject => ({
  id,
  object_type: type,
  properties: fields
    ? Object.fromEntries(fields.map((name) => [name, properties[name] ?? null]))
    : properties,
})

export function aggregate(org: Org, type: TypeDef, body: JsonObject, habits: Habits): JsonObject {
  const known = ['aggregations', 'filter', 'group_by', 'limit', 'offset']
  const extra = Object.keys(body).find((name) => !known.includes(name))
  if (extra !== undefined) throw malformed('unknown field', `/${extra}`)
  const { aggregations, group_by: groupBy = [], offset = 0 } = body
  if (!Array.isArray(aggregations) || aggregations.length !== 1 || !isObject(aggregations[0])) {
    throw malformed('exactly one aggregation', '/aggregations')
  }
  const { op, property: name = null } = aggregations[0]
  if (!['count', 'sum', 'avg', 'min', 'max'].includes(String(op))) {
    throw malformed('no such aggregation', '/aggregations/0/op')
  }
  if (typeof offset !== 'number' || !Number.isInteger(offset) || offset < 0) {
    throw malformed('offset is 0 or more', '/offset')
  }
  const limit = limitOf(body)
  const property = typeof name === 'string' ? org.property(type, name) : undefined
  if (op !== 'count' || name !== null) {
    if (!property) throw wrong('unknown_property', 'no such property', '/aggregations/0/property')
    if (!aggregationsOf(property.kind).includes(String(op))) {
      throw wrong('unsupported_aggregation', 'not for this field type', '/aggregations/0/op')
    }
  }
  if (!Array.isArray(groupBy)) throw malformed('group_by is a list', '/group_by')
  for (const [index, group] of groupBy.entries()) {
    if (typeof group !== 'string') throw malformed('a name is expected', `/group_by/${index}`)
    if (!org.property(type, group)) {
      throw wrong('unknown_property', 'no such property', `/group_by/${index}`)
    }
  }
  const names = groupBy as readonly string[]
  const test = filterOf(body['filter'], org, type, habits)
  const groups = new Map<string, { readonly key: JsonObject; readonly records: Rec[] }>()
  for (const record of org.list(type.name).filter(test)) {
    const key = Object.fromEntries(names.map((one) => [one, record.properties[one] ?? null]))
    const group = groups.get(format(key)) ?? { key, records: [] }
    group.records.push(record)
    groups.set(format(key), group)
  }
  if (names.length === 0 && groups.size === 0) groups.set('', { key: {}, records: [] })
  const all = [...groups.values()]
  const page = all.slice(offset, offset + limit)
  return {
    data: {
      total_groups: all.length,
      results: page.map(({ key, records }) => ({
        group_by: key,
        value: valueOf(String(op), records, property),
      })),
      has_more: offset + page.length < all.length,
    },
  }
}

function valueOf(op: string, records: readonly Rec[], property: PropertyDef | undefined): Json {
  if (!property) return records.length
  const values = records.flatMap((record) => valuesOf(record.properties[property.name]))
  if (op === 'count') return values.length
  if (property.kind !== 'currency') return decimalOf(op, values)
  const money = values.filter(isObject)
  const units = [...new Set(money.map(({ unit }) => String(unit)))]
  if (units.length === 0) return null
  return units.map((unit) => ({
    amount: decimalOf(
      op,
      money.filter((one) => one['unit'] === unit).map(({ amount }) => amount!),
    )!,
    unit,
  }))
}

/** Numbers and amounts by their digits, dates and times as seconds. */
function decimalOf(op: string, values: readonly Json[]): string | null {
  const numbers = values
    .map((value) => {
      if (isNumber(value)) return textOf(value)
      const text = String(value)
      const time = instant(text) ?? (/^\d{4}-/.test(text) ? Date.parse(`${text}T00:00:00Z`) : null)
      return time === null ? text : String(time / 1000)
    })
    .map(decimal)
    .filter((one) => one !== null)
  const [first] = numbers
  if (!first) return null
  if (op === 'sum' || op === 'avg') {
    const sum = numbers.slice(1).reduce(addDecimals, first)
    return formatDecimal(op === 'sum' ? sum : divideDecimal(sum, numbers.length))
  }
  const sign = op === 'min' ? 1 : -1
  return formatDecimal(
    numbers.reduce((best, one) => (sign * compareDecimals(one, best) < 0 ? one : best)),
  )
}
