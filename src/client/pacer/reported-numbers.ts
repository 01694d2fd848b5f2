// What answers report, as far as it is reliable. Not every service reports both numbers with every answer, and some report one
// that never changes: then our own log of the last minute is compared with the limit instead. Times are seconds.

/** An answer with its numbers parsed; null for each that it did not report. */
export interface ParsedAnswer {
  readonly status: number
  /** Requests a minute. */
  readonly limit: number | null
  readonly remaining: number | null
  /** Seconds. */
  readonly retryAfter: number | null
  /** Seconds until the window ends, if the service documents it (`t` of `RateLimit`). */
  readonly resetIn: number | null
}

/** After this many accepted answers in a row without Remaining, it is no longer expected. */
const UNREPORTED_MIN = 5
/** After this many with the very same Remaining, although each used one, it does not count requests. */
const STUCK_MIN = 30
/** How long a Remaining that proved wrong is ignored, if it does not move again before. */
const WRONG_S = 3_600
/** As many changes of it, more than answers without one, and it counts again; twice as many each time that it proves wrong again. */
const MOVES_MIN = 10
const DOUBLED_MAX = 10
const COUNT_MAX = 1_000_000

export class ReportedNumbers {
  /** Accepted answers in a row that reported no Remaining. */
  private unreported = 0
  /** The last reported Remaining, and how many accepted answers in a row reported it. */
  private same = { remaining: -1, count: 0 }
  private wrongUntil = 0
  /** While it is ignored: the last one with its limit, and how many answers more changed it than did not. */
  private moved = { remaining: -1, limit: -1, count: 0 }
  /** How often it proved wrong again soon after it was ignored. */
  private again = 0

  /** Accepted requests are answered without Remaining, or with one that is not reliable. */
  isSilent(): boolean {
    return this.unreported >= UNREPORTED_MIN
  }

  /** Remaining of an answer, if it reports one that is reliable. */
  remainingOf({ status, remaining }: ParsedAnswer, t: number): number | null {
    // A refusal alone says that nothing remains, unless it reports that something does.
    if (status === 429) return remaining === null || t < this.wrongUntil ? 0 : remaining
    return t < this.wrongUntil ? null : remaining
  }

  /** Until when the reported Remaining is ignored, unless it moves before; null if it is not. */
  ignoredUntil(t: number): number | null {
    return t < this.wrongUntil ? this.wrongUntil : null
  }

  /** An accepted answer. `isIdle`: far less than the limit was used in the last minute. */
  accepted({ limit, remaining }: ParsedAnswer, t: number, isIdle: boolean): void {
    if (remaining !== null && t < this.wrongUntil) this.watch(limit, remaining, t)
    if (remaining === null || t < this.wrongUntil) {
      this.unreported = Math.min(COUNT_MAX, this.unreported + 1)
      return
    }
    const isSame = remaining === this.same.remaining
    this.same = { remaining, count: isSame ? Math.min(COUNT_MAX, this.same.count + 1) : 1 }
    this.unreported = 0
    // Nothing remains, and yet every request passes.
    if (remaining === 0 && isIdle && this.same.count >= STUCK_MIN) this.ignoreReported(t)
  }

  /** Whether a Remaining that is ignored moves again: it changes with most answers, or has another limit. */
  private watch(limit: number | null, remaining: number, t: number): void {
    const { moved } = this
    const needed = MOVES_MIN * 2 ** this.again
    const isFirst = moved.remaining < 0
    const step = remaining !== moved.remaining ? 1 : -1
    const change = limit === null || limit === moved.limit ? step : MOVES_MIN
    const count = isFirst ? 0 : Math.max(0, moved.count + change)
    this.moved = { remaining, limit: limit ?? moved.limit, count }
    if (count >= needed) this.wrongUntil = t
  }

  /** A refusal. If the reported Remaining has not changed for long, it does not count requests at all. */
  refused(limit: number, t: number): void {
    const { remaining, count } = this.same
    if (count >= STUCK_MIN && remaining > 3 + 0.05 * limit) this.ignoreReported(t)
    else if (remaining === 0) this.same = { remaining: -1, count: 0 }
  }

  private ignoreReported(t: number): void {
    const isAgain = this.wrongUntil > 0 && t < this.wrongUntil + WRONG_S
    this.again = isAgain ? Math.min(DOUBLED_MAX, this.again + 1) : 0
    this.wrongUntil = t + WRONG_S
    this.moved = { remaining: -1, limit: -1, count: 0 }
    this.same = { remaining: -1, count: 0 }
    this.unreported = UNREPORTED_MIN
  }
}
