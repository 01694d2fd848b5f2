// The records of one object type, in memory: in creation order, by id, by indexed value, and in the order of a property.
// Promise kept here: an index never disagrees with the records, and a record handed out never changes afterwards.

import { keysOf, sameValue } from './field-types.ts'
import type { Value } from './field-types.ts'
import type { ObjectType, Property } from './object-types.ts'

export type Values = Record<string, Value>
/** A record as it stands on the wire. Replaced, never changed, by a write. */
export type StoredRecord = { id: string; object_type: string; properties: Values }

/** A record's place: its creation sequence, which never changes, and its present version. */
export interface Slot {
  readonly seq: number
  live: boolean
  record: StoredRecord
}

/** Where a page ended: the sort value (null where unsorted) and the creation sequence. */
export interface Position {
  readonly value: Value
  readonly seq: number
}

/** Deleted slots that stay in the creation order before it is tidied up. */
const deadMax = 1_000

export class RecordStore {
  readonly type: ObjectType
  private slots: Slot[] = []
  private dead = 0
  private readonly byId = new Map<string, Slot>()
  private readonly indexes = new Map<string, Map<string, Set<Slot>>>()
  private readonly orders = new Map<string, Slot[]>()

  constructor(type: ObjectType) {
    this.type = type
    for (const property of type.unique) this.indexes.set(property.name, new Map())
  }

  get(id: string): Slot | undefined {
    return this.byId.get(id)
  }

  *live(): Generator<StoredRecord> {
    for (const slot of this.slots) if (slot.live) yield slot.record
  }

  /** All slots in creation order, deleted ones among them. */
  created(): readonly Slot[] {
    return this.slots
  }

  insert(seq: number, id: string, properties: Values): Slot {
    const slot = { seq, live: true, record: { id, object_type: this.type.name, properties } }
    this.slots.push(slot)
    this.byId.set(id, slot)
    for (const [name, index] of this.indexes) add(index, properties[name]!, slot)
    this.orders.clear()
    return slot
  }

  replace(slot: Slot, properties: Values): void {
    const before = slot.record.properties
    slot.record = { ...slot.record, properties }
    for (const [name, index] of this.indexes) {
      if (sameValue(before[name]!, properties[name]!)) continue
      remove(index, before[name]!, slot)
      add(index, properties[name]!, slot)
    }
    for (const name of this.orders.keys()) {
      if (!sameValue(before[name]!, properties[name]!)) this.orders.delete(name)
    }
  }

  delete(slot: Slot): void {
    slot.live = false
    this.byId.delete(slot.record.id)
    for (const [name, index] of this.indexes) remove(index, slot.record.properties[name]!, slot)
    this.dead += 1
    if (this.dead > deadMax && this.dead * 2 > this.slots.length) {
      this.slots = this.slots.filter((each) => each.live)
      this.orders.clear()
      this.dead = 0
    }
  }

  hasIndex(name: string): boolean {
    return this.indexes.has(name)
  }

  /** The slots that hold any of `keys` in the property. The first call for a property builds its index. */
  find(name: string, keys: readonly string[]): ReadonlySet<Slot> {
    const index = this.indexes.get(name) ?? this.buildIndex(name)
    if (keys.length === 1) return index.get(keys[0]!) ?? none
    const found = new Set<Slot>()
    for (const key of keys) for (const slot of index.get(key) ?? none) found.add(slot)
    return found
  }

  /** All slots in ascending order of the property. Sorted again only after a write that moved something. */
  orderedBy(property: Property): readonly Slot[] {
    let order = this.orders.get(property.name)
    if (!order) {
      order = this.slots.filter((slot) => slot.live).sort(slotOrder(property))
      this.orders.set(property.name, order)
    }
    return order
  }

  private buildIndex(name: string): Map<string, Set<Slot>> {
    const index = new Map<string, Set<Slot>>()
    for (const slot of this.slots) if (slot.live) add(index, slot.record.properties[name]!, slot)
    this.indexes.set(name, index)
    return index
  }
}

const none: ReadonlySet<Slot> = new Set()

function add(index: Map<string, Set<Slot>>, value: Value, slot: Slot): void {
  for (const key of keysOf(value)) {
    const slots = index.get(key)
    if (slots) slots.add(slot)
    else index.set(key, new Set([slot]))
  }
}

function remove(index: Map<string, Set<Slot>>, value: Value, slot: Slot): void {
  for (const key of keysOf(value)) {
    const slots = index.get(key)
    slots?.delete(slot)
    if (slots?.size === 0) index.delete(key)
  }
}

/** Order of two places: by value, no value last, then by creation. Without a property: by creation. */
export function positionOrder(property: Property | null): (a: Position, b: Position) => number {
  if (!property) return (a, b) => a.seq - b.seq
  const compare = property.field.compare as (a: Value, b: Value) => number
  return (a, b) => {
    if (a.value === null || b.value === null) {
      const nulls = Number(a.value === null) - Number(b.value === null)
      return nulls === 0 ? a.seq - b.seq : nulls
    }
    return compare(a.value, b.value) || a.seq - b.seq
  }
}

/** The order of slots by a property; null: by creation. */
export function slotOrder(property: Property | null): (a: Slot, b: Slot) => number {
  if (!property) return (a, b) => a.seq - b.seq
  const order = positionOrder(property)
  return (a, b) => order(positionOf(a, property), positionOf(b, property))
}

export function positionOf(slot: Slot, property: Property | null): Position {
  return { seq: slot.seq, value: property ? slot.record.properties[property.name]! : null }
}
