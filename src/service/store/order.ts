// The slots of a store in the order of a property: leaves of some hundred slots, side by side.
// Promises kept here: an order is built in steps, while others read and write; once it is there, every write keeps it.

import { Steps, sortedPositions } from './scan.ts'
import type { StoredValue } from '../schema/field-types.ts'
import type { CompiledProperty } from '../schema/object-types.ts'
import { compareStored, type Direction, type Slot, type SortPosition } from './slots.ts'

/** Slots of a leaf, at most. A write moves half of them on average, a few hundred bytes. */
const LEAF_MAX = 256
/** Slots of a leaf when an order is built: there is room for more. */
const LEAF_SIZE = 192
/** Records that are looked at between two looks at the clock, and the items that they count as. */
const BLOCK = 256
const BLOCK_ITEMS = 16

/** `values[i]` is what `slots[i]` has: kept here, because the slot's record may be replaced before the order knows. */
interface Leaf {
  readonly values: StoredValue[]
  readonly slots: Slot[]
}

/** A change: `slot` came to the position of `value`, or left it. */
export interface Move {
  readonly kind: 'came' | 'left'
  readonly value: StoredValue
  readonly slot: Slot
}

export class Order {
  private readonly compare: (a: StoredValue, b: StoredValue) => number
  private leaves: Leaf[] = []

  constructor(property: CompiledProperty) {
    this.compare = compareStored(property)
  }

  apply({ kind, value, slot }: Move): void {
    if (kind === 'came') this.add(value, slot)
    else this.remove(value, slot.seq)
  }

  /** Slots strictly beyond `from`; null: all. */
  *walk(direction: Direction, from: SortPosition | null): Generator<Slot> {
    const { leaves } = this
    if (direction === 'asc') {
      let at = from ? this.leafOf(from.value, from.seq) : 0
      let index = from && at < leaves.length ? this.indexAfter(leaves[at]!, from) : 0
      for (; at < leaves.length; at += 1, index = 0) {
        const { slots } = leaves[at]!
        for (; index < slots.length; index += 1) yield slots[index]!
      }
      return
    }
    let at = from
      ? Math.min(this.leafOf(from.value, from.seq), leaves.length - 1)
      : leaves.length - 1
    let isFirst = from !== null
    for (; at >= 0; at -= 1) {
      const leaf = leaves[at]!
      const end = isFirst ? this.indexOf(leaf, from!.value, from!.seq) : leaf.slots.length
      isFirst = false
      for (let index = end - 1; index >= 0; index -= 1) yield leaf.slots[index]!
    }
  }

  /** Slots behind all others, at most `LEAF_SIZE`; to be called in order, before the first `apply`. */
  append(values: StoredValue[], slots: Slot[]): void {
    this.leaves.push({ values, slots })
  }

  private add(value: StoredValue, slot: Slot): void {
    const { leaves } = this
    const at = this.leafOf(value, slot.seq)
    if (at === leaves.length) return this.addLast(value, slot)
    const leaf = leaves[at]!
    const index = this.indexOf(leaf, value, slot.seq)
    if (leaf.slots[index]!.seq === slot.seq && this.compare(leaf.values[index]!, value) === 0)
      return
    leaf.values.splice(index, 0, value)
    leaf.slots.splice(index, 0, slot)
    if (leaf.slots.length <= LEAF_MAX) return
    const half = LEAF_MAX >> 1
    leaves.splice(at + 1, 0, { values: leaf.values.splice(half), slots: leaf.slots.splice(half) })
  }

  /** Behind everything, as most modification times are: full leaves stay full. */
  private addLast(value: StoredValue, slot: Slot): void {
    const last = this.leaves.at(-1)
    if (last && last.slots.length < LEAF_MAX) {
      last.values.push(value)
      last.slots.push(slot)
    } else this.leaves.push({ values: [value], slots: [slot] })
  }

  private remove(value: StoredValue, seq: number): void {
    const { leaves } = this
    const at = this.leafOf(value, seq)
    const leaf = leaves[at]
    if (!leaf) return
    const index = this.indexOf(leaf, value, seq)
    if (leaf.slots[index]!.seq !== seq || this.compare(leaf.values[index]!, value) !== 0) return
    leaf.values.splice(index, 1)
    leaf.slots.splice(index, 1)
    if (leaf.slots.length === 0) leaves.splice(at, 1)
    else if (!this.unite(at - 1)) this.unite(at)
  }

  /** One leaf instead of this one and the next, if both are small. */
  private unite(at: number): boolean {
    const { leaves } = this
    const [leaf, next] = [leaves[at], leaves[at + 1]]
    if (!leaf || !next || leaf.slots.length + next.slots.length > LEAF_MAX >> 1) return false
    leaf.values.push(...next.values)
    leaf.slots.push(...next.slots)
    leaves.splice(at + 1, 1)
    return true
  }

  /** The first leaf whose last slot is not before the position. */
  private leafOf(value: StoredValue, seq: number): number {
    let low = 0
    let high = this.leaves.length
    while (low < high) {
      const middle = (low + high) >> 1
      const leaf = this.leaves[middle]!
      if (this.isBefore(leaf, leaf.slots.length - 1, value, seq)) low = middle + 1
      else high = middle
    }
    return low
  }

  /** The first place in the leaf that is not before the position. */
  private indexOf(leaf: Leaf, value: StoredValue, seq: number): number {
    let low = 0
    let high = leaf.slots.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.isBefore(leaf, middle, value, seq)) low = middle + 1
      else high = middle
    }
    return low
  }

  private indexAfter(leaf: Leaf, { value, seq }: SortPosition): number {
    const index = this.indexOf(leaf, value, seq)
    const isThere =
      index < leaf.slots.length &&
      leaf.slots[index]!.seq === seq &&
      this.compare(leaf.values[index]!, value) === 0
    return isThere ? index + 1 : index
  }

  private isBefore(leaf: Leaf, index: number, value: StoredValue, seq: number): boolean {
    return (this.compare(leaf.values[index]!, value) || leaf.slots[index]!.seq - seq) < 0
  }
}

/**
 * An order under construction: what the store held when it began, sorted in steps. What changes meanwhile is a move, which
 * the order gets last; so whoever waits for it sees what a walk at its end would have seen.
 */
export class OrderMaking {
  /** Resolves once `whenMade` was called. */
  readonly done: Promise<void>
  private readonly moves: Move[] = []

  /**
   * `slots`: in creation order; more may be added at its end. `whenMade` gets the order at a moment at which it agrees with the
   * records; what changes later is for the caller to apply.
   */
  constructor(
    property: CompiledProperty,
    slots: readonly Slot[],
    whenMade: (order: Order, making: OrderMaking) => void,
  ) {
    this.done = this.make(property, slots, whenMade)
  }

  note(move: Move): void {
    this.moves.push(move)
  }

  private async make(
    property: CompiledProperty,
    slots: readonly Slot[],
    whenMade: (order: Order, making: OrderMaking) => void,
  ): Promise<void> {
    const steps = new Steps()
    const { name } = property
    const live: Slot[] = []
    const values: StoredValue[] = []
    for (let at = 0; at < slots.length; at += BLOCK) {
      for (let index = at; index < at + BLOCK && index < slots.length; index += 1) {
        const slot = slots[index]!
        if (!slot.live) continue
        live.push(slot)
        values.push(slot.record.properties[name]!)
      }
      if (steps.isDue(BLOCK_ITEMS)) await steps.pause()
    }
    const compare = compareStored(property)
    const sorted = await sortedPositions(
      live.length,
      // Slots ascend, so positions decide between equal values as sequences would.
      (a, b) => compare(values[a]!, values[b]!) || a - b,
      steps,
    )
    const order = new Order(property)
    for (let at = 0; at < sorted.length; at += LEAF_SIZE) {
      const part = sorted.subarray(at, at + LEAF_SIZE)
      order.append(
        Array.from(part, (each) => values[each]!),
        Array.from(part, (each) => live[each]!),
      )
      if (steps.isDue(BLOCK_ITEMS)) await steps.pause()
    }
    // Others write while this pauses, but much slower than it moves.
    for (let next = 0; next < this.moves.length; next += 1) {
      order.apply(this.moves[next]!)
      if (steps.isDue()) await steps.pause()
    }
    whenMade(order, this)
  }
}
