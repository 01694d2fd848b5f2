// An org's quota for display, read from its row.

import { BULK_PRIORITIES, type BulkPriority } from '../../core/ports.ts'
import type { AnnouncedEnd } from '../deprecation.ts'
import { OrgQuota, type RequestTotals } from './org-quota.ts'
import { UNLIMITED_PER_MINUTE, type LimiterModelName } from './memory.ts'
import type { Consumers } from './consumers.ts'
import type { UsedMinute } from './minutes.ts'

/** Times in ms of the store's clock. */
export interface QuotaView {
  /** `<origin> org <id>`, or `<origin> key#<fingerprint>` before the org is known. */
  readonly org: string
  /** Null before the first answer. */
  readonly limitPerMinute: number | null
  /** No answer has reported the limit: it is guessed from refusals. */
  readonly isLimitGuessed: boolean
  readonly regime: LimiterModelName
  /** The newest Remaining; null if answers do not report it. */
  readonly remaining: number | null
  /** Remaining has not moved with our requests: until then at most the pacer ignores it, and counts requests itself. */
  readonly remainingIgnoredUntilMs: number | null
  /** Of a window: when the next one begins. */
  readonly resetsAtMs: { readonly from: number; readonly to: number } | null
  /** A Retry-After that is in force. */
  readonly closedUntilMs: number | null
  /** The service asked for a longer wait than is accepted: after the accepted one, one request asks again. */
  readonly isClosedForLong: boolean
  /** Refusals since the last answer, if the service refuses every request; null if it does not. */
  readonly refusals: {
    readonly sinceMs: number
    readonly requests: number
    /** What the newest one asked for; null if it did not say. */
    readonly retryAfterMs: number | null
  } | null
  /** An end of the API that the service has announced lately. */
  readonly deprecation: AnnouncedEnd | null
  /** Share of the limit that is left to others. */
  readonly reserve: number
  /** Accepted requests; those of others are estimated. */
  readonly lastMinute: { readonly ours: number; readonly others: number }
  readonly users: ReturnType<Consumers['view']>
  readonly totals: Readonly<RequestTotals>
  /** The last hour, oldest first; empty without a request in it. */
  readonly minutes: readonly UsedMinute[]
  /** When the next bulk request may go, as far as is known; null: now, or the service has not said how many it allows. */
  readonly nextMs: number | null
  /**
   * Requests a minute that each priority can expect now: the limit minus the reserve or the others' use, whichever is more,
   * shared with every other busy priority; 0 while closed for an unknown time.
   */
  readonly available: Readonly<Record<BulkPriority, number>> | null
}

export function readQuotaView(org: string, state: string, nowMs: number): QuotaView {
  const quota = OrgQuota.restore(state, nowMs)
  const t = nowMs / 1_000
  const { settings, shares } = quota
  const { reserve } = settings
  const seen = quota.pacer.view(t)
  const users = quota.users.view(t)
  const { limit } = seen
  const isClosed = seen.gate > t
  const isShut = isClosed && seen.isGateLong
  // Asked last: the pacer counts on it that a request is sent when it says so.
  const next = () => (limit === null ? 0 : quota.pacer.next(t, false))
  return {
    org,
    limitPerMinute: limit,
    isLimitGuessed: seen.isGuess,
    regime: seen.regime,
    remaining: seen.remaining,
    remainingIgnoredUntilMs: seen.ignoredUntil && seen.ignoredUntil * 1_000,
    resetsAtMs: seen.reset && { from: seen.reset.from * 1_000, to: seen.reset.to * 1_000 },
    closedUntilMs: isClosed ? seen.gate * 1_000 : null,
    isClosedForLong: isShut,
    refusals: refusalsOf(quota),
    deprecation: deprecationOf(quota),
    reserve,
    lastMinute: { ours: seen.ours, others: seen.others },
    users,
    totals: quota.totals,
    minutes: quota.minutes.view(t),
    available:
      limit === null
        ? null
        : (Object.fromEntries(
            BULK_PRIORITIES.map((priority) => {
              const busy = new Set([...shares.busy(t), priority])
              const weights = [...busy].reduce((sum, other) => sum + settings.shares[other], 0)
              const free = isShut ? 0 : limit - Math.max(reserve * limit, seen.others)
              const part = settings.shares[priority] / weights
              return [priority, Math.max(0, Math.floor(free * part))]
            }),
          ) as Record<BulkPriority, number>),
    nextMs: next() * 1_000 || null,
  }
}

function refusalsOf({ refusals }: OrgQuota): QuotaView['refusals'] {
  const seen = refusals.view()
  return (
    seen && {
      sinceMs: seen.since * 1_000,
      requests: seen.requests,
      retryAfterMs: seen.retryAfter === null ? null : seen.retryAfter * 1_000,
    }
  )
}

const deprecationOf = ({ announced }: OrgQuota): AnnouncedEnd | null =>
  announced && { sinceMs: announced.sinceMs, sunsetMs: announced.sunsetMs }

/** Minutes that so many requests take; null if unknown, 0 if nothing limits. */
export function forecastMinutes(
  view: QuotaView,
  requests: number,
  priority: BulkPriority,
): number | null {
  if (view.limitPerMinute === null || view.available === null) return null
  if (view.limitPerMinute >= UNLIMITED_PER_MINUTE || requests === 0) return 0
  const available = view.available[priority]
  return available === 0 ? null : requests / available
}
