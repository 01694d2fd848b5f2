// The quota of one org as one process uses it: a queue of callers, and a source that grants permits. Promises kept here: first
// come first served within a priority, and between priorities as the quota grants; every caller gets a permit, a `QuotaWait` or
// its own abort; the source is asked no more often than its interval allows; an idle pacer holds no timer, and has reported
// everything it knows.

import { setMaxListeners } from 'node:events'
import { QuotaWait, SyncError } from '../../core/errors.ts'
import { QUOTA_WAIT_MAX_MS } from '../../core/limits.ts'
import { BULK_PRIORITIES, PRIORITIES, silentLogger, systemClock } from '../../core/ports.ts'
import type {
  AcquireOptions,
  BulkPriority,
  Clock,
  Logger,
  Permit,
  Priority,
  Quota,
  QuotaStore,
} from '../../core/ports.ts'
import type { ByPriority } from './consumers.ts'
import { localPermits, type PermitSource } from './permit-source.ts'
import { DEFAULT_QUOTA_SETTINGS } from './org-quota.ts'
import type { QuotaSettings, PermitOutcome, Consumer } from './org-quota.ts'
import { LeasedPermits } from './leased-permits.ts'

/** Callers that may wait at the same time. */
export const WAITERS_MAX = 10_000
/** Requests of a process in flight. */
export const IN_FLIGHT_MAX = 32
/** Permits that one exchange asks for. */
const PERMITS_MAX = 40
/** A process with callers asks again after this time, whatever answer it got: others may have learned something. */
const ASK_AGAIN_MAX_MS = 5_000
const RETRY_AFTER_MIN_MS = 1_000
/** A refused caller comes back within this time, however long the wait: it may end early. */
const RETRY_AFTER_MAX_MS = 60_000

export interface PacerOptions {
  readonly clock?: Clock
  readonly settings?: QuotaSettings
  /** The row that processes share. Default: a quota in memory that only this pacer uses. */
  readonly shared?: { readonly store: QuotaStore; readonly org: string; readonly user: Consumer }
  /** Default: nothing is logged. */
  readonly logger?: Logger
  /** Requests in flight at most. Default 32. */
  readonly inFlightMax?: number
}

interface Waiter {
  readonly sinceMs: number
  readonly maxWaitMs: number
  grant(permit: Permit): void
  refuse(error: unknown): void
}

interface Line {
  readonly priority: Priority
  /** In the order in which they came. */
  readonly waiters: Set<Waiter>
  /** Ids of permits that were granted and that no caller took yet: they go back with the next exchange. */
  stock: string[]
  /** Requests that were sent and have not ended. */
  inFlight: number
  /** When a caller of this line last got a permit. */
  movedMs: number
  /** Permits given since the last exchange. */
  letGo: number
  /** The last exchange was short of permits, and this line got none. */
  isDenied: boolean
}

export class Pacer implements Quota {
  /** From the configuration; may change at any time. */
  settings: QuotaSettings
  private readonly clock: Clock
  private readonly permits: PermitSource
  private readonly inFlightMax: number
  private readonly lines: readonly Line[] = PRIORITIES.map((priority) => ({
    priority,
    waiters: new Set(),
    stock: [],
    inFlight: 0,
    movedMs: -Infinity,
    letGo: 0,
    isDenied: false,
  }))
  private reports: PermitOutcome[] = []
  /** A report contains a refusal. */
  private isUrgent = false
  private exchanging: Promise<void> | null = null
  private lastExchangeMs = -Infinity
  /** When the quota said to ask again for what it denied. */
  private askAgainMs = 0
  /** The last exchange granted less than was wanted. */
  private isShort = false
  private spreadMs = 0
  private limit: number | null = null
  private timer: { readonly atMs: number; readonly stop: AbortController } | null = null
  private isClosed = false

  constructor(options: PacerOptions = {}) {
    const { clock = systemClock, logger = silentLogger, shared } = options
    this.clock = clock
    this.settings = options.settings ?? DEFAULT_QUOTA_SETTINGS
    this.inFlightMax = options.inFlightMax ?? IN_FLIGHT_MAX
    this.permits = shared ? new LeasedPermits({ ...shared, clock, logger }) : localPermits(clock)
  }

  /**
   * The right to send one request. Default priority: `interactive`.
   * @throws QuotaWait if the wait is, or turns out to be, longer than `maxWaitMs`
   * @throws SyncError `quota_queue_full` above 10,000 waiting callers, `quota_closed`
   */
  acquire(options: AcquireOptions = {}): Promise<Permit> {
    const { priority = 'interactive', signal, maxWaitMs = QUOTA_WAIT_MAX_MS } = options
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      if (this.isClosed) return reject(closedError())
      if (this.waiting() >= WAITERS_MAX) {
        const message = `More than ${WAITERS_MAX} requests wait for the quota: fewer at a time were expected`
        return reject(new SyncError('quota_queue_full', message))
      }
      const line = this.lines[PRIORITIES.indexOf(priority)]!
      const onAbort = () => {
        line.waiters.delete(waiter)
        reject(signal!.reason)
        this.pump()
      }
      const waiter: Waiter = {
        sinceMs: this.clock.now(),
        maxWaitMs,
        grant: (permit) => {
          signal?.removeEventListener('abort', onAbort)
          resolve(permit)
        },
        refuse: (error) => {
          signal?.removeEventListener('abort', onAbort)
          reject(error)
        },
      }
      if (signal) {
        // Many callers share one signal by design: Node would warn of a leak at the eleventh.
        setMaxListeners(0, signal)
        signal.addEventListener('abort', onAbort, { once: true })
      }
      line.waiters.add(waiter)
      this.letGo(line)
      if (line.waiters.has(waiter)) this.refuseIfHopeless(line, waiter, waiter.sinceMs)
      this.pump()
    })
  }

  limitPerMinute(): number | null {
    return this.limit
  }

  /** Delivers the last reports. Waiting callers are refused; it does not wait for requests in flight. */
  async close(): Promise<void> {
    this.isClosed = true
    this.refuseAll(closedError())
    this.disarm()
    await this.exchanging
    if (this.hasNews()) await this.exchange()
    this.permits.close()
  }

  private waiting(): number {
    return this.lines.reduce((total, { waiters }) => total + waiters.size, 0)
  }

  private room(): number {
    return this.inFlightMax - this.lines.reduce((total, { inFlight }) => total + inFlight, 0)
  }

  private hasNews(): boolean {
    return this.reports.length > 0 || this.lines.some(({ stock }) => stock.length > 0)
  }

  /** Asks the permit source if that is due, else sets a timer for when it is. */
  private pump(): void {
    if (this.exchanging || this.isClosed) return
    this.noteClock()
    const dueMs = this.dueMs()
    if (dueMs <= this.clock.now()) {
      this.exchanging = this.exchange().finally(() => {
        this.exchanging = null
        this.pump()
      })
    } else if (this.hasNews() || this.waiting() > 0) this.wakeAt(dueMs)
    else this.disarm()
  }

  /** A clock that was set back: nobody waits until it is where it was. */
  private noteClock(): void {
    const nowMs = this.clock.now()
    const backMs = this.lastExchangeMs - nowMs
    if (backMs <= 0) return
    this.lastExchangeMs = nowMs
    this.askAgainMs -= backMs
    for (const line of this.lines) line.movedMs = Math.min(line.movedMs, nowMs)
  }

  /** When the next exchange is due; never, if there is nothing to report and nothing to ask for. */
  private dueMs(): number {
    const { usualMs, urgentMs } = this.permits.pace
    const usual = this.lastExchangeMs + usualMs
    const urgent = this.lastExchangeMs + urgentMs
    let dueMs = this.isUrgent ? urgent : this.hasNews() ? usual + this.spreadMs : Infinity
    if (this.room() <= 0) return dueMs
    const againMs = Math.min(this.askAgainMs, this.lastExchangeMs + ASK_AGAIN_MAX_MS)
    for (const { priority, waiters, isDenied } of this.lines) {
      if (waiters.size === 0) continue
      // While permits are plentiful, waiting for one is only a delay.
      const earliest = priority === 'interactive' || !this.isShort ? urgent : usual
      const spreadMs = priority === 'interactive' ? 0 : this.spreadMs
      dueMs = Math.min(dueMs, isDenied ? Math.max(earliest, againMs) + spreadMs : earliest)
    }
    return dueMs
  }

  private async exchange(): Promise<void> {
    this.disarm()
    // Callers that come in one turn of the event loop are served by one exchange.
    await Promise.resolve()
    const wanted = this.wanted()
    const waiting = this.lines.map(({ waiters }) => waiters.size)
    const reports = this.takeReports()
    this.lastExchangeMs = this.clock.now()
    try {
      const granted = await this.permits.exchange(reports, wanted, this.settings)
      this.limit = granted.limitPerMinute
      this.askAgainMs = granted.askAgainMs
      const permitsOf = (one: Priority) =>
        granted.permits.filter(({ priority }) => priority === one)
      this.spreadMs = this.permits.pace.spreadMs()
      this.isShort = PRIORITIES.some((one) => permitsOf(one).length < wanted[one])
      for (const [index, line] of this.lines.entries()) {
        const permits = permitsOf(line.priority)
        // A line that had no room to want any is not served either.
        line.isDenied = this.isShort && permits.length < waiting[index]!
        line.letGo = 0
        line.stock.push(...permits.map(({ id }) => id))
        this.letGo(line)
      }
      this.refuseHopeless()
    } catch (error) {
      this.refuseAll(error)
    }
  }

  private wanted(): ByPriority {
    const wanted = { interactive: 0, import: 0, mirror: 0, backfill: 0 }
    const left = { interactive: 0, import: 0, mirror: 0, backfill: 0 }
    // What was used since the last exchange predicts what is wanted before the next one.
    const inAdvance = this.permits.pace.usualMs > 0 && !this.isShort
    for (const { priority, waiters, letGo } of this.lines)
      left[priority] = waiters.size === 0 ? 0 : waiters.size + (inAdvance ? letGo : 0)
    let room = Math.min(PERMITS_MAX, this.room())
    // Bounded by the room: every pass takes one, or ends.
    for (; room > 0; room--) {
      const next = left.interactive > 0 ? 'interactive' : this.furthestBehind(left, wanted)
      if (next === null) break
      wanted[next] += 1
      left[next] -= 1
    }
    return wanted
  }

  /** Of the bulk priorities that want more: the one that uses the least of this process's room for its share. */
  private furthestBehind(left: ByPriority, wanted: ByPriority): BulkPriority | null {
    let least = Infinity
    let found: BulkPriority | null = null
    for (const priority of BULK_PRIORITIES) {
      const { inFlight } = this.lines[PRIORITIES.indexOf(priority)]!
      const use = (inFlight + wanted[priority] + 1) / Math.max(1e-3, this.settings.shares[priority])
      if (left[priority] === 0 || use >= least) continue
      least = use
      found = priority
    }
    return found
  }

  private takeReports(): PermitOutcome[] {
    const nowMs = this.clock.now()
    const unused = this.lines.flatMap(({ stock }) =>
      stock.map((id) => ({ id, sentMs: nowMs, endedMs: nowMs, end: 'unused' as const })),
    )
    const reports = [...this.reports, ...unused]
    this.reports = []
    this.isUrgent = false
    for (const line of this.lines) line.stock = []
    return reports
  }

  private letGo(line: Line): void {
    // Refused: permits granted before go back, and the next exchange says how long to wait.
    if (this.isUrgent) return
    const nowMs = this.clock.now()
    for (const waiter of line.waiters) {
      const id = line.stock.shift()
      if (id === undefined) return
      line.waiters.delete(waiter)
      line.movedMs = nowMs
      line.letGo += 1
      line.inFlight += 1
      waiter.grant(this.permit(line, id, nowMs))
    }
  }

  private permit(line: Line, id: string, sentMs: number): Permit {
    let isOpen = true
    const close = (end: PermitOutcome['end']) => {
      if (!isOpen) return
      isOpen = false
      line.inFlight -= 1
      this.reports.push({ id, sentMs, endedMs: this.clock.now(), end })
      if (typeof end === 'object' && (end.status === 429 || end.status === 503))
        this.isUrgent = true
      this.pump()
    }
    return {
      observe: (answer) => close(answer),
      lost: () => close('lost'),
      unused: () => close('unused'),
    }
  }

  private refuseHopeless(): void {
    const nowMs = this.clock.now()
    for (const line of this.lines)
      for (const waiter of line.waiters) this.refuseIfHopeless(line, waiter, nowMs)
  }

  /** Refuses a caller if no caller of its priority got, or will get, a permit for as long as it would wait. */
  private refuseIfHopeless(line: Line, waiter: Waiter, nowMs: number): void {
    const patientUntilMs = Math.max(waiter.sinceMs, line.movedMs) + waiter.maxWaitMs
    const isTold = line.isDenied && patientUntilMs < this.askAgainMs
    const isFull = this.room() <= 0
    if (isTold || (isFull && patientUntilMs <= nowMs)) {
      line.waiters.delete(waiter)
      const waitMs = line.isDenied ? this.askAgainMs - nowMs : 0
      const againMs = Math.min(RETRY_AFTER_MAX_MS, Math.max(RETRY_AFTER_MIN_MS, waitMs))
      waiter.refuse(new QuotaWait(againMs))
    } else if (isFull) this.wakeAt(patientUntilMs)
  }

  private refuseAll(error: unknown): void {
    for (const { waiters } of this.lines) {
      for (const waiter of waiters) waiter.refuse(error)
      waiters.clear()
    }
  }

  private wakeAt(atMs: number): void {
    // A timer that fires too early only checks again.
    if (atMs === Infinity || (this.timer && this.timer.atMs <= atMs)) return
    this.disarm()
    const timer = { atMs, stop: new AbortController() }
    this.timer = timer
    const wake = () => {
      if (this.timer !== timer) return
      this.timer = null
      if (!this.exchanging) this.refuseHopeless()
      this.pump()
    }
    this.clock.sleep(atMs - this.clock.now(), timer.stop.signal).then(wake, () => {})
  }

  private disarm(): void {
    this.timer?.stop.abort()
    this.timer = null
  }
}

const closedError = () =>
  new SyncError('quota_closed', 'The quota was closed: no more requests are sent')
