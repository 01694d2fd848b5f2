// How old a look-up may be when the rows that it chose are sent, and what that costs where the quota lets a request through every few
// seconds only.

/** The step under which a run counts its look-ups, next to the steps that count requests which write. */
export const LOOK_UPS_STEP = '@look_ups'

/** Age of a look-up from which on it is repeated, ms. */
export const LOOK_AGE_MAX_MS = 5_000
/** Times that a batch is looked up again at most. Where the quota lets a request through every few seconds, no look-up is ever younger. */
export const REPEATED_LOOKS_MAX = 2

/** Requests a minute that keep every look-up of a batch from being young enough when its turn comes. */
const ALL_OLD_PER_MINUTE = 60_000 / LOOK_AGE_MAX_MS
/** Repeated look-ups of a batch below which they are no part of a forecast. */
const WORTH_COUNTING = 0.5

/**
 * Look-ups of a batch that are repeated, because they are too old when its turn comes: an estimate.
 * @param perMinute requests that the run can count on; null: not known, or as many as it wants
 */
export function repeatedLooks(perMinute: number | null): number {
  if (perMinute === null || perMinute <= 0) return 0
  const looks = Math.min(REPEATED_LOOKS_MAX, (REPEATED_LOOKS_MAX * ALL_OLD_PER_MINUTE) / perMinute)
  return looks < WORTH_COUNTING ? 0 : looks
}
