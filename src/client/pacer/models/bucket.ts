// As `rolling`, but Remaining never comes near Limit, and a small, evenly filled bucket explains it better; or Remaining shows more
// than any log could have left.

import { isSmallBurst } from '../rolling-estimates.ts'
import { PERIOD_S } from '../reset-clock.ts'
import { perSecond, type LimitedMemory } from '../memory.ts'
import { rateOfReserve, shareOf, type LimiterModel } from './model.ts'
import { seeWithoutWindows, withoutWindows } from './rolling.ts'

export const bucketModel: LimiterModel = {
  ...withoutWindows,

  isSureWhileIdle: () => false,

  credit: ({ limit, highest, rolling }, t) =>
    Math.min(rolling.bucket.now(t, limit), Math.max(2, highest + 1)),

  // A level is an estimate with fractions.
  margin: (_memory, interactive) => (interactive ? 0.2 : 0.5),

  whenCredit(memory, credit, need, t) {
    const gain = memory.rolling.bucket.gain(memory.limit)
    return gain > 0.02 * perSecond(memory) ? t + (need - credit) / gain : null
  },

  rate(memory, credit, allowance, t) {
    const base = perSecond(memory)
    const { othersPerS } = memory.rolling.bucket
    const free = Math.min(credit - kept(memory, t), allowance)
    const rate = memory.isAlone
      ? shareOf(memory, othersPerS) * (base + free)
      : base - othersPerS + free
    const most = Math.min(2, memory.otherLimits.most(t)) * base
    return Math.min(most, Math.max(0, rate), rateOfReserve(memory, allowance))
  },

  others: ({ rolling }) => rolling.bucket.othersPerS * PERIOD_S,

  onAnswer: (memory, sent, answer, countedAt) =>
    seeWithoutWindows(memory, sent, answer, countedAt, 'bucket'),

  onRefusal({ limit, highest, refused, answers, rolling, caution }, t) {
    caution.refused(t, limit, highest)
    if (refused <= 10 || refused <= 0.15 * answers) return null
    rolling.rejectBucket(t)
    return 'rolling'
  },
}

/** Credit that is held back: tokens that are kept in a bucket cost nothing, because it fills up anyway. */
function kept({ limit, highest, caution }: LimitedMemory, t: number): number {
  const part = isSmallBurst(highest, limit) ? 0.004 : 0.03
  return Math.min(1 + part * limit, 0.4 * highest) + caution.now(t, highest)
}
