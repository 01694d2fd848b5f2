// Rate limits (section 8), by one of three models. Promises kept here: no window of the model passes more requests than its
// limit; Remaining is what would pass at this moment; a caller that waits for Retry-After passes, if no other caller asks.

export interface LimiterVerdict {
  readonly limit: number
  readonly remaining: number
  /** Null if the request may pass. */
  readonly retryAfterS: number | null
}

/** Counts the requests of one org, or of all callers without a key. */
export interface Limiter {
  /** Asks for one request. A refused one is not counted. If the clock was set back, the count starts again. */
  take(nowMs: number): LimiterVerdict
  /** Null: no request is refused. */
  setLimit(limitPerMinute: number | null): void
}

export const LIMIT_MODELS = [
  /** The window begins with each minute of the clock. */
  'fixed',
  /** Each request counts for the 60 seconds after it. */
  'sliding',
  /** A burst of the limit, refilled evenly: one request every 60 s / limit. */
  'bucket',
] as const
export type LimitModel = (typeof LIMIT_MODELS)[number]

/** What the headers report if no request is refused. */
const UNLIMITED = 1_000_000_000
const windowMs = 60_000

/** The state of a model. `limit` is at least 1; `nowMs` never falls. */
interface Count {
  /** How many may pass now. */
  free(limit: number, nowMs: number): number
  /** One passes. */
  add(nowMs: number): void
  /** Milliseconds until one may pass, if none may pass now. */
  waitMs(limit: number, nowMs: number): number
}

const counts: Readonly<Record<LimitModel, () => Count>> = {
  fixed: fixedWindow,
  sliding: slidingLog,
  bucket: tokenBucket,
}

/** A limiter of a model, at whole milliseconds. `limitPerMinute` null: no request is refused. */
export function createLimiter(model: LimitModel, limitPerMinute: number | null): Limiter {
  let limit = limitPerMinute
  let count = counts[model]()
  let lastMs = -Infinity
  return {
    setLimit: (next) => {
      limit = next
    },
    take: (atMs) => {
      const nowMs = Math.floor(atMs)
      if (nowMs < lastMs) count = counts[model]()
      lastMs = nowMs
      if (limit === null) return { limit: UNLIMITED, remaining: UNLIMITED, retryAfterS: null }
      if (limit === 0) return { limit, remaining: 0, retryAfterS: windowMs / 1_000 }
      const free = count.free(limit, nowMs)
      if (free >= 1) {
        count.add(nowMs)
        return { limit, remaining: free - 1, retryAfterS: null }
      }
      const retryAfterS = Math.ceil(count.waitMs(limit, nowMs) / 1_000)
      return { limit, remaining: 0, retryAfterS }
    },
  }
}

function fixedWindow(): Count {
  let window = -1
  let used = 0
  return {
    free: (limit, nowMs) => {
      const current = Math.floor(nowMs / windowMs)
      if (current !== window) used = 0
      window = current
      return Math.max(0, limit - used)
    },
    add: () => {
      used += 1
    },
    waitMs: (_limit, nowMs) => (window + 1) * windowMs - nowMs,
  }
}

/** An exact log. Requests of one millisecond share an entry, so there are at most 60,000. */
function slidingLog(): Count {
  let entries: { readonly atMs: number; requests: number }[] = []
  let first = 0
  let used = 0
  return {
    free: (limit, nowMs) => {
      while (first < entries.length && entries[first]!.atMs <= nowMs - windowMs) {
        used -= entries[first]!.requests
        first += 1
      }
      if (first > 1_000 && first * 2 > entries.length) {
        entries = entries.slice(first)
        first = 0
      }
      return Math.max(0, limit - used)
    },
    add: (nowMs) => {
      const last = entries.at(-1)
      if (last?.atMs === nowMs) last.requests += 1
      else entries.push({ atMs: nowMs, requests: 1 })
      used += 1
    },
    waitMs: (limit, nowMs) => {
      // After the limit was lowered, more than the oldest request must leave the window.
      let left = used
      let index = first - 1
      while (left >= limit) left -= entries[(index += 1)]!.requests
      return entries[index]!.atMs + windowMs - nowMs
    },
  }
}

/** In whole shares of a request, 60,000 to each, so that no rounding adds up: a millisecond gives back `limit` of them. */
function tokenBucket(): Count {
  const request = windowMs
  let used = 0
  let atMs = -Infinity
  return {
    free: (limit, nowMs) => {
      used = Math.min(limit * request, Math.max(0, used - (nowMs - atMs) * limit))
      atMs = nowMs
      return Math.floor((limit * request - used) / request)
    },
    add: () => {
      used += request
    },
    waitMs: (limit) => Math.ceil((used + request - limit * request) / limit),
  }
}
