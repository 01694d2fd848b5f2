// When may the next request go? Promises kept here: one request at a time while nothing is known; inside a window never more in
// flight than the lowest Remaining; nothing before a Retry-After has passed; never silent for long while a caller waits, so that no
// wait is endless. Times are seconds.

import { isLimited, perSecond, UNLIMITED_PER_MINUTE } from './memory.ts'
import type { LimitedMemory, PacerMemory } from './memory.ts'
import { modelOf, switchTo } from './models/index.ts'
import { PERIOD_S } from './reset-clock.ts'

/** A probe that is not answered by then may be repeated. */
const PROBE_AGAIN_S = 1.5
/** After a longer idle time, one request asks before more follow. */
const SILENT_S = 60
/** How soon to ask again while an answer is awaited. */
const SOON_S = 0.25
/** Requests saved up while idle are spread over at least this time. */
const BURST_S = 0.2
/** The same where permits are leased: the next ones come only with the next lease. */
const LEASE_BURST_S = 0.5

/** 0: now. Else the time at which to ask again. */
export function whenNext(memory: PacerMemory, interactive: boolean, t: number): number {
  const { gate, flights, limit } = memory
  if (t < gate.until) return gate.until
  if (limit === null && !memory.isMute) return flights.size === 0 ? 0 : t + SOON_S
  if (memory.isProbing) return probe(memory, t)
  const isRestricted = isLimited(memory)
  const rate = isRestricted ? perSecond(memory) : UNLIMITED_PER_MINUTE / PERIOD_S
  if (flights.size >= flights.cap(rate)) return t + SOON_S
  return isRestricted ? whenNextOfLimit(memory, interactive, t) : 0
}

function whenNextOfLimit(memory: LimitedMemory, interactive: boolean, t: number): number {
  const due = modelOf(memory).onTime(memory, t)
  if (due === 'probe') return startProbe(memory, t)
  if (due !== null) switchTo(memory, due, t)
  const model = modelOf(memory)
  const allowance = allowanceOf(memory, t)
  // The reserve is kept for people, whose commands these are.
  if (allowance < 1 && !interactive) {
    const at = model.whenOwnUseFalls(memory, 1 - allowance, t)
    return at !== null && at > t ? at : t + SOON_S
  }
  if (isSilent(memory, t)) return startProbe(memory, t)

  const credit = model.credit(memory, t)
  const isPeoplesTurn = !interactive && t < memory.interactiveUntil
  const need = (isPeoplesTurn ? 2 : 1) + model.margin(memory, interactive, t)
  const isShort = credit < need - 1e-9
  if (interactive) memory.interactiveUntil = isShort ? t + 1 : 0
  if (isShort) return model.whenCredit(memory, credit, need, t) ?? whenTried(memory, t)
  // Interactive calls skip pacing and caution, never credit.
  if (interactive) return 0
  const rate = model.rate(memory, credit, allowance, t)
  const burst = memory.settings.isLeased ? LEASE_BURST_S : BURST_S
  const at = memory.pace.next(t, rate, Math.max(1, burst * perSecond(memory)))
  return at !== 0 && isTooQuiet(memory, t) ? startProbe(memory, t) : at
}

function probe(memory: PacerMemory, t: number): number {
  const again = memory.probedAt + PROBE_AGAIN_S
  if (memory.flights.size > 0 && t < again - 1e-9) return again
  memory.probedAt = t
  return 0
}

function startProbe(memory: PacerMemory, t: number): number {
  memory.isProbing = true
  memory.probedAt = t
  return 0
}

/** What the reserve leaves to us: its share is never ours, so that a client that asks for up to that much is not refused. */
function allowanceOf(memory: LimitedMemory, t: number): number {
  const { reserve } = memory.settings
  if (reserve === 0) return Infinity
  return Math.floor((1 - reserve) * memory.limit) - modelOf(memory).ownUse(memory, t)
}

/** No request was sent for so long that what is known may be wrong. */
function isSilent(memory: LimitedMemory, t: number): boolean {
  if (memory.flights.size > 0) return false
  if (silence(memory, t) >= SILENT_S) return true
  return !modelOf(memory).isSureWhileIdle(memory, t) && isTooQuiet(memory, t)
}

/** There is credit, a caller waits, and nothing is sent: the assumption that holds it back may be wrong. */
function isTooQuiet(memory: LimitedMemory, t: number): boolean {
  return memory.flights.size === 0 && silence(memory, t) >= 5 + 3 / perSecond(memory)
}

/** After a short silence one request asks, whatever is assumed: an assumption may be wrong. */
function whenTried(memory: LimitedMemory, t: number): number {
  if (memory.flights.size > 0) return t + SOON_S
  const silenceMax = Math.min(5, Math.max(0.5, 3 / perSecond(memory)))
  const at = lastMoved(memory) + silenceMax
  return t >= at ? startProbe(memory, t) : at
}

const lastMoved = ({ gate, lastSentAt }: PacerMemory): number => Math.max(gate.until, lastSentAt)

const silence = (memory: PacerMemory, t: number): number => t - lastMoved(memory)
