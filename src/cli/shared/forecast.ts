// How long so many requests take, and what that rests on: the org's quota as all processes know it, or, if nothing is
// known of it yet, the limit alone.

import { UNLIMITED_PER_MINUTE } from '../../client/pacer/memory.ts'
import { forecastMinutes, type QuotaView } from '../../client/pacer/view.ts'
import { BULK_PRIORITIES, type BulkPriority, type QuotaStore } from '../../core/ports.ts'
import { orNull, type CommandContext } from './context.ts'
import { countText, elapsedText, formatNumber, utc } from './terminal.ts'

export interface Forecast {
  readonly requests: number
  /** Requests a minute to count on; null if it is not known, or nothing limits them. */
  readonly perMinute: number | null
  /** Null: not known. 0: nothing limits them. */
  readonly minutes: number | null
  /** `198 requests, about 14 minutes: 480 of 600 requests a minute, 20 % is kept for others` */
  readonly text: string
}

/** The quotas that all processes share; null if they cannot be opened: no command that only reads fails for that. */
export const findQuotas = (context: CommandContext): Promise<QuotaStore | null> =>
  orNull(() => context.openQuotas())

/**
 * @param row of the org; null if there is none
 * @param known what counts without a row: the limit of the newest answer, and the configured reserve, 0 to 0.9
 */
export function forecast(
  requests: number,
  priority: BulkPriority,
  row: QuotaView | null,
  known: { readonly limit: number | null; readonly reserve: number },
): Forecast {
  const count = countText(requests, 'request')
  const view = row?.limitPerMinute == null ? null : row
  const limit = view?.limitPerMinute ?? known.limit
  if (limit === null || requests === 0)
    return { requests, perMinute: null, minutes: requests === 0 ? 0 : null, text: count }
  if (limit >= UNLIMITED_PER_MINUTE) {
    const text = `${count}; the service sets no limit`
    return { requests, perMinute: null, minutes: 0, text }
  }
  const perMinute = view?.available?.[priority] ?? Math.floor(limit * (1 - known.reserve))
  let minutes = view && forecastMinutes(view, requests, priority)
  if (!view && perMinute > 0) minutes = requests / perMinute
  const reserve = view?.reserve ?? known.reserve
  const rests = [
    perMinute >= limit
      ? `all ${formatNumber(limit)} requests a minute`
      : `${formatNumber(perMinute)} of ${formatNumber(limit)} requests a minute`,
    ...lessOf(limit, reserve, view?.lastMinute.others ?? 0),
    ...(view ? sharedWith(view, limit, perMinute, priority) : []),
    ...(view?.closedUntilMs ? [`from ${utc(view.closedUntilMs)} on`] : []),
  ].join(', ')
  const text = `${count}, ${minutes === null ? 'for an unknown time' : inWords(minutes)}: ${rests}`
  return { requests, perMinute, minutes, text }
}

/** Of a share from 0 to 1, with one decimal at most. */
export const percentOfShare = (share: number): number => Number((share * 100).toFixed(1))

/** `less than a minute`, `about 14 minutes`, `about 3 h 20 min` */
function inWords(minutes: number): string {
  if (minutes < 1) return 'less than a minute'
  const whole = Math.ceil(minutes)
  if (whole === 1) return 'about a minute'
  return `about ${whole < 120 ? `${whole} minutes` : elapsedText(whole * 60_000)}`
}

/** What is not ours: the reserve, or what others use of the quota if that is more. */
function lessOf(limit: number, reserve: number, others: number): string[] {
  if (others > reserve * limit) return [`others use ${formatNumber(others)}`]
  return reserve > 0 ? [`${percentOfShare(reserve)} % is kept for others`] : []
}

function sharedWith(
  view: QuotaView,
  limit: number,
  perMinute: number,
  priority: BulkPriority,
): string[] {
  if (view.isClosedForLong) return []
  const ours = limit - Math.max(view.reserve * limit, view.lastMinute.others)
  if (perMinute >= Math.floor(ours)) return []
  const busy = BULK_PRIORITIES.filter(
    (other) =>
      other !== priority &&
      view.users.some(({ lastMinute, waiting }) => lastMinute[other] + waiting[other] > 0),
  )
  return [`shared with ${busy.length > 0 ? busy.join(' and ') : 'other work'}`]
}
