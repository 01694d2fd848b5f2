// Reading pages of records (sections 4.1 and 4.5): filter, search, one sort, keyset position.
// Promise kept here: a record that stays, and keeps its sort value, is on exactly one page, whatever is written meanwhile.

import type { FilterNode } from '../../contract/index.ts'
import { compileFilter, needRates } from './filters.ts'
import { contains, type ValueBound } from './operators.ts'
import { knownProperty, type ObjectType, type CompiledProperty } from '../schema/object-types.ts'
import { PAGE_BYTES_MAX } from '../limits/sizes.ts'
import { refused, unavailable } from '../problems.ts'
import type { Scan } from '../store/scan.ts'
import type { RecordStore } from '../store/record-store.ts'
import { sortPositionOf, compareSortPositions } from '../store/slots.ts'
import type { Direction, SortPosition, Slot, StoredRecord, StoredValues } from '../store/slots.ts'
import type { VisibleRecords } from '../store/visible-records.ts'

/** What a cursor carries; all of it is plain JSON. */
export interface Query {
  readonly filter: FilterNode | null
  readonly search: string | null
  readonly sort: { readonly property: string; readonly direction: Direction } | null
  readonly properties: readonly string[] | null
  readonly limit: number
}

/** Records that are found by an index and sorted at once; if there are more, the order is walked. */
const LOOKED_UP_MAX = 1_000

const searched = new Set(['text', 'long_text', 'email', 'phone', 'url'])

/** A query ready to run. @throws Refusal 422 if it is semantically wrong */
export function preparedQuery(query: Query, type: ObjectType, hasRates: boolean) {
  const filter = query.filter && compileFilter(query.filter, type, hasRates, '/filter')
  return {
    query,
    filter,
    sort: query.sort && sortProperty(query.sort.property, type, hasRates),
    search: query.search === null ? null : searchTest(query.search, type),
  }
}

type PreparedQuery = ReturnType<typeof preparedQuery>

/** The names, each once; refuses those that the type lacks. `at` is the pointer of the list, if it came in a body. */
export function checkedSelection(
  names: readonly string[],
  type: ObjectType,
  at?: string,
): string[] {
  names.forEach((name, index) => knownProperty(type, name, at && `${at}/${index}`))
  return [...new Set(names)]
}

/**
 * The JSON of at most `size` records beyond `after`, which ends with the record that fills the page (section 4.5); `next` is where the
 * next page begins, or null on the last.
 * @throws Refusal 503 if the type changes meanwhile, 504 if it takes too long
 */
export async function readPage(
  view: VisibleRecords,
  prepared: PreparedQuery,
  size: number,
  after: SortPosition | null,
  scan: Scan,
): Promise<{ records: string[]; next: SortPosition | null }> {
  const { query, filter, sort, search } = prepared
  const { store } = view
  const { type } = store
  await scan.begin()
  if (sort) await scan.until(store.prepareOrder(sort))
  const found: { record: StoredRecord; at: SortPosition }[] = []
  let hasMore = false
  let last: SortPosition | null = null
  /** Checks records from the last one on. True if another step is needed. */
  const step = (): boolean => {
    for (const slot of candidates(store, prepared, last ?? after)) {
      const { properties } = slot.record
      if (
        view.sees(slot) &&
        (!filter || filter.matches(properties, scan)) &&
        (!search || search(properties, scan))
      ) {
        if (found.length === size) {
          hasMore = true
          return false
        }
        last = sortPositionOf(slot, sort)
        found.push({ record: slot.record, at: last })
      }
      if (scan.isDue()) {
        last = sortPositionOf(slot, sort)
        return true
      }
    }
    return false
  }
  while (step()) {
    await scan.pause()
    sameType(store, type)
  }
  const records = jsonWithin(
    found.map(({ record }) => projected(record, query.properties)),
    PAGE_BYTES_MAX,
  )
  const isCut = hasMore || records.length < found.length
  return { records, next: isCut ? found[records.length - 1]!.at : null }
}

/** The JSON of the first values that have as many bytes together, at least of the first one. */
export function jsonWithin(values: Iterable<unknown>, bytesMax: number): string[] {
  const texts: string[] = []
  let bytes = 0
  for (const value of values) {
    const text = JSON.stringify(value)
    bytes += Buffer.byteLength(text)
    if (texts.length > 0 && bytes > bytesMax) break
    texts.push(text)
  }
  return texts
}

/** The type is checked when a scan begins, and used in each of its steps. @throws Refusal 503 */
export function sameType(store: RecordStore, type: ObjectType): void {
  if (store.type === type) return
  const detail = `The properties of ${type.name} changed while its records were read: nothing was done`
  throw unavailable(detail, '1')
}

/** The record with the chosen properties only; null chooses all. */
export function projected(record: StoredRecord, names: readonly string[] | null): StoredRecord {
  if (!names) return record
  const properties: StoredValues = {}
  for (const name of names) properties[name] = record.properties[name]!
  return { ...record, properties }
}

/** Slots beyond `after` in the order of the query: few if an index or an order knows the filter's values. */
function candidates(
  store: RecordStore,
  { query, filter, sort }: PreparedQuery,
  after: SortPosition | null,
): Iterable<Slot> {
  const direction = query.sort?.direction ?? 'asc'
  const lookup = filter?.lookups.find(
    ({ property: { name }, keys }) =>
      store.hasIndex(name) && store.countOf(name, keys) <= LOOKED_UP_MAX,
  )
  if (lookup) {
    const order = compareSortPositions(sort)
    const step = direction === 'asc' ? 1 : -1
    return store
      .find(lookup.property.name, lookup.keys)
      .map((slot) => ({ slot, at: sortPositionOf(slot, sort) }))
      .filter(({ at }) => after === null || order(at, after) * step > 0)
      .sort((a, b) => order(a.at, b.at) * step)
      .map(({ slot }) => slot)
  }
  const bounds = sort ? (filter?.bounds.filter(({ property }) => property === sort) ?? []) : []
  return walkWithin(store, sort, direction, bounds, after)
}

/** Walks an order from the first record that a bound allows to the last. */
function* walkWithin(
  store: RecordStore,
  sort: CompiledProperty | null,
  direction: Direction,
  bounds: readonly ValueBound[],
  after: SortPosition | null,
): Generator<Slot> {
  const order = compareSortPositions(sort)
  const step = direction === 'asc' ? 1 : -1
  const ahead = (a: SortPosition, b: SortPosition) => order(a, b) * step > 0
  let from = after
  let end: SortPosition | null = null
  for (const edge of bounds.flatMap(edgesOf)) {
    if (edge.side === direction && (from === null || ahead(edge.at, from))) from = edge.at
    if (edge.side !== direction && (end === null || ahead(end, edge.at))) end = edge.at
  }
  for (const slot of store.walk(sort, direction, from)) {
    if (end && ahead(sortPositionOf(slot, sort), end)) return
    yield slot
  }
}

/** The positions just outside what a bound allows; a record without a value, which comes last, is outside. */
function edgesOf({ op, value }: ValueBound): { side: Direction; at: SortPosition }[] {
  const before = { value, seq: -1 }
  const behind = { value, seq: Number.MAX_SAFE_INTEGER }
  const least = op === 'gt' ? behind : op === 'gte' ? before : null
  const greatest = op === 'lt' ? before : op === 'lte' ? behind : { value: null, seq: -1 }
  const edges: { side: Direction; at: SortPosition }[] = [{ side: 'desc', at: greatest }]
  if (least) edges.push({ side: 'asc', at: least })
  return edges
}

function sortProperty(name: string, type: ObjectType, hasRates: boolean): CompiledProperty {
  const property = knownProperty(type, name, '/sorts/0/property')
  if (!property.field.wire.sortable || property.wire.is_multi) {
    throw refused('unsupported_sort', `${name} cannot be sorted on`, '/sorts/0/property')
  }
  needRates(property, hasRates)
  return property
}

/** Every word occurs in some text of the record; letter case does not matter. */
function searchTest(
  search: string,
  type: ObjectType,
): (properties: StoredValues, scan: Scan) => boolean {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  const names = [...type.properties.values()]
    .filter((property) => searched.has(property.wire.field_type))
    .map((property) => property.name)
  return (properties, scan) => {
    const texts = names
      .flatMap((name) => properties[name])
      .filter((value) => typeof value === 'string')
      .map((value) => value.toLowerCase())
    return words.every((word) => texts.some((each) => contains(each, word, scan)))
  }
}
