// Finds the earliest time that a change may have: a service whose clock went back, or was ahead for a while, gives changes times
// that were read already. Its clock is known next to ours from the `Date` of its answers. Promise kept here: everything that
// changed since the last read began is read, whichever of both clocks gave it its time.

import { formatInstant, isLater } from './instant.ts'
import type { ClockReading } from './position.ts'

/** Smaller differences come from latency, from the whole seconds of `Date`, and from the clocks of the service's machines. */
const SLACK_MS = 60_000

/**
 * The earliest time that a change since the last read may have, if that is clearly before the watermark; else the watermark.
 * @param aheadMs by how much the service's clock is ahead of ours now; null if that is not known
 */
export function earliestChange(
  watermark: string | null,
  last: ClockReading | undefined,
  aheadMs: number | null,
): string | null {
  if (watermark === null || last === undefined) return watermark
  const then = [last.aheadMs, aheadMs]
    .filter((ms) => ms !== null)
    .map((ms) => formatInstant(last.at + ms))
  let found = watermark
  for (const time of then)
    if (Date.parse(time) < Date.parse(watermark) - SLACK_MS && isLater(found, time)) found = time
  return found
}

/** The message for a clock that went back; null if it did not. */
export function clockWentBackText(
  last: ClockReading | undefined,
  aheadMs: number | null,
): string | null {
  if (last === undefined || last.aheadMs === null || aheadMs === null) return null
  const backMs = last.aheadMs - aheadMs
  if (backMs <= SLACK_MS) return null
  const minutes = Math.round(backMs / 60_000)
  return `the service's clock went back by about ${minutes} min since the last run: changes are read from before that time`
}
