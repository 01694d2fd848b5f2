// Reading pages of records (sections 4.1 and 4.5): filter, search, one sort, keyset position.
// Promise kept here: a record that stays, and keeps its sort value, is on exactly one page, whatever is written meanwhile.

import type { FilterNode } from '../contract/index.ts'
import { compileFilter, needRates } from './filters.ts'
import type { Filter } from './filters.ts'
import type { ObjectType, Property } from './object-types.ts'
import { Refusal, factsOf, shown } from './problems.ts'
import { positionOf, positionOrder, slotOrder } from './store.ts'
import type { Position, RecordStore, Slot, StoredRecord, Values } from './store.ts'

/** What a cursor carries; all of it is plain JSON. */
export interface Query {
  readonly filter: FilterNode | null
  readonly search: string | null
  readonly sort: { readonly property: string; readonly direction: 'asc' | 'desc' } | null
  readonly properties: readonly string[] | null
  readonly limit: number
}

export interface Page {
  readonly records: StoredRecord[]
  /** Where the next page begins, or null on the last. */
  readonly next: Position | null
}

const searched = new Set(['text', 'long_text', 'email', 'phone', 'url'])

/** A query ready to run. @throws Refusal 422 where it is semantically wrong */
export function preparedQuery(query: Query, type: ObjectType, hasRates: boolean): PreparedQuery {
  const filter = query.filter && compileFilter(query.filter, type, hasRates, '/filter')
  return {
    query,
    filter,
    sort: query.sort && sortProperty(query.sort.property, type, hasRates),
    search: query.search === null ? null : searchTest(query.search, type),
  }
}

export interface PreparedQuery {
  readonly query: Query
  readonly filter: Filter | null
  readonly sort: Property | null
  readonly search: ((properties: Values) => boolean) | null
}

/** Names that the type lacks are refused. `at` is the pointer of the list, where it came in a body. */
export function checkSelection(names: readonly string[], type: ObjectType, at?: string): void {
  names.forEach((name, index) => {
    if (type.properties.has(name)) return
    const detail = `${type.name} has no property ${shown(name)}`
    throw new Refusal(factsOf('unknown_property', detail, at && `${at}/${index}`))
  })
}

export function readPage(
  store: RecordStore,
  prepared: PreparedQuery,
  after: Position | null,
): Page {
  const { query, filter, sort, search } = prepared
  const slots = candidates(store, filter, sort)
  const step = query.sort?.direction === 'desc' ? -1 : 1
  const found: Slot[] = []
  for (
    let index = start(slots, sort, step, after);
    index >= 0 && index < slots.length && found.length <= query.limit;
    index += step
  ) {
    const slot = slots[index]!
    const { properties } = slot.record
    if (slot.live && (!filter || filter.matches(properties)) && (!search || search(properties))) {
      found.push(slot)
    }
  }
  const hasMore = found.length > query.limit
  if (hasMore) found.pop()
  return {
    records: found.map((slot) => projected(slot.record, query.properties)),
    next: hasMore ? positionOf(found.at(-1)!, sort) : null,
  }
}

/** The record with the chosen properties only; null chooses all. */
export function projected(record: StoredRecord, names: readonly string[] | null): StoredRecord {
  if (!names) return record
  const properties: Values = {}
  for (const name of names) properties[name] = record.properties[name]!
  return { ...record, properties }
}

/** Ascending slots, few where an index knows the filter's values. */
function candidates(
  store: RecordStore,
  filter: Filter | null,
  sort: Property | null,
): readonly Slot[] {
  const lookup = filter?.lookups.find(({ property }) => store.hasIndex(property.name))
  if (lookup) return [...store.find(lookup.property.name, lookup.keys)].sort(slotOrder(sort))
  return sort ? store.orderedBy(sort) : store.created()
}

/** Index of the first slot past `after` in walking direction: a binary search, since slots ascend. */
function start(
  slots: readonly Slot[],
  sort: Property | null,
  step: 1 | -1,
  after: Position | null,
): number {
  if (!after) return step === 1 ? 0 : slots.length - 1
  const order = positionOrder(sort)
  let low = 0
  let high = slots.length
  while (low < high) {
    const middle = (low + high) >> 1
    const relation = order(positionOf(slots[middle]!, sort), after)
    if (relation < 0 || (relation === 0 && step === 1)) low = middle + 1
    else high = middle
  }
  return step === 1 ? low : low - 1
}

function sortProperty(name: string, type: ObjectType, hasRates: boolean): Property {
  const property = type.properties.get(name)
  if (!property) {
    const detail = `${type.name} has no property ${shown(name)}`
    throw new Refusal(factsOf('unknown_property', detail, '/sorts/0/property'))
  }
  if (!property.field.wire.sortable || property.wire.is_multi) {
    const detail = `${name} cannot be sorted on`
    throw new Refusal(factsOf('unsupported_sort', detail, '/sorts/0/property'))
  }
  needRates(property, hasRates)
  return property
}

/** Every word occurs in some text of the record; letter case does not matter. */
function searchTest(search: string, type: ObjectType): (properties: Values) => boolean {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  const names = [...type.properties.values()]
    .filter((property) => searched.has(property.wire.field_type))
    .map((property) => property.name)
  return (properties) => {
    const texts = names
      .flatMap((name) => properties[name])
      .filter((value) => typeof value === 'string')
      .map((value) => value.toLowerCase())
    return words.every((word) => texts.some((each) => each.includes(word)))
  }
}
