// Not known yet. Remaining is spent evenly over the minute in which a fixed window has to show its reset.

import { perSecond } from '../memory.ts'
import { PERIOD_S } from '../reset-clock.ts'
import { countsForAMinute, rateOfReserve, type LimiterModel } from './model.ts'
import { leftOfWindow, othersOfWindow, rateUntil } from './window.ts'

export const learningModel: LimiterModel = {
  ...countsForAMinute,
  isWindowed: true,

  begin(memory, t) {
    memory.learningSince = t
    memory.sentLearning = 0
  },

  onTime(memory, t) {
    if (t <= memory.learningSince + PERIOD_S + 1) return null
    const isSteady = memory.sentLearning > 0.1 * memory.limit
    memory.sentLearning = 0
    // No reset within a minute of steady use: there are no windows.
    if (isSteady) return 'rolling'
    memory.learningSince = t
    return null
  },

  isSureWhileIdle: () => false,

  credit: leftOfWindow,

  margin: () => 0,

  whenCredit: () => null,

  rate(memory, credit, allowance, t) {
    const most = Math.min(1.5, memory.otherLimits.most(t)) * perSecond(memory)
    const rate = rateUntil(memory, memory.learningSince + PERIOD_S, credit, allowance, t)
    return Math.min(most, rate, rateOfReserve(memory, allowance))
  },

  others: othersOfWindow,

  onAnswer: ({ windows }, sent, answer) => windows.see(sent, answer),

  onRefusal: () => null,
}
