// A record's slot, and its place in an order.

import type { StoredValue } from '../schema/field-types.ts'
import type { CompiledProperty } from '../schema/object-types.ts'

export type StoredValues = Record<string, StoredValue>
/** A record as it is on the wire. A write replaces it and never changes it. */
export type StoredRecord = { id: string; object_type: string; properties: StoredValues }

/** A record's slot: its creation sequence, which never changes, and its present version. */
export interface Slot {
  readonly seq: number
  live: boolean
  record: StoredRecord
}

/** A position in an order: the sort value (null if unsorted) and the creation sequence. */
export interface SortPosition {
  readonly value: StoredValue
  readonly seq: number
}

export type Direction = 'asc' | 'desc'

/** Order of two stored values of the property: no value comes last. */
export function compareStored(
  property: CompiledProperty,
): (a: StoredValue, b: StoredValue) => number {
  const compare = property.field.compare as (a: StoredValue, b: StoredValue) => number
  return (a, b) =>
    a === null || b === null ? Number(a === null) - Number(b === null) : compare(a, b)
}

/** Order of two positions: by value, no value last, then by creation. Without a property: by creation. */
export function compareSortPositions(
  property: CompiledProperty | null,
): (a: SortPosition, b: SortPosition) => number {
  if (!property) return (a, b) => a.seq - b.seq
  const compare = compareStored(property)
  return (a, b) => compare(a.value, b.value) || a.seq - b.seq
}

export function sortPositionOf(slot: Slot, property: CompiledProperty | null): SortPosition {
  return { seq: slot.seq, value: property ? slot.record.properties[property.name]! : null }
}
