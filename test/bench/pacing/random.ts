// Chance that repeats itself: the same seed and the same stream name give the same numbers, on every machine.

export class Random {
  private state: number

  /** Streams of one seed are independent of each other: to draw more from one changes nothing in another. */
  constructor(seed: number, stream: string) {
    let hash = 0x811c9dc5 ^ Math.imul(seed, 0x9e3779b1)
    for (const letter of stream) hash = Math.imul(hash ^ letter.codePointAt(0)!, 0x01000193)
    this.state = hash | 0
  }

  /** Evenly from 0 (included) to 1 (excluded). */
  even(): number {
    this.state = (this.state + 0x9e3779b9) | 0
    let bits = this.state
    bits = Math.imul(bits ^ (bits >>> 16), 0x21f0aaad)
    bits = Math.imul(bits ^ (bits >>> 15), 0x735a2d97)
    return ((bits ^ (bits >>> 15)) >>> 0) / 2 ** 32
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.even()
  }

  /** The time to the next of a stream of independent events that are `mean` apart on average. */
  exponential(mean: number): number {
    return -Math.log(1 - this.even()) * mean
  }

  /** Log-normal: half the values are below `median`, and the logarithm deviates by `sigma`. */
  logNormal(median: number, sigma: number): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.even()))
    return median * Math.exp(sigma * radius * Math.cos(2 * Math.PI * this.even()))
  }
}
