// The records of one object type, in memory: in creation order, by id, by indexed value, and in the order of a property.
// Promise kept here: an index always agrees with the records, and a record handed out never changes afterwards.

import { valueKey, isStoredEqual, type StoredValue } from '../schema/field-types.ts'
import type { ObjectType, CompiledProperty } from '../schema/object-types.ts'
import { OrderMaking, type Move, type Order } from './order.ts'
import type { Direction, Slot, SortPosition, StoredValues } from './slots.ts'

/** Most values belong to one slot; a set is made for the second. */
type Index = Map<string, Slot | Set<Slot>>
/** Deleted slots that may stay in the creation order before it is tidied up. */
const deadMax = 1_000

const NONE: readonly string[] = []

export class RecordStore {
  private current: ObjectType
  private slots: Slot[] = []
  private dead = 0
  private readonly byId = new Map<string, Slot>()
  private readonly indexes = new Map<string, Index>()
  private readonly orders = new Map<string, Order>()
  private readonly making = new Map<string, OrderMaking>()
  private changes = 0

  constructor(type: ObjectType) {
    this.current = type
    for (const property of type.unique) this.indexes.set(property.name, new Map())
  }

  get type(): ObjectType {
    return this.current
  }

  /** Another number after each change of a record or of the type. */
  get version(): number {
    return this.changes
  }

  /** Live records. */
  get size(): number {
    return this.byId.size
  }

  get(id: string): Slot | undefined {
    return this.byId.get(id)
  }

  *live(): Generator<Slot> {
    for (const slot of this.slots) if (slot.live) yield slot
  }

  /** Slots come in the order of their sequence. */
  insert(seq: number, id: string, properties: StoredValues): Slot {
    const slot = { seq, live: true, record: { id, object_type: this.type.name, properties } }
    this.slots.push(slot)
    this.link(slot)
    return slot
  }

  replace(slot: Slot, properties: StoredValues): void {
    this.changes += 1
    const before = slot.record.properties
    slot.record = { ...slot.record, properties }
    for (const [name, index] of this.indexes) {
      if (isStoredEqual(before[name]!, properties[name]!)) continue
      removeFrom(index, before[name]!, slot)
      addTo(index, properties[name]!, slot)
    }
    for (const name of this.orderNames()) {
      if (isStoredEqual(before[name]!, properties[name]!)) continue
      this.move(name, { kind: 'left', value: before[name]!, slot })
      this.move(name, { kind: 'came', value: properties[name]!, slot })
    }
  }

  delete(slot: Slot): void {
    this.changes += 1
    slot.live = false
    const { id, properties } = slot.record
    this.byId.delete(id)
    for (const [name, index] of this.indexes) removeFrom(index, properties[name]!, slot)
    for (const name of this.orderNames()) {
      this.move(name, { kind: 'left', value: properties[name]!, slot })
    }
    this.dead += 1
  }

  /** Undoes a deletion, before `tidy`. */
  revive(slot: Slot): void {
    slot.live = true
    this.link(slot)
    this.dead -= 1
  }

  /** Releases deleted slots once there are many. */
  tidy(): void {
    if (this.dead <= deadMax || this.dead * 2 <= this.slots.length) return
    this.slots = this.slots.filter((each) => each.live)
    this.dead = 0
  }

  /** Gives every record the properties of another version of the type; new ones have no value. */
  changeType(type: ObjectType): void {
    this.changes += 1
    this.current = type
    this.indexes.clear()
    this.orders.clear()
    this.making.clear()
    this.byId.clear()
    for (const property of type.unique) this.indexes.set(property.name, new Map())
    for (const slot of this.live()) {
      slot.record = { ...slot.record, properties: wholeValues(slot.record.properties, type) }
      this.link(slot)
    }
  }

  hasIndex(name: string): boolean {
    return this.indexes.has(name)
  }

  /** How many slots hold a value of `keys`; a slot with several counts once for each. The property must have an index. */
  countOf(name: string, keys: readonly string[]): number {
    const sizes = keys.map((key) => {
      const entry = this.indexes.get(name)!.get(key)
      return entry instanceof Set ? entry.size : Number(entry !== undefined)
    })
    return sizes.reduce((sum, size) => sum + size, 0)
  }

  /** The slots that hold any of `keys` in the property, each once. The first call for a property builds its index. */
  find(name: string, keys: readonly string[]): Slot[] {
    const index = this.indexes.get(name) ?? this.buildIndex(name)
    const found = new Set<Slot>()
    for (const key of keys) {
      const entry = index.get(key)
      if (entry instanceof Set) for (const slot of entry) found.add(slot)
      else if (entry) found.add(entry)
    }
    return [...found]
  }

  /** Resolves once `walk` can use the property: the first call for it sorts, in steps, while others read and write. */
  async prepareOrder(property: CompiledProperty): Promise<void> {
    const { name } = property
    if (this.orders.has(name)) return
    let making = this.making.get(name)
    if (!making) {
      // This very array: tidying up replaces it.
      making = new OrderMaking(property, this.slots, (order, made) => {
        // The type may have changed meanwhile: its orders are then built again.
        if (this.making.get(name) !== made) return
        this.making.delete(name)
        this.orders.set(name, order)
      })
      this.making.set(name, making)
    }
    await making.done
  }

  /** Live slots strictly beyond `from` (null: all), by creation, or by a property whose order is prepared. */
  walk(
    property: CompiledProperty | null,
    direction: Direction,
    from: SortPosition | null,
  ): Generator<Slot> {
    if (!property) return this.walkCreated(direction, from)
    return this.orders.get(property.name)!.walk(direction, from)
  }

  private *walkCreated(direction: Direction, from: SortPosition | null): Generator<Slot> {
    const step = direction === 'asc' ? 1 : -1
    // Kept in a variable, because tidying up replaces it.
    const { slots } = this
    let index = direction === 'asc' ? 0 : slots.length - 1
    if (from)
      index =
        direction === 'asc' ? firstAbove(slots, from.seq) : firstAbove(slots, from.seq - 1) - 1
    for (; index >= 0 && index < slots.length; index += step) {
      if (slots[index]!.live) yield slots[index]!
    }
  }

  private link(slot: Slot): void {
    this.changes += 1
    const { id, properties } = slot.record
    this.byId.set(id, slot)
    for (const [name, index] of this.indexes) addTo(index, properties[name]!, slot)
    for (const name of this.orderNames()) {
      this.move(name, { kind: 'came', value: properties[name]!, slot })
    }
  }

  /** Orders that exist, and those under construction. */
  private orderNames(): readonly string[] {
    if (this.orders.size === 0 && this.making.size === 0) return NONE
    return [...this.orders.keys(), ...this.making.keys()]
  }

  private move(name: string, move: Move): void {
    const order = this.orders.get(name)
    if (order) order.apply(move)
    else this.making.get(name)!.note(move)
  }

  private buildIndex(name: string): Index {
    const index: Index = new Map()
    for (const slot of this.live()) addTo(index, slot.record.properties[name]!, slot)
    this.indexes.set(name, index)
    return index
  }
}

/** Every property of the type, in its order: those without a value are null. */
export function wholeValues(kept: StoredValues, type: ObjectType): StoredValues {
  // A copy of one object has its shape at once, where properties that are added one by one pass through as many shapes.
  const properties: StoredValues = { ...type.blank }
  for (const name in kept) {
    // Not of a property that the type lacks, nor of one that every object has.
    if (properties[name] === null) properties[name] = kept[name]!
  }
  return properties
}

function addTo(index: Index, value: StoredValue, slot: Slot): void {
  if (Array.isArray(value)) for (const each of value) addKey(index, valueKey(each), slot)
  else if (value !== null) addKey(index, valueKey(value), slot)
}

function addKey(index: Index, key: string, slot: Slot): void {
  const entry = index.get(key)
  if (entry === undefined) index.set(key, slot)
  else if (entry instanceof Set) entry.add(slot)
  else if (entry !== slot) index.set(key, new Set([entry, slot]))
}

function removeFrom(index: Index, value: StoredValue, slot: Slot): void {
  if (Array.isArray(value)) for (const each of value) removeKey(index, valueKey(each), slot)
  else if (value !== null) removeKey(index, valueKey(value), slot)
}

function removeKey(index: Index, key: string, slot: Slot): void {
  const entry = index.get(key)
  if (entry === slot) index.delete(key)
  else if (entry instanceof Set) {
    entry.delete(slot)
    if (entry.size === 0) index.delete(key)
  }
}

/** Index of the first slot with a sequence above `seq`: slots ascend. */
function firstAbove(slots: readonly Slot[], seq: number): number {
  let low = 0
  let high = slots.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (slots[middle]!.seq > seq) high = middle
    else low = middle + 1
  }
  return low
}
