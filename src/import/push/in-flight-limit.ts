// How many batches of a segment are in flight at a time: as many as hide the latency, and no more than the service, the ledger and
// this process work on side by side. AIMD: there are more while more of them bring a higher throughput, and half as many
// after a request that failed. The quota is the pacer's, and bounds all this.

/** Batches in flight at the beginning. */
const START = 8
/** Batches of a window, for each that may be in flight, and its least time, ms: a pause of this process is no measure. */
const WINDOW_ROUNDS = 2
const WINDOW_MS = 200
/** Share by which there are more at a time, and the part of it by which the throughput must rise for that. */
const GROWTH = 0.5
const GAIN = 0.3
/** Windows until it is tried again whether more would bring more; doubles with each try that does not. */
const REST = 2
const REST_MAX = 32

/** What was answered a second while so many were in flight. */
interface Measured {
  readonly limit: number
  readonly rate: number
}

export class InFlightLimit {
  readonly #max: number
  #limit: number
  #out = 0
  /** Of the window: when its first batch ended (ms), how many ended since, and the most in flight. */
  #window = { since: -1, ended: 0, most: 0 }
  /** How often it was halved: batches that were in flight together fail together, and halve it once. */
  #halved = 0
  /** The last window before there were more; null while they are not tried. */
  #before: Measured | null = null
  #rest = 0
  #nextRest = REST

  /** @param max the tuning's `in_flight` */
  constructor(max: number) {
    this.#max = max
    this.#limit = Math.min(START, max)
  }

  get limit(): number {
    return this.#limit
  }

  /** A batch begins. Returns what to call when it has ended: when, ms, and whether a request of it failed. */
  begin(): (endedAt: number, failed: boolean) => void {
    this.#out++
    this.#window.most = Math.max(this.#window.most, this.#out)
    const halvedBefore = this.#halved
    return (endedAt, failed) => {
      this.#out--
      const window = this.#window
      if (window.since < 0) window.since = endedAt
      else window.ended++
      const ms = endedAt - window.since
      if (failed && halvedBefore === this.#halved) this.#halve(endedAt)
      else if (window.ended >= WINDOW_ROUNDS * this.#limit && ms >= WINDOW_MS)
        this.#adapt(window.ended / ms, endedAt)
    }
  }

  #halve(at: number): void {
    this.#halved++
    this.#startWindow(at)
    this.#set(Math.max(1, Math.floor(this.#limit / 2)))
  }

  #adapt(rate: number, at: number): void {
    const { most } = this.#window
    this.#startWindow(at)
    // Where fewer are in flight than may be, something else is the limit: the quota, or the source.
    if (most >= this.#limit) this.#compare({ limit: this.#limit, rate })
  }

  #startWindow(since: number): void {
    this.#window = { since, ended: 0, most: this.#out }
  }

  #compare(now: Measured): void {
    const before = this.#before
    if (before !== null && !isGain(before, now)) {
      this.#set(before.limit)
      this.#rest = this.#nextRest
      this.#nextRest = Math.min(REST_MAX, 2 * this.#nextRest)
      return
    }
    if (before !== null) this.#nextRest = REST
    if (this.#rest > 0) {
      this.#rest--
      return
    }
    const more = Math.min(this.#max, this.#limit + Math.max(1, Math.floor(GROWTH * this.#limit)))
    this.#before = more > this.#limit ? now : null
    this.#limit = more
  }

  #set(limit: number): void {
    this.#limit = limit
    this.#before = null
  }
}

const isGain = (before: Measured, now: Measured): boolean =>
  now.rate > before.rate * (1 + GAIN * (now.limit / before.limit - 1))
