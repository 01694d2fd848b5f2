// The look-ups of a run at work, counted for people who follow it: where the quota is small, a run looks rows up for minutes before it
// writes the first one. They are no requests that write, and no part of the books.

import { LOOK_UPS_STEP } from '../core/domain/look-ups.ts'
import type { Clock } from '../core/ports.ts'
import type { StepStates } from '../ledger/ledger.ts'

/** So often the ledger is written for it: the count of a run whose look-ups are quick may lack those of the last second. */
const EVERY_MS = 1_000

/** Counts requests that looked rows up. */
export function lookUpNoter(
  {
    ledger,
    clock,
  }: {
    readonly ledger: Pick<StepStates, 'noteRequests'>
    readonly clock: Pick<Clock, 'now'>
  },
  run: number,
): (requests: number) => Promise<void> {
  let count = 0
  let at = clock.now()
  return async (requests) => {
    count += requests
    const now = clock.now()
    // A clock that was set back counts too.
    if (count === 0 || Math.abs(now - at) < EVERY_MS) return
    const noted = count
    count = 0
    at = now
    await ledger.noteRequests(run, LOOK_UPS_STEP, noted)
  }
}
