// Remaining jumped to about Limit, so there is a reset. What is left is spent until just before the next one.

import { PERIOD_S } from '../reset-clock.ts'
import type { ResetClock } from '../reset-clock.ts'
import { perSecond } from '../memory.ts'
import type { LimitedMemory, LimiterModelName } from '../memory.ts'
import type { SentRequest } from '../in-flight.ts'
import type { WindowAnswer } from '../window-tracker.ts'
import { shareOf } from './model.ts'
import type { Available, LimiterModel } from './model.ts'

/** Under a lower limit, one request is too much to keep for a reset. */
const KEEPS_ONE_FROM = 300

export const windowModel: LimiterModel = {
  isWindowed: true,

  // What showed the reset has begun the window.
  begin() {},

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

  rate(memory, available, t) {
    const rate = rateUntil(memory, memory.windows.clock!.from, available, t)
    return Math.min(memory.otherLimits.most(t) * perSecond(memory), rate)
  },

  others: othersOfWindow,

  onAnswer: (memory, sent, answer) => seeWindow(memory, sent, answer) ?? 'window',

  onRefusal(memory, t) {
    memory.caution.refused(t, memory.limit, memory.highest)
    return 'window'
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
  { credit, allowance }: Available,
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

/** The model that an answer calls for while windows are assumed; null if it does not speak against them. */
export function seeWindow(
  memory: LimitedMemory,
  sent: SentRequest,
  answer: WindowAnswer,
): LimiterModelName | 'straggler' | null {
  const shown = memory.windows.see(sent, answer)
  switch (shown) {
    case 'reset':
      memory.pace.restart(answer.t)
      return 'window'
    case 'trickle':
      return 'rolling'
    case 'no reset':
      return 'learning'
    case 'straggler':
      return 'straggler'
    case 'nothing':
      return null
  }
}

/** One request is kept to find a reset whose time is not known well. */
function keepsOneForReset({ windows, limit }: LimitedMemory, t: number): boolean {
  const clock = windows.clock!
  if (limit < KEEPS_ONE_FROM) return false
  return clock.to - clock.from > 0.25 && t < middleOf(clock)
}

const middleOf = ({ from, to }: ResetClock): number => (from + to) / 2
