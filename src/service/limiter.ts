// Rate limits (section 8). Promise kept here: no window passes more requests than its limit, and every answer can say
// how many are left.

export interface Verdict {
  readonly limit: number
  readonly remaining: number
  /** Null where the request may pass. */
  readonly retryAfterS: number | null
}

/** Counts the requests of one org, or of all callers without a key. */
export interface Limiter {
  take(nowMs: number): Verdict
  /** Null: no request is refused. */
  setLimit(limitPerMinute: number | null): void
}

/** What the headers report where nothing is refused. */
const UNLIMITED = 1_000_000_000
const windowMs = 60_000

/** The window begins with each minute of the clock. */
export class FixedWindow implements Limiter {
  private limit: number
  private used = { window: -1, count: 0 }

  constructor(limitPerMinute: number | null) {
    this.limit = limitPerMinute ?? UNLIMITED
  }

  setLimit(limitPerMinute: number | null): void {
    this.limit = limitPerMinute ?? UNLIMITED
  }

  take(nowMs: number): Verdict {
    const window = Math.floor(nowMs / windowMs)
    if (this.used.window !== window) this.used = { window, count: 0 }
    const { used } = this
    if (used.count >= this.limit) {
      const retryAfterS = Math.max(1, Math.ceil(((window + 1) * windowMs - nowMs) / 1_000))
      return { limit: this.limit, remaining: 0, retryAfterS }
    }
    used.count += 1
    return { limit: this.limit, remaining: this.limit - used.count, retryAfterS: null }
  }
}
