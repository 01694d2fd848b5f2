// Refusals that have a lower limit than accepted answers: a gateway before the service, or a service that does not keep to what it
// says. The lower one counts, for longer each time. Times are seconds.

import type { ParsedAnswer } from './reported-numbers.ts'

/** How long the lower limit counts: at first, and at most; twice as long each time that it is refused again. */
const HOLD_S = 60
const HOLD_MAX_S = 3_600
/** Who was let through more often than this many times the limit in a minute is not refused by a limit a minute. */
const MINUTES_MAX = 2

export class RefusedLimit {
  /** What refusals say; null once an accepted answer says it too. */
  private limit: number | null = null
  private until = 0
  private holdS = 0

  /** A refusal, with `used` accepted in the last minute, where `believed` was the limit. */
  refused(said: number | null, believed: number | null, used: number, t: number): void {
    if (said === null || believed === null || said >= believed) return
    this.limit = said
    if (used > MINUTES_MAX * said) return
    const isAgain = this.holdS > 0 && t < this.until + this.holdS
    this.holdS = isAgain ? Math.min(HOLD_MAX_S, 2 * this.holdS) : HOLD_S
    this.until = t + this.holdS
  }

  /** What counts of an accepted answer: none of its numbers, if refusals say less. */
  heard(seen: ParsedAnswer, t: number): ParsedAnswer {
    if (seen.limit === null || this.limit === null) return seen
    if (seen.limit > this.limit && t < this.until) return { ...seen, limit: null, remaining: null }
    this.limit = null
    return seen
  }

  /** Refusals alone have this limit. */
  has(limit: number | null): boolean {
    return this.limit !== null && this.limit === limit
  }
}
