// The permits of a process that shares its org's quota with others: each exchange is one update of the org's row. Promises kept
// here: no caller fails because the store is unavailable: until it is back, the quota's last known state and a share of it apply;
// one attempt at a time to reach it again; what was used meanwhile is reported when it is back; memory is bounded.

import { createHash } from 'node:crypto'
import { SyncError } from '../../core/errors.ts'
import type { Clock, Logger, QuotaStore } from '../../core/ports.ts'
import type { ByPriority } from './consumers.ts'
import type { PollInterval, PermitSource } from './permit-source.ts'
import { OrgQuota } from './org-quota.ts'
import type { PermitGrant, QuotaSettings, PermitOutcome, Consumer } from './org-quota.ts'

/** A store that takes longer is unavailable. */
const STORE_WAIT_MAX_MS = 2_000
const TRY_AGAIN_MS = 2_000
/** An attempt that takes longer is given up for another one. */
const TRY_MAX_MS = 30_000
/** Older use no longer matters to any limit per minute. */
const BACKLOG_MAX_MS = 64_000
const BACKLOG_REPORTS_MAX = 2_000
/** About ten seconds of exchanges. */
const OFFSETS_KEPT = 32
const SPREAD_MAX_MS = 100

const NOTHING: ByPriority = { interactive: 0, import: 0, mirror: 0, backfill: 0 }

export interface LeasedPermitsOptions {
  readonly store: QuotaStore
  /** The name of the row. */
  readonly org: string
  readonly user: Consumer
  readonly clock: Clock
  readonly logger: Logger
}

/** The row when it was last read: its text, and the store's clock minus ours. */
interface Seen {
  readonly state: string | null
  readonly offsetMs: number
}

export class LeasedPermits implements PermitSource {
  readonly pace: PollInterval
  private readonly options: LeasedPermitsOptions
  private seen: Seen = { state: null, offsetMs: 0 }
  private readonly offset = new ClockOffset()
  private settings: QuotaSettings | null = null
  /** Serves permits while the store is unavailable. */
  private alone: OrgQuota | null = null
  /** Reports that the row does not have yet, oldest first. */
  private backlog: PermitOutcome[] = []
  /** A caller came since the last attempt. */
  private isUsed = false
  private isTrying = false
  /** An exchange with the store that has not ended. */
  private outstanding: Promise<PermitGrant> | null = null
  private readonly closed = new AbortController()

  constructor(options: LeasedPermitsOptions) {
    this.options = options
    this.pace = { usualMs: 250, urgentMs: 20, spreadMs: spreadOf(options.user.id) }
  }

  async exchange(
    reports: readonly PermitOutcome[],
    wanted: ByPriority,
    settings: QuotaSettings,
  ): Promise<PermitGrant> {
    this.settings = settings
    this.isUsed = true
    this.keep(reports)
    if (this.alone === null) {
      const granted = await this.askInTime(wanted, settings)
      if (granted !== null) return granted
    }
    return this.askAlone(this.alone!, reports, wanted, settings)
  }

  close(): void {
    this.closed.abort(new Error('closed'))
  }

  /** Null if the store is unavailable; then `alone` is set. */
  private async askInTime(
    wanted: ByPriority,
    settings: QuotaSettings,
  ): Promise<PermitGrant | null> {
    const asked = this.ask(wanted, settings)
    const late = Symbol('late')
    try {
      const granted = await this.within(STORE_WAIT_MAX_MS, asked, late)
      if (granted !== late) return granted as PermitGrant
      // If it still answers, its permits can no longer be used.
      asked.then(
        ({ permits }) => {
          const nowMs = this.options.clock.now()
          const times = { sentMs: nowMs, endedMs: nowMs }
          this.keep(permits.map(({ id }) => ({ id, ...times, end: 'unused' as const })))
        },
        () => {},
      )
      this.leave(`no answer within ${STORE_WAIT_MAX_MS / 1_000} s`)
    } catch (error) {
      this.leave(error instanceof SyncError ? error.message : 'it failed unexpectedly')
    }
    return null
  }

  private ask(wanted: ByPriority, settings: QuotaSettings): Promise<PermitGrant> {
    const asked = this.update(wanted, settings).finally(() => {
      if (this.outstanding === asked) this.outstanding = null
    })
    this.outstanding = asked
    return asked
  }

  /** One update of the row, which includes the backlog. */
  private async update(wanted: ByPriority, settings: QuotaSettings): Promise<PermitGrant> {
    const { store, org, user, clock } = this.options
    const reports = this.backlog
    const { granted, seen } = await store.update(org, (text, nowMs) => {
      const offsetMs = this.offset.observe(nowMs - clock.now())
      const quota = OrgQuota.restore(text, nowMs)
      const everyMs = this.pace.usualMs
      const exchange = { user, settings, wanted, everyMs, reports: inTimeOf(offsetMs, reports) }
      const granted = quota.exchange(exchange, nowMs)
      const state = quota.state(nowMs)
      return { state, result: { granted, seen: { state, offsetMs } } }
    })
    this.seen = seen
    const delivered = new Set(reports)
    this.backlog = this.backlog.filter((report) => !delivered.has(report))
    return inOurTime(granted, seen.offsetMs)
  }

  private askAlone(
    quota: OrgQuota,
    reports: readonly PermitOutcome[],
    wanted: ByPriority,
    settings: QuotaSettings,
  ): PermitGrant {
    const { clock, user } = this.options
    const { offsetMs } = this.seen
    const everyMs = this.pace.usualMs
    const exchange = { user, settings, wanted, everyMs, reports: inTimeOf(offsetMs, reports) }
    void this.comeBack()
    return inOurTime(quota.exchange(exchange, clock.now() + offsetMs), offsetMs)
  }

  private leave(why: string): void {
    const { clock, user, org, store, logger } = this.options
    const { state, offsetMs } = this.seen
    this.alone = OrgQuota.alone(state, user.id, clock.now() + offsetMs)
    logger.warn({ org, store: store.place, why }, 'quota_store_away')
  }

  /** Tries the store again, until it answers or no caller needs it. */
  private async comeBack(): Promise<void> {
    if (this.isTrying) return
    this.isTrying = true
    const { clock, org, store, logger } = this.options
    const gaveUp = Symbol('gave up')
    try {
      for (;;) {
        await clock.sleep(TRY_AGAIN_MS, this.closed.signal)
        this.forgetOld()
        if (!this.isUsed && this.backlog.length === 0) return
        this.isUsed = false
        // An earlier exchange that still hangs comes first.
        if (this.outstanding)
          await this.within(TRY_MAX_MS, this.outstanding, gaveUp).catch(() => {})
        const asked = this.ask(NOTHING, this.settings!)
        const answer = await this.within(TRY_MAX_MS, asked, gaveUp).catch(() => gaveUp)
        if (answer === gaveUp) continue
        this.alone = null
        logger.info({ org, store: store.place }, 'quota_store_back')
        return
      }
    } catch {
      // Closed while it slept.
    } finally {
      this.isTrying = false
    }
  }

  private keep(reports: readonly PermitOutcome[]): void {
    this.backlog = [...this.backlog, ...reports].slice(-BACKLOG_REPORTS_MAX)
  }

  private forgetOld(): void {
    const fromMs = this.options.clock.now() - BACKLOG_MAX_MS
    this.backlog = this.backlog.filter(({ endedMs }) => endedMs >= fromMs)
  }

  /** What `work` returns, or `late` if it takes longer than `ms`. Late failures are ignored. */
  private async within<Result, Late>(
    ms: number,
    work: Promise<Result>,
    late: Late,
  ): Promise<Result | Late> {
    const done = new AbortController()
    const timeUp = this.options.clock.sleep(ms, done.signal).then(
      () => late,
      () => late,
    )
    try {
      return await Promise.race([work, timeUp])
    } finally {
      done.abort()
    }
  }
}

/** Pseudorandom numbers from 0 to 100, derived from the user alone. */
function spreadOf(user: string): () => number {
  let dice = createHash('sha256').update(user).digest().readUInt32LE() | 1
  return () => {
    // Marsaglia's xorshift.
    dice ^= dice << 13
    dice ^= dice >>> 17
    dice ^= dice << 5
    return (dice >>> 0) % SPREAD_MAX_MS
  }
}

/**
 * The store's clock minus ours. The store's time is always a little old when it arrives, by the way back and the delays of a busy
 * process; so the least old of the latest ones is right. If it were too low, our requests would seem to have been counted earlier
 * than they were, and their places would be used again too early.
 */
class ClockOffset {
  private readonly last: number[] = []

  observe(ms: number): number {
    this.last.push(ms)
    if (this.last.length > OFFSETS_KEPT) this.last.shift()
    return Math.max(...this.last)
  }
}

/** Reports with the times of a clock that is `offsetMs` ahead of ours. */
const inTimeOf = (offsetMs: number, reports: readonly PermitOutcome[]): readonly PermitOutcome[] =>
  reports.map((report) => ({
    ...report,
    sentMs: report.sentMs + offsetMs,
    endedMs: report.endedMs + offsetMs,
  }))

const inOurTime = (granted: PermitGrant, offsetMs: number): PermitGrant => ({
  ...granted,
  askAgainMs: granted.askAgainMs === 0 ? 0 : granted.askAgainMs - offsetMs,
})
