// Records by key: 100 keys a request.

import type { FilterNode, PropertyWire, RecordRepresentation } from '../contract/index.ts'
import type { Json } from '../core/json.ts'
import type { ImportConfig } from '../core/sync.ts'
import { beatWhile } from '../runs/beat-while.ts'
import { keyOf } from './key.ts'
import type { ImportDeps } from './ports.ts'

type Sent = Readonly<Record<string, Json>>

/** The properties of an item's payload. */
export const sentOf = (item: { readonly payload: string }): Sent =>
  (JSON.parse(item.payload) as { properties: Sent }).properties

const pagesPerSliceMax = 50

/**
 * The records whose matching property has a value of one of at most 100 items, by key; each page is at most 100 records.
 * @param names properties that are read
 */
export async function lookUp(
  deps: ImportDeps,
  config: ImportConfig,
  matching: PropertyWire,
  items: readonly { readonly payload: string }[],
  names: readonly string[],
): Promise<Map<string, RecordRepresentation>> {
  const values = items.flatMap((item) => sentOf(item)[matching.name] as Json)
  const filter = { property: matching.name, op: 'in', value: values } as FilterNode
  const found = new Map<string, RecordRepresentation>()
  let cursor: string | null | undefined
  for (let page = 0; page < pagesPerSliceMax; page++) {
    const reading = deps.client.queryRecords(
      config.object_type,
      { filter, properties: [...names], ...(cursor ? { cursor } : {}) },
      { signal: deps.signal, priority: deps.priority },
    )
    const answer = await beatWhile(deps, reading)
    for (const record of answer.data) {
      const held = record.properties[matching.name] as Json
      for (const value of Array.isArray(held) ? held : [held]) {
        const key = keyOf(value as Json, matching.field_type)
        if (key !== null) found.set(key, record)
      }
    }
    deps.beat()
    if (!answer.pagination.has_more) break
    cursor = answer.pagination.next_cursor
  }
  return found
}
