// Remaining jumped to about Limit, so there is a reset. What is left is spent until just before the next one.

import { PERIOD_S, type ResetClock } from '../reset-clock.ts'
import { perSecond, type LimitedMemory } from '../memory.ts'
import { shareOf, type LimiterModel } from './model.ts'

/** Under a lower limit, one request is too much to keep for a reset. */
const KEEPS_ONE_FROM = 300

export const windowModel: LimiterModel = {
  isWindowed: true,

  onTime({ windows, flights }, t) {
    const clock = windows.clock!
    if (t > clock.to + 2 + 5 * flights.latency) {
      clock.runOn(t)
      return 'probe'
    }
    if (t < clock.to || clock.probedFor === clock.to) return null
    clock.probedFor = clock.to
    return 'probe'
  },

  isSureWhileIdle: () => true,

  ownUse: ({ windows, flights }) => windows.epoch.ownAccepted + 1 + flights.size,

  whenOwnUseFalls: ({ windows }) => windows.clock!.to,

  credit: leftOfWindow,

  margin: (memory, interactive, t) => (!interactive && keepsOneForReset(memory, t) ? 1 : 0),

  whenCredit(memory, credit, _need, t) {
    const clock = memory.windows.clock!
    if (keepsOneForReset(memory, t) && credit >= 1) return middleOf(clock)
    return t < clock.to ? clock.to : null
  },

  rate(memory, credit, allowance, t) {
    const rate = rateUntil(memory, memory.windows.clock!.from, credit, allowance, t)
    return Math.min(memory.otherLimits.most(t) * perSecond(memory), rate)
  },

  others: othersOfWindow,

  onAnswer: ({ windows }, sent, answer) => windows.see(sent, answer),

  onRefusal(memory, t) {
    memory.caution.refused(t, memory.limit, memory.highest)
    return null
  },
}

/** Inside a window never more in flight than the lowest Remaining. */
export function leftOfWindow({ windows, flights }: LimitedMemory): number {
  return windows.epoch.lowest - flights.size
}

/** What is left is spent until `end`, minus what others will take until then. */
export function rateUntil(
  memory: LimitedMemory,
  end: number,
  credit: number,
  allowance: number,
  t: number,
): number {
  const { epoch } = memory.windows
  const left = end - 0.1 * memory.flights.latency - t
  const forOthers = memory.isAlone ? 0 : epoch.othersNow(t) * Math.max(0, left - 3)
  const ours = Math.min(credit - memory.caution.now(t, memory.highest) - forOthers, allowance)
  const share = shareOf(memory, Math.max(0, epoch.othersPerS))
  return (share * Math.max(0, ours)) / Math.max(left - 0.3, 0.25)
}

export function othersOfWindow({ windows }: LimitedMemory): number {
  return Math.max(0, windows.epoch.othersPerS) * PERIOD_S
}

/** One request is kept to find a reset whose time is not known well. */
function keepsOneForReset({ windows, limit }: LimitedMemory, t: number): boolean {
  const clock = windows.clock!
  if (limit < KEEPS_ONE_FROM) return false
  return clock.to - clock.from > 0.25 && t < middleOf(clock)
}

const middleOf = ({ from, to }: ResetClock): number => (from + to) / 2
