// The events of virtual time, earliest first; those of one instant in the order in which they were planned.

export interface Planned {
  readonly at: number
  readonly order: number
  readonly what: string
  readonly run: () => void | Promise<void>
  /** The process that it happens to; null: the world. */
  readonly owner: Owner | null
  isCancelled: boolean
}

/** What may be stopped or dead when something happens to it. */
export interface Owner {
  readonly name: string
  readonly state: 'running' | 'stopped' | 'dead'
  /** Keeps what happens to it while it is stopped. */
  keep(planned: Planned): void
}

const isBefore = (a: Planned, b: Planned): boolean =>
  a.at < b.at || (a.at === b.at && a.order < b.order)

/** A binary heap. */
export class EventQueue {
  readonly #heap: Planned[] = []

  get size(): number {
    return this.#heap.length
  }

  push(planned: Planned): void {
    const heap = this.#heap
    let at = heap.push(planned) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!isBefore(planned, heap[parent]!)) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = planned
  }

  pop(): Planned | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return first
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++
      if (!isBefore(heap[child]!, last)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
    return first
  }

  /** When the next one happens that is not cancelled. */
  nextAt(): number | null {
    while (this.#heap[0]?.isCancelled) this.pop()
    return this.#heap[0]?.at ?? null
  }
}
