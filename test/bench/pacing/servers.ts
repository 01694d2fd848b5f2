// Six ways in which a service may count requests per minute. All tell the same three headers (specification section 8) and
// none tells its kind: Limit, Remaining, and on a refusal the whole seconds to wait. A refused request uses nothing.

import type { Random } from './random.ts'

const MINUTE_MS = 60_000

export interface ServerAnswer {
  readonly status: 200 | 429
  readonly limit: number
  /** Whole requests. */
  readonly remaining: number
  /** Whole seconds; null on a 200. */
  readonly retryAfterS: number | null
}

export abstract class Server {
  /** Requests a minute. */
  protected limit: number

  constructor(limit: number) {
    this.limit = limit
  }

  /** How many requests would be let through at this moment, with fractions; below 0 after a cut of the limit. */
  abstract left(nowMs: number): number
  protected abstract use(nowMs: number): void
  /** How long until one more request is let through, where none is now. */
  protected abstract waitMs(nowMs: number): number

  request(nowMs: number): ServerAnswer {
    const granted = this.left(nowMs) >= 1
    if (granted) this.use(nowMs)
    return {
      status: granted ? 200 : 429,
      limit: this.limit,
      remaining: this.remaining(nowMs),
      retryAfterS: granted ? null : Math.max(1, Math.ceil(this.waitMs(nowMs) / 1_000)),
    }
  }

  remaining(nowMs: number): number {
    // Sums of fractions may fall a hair short of the whole number that they are.
    return Math.max(0, Math.floor(this.left(nowMs) + 1e-9))
  }

  setLimit(limit: number, _nowMs: number): void {
    this.limit = limit
  }
}

/** Windows of a minute, one after the other, from some moment on. */
class FixedWindow extends Server {
  private readonly phaseMs: number
  private window = -1
  private used = 0

  constructor(limit: number, phaseMs: number) {
    super(limit)
    this.phaseMs = phaseMs
  }

  left(nowMs: number): number {
    const window = Math.floor((nowMs + this.phaseMs) / MINUTE_MS)
    if (window !== this.window) this.used = 0
    this.window = window
    return this.limit - this.used
  }

  protected use(): void {
    this.used += 1
  }

  protected waitMs(nowMs: number): number {
    return (this.window + 1) * MINUTE_MS - this.phaseMs - nowMs
  }
}

/** A window of a minute that the first request after the end of the last one opens. */
class WindowFromFirst extends Server {
  private endMs = -Infinity
  private used = 0

  left(nowMs: number): number {
    return nowMs >= this.endMs ? this.limit : this.limit - this.used
  }

  protected use(nowMs: number): void {
    if (nowMs >= this.endMs) {
      this.endMs = nowMs + MINUTE_MS
      this.used = 0
    }
    this.used += 1
  }

  protected waitMs(nowMs: number): number {
    return this.endMs - nowMs
  }
}

/** Every request counts for exactly a minute. */
class SlidingLog extends Server {
  private times: number[] = []
  /** Index of the oldest that still counts. */
  private oldest = 0

  left(nowMs: number): number {
    while (this.oldest < this.times.length && this.times[this.oldest]! <= nowMs - MINUTE_MS)
      this.oldest += 1
    if (this.oldest > 20_000) {
      this.times = this.times.slice(this.oldest)
      this.oldest = 0
    }
    return this.limit - (this.times.length - this.oldest)
  }

  protected use(nowMs: number): void {
    this.times.push(nowMs)
  }

  protected waitMs(nowMs: number): number {
    const mustExpire = this.times.length - this.oldest - this.limit
    return this.times[this.oldest + mustExpire]! + MINUTE_MS - nowMs
  }
}

/** Counts per aligned minute; of the minute before, the share counts that lies within the last 60 s. */
class SlidingCounter extends Server {
  private readonly phaseMs: number
  private minute = 0
  private share = 1
  private current = 0
  private previous = 0

  constructor(limit: number, phaseMs: number) {
    super(limit)
    this.phaseMs = phaseMs
  }

  left(nowMs: number): number {
    const minutes = (nowMs + this.phaseMs) / MINUTE_MS
    const minute = Math.floor(minutes)
    if (minute !== this.minute) {
      this.previous = minute === this.minute + 1 ? this.current : 0
      this.current = 0
      this.minute = minute
    }
    this.share = 1 - (minutes - minute)
    return this.limit - this.current - this.previous * this.share
  }

  protected use(): void {
    this.current += 1
  }

  protected waitMs(nowMs: number): number {
    const toMinuteEndMs = this.share * MINUTE_MS
    if (this.previous === 0) return toMinuteEndMs
    return Math.min(toMinuteEndMs, ((1 - this.left(nowMs)) / this.previous) * MINUTE_MS)
  }
}

/** Tokens that come back at a constant rate up to a burst. GCRA is the same law with a small burst. */
class TokenBucket extends Server {
  private readonly burstOf: (limit: number) => number
  private tokens: number
  private atMs = 0

  constructor(limit: number, burstOf: (limit: number) => number) {
    super(limit)
    this.burstOf = burstOf
    this.tokens = burstOf(limit)
  }

  left(nowMs: number): number {
    const grown = this.tokens + ((nowMs - this.atMs) * this.limit) / MINUTE_MS
    this.tokens = Math.min(this.burstOf(this.limit), grown)
    this.atMs = nowMs
    return this.tokens
  }

  protected use(): void {
    this.tokens -= 1
  }

  protected waitMs(): number {
    return ((1 - this.tokens) * MINUTE_MS) / this.limit
  }

  override setLimit(limit: number, nowMs: number): void {
    // What grew until now grew at the old rate.
    this.left(nowMs)
    super.setLimit(limit, nowMs)
    this.left(nowMs)
  }
}

export const SERVER_KINDS = [
  'fixed',
  'first request',
  'sliding log',
  'sliding counter',
  'bucket',
  'GCRA',
] as const
export type ServerKind = (typeof SERVER_KINDS)[number]

/** A service with a full quota at time 0, somewhere within its minute. */
export function makeServer(kind: ServerKind, limit: number, random: Random): Server {
  const phaseMs = random.between(0, MINUTE_MS)
  switch (kind) {
    case 'fixed':
      return new FixedWindow(limit, phaseMs)
    case 'first request':
      return new WindowFromFirst(limit)
    case 'sliding log':
      return new SlidingLog(limit)
    case 'sliding counter':
      return new SlidingCounter(limit, phaseMs)
    case 'bucket':
      return new TokenBucket(limit, (most) => most)
    case 'GCRA':
      return new TokenBucket(limit, (most) => Math.max(5, Math.ceil(most / 60)))
  }
}
