// Remaining came back in small gains, so each request counts for a minute of its own: we keep the same log.

import { isJump, type WindowAnswer } from '../window-tracker.ts'
import { isSmallBurst } from '../rolling-estimates.ts'
import { PERIOD_S } from '../reset-clock.ts'
import { perSecond, type LimitedMemory } from '../memory.ts'
import type { SentRequest } from '../in-flight.ts'
import { countsForAMinute, rateOfReserve, shareOf, type LimiterModel } from './model.ts'

/** What is free beyond an even flow is used over this time. */
const SPREAD_S = 1.5
/** Without a reported Remaining, nothing warns of a small bucket: requests go little faster than evenly. */
const BLIND_HASTE = 1.25
/** A limit this young may explain a jump of Remaining. */
const NEW_LIMIT_S = 2

export const withoutWindows = {
  ...countsForAMinute,
  isWindowed: false,
  onTime: () => null,
} satisfies Partial<LimiterModel>

export const rollingModel: LimiterModel = {
  ...withoutWindows,

  isSureWhileIdle: isOnlyUser,

  credit({ limit, rolling, own, flights }, t) {
    const others = Math.floor(rolling.others.entries + 0.4)
    const log = limit - others - own.atMost(t, flights)
    // A visible surplus, such as a bucket's saved tokens or others' requests growing old, may be used at once.
    const surplus = rolling.surplus(t, limit)
    return surplus === null
      ? log
      : Math.max(log, surplus.credit - flights.sentAfter(surplus.sentAt))
  },

  margin: ({ caution, highest }, interactive, t) =>
    interactive ? 0 : Math.floor(caution.now(t, highest) + 0.5),

  whenCredit(memory, credit, need, t) {
    const at = memory.own.whenFree(t, Math.ceil(need - credit))
    return at !== null && (isOnlyUser(memory, t) || at - t < 3) ? at : null
  },

  rate(memory, credit, allowance, t) {
    const { limit, highest, told, otherLimits, caution } = memory
    const base = perSecond(memory)
    const used = memory.own.atMost(t, memory.flights)
    const share = shareOf(memory, memory.rolling.others.entries, Math.max(1, used))
    const free = Math.min(credit - caution.now(t, highest), allowance)
    const most = Math.min(told.isSilent() ? BLIND_HASTE : 2, otherLimits.most(t))
    // Towards the minute's average: a quarter of a minute with little use would come back every minute.
    const mean = (used + Math.max(0, share * free)) / PERIOD_S
    const spreadS = isSmallBurst(highest, limit) ? 1 : SPREAD_S
    const rate = Math.max(0.02 * base, mean + (share * free) / spreadS)
    return Math.min(most * base, rate, rateOfReserve(memory, allowance))
  },

  others: ({ rolling }) => rolling.others.entries,

  onAnswer: (memory, sent, answer, countedAt) =>
    seeWithoutWindows(memory, sent, answer, countedAt, 'rolling'),

  onRefusal({ limit, highest, own, flights, rolling, caution }, t) {
    rolling.others.atLeast(limit - own.atMost(t, flights))
    caution.refused(t, limit, highest)
    return null
  },
}

/** No other process uses the quota: credit comes back only as our own requests grow old. */
function isOnlyUser({ limit, rolling, own, flights }: LimitedMemory, t: number): boolean {
  const { raw, entries } = rolling.others
  return entries < 0.5 && raw > -3 - 0.02 * limit && own.atMost(t, flights) > 0
}

/** Corrects both estimates; the one that fits better applies, unless Remaining jumped as only a reset lets it. */
export function seeWithoutWindows(
  memory: LimitedMemory,
  sent: SentRequest,
  answer: WindowAnswer,
  countedAt: number,
  assumed: 'rolling' | 'bucket',
): 'window' | 'rolling' | 'bucket' | null {
  const { limit, remaining, accepted, t } = answer
  if (!accepted) return null
  const isLarge =
    remaining >= 0.6 * limit && isJump(remaining - sent.newest, limit, t - sent.newestSentAt)
  if (isLarge && t - memory.limitSince > NEW_LIMIT_S) {
    memory.windows.reset(sent, answer, sent.newestSentAt)
    return 'window'
  }
  const { own, flights, highest } = memory
  const ownUse = own.likely(countedAt, flights)
  const sentAfter = flights.sentAfter(sent.sentAt)
  memory.rolling.see(sent.sentAt, { limit, remaining, countedAt, t, ownUse, sentAfter, highest })
  return memory.rolling.better(assumed, highest, limit, t)
}
