// How much a segment has on its way at once, in characters of bodies: rows may be of a megabyte each. Where nothing is on its way a
// body goes out whatever its size. Rows of a common size never come near the bound: 64 requests of 50 rows of 2,600 characters.

import type { PlannedItem } from '../../ledger/ledger.ts'

/** Characters of a body, unless it is that of one row. */
export const BODY_CHARS_MAX = 2 * 1_048_576
/** Characters of bodies on their way: once there are so many, no further one goes out. */
const IN_FLIGHT_CHARS_MAX = 4 * BODY_CHARS_MAX

/** How many of the first items make one body. */
export function itemsOfBody(items: readonly PlannedItem[], itemsMax: number): number {
  let count = 0
  for (let chars = 0; count < items.length && count < itemsMax; count++) {
    chars += items[count]!.payload.length
    if (count > 0 && chars > BODY_CHARS_MAX) break
  }
  return count
}

const charsOf = (items: readonly PlannedItem[]): number =>
  items.reduce((sum, { payload }) => sum + payload.length, 0)

export class BodyRoom {
  #chars = 0
  /** Lanes that have come in and have no body yet, and how large the last body was. */
  #entering = 0
  #last = BODY_CHARS_MAX
  readonly #waiting = new Set<() => void>()

  /** Whether so much is on its way that no further body may go out. */
  get isFull(): boolean {
    return this.#chars >= IN_FLIGHT_CHARS_MAX
  }

  /** Waits until there is room for a body like the last one, or `signal` aborts. To be ended by `leave`. */
  async enter(signal: AbortSignal): Promise<void> {
    // Bounded: every pass waits for the end of a request, or for a lane that gets no body.
    while (!signal.aborted && this.#chars + this.#entering * this.#last >= IN_FLIGHT_CHARS_MAX)
      await new Promise<void>((resolve) => {
        const go = () => {
          signal.removeEventListener('abort', go)
          this.#waiting.delete(go)
          resolve()
        }
        signal.addEventListener('abort', go, { once: true })
        this.#waiting.add(go)
      })
    this.#entering++
  }

  leave(): void {
    this.#entering--
    this.#wake()
  }

  /** Counts a body as on its way. Returns what ends that. */
  take(items: readonly PlannedItem[]): () => void {
    const chars = charsOf(items)
    if (chars > 0) this.#last = chars
    this.#chars += chars
    return () => {
      this.#chars -= chars
      this.#wake()
    }
  }

  #wake(): void {
    if (this.isFull) return
    for (const go of this.#waiting) go()
  }
}
