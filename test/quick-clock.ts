// The clock of a client whose waits cost little: the time that a wait leaves out is added to what the clock shows. Without it most of a
// history is waiting for the next attempt.

import { systemClock, type Clock } from '../src/core/ports.ts'

/** Real milliseconds of a wait, at most. */
const REAL_MAX = 2

/** Its time goes on, and never back. */
export function quickClock(): Clock {
  let ahead = 0
  const now = () => Date.now() + ahead
  return {
    now,
    async sleep(ms, signal) {
      const end = now() + ms
      await systemClock.sleep(Math.min(ms, REAL_MAX), signal)
      ahead += Math.max(0, end - now())
    },
  }
}
