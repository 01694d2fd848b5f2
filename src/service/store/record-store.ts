// The records of one object type, in memory: in creation order, by id, by indexed value, and in the order of a property.
// Promise kept here: an index always agrees with the records, and a record handed out never changes afterwards.

import sortedBtree from 'sorted-btree'
import { valueKeys, isStoredEqual, type StoredValue } from '../schema/field-types.ts'
import type { ObjectType, CompiledProperty } from '../schema/object-types.ts'
import { Steps, sortedInSteps } from '../query/scan.ts'

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

// A CommonJS module: its default export is a member.
const BTree = sortedBtree.default

/** Most values belong to one slot; a set is made for the second. */
type Index = Map<string, Slot | Set<Slot>>
type Order = InstanceType<typeof BTree<SortPosition, Slot>>

/** Deleted slots that may stay in the creation order before it is tidied up. */
const deadMax = 1_000

/** A change to an order under construction: `slot` came to `at`, or, if null, a slot left there. */
interface Move {
  readonly at: SortPosition
  readonly slot: Slot | null
}

/** An order that is built step by step, while others write. */
interface Making {
  /** The changes since it began. */
  readonly moves: Move[]
  readonly done: Promise<void>
}

export class RecordStore {
  private current: ObjectType
  private slots: Slot[] = []
  private dead = 0
  private readonly byId = new Map<string, Slot>()
  private readonly indexes = new Map<string, Index>()
  private readonly orders = new Map<string, Order>()
  private readonly making = new Map<string, Making>()

  constructor(type: ObjectType) {
    this.current = type
    for (const property of type.unique) this.indexes.set(property.name, new Map())
  }

  get type(): ObjectType {
    return this.current
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
    const before = slot.record.properties
    slot.record = { ...slot.record, properties }
    for (const [name, index] of this.indexes) {
      if (isStoredEqual(before[name]!, properties[name]!)) continue
      removeFrom(index, before[name]!, slot)
      addTo(index, properties[name]!, slot)
    }
    for (const name of this.orderNames()) {
      if (isStoredEqual(before[name]!, properties[name]!)) continue
      this.move(name, { at: { value: before[name]!, seq: slot.seq }, slot: null })
      this.move(name, { at: { value: properties[name]!, seq: slot.seq }, slot })
    }
  }

  delete(slot: Slot): void {
    slot.live = false
    const { id, properties } = slot.record
    this.byId.delete(id)
    for (const [name, index] of this.indexes) removeFrom(index, properties[name]!, slot)
    for (const name of this.orderNames()) {
      this.move(name, { at: { value: properties[name]!, seq: slot.seq }, slot: null })
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
    if (!this.making.has(name)) {
      const moves: Move[] = []
      this.making.set(name, { moves, done: this.makeOrder(property, moves) })
    }
    await this.making.get(name)!.done
  }

  /** Live slots strictly beyond `from` (null: all), by creation, or by a property whose order is prepared. */
  *walk(
    property: CompiledProperty | null,
    direction: Direction,
    from: SortPosition | null,
  ): Generator<Slot> {
    if (!property) return yield* this.walkCreated(direction, from)
    const order = this.orders.get(property.name)!
    const pair = [] as unknown as [SortPosition, Slot]
    const pairs =
      direction === 'asc'
        ? order.entries(from ?? undefined, pair)
        : order.entriesReversed(from ?? undefined, pair, true)
    for (const [position, slot] of pairs) {
      // An ascending walk begins at `from` itself if it still exists.
      if (from === null || position.seq !== from.seq || direction === 'desc') yield slot
    }
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
    const { id, properties } = slot.record
    this.byId.set(id, slot)
    for (const [name, index] of this.indexes) addTo(index, properties[name]!, slot)
    for (const name of this.orderNames()) {
      this.move(name, { at: { value: properties[name]!, seq: slot.seq }, slot })
    }
  }

  /** Orders that exist, and those under construction. */
  private *orderNames(): Generator<string> {
    yield* this.orders.keys()
    yield* this.making.keys()
  }

  private move(name: string, move: Move): void {
    const order = this.orders.get(name)
    if (order) apply(order, move)
    else this.making.get(name)!.moves.push(move)
  }

  private buildIndex(name: string): Index {
    const index: Index = new Map()
    for (const slot of this.live()) addTo(index, slot.record.properties[name]!, slot)
    this.indexes.set(name, index)
    return index
  }

  private async makeOrder(property: CompiledProperty, moves: readonly Move[]): Promise<void> {
    const steps = new Steps()
    const compare = compareSortPositions(property)
    const pairs: [SortPosition, Slot][] = []
    // Kept in a variable, because tidying up replaces it. The moves correct what it misses of a change, or has twice.
    const { slots } = this
    for (const slot of slots) {
      if (slot.live) pairs.push([sortPositionOf(slot, property), slot])
      if (steps.isDue()) await steps.pause()
    }
    const order = new BTree<SortPosition, Slot>(undefined, compare)
    // Already sorted, so each lands at the end of the tree.
    for (const [at, slot] of await sortedInSteps(pairs, ([a], [b]) => compare(a, b), steps)) {
      order.set(at, slot)
      if (steps.isDue()) await steps.pause()
    }

    for (const move of moves) apply(order, move)
    // The type may have changed meanwhile: its orders are then built again.
    if (this.making.get(property.name)?.moves !== moves) return
    this.making.delete(property.name)
    this.orders.set(property.name, order)
  }
}

/** Every property of the type, in its order: those without a value are null. */
export function wholeValues(kept: StoredValues, type: ObjectType): StoredValues {
  const properties: StoredValues = {}
  for (const name of type.properties.keys()) {
    properties[name] = Object.hasOwn(kept, name) ? kept[name]! : null
  }
  return properties
}

function apply(order: Order, { at, slot }: Move): void {
  if (slot) order.set(at, slot)
  else order.delete(at)
}

function addTo(index: Index, value: StoredValue, slot: Slot): void {
  for (const key of valueKeys(value)) {
    const entry = index.get(key)
    if (entry === undefined) index.set(key, slot)
    else if (entry instanceof Set) entry.add(slot)
    else if (entry !== slot) index.set(key, new Set([entry, slot]))
  }
}

function removeFrom(index: Index, value: StoredValue, slot: Slot): void {
  for (const key of valueKeys(value)) {
    const entry = index.get(key)
    if (entry === slot) index.delete(key)
    else if (entry instanceof Set) {
      entry.delete(slot)
      if (entry.size === 0) index.delete(key)
    }
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

/** Order of two positions: by value, no value last, then by creation. Without a property: by creation. */
export function compareSortPositions(
  property: CompiledProperty | null,
): (a: SortPosition, b: SortPosition) => number {
  if (!property) return (a, b) => a.seq - b.seq
  const compare = property.field.compare as (a: StoredValue, b: StoredValue) => number
  return (a, b) => {
    if (a.value === null || b.value === null) {
      const nulls = Number(a.value === null) - Number(b.value === null)
      return nulls === 0 ? a.seq - b.seq : nulls
    }
    return compare(a.value, b.value) || a.seq - b.seq
  }
}

export function sortPositionOf(slot: Slot, property: CompiledProperty | null): SortPosition {
  return { seq: slot.seq, value: property ? slot.record.properties[property.name]! : null }
}
