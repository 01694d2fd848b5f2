// What holds requests back although there is credit: a Retry-After, a margin after refusals, and even spacing. Times are seconds.

import { RETRY_AFTER_MAX_MS } from './headers.ts'

/** No wait is longer. */
const WAIT_MAX_S = RETRY_AFTER_MAX_MS / 1_000
/** Refusals without a Retry-After: the first wait; it doubles up to the last. */
const MUTE_WAIT_S = 1
const MUTE_WAIT_MAX_S = 5
/** The margin fades over this time. */
const CAUTION_S = 900
/** Refusals closer together than this count as one. */
const ONE_REFUSAL_S = 1.5

/** Nothing is sent before `until`. */
export class RetryAfterGate {
  until = 0
  /** The wait was longer than any that a quota per minute needs: one request asks early whether it still applies. */
  isLong = false
  /** Refusals in a row that did not say how long to wait. */
  private mute = 0
  /** Refusals in a row that asked for too long a wait. */
  private long = 0

  opened(): void {
    this.mute = 0
    this.long = 0
    this.isLong = false
  }

  /** Opens at `t`, whatever the service has said. */
  open(t: number): void {
    this.opened()
    this.until = Math.min(this.until, t)
  }

  /**
   * Closes for as long as the service asks, or, if it does not say how long, a little longer each time. A refusal that asks for
   * more than five minutes may mean milliseconds: the service is asked again after that many, and later each time. Returns the
   * wait.
   */
  close(retryAfter: number | null, at: number, isRefusal: boolean): number {
    let wait = retryAfter ?? 0
    const isAnother = at >= this.until
    if (wait > WAIT_MAX_S) {
      const first = isRefusal ? Math.max(1, wait / 1_000) : WAIT_MAX_S
      // Refusals of requests that were in flight together count as one.
      wait = Math.min(WAIT_MAX_S, first * 4 ** Math.min(isAnother ? this.long : 0, 10))
      if (isAnother) this.long++
      this.isLong = true
      this.until = Math.max(this.until, at + wait)
      return wait
    }
    if (wait > 0) this.mute = 0
    else {
      wait = Math.min(MUTE_WAIT_MAX_S, MUTE_WAIT_S * 2 ** Math.min(this.mute, 10))
      this.mute++
    }
    this.until = Math.max(this.until, at + wait)
    return wait
  }
}

/** Credit kept back: grows with refusals, fades within a quarter of an hour. */
export class SafetyMargin {
  private raw = 0
  private at = 0

  /** `highest`: the highest Remaining ever seen. */
  now(t: number, highest: number): number {
    return Math.min(this.raw * Math.exp(-(t - this.at) / CAUTION_S), 0.3 * highest)
  }

  refused(t: number, limit: number, highest: number): void {
    if (t - this.at <= ONE_REFUSAL_S) return
    const more = this.now(t, highest) + Math.max(0.1, 0.0015 * limit)
    this.raw = Math.min(more, 0.005 * limit + 0.6 + Math.min(1.5, limit / 400))
    this.at = t
  }

  forget(): void {
    this.raw = 0
  }
}

/** Even spacing: tokens grow at a rate, and each bulk request takes one. */
export class EvenSpacing {
  private tokens = 1
  private at = 0

  /** 0 if a request may go now, else when to check again. */
  next(t: number, rate: number, tokensMax: number): number {
    this.tokens = Math.min(tokensMax, this.tokens + rate * (t - this.at))
    this.at = t
    if (this.tokens >= 1 - 1e-9) return 0
    return t + (rate > 1e-6 ? Math.min(0.5, (1 - this.tokens) / rate + 1e-6) : 0.5)
  }

  sent(): void {
    this.tokens = Math.max(-1, this.tokens - 1)
  }

  unsent(): void {
    this.tokens += 1
  }

  /** Drops what was saved up beyond `most`, so that it is not sent at once. */
  slow(most = 1): void {
    this.tokens = Math.min(this.tokens, most)
  }

  restart(t: number): void {
    this.tokens = Math.max(this.tokens, 0)
    this.at = t
  }
}
