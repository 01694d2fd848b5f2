// A limit of time that also counts what a process stood still: stopped, or its machine suspended.

/**
 * A span of time from now on. Whoever asks whether it is over gets the truth at that moment, where a timer of this process
 * would fire late. A stopped process is seen by the monotonic clock, a suspended machine by the wall clock; the clock that
 * went further counts.
 */
export class Deadline {
  readonly ms: number
  readonly #monotonic = performance.now()
  readonly #wall = Date.now()

  constructor(ms: number) {
    this.ms = ms
  }

  isOver(): boolean {
    return Math.max(performance.now() - this.#monotonic, Date.now() - this.#wall) >= this.ms
  }
}
