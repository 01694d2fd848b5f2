// How many batches of a segment are in flight at a time: as many as hide the latency, and no more than the service, the ledger and
// this process work on side by side. There are more while more of them bring a higher throughput, fewer where fewer bring a
// higher one, and half as many after a request that failed. The quota is the pacer's, and bounds all this.

/** Batches in flight at the beginning. */
const START = 8
/** Batches of a window, for each that may be in flight, and its least time, ms: a pause of this process is no measure. */
const WINDOW_ROUNDS = 2
const WINDOW_MS = 200
/** Share by which there are more at a time, and the part of it by which the throughput must rise for that. */
const GROWTH = 0.5
const GAIN = 0.3
/** Share by which fewer must raise the throughput; where they lower it by less, still fewer are tried: they may yet raise it. */
const GAIN_OF_FEWER = 0.2
/** Windows until another number is tried again; doubles with each try that does not help. */
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
  #failures = 0
  /** The last window before another number was tried; null while none is. */
  #before: Measured | null = null
  #lastTry: 'more' | 'fewer' = 'fewer'
  #rest = 0
  #nextRest = REST
  /** Windows for which it is known that half as many bring less. */
  #fewerKnown = 0

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
    const failuresBefore = this.#failures
    return (endedAt, failed) => {
      this.#out--
      const window = this.#window
      // What was sent while more were in flight says nothing about fewer.
      if (window.since < 0) this.#startWindow(this.#out <= this.#limit ? endedAt : -1)
      else window.ended++
      const ms = endedAt - window.since
      if (failed && failuresBefore === this.#failures) this.#fail(endedAt)
      else if (window.ended >= WINDOW_ROUNDS * this.#limit && ms >= WINDOW_MS)
        this.#adapt(window.ended / ms, endedAt)
    }
  }

  #fail(at: number): void {
    this.#failures++
    this.#halve(at)
    this.#before = null
  }

  /** @param since when the next window begins; negative: once no more are in flight than may be */
  #halve(since = -1): void {
    this.#limit = Math.max(1, Math.floor(this.#limit / 2))
    this.#startWindow(since)
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
    this.#fewerKnown--
    if (before !== null && !isGain(before, now)) {
      if (now.limit < before.limit) {
        if (now.limit > 1 && now.rate > before.rate * (1 - GAIN_OF_FEWER)) return this.#halve()
        this.#fewerKnown = REST_MAX
      }
      this.#set(before.limit)
      this.#rest = this.#nextRest
      this.#nextRest = Math.min(REST_MAX, 2 * this.#nextRest)
      return
    }
    if (before !== null) {
      this.#nextRest = REST
      this.#fewerKnown = now.limit > before.limit ? REST_MAX : 0
    }
    if (this.#rest > 0) {
      this.#rest--
      return
    }
    const next = this.#nextTry(before)
    this.#before = next === this.#limit ? null : now
    if (next < this.#limit) this.#halve()
    else this.#limit = next
  }

  /** The number to try: on the way that has just helped, else more and fewer by turns. */
  #nextTry(before: Measured | null): number {
    const limit = this.#limit
    const more = Math.min(this.#max, limit + Math.max(1, Math.floor(GROWTH * limit)))
    const fewer = this.#fewerKnown > 0 ? limit : Math.max(1, Math.floor(limit / 2))
    const isFewerFirst = before === null ? this.#lastTry === 'more' : limit < before.limit
    const [first, second] = isFewerFirst ? [fewer, more] : [more, fewer]
    const next = first === limit ? second : first
    if (next !== limit) this.#lastTry = next > limit ? 'more' : 'fewer'
    return next
  }

  #set(limit: number): void {
    this.#limit = limit
    this.#before = null
  }
}

const isGain = (before: Measured, now: Measured): boolean =>
  now.limit > before.limit
    ? now.rate > before.rate * (1 + GAIN * (now.limit / before.limit - 1))
    : now.rate > before.rate * (1 + GAIN_OF_FEWER)
