// How fast a count grows, and how long the rest of it takes: over the last half minute, so that a pause is forgotten.

const WINDOW_MS = 30_000
/** Counts closer together say nothing. */
const SPAN_MIN_MS = 500

export interface Pace {
  /** A second; null until it is known. */
  readonly rate: number | null
  /** Null if it is not known how much there is, or nothing moves. */
  readonly leftMs: number | null
}

interface Sample {
  readonly at: number
  readonly done: number
}

/** Memory is bounded: one sample for each half second of the window. */
export class RateMeter {
  #phase = ''
  #samples: Sample[] = []

  /** Begins anew: what stood still says nothing of how fast it goes on. */
  reset(): void {
    this.#samples = []
  }

  /** @param phase another one begins anew, as does a count that falls */
  pace(
    nowMs: number,
    phase: string,
    { done, total }: { done: number; total: number | null },
  ): Pace {
    const last = this.#samples.at(-1)
    if (phase !== this.#phase || (last !== undefined && done < last.done)) this.reset()
    this.#phase = phase
    if (this.#samples.length === 0 || nowMs - this.#samples.at(-1)!.at >= SPAN_MIN_MS)
      this.#samples.push({ at: nowMs, done })
    while (this.#samples.length > 2 && nowMs - this.#samples[1]!.at >= WINDOW_MS)
      this.#samples.shift()
    const first = this.#samples[0]!
    const spanMs = nowMs - first.at
    if (spanMs < SPAN_MIN_MS) return { rate: null, leftMs: null }
    const rate = ((done - first.done) * 1_000) / spanMs
    const leftMs = total === null || rate <= 0 ? null : (Math.max(0, total - done) / rate) * 1_000
    return { rate, leftMs }
  }
}
