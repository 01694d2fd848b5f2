// What answers tell, as far as it is believed. Not every service tells both numbers with every answer, and some tell one
// that never changes: then our own log of the last minute, held against the limit, has to do. Times are seconds.

/** An answer with its numbers read; null where it did not tell one. */
export interface ParsedAnswer {
  readonly status: number
  /** Requests a minute. */
  readonly limit: number | null
  readonly remaining: number | null
  /** Seconds. */
  readonly retryAfter: number | null
  /** Seconds until the window ends, where the service documents it (`t` of `RateLimit`). */
  readonly resetIn: number | null
}

/** Accepted answers in a row without Remaining, from which on it is not expected any more. */
const UNREPORTED_MIN = 5
/** As many with the very same Remaining, though each used one: it is not counted. */
const STUCK_MIN = 30
/** How long a Remaining that was found wrong is not believed. */
const WRONG_S = 3_600
const COUNT_MAX = 1_000_000

export class ReportedNumbers {
  /** Accepted answers in a row that told no Remaining. */
  private unreported = 0
  /** The last Remaining told, and how many accepted answers in a row told the same. */
  private same = { remaining: -1, count: 0 }
  private wrongUntil = 0

  static restore(data: object): ReportedNumbers {
    return Object.assign(new ReportedNumbers(), data)
  }

  /** Accepted requests are answered without Remaining, or with one that is not believed. */
  isSilent(): boolean {
    return this.unreported >= UNREPORTED_MIN
  }

  /** Remaining of an answer, where it tells one that is believed. */
  remainingOf({ status, remaining }: ParsedAnswer, t: number): number | null {
    // A refusal says by itself that nothing remains, unless it says that something does.
    if (status === 429) return remaining === null || t < this.wrongUntil ? 0 : remaining
    return t < this.wrongUntil ? null : remaining
  }

  /** An accepted answer. `isIdle`: far less than the limit was used in the last minute. */
  accepted(remaining: number | null, t: number, isIdle: boolean): void {
    if (remaining === null || t < this.wrongUntil) {
      this.unreported = Math.min(COUNT_MAX, this.unreported + 1)
      return
    }
    const isSame = remaining === this.same.remaining
    this.same = { remaining, count: isSame ? Math.min(COUNT_MAX, this.same.count + 1) : 1 }
    this.unreported = 0
    // Nothing remains, and yet all are let through.
    if (remaining === 0 && isIdle && this.same.count >= STUCK_MIN) this.ignoreReported(t)
  }

  /** A refusal. What was told to remain has not changed for long: it is not counted at all. */
  refused(limit: number, t: number): void {
    const { remaining, count } = this.same
    if (count >= STUCK_MIN && remaining > 3 + 0.05 * limit) this.ignoreReported(t)
    else if (remaining === 0) this.same = { remaining: -1, count: 0 }
  }

  private ignoreReported(t: number): void {
    this.wrongUntil = t + WRONG_S
    this.same = { remaining: -1, count: 0 }
    this.unreported = UNREPORTED_MIN
  }
}
