// A time limit that also counts the time in which a process did not run: stopped, or its machine suspended.

/**
 * A span of time from now on. A caller that asks whether it is over gets the truth at that moment, while a timer of this process
 * would fire late. The monotonic clock shows a stopped process, the wall clock a suspended machine; the clock that went further
 * counts.
 */
export class Deadline {
  readonly ms: number
  readonly #monotonic = performance.now()
  readonly #wall = Date.now()

  constructor(ms: number) {
    this.ms = ms
  }

  isOver(): boolean {
    return this.leftMs() <= 0
  }

  /** What is left of it, ms; below zero once it is over. */
  leftMs(): number {
    return this.ms - Math.max(performance.now() - this.#monotonic, Date.now() - this.#wall)
  }
}

/** The one of two time limits that is over first. */
export const earlierOf = (one: Deadline, other: Deadline): Deadline =>
  one.leftMs() <= other.leftMs() ? one : other
