// Where changes may lie whose times are below the place of reading: a service whose clock went back, or was ahead for a while,
// gives them times that were read already. Its clock is known beside ours from the `Date` of its answers. Promise kept here:
// whatever changed since the last read began is read, whichever of both clocks gave it its time.

import { formatInstant, isLater } from './instant.ts'
import type { ClockReading } from './position.ts'

/** Differences up to it are those of latency, of the seconds of `Date`, and of the service's machines among each other. */
const SLACK_MS = 60_000

/**
 * The earliest time that a change since the last read may have, if that is clearly before the watermark; else the watermark.
 * @param aheadMs by how much the service's clock is ahead of ours now; null where it does not tell
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

/** What is to be said of a clock that went back; null where it did not. */
export function clockWentBackText(
  last: ClockReading | undefined,
  aheadMs: number | null,
): string | null {
  if (last === undefined || last.aheadMs === null || aheadMs === null) return null
  const backMs = last.aheadMs - aheadMs
  if (backMs <= SLACK_MS) return null
  const minutes = Math.round(backMs / 60_000)
  return `the service's clock went back by about ${minutes} min since the last run: what changed meanwhile is read from before that`
}
