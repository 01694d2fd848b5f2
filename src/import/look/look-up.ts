// Records by key, 100 keys a request, and by id.

import {
  IN_VALUES_MAX,
  type FilterNode,
  type ObjectSchema,
  type RecordRepresentation,
} from '../../contract/index.ts'
import { canonicalDecimal } from '../../core/decimal.ts'
import { isGone } from '../../core/errors.ts'
import { canonicalJson, parseJson, type Json } from '../../core/json.ts'
import { slicesOf } from '../../core/slices.ts'
import { numberFromDecimal } from '../../core/lossless-number.ts'
import type { ImportConfig } from '../../../config/index.ts'
import { withHeartbeat } from '../../runs/heartbeat.ts'
import { itemKey } from '../mapping/key.ts'
import type { ImportDeps } from '../ports.ts'
import type { MatchingProperty } from '../mapping/types.ts'

/** Values by property. */
export type PropertyValues = Readonly<Record<string, Json>>

/** Records by key, and by id, for what the service keeps under another form of its key. */
export class Found extends Map<string, RecordRepresentation> {
  readonly byId = new Map<string, RecordRepresentation>()
  /** Keys that more than one record has. */
  readonly several = new Set<string>()
  /** The records of each key, by id. */
  readonly ofKey = new Map<string, Map<string, RecordRepresentation>>()
  /** Records by the exact value of the matching property: other forms of a key are other values. */
  readonly byValue = new Map<string, string>()
  /** Requests that it took. */
  reads = 0
  /** When the first of them was sent, ms since 1970: what others have changed since then, it need not show. Infinity without any. */
  askedAt = Infinity

  /** The record whose value of the matching property is written as this one; null if there is none. */
  writtenAs(value: Json | undefined): RecordRepresentation | null {
    const id = value === undefined ? undefined : this.byValue.get(canonicalJson(value))
    return this.byId.get(id ?? '') ?? null
  }
}

/** The properties of an item's payload. */
export const payloadProperties = (item: { readonly payload: string }): PropertyValues =>
  (parseJson(item.payload) as { properties: PropertyValues }).properties

/** The same of several items: as one text they are parsed in less time. */
export const payloadsProperties = (
  items: readonly { readonly payload: string }[],
): readonly PropertyValues[] => {
  const texts = items.map(({ payload }) => payload)
  const payloads = parseJson(`[${texts.join(',')}]`) as readonly { properties: PropertyValues }[]
  return payloads.map(({ properties }) => properties)
}

/** An item with the values of its payload, which are parsed once. */
export type ParsedItem<Item> = Item & { readonly sent: PropertyValues }

export const parsed = <Item extends { readonly payload: string }>(
  item: Item,
): ParsedItem<Item> => ({
  ...item,
  sent: payloadProperties(item),
})

const pagesPerSliceMax = 50

/**
 * The records whose matching property has a value of one of at most 100 items, by key; each page is at most 100 records.
 * A service keeps a value as it was sent, or in its own form; if they differ, both are asked for.
 * @param names properties that are read
 */
export async function lookUpItems(
  deps: ImportDeps,
  config: Pick<ImportConfig, 'object_type'>,
  matching: MatchingProperty,
  items: readonly {
    readonly key: string
    readonly sent: PropertyValues
    readonly rawKey?: string | null
  }[],
  names: readonly string[],
): Promise<Found> {
  const values = items.flatMap((item) => {
    const sent = [item.sent[matching.name] ?? []].flat() as Json[]
    const raw = item.rawKey == null ? [] : [item.rawKey]
    return [...sent, ...valueOfKey(item.key, matching.type), ...raw]
  })
  return await findValues(deps, config, matching, values, names)
}

/** The same for at most 100 keys. */
export async function lookUpKeys(
  deps: ImportDeps,
  config: Pick<ImportConfig, 'object_type'>,
  matching: MatchingProperty,
  keys: readonly string[],
  names: readonly string[],
): Promise<Found> {
  const values = keys.flatMap((key) => valueOfKey(key, matching.type))
  return await findValues(deps, config, matching, values, names)
}

/** Which of the texts of a property the service holds, as it holds them. */
export async function lookUpValues(
  deps: ImportDeps,
  config: Pick<ImportConfig, 'object_type'>,
  matching: MatchingProperty,
  values: readonly Json[],
): Promise<ReadonlySet<string>> {
  const found = await findValues(deps, config, matching, values, [matching.name])
  const held = [...found.byId.values()].flatMap((record) =>
    [record.properties[matching.name]].flat(),
  )
  return new Set(held.map(String))
}

/** The object type that an import writes, as it is now. */
export async function readImportedType(
  deps: ImportDeps,
  { object_type: type }: ImportConfig,
): Promise<ObjectSchema> {
  const { client, signal, priority } = deps
  return await withHeartbeat(deps, client.readObjectType(type, { signal, priority }))
}

/** The record of an id; null if there is none, or the API key does not see it. */
export async function readRecordById(
  deps: ImportDeps,
  config: Pick<ImportConfig, 'object_type'>,
  id: string,
): Promise<RecordRepresentation | null> {
  const { signal, priority } = deps
  const reading = deps.client.readRecord(config.object_type, id, { signal, priority })
  try {
    return await withHeartbeat(deps, reading)
  } catch (error) {
    if (isGone(error)) return null
    throw error
  }
}

/** The value of a key on the wire; none if it has to be a number and is none. */
export function valueOfKey(key: string, fieldType: string): readonly Json[] {
  if (fieldType === 'boolean') return [key === 'true']
  if (fieldType !== 'number') return [key]
  const decimal = canonicalDecimal(key)
  return decimal === null ? [] : [numberFromDecimal(decimal)]
}

async function findValues(
  deps: ImportDeps,
  config: Pick<ImportConfig, 'object_type'>,
  matching: MatchingProperty,
  given: readonly Json[],
  names: readonly string[],
): Promise<Found> {
  const distinct = new Map(given.map((value) => [canonicalJson(value), value]))
  const found = new Found()
  for (const values of slicesOf([...distinct.values()], IN_VALUES_MAX))
    await readAll(deps, config, matching, values, names, found)
  return found
}

async function readAll(
  deps: ImportDeps,
  config: Pick<ImportConfig, 'object_type'>,
  matching: MatchingProperty,
  values: readonly Json[],
  names: readonly string[],
  found: Found,
): Promise<void> {
  const filter = { property: matching.name, op: 'in', value: values } as FilterNode
  let cursor: string | null | undefined
  for (let page = 0; page < pagesPerSliceMax; page++) {
    // The last sending is the one that was answered.
    let askedAt = Infinity
    const onSend = () => void (askedAt = deps.clock.now())
    const reading = deps.client.queryRecords(
      config.object_type,
      { filter, properties: [...names], ...(cursor ? { cursor } : {}) },
      { signal: deps.signal, priority: deps.priority, onSend },
    )
    const answer = await withHeartbeat(deps, reading)
    found.reads += 1
    found.askedAt = Math.min(found.askedAt, askedAt)
    for (const record of answer.data) {
      found.byId.set(record.id, record)
      const held = record.properties[matching.name] as Json
      for (const value of Array.isArray(held) ? held : [held]) {
        const key = itemKey(value as Json, matching.type, matching.folds)
        if (key === null) continue
        const exact = canonicalJson(value as Json)
        if ((found.byValue.get(exact) ?? record.id) !== record.id) found.several.add(key)
        found.byValue.set(exact, record.id)
        found.set(key, record)
        const records = found.ofKey.get(key) ?? new Map<string, RecordRepresentation>()
        found.ofKey.set(key, records.set(record.id, record))
      }
    }
    deps.beat()
    if (!answer.pagination.has_more) return
    cursor = answer.pagination.next_cursor
  }
}
