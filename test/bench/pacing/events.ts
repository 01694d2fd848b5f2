// Virtual time: a queue of what happens when, in whole milliseconds. What was planned first for a millisecond happens first.

interface Planned {
  readonly atMs: number
  readonly order: number
  readonly run: () => void
}

export class Events {
  nowMs = 0
  private planned = 0
  /** A binary heap: nothing is earlier than its parent, which is at half its index. */
  private readonly heap: Planned[] = []

  /** Plans something; never before now, and never for a part of a millisecond. */
  at(ms: number, run: () => void): void {
    const entry = { atMs: Math.max(this.nowMs, Math.ceil(ms)), order: this.planned, run }
    this.planned += 1
    let index = this.heap.length
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!isEarlier(entry, this.heap[parent]!)) break
      this.heap[index] = this.heap[parent]!
      index = parent
    }
    this.heap[index] = entry
  }

  after(ms: number, run: () => void): void {
    this.at(this.nowMs + ms, run)
  }

  /** Lets time pass. What is planned for `endMs` itself does not happen any more. */
  runUntil(endMs: number): void {
    while (this.heap.length > 0 && this.heap[0]!.atMs < endMs) {
      const { atMs, run } = this.takeFirst()
      this.nowMs = atMs
      run()
    }
    this.nowMs = endMs
  }

  private takeFirst(): Planned {
    const first = this.heap[0]!
    const moved = this.heap.pop()!
    const size = this.heap.length
    if (size === 0) return first
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      if (child >= size) break
      if (child + 1 < size && isEarlier(this.heap[child + 1]!, this.heap[child]!)) child += 1
      if (!isEarlier(this.heap[child]!, moved)) break
      this.heap[index] = this.heap[child]!
      index = child
    }
    this.heap[index] = moved
    return first
  }
}

function isEarlier(one: Planned, other: Planned): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order)
}
