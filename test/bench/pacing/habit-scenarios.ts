// The habits of services that the bench shows: what each is called, and what the service does.

import type { Habits } from './habits.ts'

export const HABITS: readonly { readonly name: string; readonly habits: Habits }[] = [
  { name: 'all is told', habits: {} },
  { name: 'each hundredth refused otherwise', habits: { refuseEach: 100 } },
  {
    name: 'the same, and it tells nothing',
    habits: { refuseEach: 100, otherRefusalsTell: 'nothing' },
  },
  { name: '15 a second at most', habits: { perSecond: 15 } },
  { name: '11 a second at most', habits: { perSecond: 11 } },
  { name: 'Limit without Remaining', habits: { tells: 'limit' } },
  { name: 'Remaining without Limit', habits: { tells: 'remaining' } },
  { name: 'numbers with refusals only', habits: { tells: 'refusals' } },
  { name: 'no numbers', habits: { tells: 'nothing' } },
  { name: 'no numbers, no Retry-After', habits: { tells: 'nothing', mute: true } },
  { name: 'Remaining is always the limit', habits: { remaining: 'limit' } },
  { name: 'Remaining is always 0', habits: { remaining: 'zero' } },
  { name: 'one Retry-After of 1,000,000,000 s', habits: { oddRetryAfterAtS: 200 } },
]
