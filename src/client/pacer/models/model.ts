// A model of the service's limiter decides how the pacer spends the quota. A model holds nothing itself: what answers have shown is
// in the memory, so that a switch to another model loses nothing, and a saved state is restored in one place. Times are seconds.

import type { SentRequest } from '../in-flight.ts'
import { perSecond, type LimitedMemory, type LimiterModelName } from '../memory.ts'
import type { WindowAnswer } from '../window-tracker.ts'

export interface LimiterModel {
  /** It learns from answers by `memory.windows`; the others by `memory.rolling`. */
  readonly isWindowed: boolean
  /** What begins with it. */
  begin?(memory: LimitedMemory, t: number): void

  /** What follows from the passing of time alone: one request has to ask, or another model applies. */
  onTime(memory: LimitedMemory, t: number): 'probe' | LimiterModelName | null
  /** What is known stays right for up to a minute in which nothing is sent. */
  isSureWhileIdle(memory: LimitedMemory, t: number): boolean
  /** Our requests that count against the share that a reserve leaves to us: never too few. */
  ownUse(memory: LimitedMemory, t: number): number
  /** When `requests` of them certainly do not count any more; null if that is not known. */
  whenOwnUseFalls(memory: LimitedMemory, requests: number, t: number): number | null
  /** Requests that would be accepted now, as far as is known. */
  credit(memory: LimitedMemory, t: number): number
  /** How much more credit than the request itself takes is required. */
  margin(memory: LimitedMemory, interactive: boolean, t: number): number
  /** When `credit` will have become `need`; null if that is not known. */
  whenCredit(memory: LimitedMemory, credit: number, need: number, t: number): number | null
  /** Bulk requests per second to allow, if a reserve leaves `allowance` requests to us (Infinity without a reserve). */
  rate(memory: LimitedMemory, credit: number, allowance: number, t: number): number
  /** What others use, a minute: an estimate. */
  others(memory: LimitedMemory): number

  /**
   * Learns from an answer, which the limiter counted about at `countedAt`. Returns the model that applies from now on, null if this
   * one does; `window` if a window began; `straggler` if the answer is older than what is known, and a refusal shows nothing new.
   */
  onAnswer(
    memory: LimitedMemory,
    sent: SentRequest,
    answer: WindowAnswer,
    countedAt: number,
  ): LimiterModelName | 'straggler' | null
  /** Learns from a refusal. Returns the model that applies from now on, null if this one does. */
  onRefusal(memory: LimitedMemory, t: number): LimiterModelName | null
}

/** Each request of ours counts for a minute. */
export const countsForAMinute = {
  ownUse: ({ own, flights }, t) => own.atMost(t, flights),
  whenOwnUseFalls: ({ own }, requests, t) => own.whenFree(t, requests),
} satisfies Partial<LimiterModel>

/** What a reserve leaves to us is spread over this time. */
const RESERVE_SPREAD_S = 10

/** The rate of what a reserve leaves to us: what goes out in a rush comes back in a rush a minute later. */
export function rateOfReserve(memory: LimitedMemory, allowance: number): number {
  if (allowance === Infinity) return Infinity
  return (1 - memory.settings.reserve) * perSecond(memory) + allowance / RESERVE_SPREAD_S
}

/** The part of the quota that is ours while the store is unavailable: our part of the total recent use. */
export function shareOf(
  memory: LimitedMemory,
  others: number,
  own = Math.max(0.02 * perSecond(memory), memory.ownRate),
): number {
  return memory.isAlone ? Math.min(1, 0.02 + own / (own + others)) : 1
}
