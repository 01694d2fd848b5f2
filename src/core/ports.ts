// The interfaces of what the layers need from outside: a log, a clock, a quota. Implementations arrive as parameters.

/** A structured log: a stable event name, then fields. Never a key, a record or a property value. */
export interface Logger {
  debug(fields: object, event: string): void
  info(fields: object, event: string): void
  warn(fields: object, event: string): void
  error(fields: object, event: string): void
}

/** A logger that discards everything, for tests and for libraries. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/** Time. `now` is wall-clock milliseconds since 1970; `sleep` ends early, rejecting with the signal's reason, on abort. */
export interface Clock {
  now(): number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

const timerMaxMs = 2 ** 31 - 1

/** The machine's clock. A wait of over 24 days is cut to that: a Node timer longer than 24 days fires at once. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const onAbort = () => {
        clearTimeout(timer)
        reject(signal?.reason)
      }
      const timer = setTimeout(
        () => {
          signal?.removeEventListener('abort', onAbort)
          resolve()
        },
        Math.min(Math.max(0, ms), timerMaxMs),
      )
      signal?.addEventListener('abort', onAbort, { once: true })
    }),
}

/** Who asks for a permit; earlier ones go first. */
export const PRIORITIES = ['interactive', 'import', 'mirror', 'backfill'] as const
export type Priority = (typeof PRIORITIES)[number]
/** The priorities that share what interactive callers leave. */
export type BulkPriority = Exclude<Priority, 'interactive'>
export const BULK_PRIORITIES = PRIORITIES.filter(
  (priority): priority is BulkPriority => priority !== 'interactive',
)

/** What the quota learns from an answer: its status and the headers of specification section 8, as they came. */
export interface Answer {
  readonly status: number
  /** `RateLimit-Limit`, requests a minute. */
  readonly limit?: string | undefined
  /** `RateLimit-Remaining`, requests. */
  readonly remaining?: string | undefined
  /** `Retry-After`, seconds or an HTTP-date. */
  readonly retryAfter?: string | undefined
  /** The service's clock: a date in `Retry-After` is read relative to it. */
  readonly date?: string | undefined
  /** `RateLimit`, of the IETF's draft: the service need not send it. */
  readonly rateLimit?: string | undefined
  /** `RateLimit-Policy`, of the same draft. */
  readonly rateLimitPolicy?: string | undefined
  /** `Deprecation` and `Sunset`: an end of the API that the service announces. */
  readonly deprecation?: string | undefined
  readonly sunset?: string | undefined
}

/** The right to send one request. Exactly one of the three methods is called, once. */
export interface Permit {
  /** The request was answered, with any status. */
  observe(answer: Answer): void
  /** The request was sent and no answer came: it counts as used. */
  lost(): void
  /** The request was never sent: the credit goes back. */
  unused(): void
}

export interface AcquireOptions {
  readonly priority?: Priority
  readonly signal?: AbortSignal | undefined
  /**
   * A wait that is known to be longer is refused at once with `QuotaWait`. So is a wait during which no caller of the same
   * priority got a permit for this long. Default 45,000 ms.
   */
  readonly maxWaitMs?: number
}

/** The pacer as its callers see it: asks the quota of one org for the right to send. */
export interface Quota {
  acquire(options?: AcquireOptions): Promise<Permit>
  /** Requests a minute that the service allows, as its last answer said; null before the first. */
  limitPerMinute(): number | null
}

/** Where the state of each org's quota is stored, for all the processes that share it. Any method may throw `SyncError`. */
export interface QuotaStore {
  /** Where it is, for messages. */
  readonly place: string
  /**
   * Runs `work` on the state of an org while no other process reads or writes it, and stores the state that it returns. `work`
   * gets null for an org without one, and the store's own time in ms since 1970. If `work` throws, nothing is changed.
   */
  update<Result>(
    org: string,
    work: (
      state: string | null,
      nowMs: number,
    ) => { readonly state: string; readonly result: Result },
  ): Promise<Result>
  /** Every org's state, and the store's own time. */
  all(): Promise<{
    readonly nowMs: number
    readonly orgs: readonly { org: string; state: string }[]
  }>
  /** The org that a key belongs to, as noted before; null if none was noted. */
  orgOfKey(key: string): Promise<string | null>
  noteOrgOfKey(key: string, org: string): Promise<void>
  close(): Promise<void>
}
