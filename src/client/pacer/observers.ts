// Two guesses at what a limiter without windows will answer next: that every request counts for 60 seconds (a log), or that a
// bucket fills evenly. Every Remaining corrects both, and the one with the smaller error applies (src/README.md, "Pacing"). Times
// are seconds.

import { PERIOD_S } from './reset-clock.ts'

/** A correction takes effect over this time, so that one odd answer changes little. */
const LOG_CORRECTION_S = 1.5
const BUCKET_CORRECTION_S = 0.7
const OTHERS_CORRECTION_S = 20
const ERROR_MEMORY_S = 20
const ERROR_MAX = 20

export interface Observation {
  readonly limit: number
  readonly remaining: number
  /** About when the limiter counted the request. */
  readonly countedAt: number
  readonly t: number
  /** Our own accepted requests in the 60 seconds before `countedAt`. */
  readonly ownUse: number
  /** Our requests in flight that were sent after this one. */
  readonly sentAfter: number
  /** The highest Remaining ever seen. */
  readonly highest: number
}

/** All other requests than ours, modelled as a log of 60 seconds. */
export class OthersLog {
  /** Below zero if the service counts less than we do. */
  raw: number
  meanError = 1
  constructor(raw: number) {
    this.raw = raw
  }

  get entries(): number {
    return Math.max(0, this.raw)
  }

  /** A refusal showed that there are `requests` or more. */
  atLeast(requests: number): void {
    this.raw = Math.max(this.raw, requests)
  }

  learn({ limit, remaining, ownUse }: Observation, gap: number, weight: number): void {
    const error = limit - remaining - ownUse - this.raw
    this.meanError += (Math.min(Math.abs(error), ERROR_MAX) - this.meanError) * weight
    // A burst of others counts at once.
    const isBurst = error > Math.max(3, 6 * this.meanError)
    this.raw += (isBurst ? 1 : 1 - Math.exp(-gap / LOG_CORRECTION_S)) * error
  }
}

/** A bucket: its level at `at`, and what others take out of it each second. */
export class BucketLevel {
  level: number
  at: number
  othersPerS = 0
  meanError = 1
  constructor(level: number, at: number) {
    this.level = level
    this.at = at
  }

  /** What it holds at `t`. */
  now(t: number, limit: number): number {
    return this.level + this.gain(limit) * (t - this.at)
  }

  /** What the bucket gains for us, per second. */
  gain(limit: number): number {
    return limit / PERIOD_S - this.othersPerS
  }

  learn(seen: Observation, gap: number, weight: number): void {
    const { limit, remaining, countedAt, t, sentAfter, highest } = seen
    const expected = Math.min(this.now(countedAt, limit) + sentAfter, highest)
    // Remaining is the level rounded down.
    let error = 0
    if (remaining > expected) error = remaining - expected
    else if (expected >= remaining + 1) error = remaining + 0.5 - expected
    this.meanError += (Math.min(Math.abs(error), ERROR_MAX) - this.meanError) * weight
    const isFarOff = Math.abs(error) > 3 + 4 * this.meanError
    const correction = (isFarOff ? 1 : 1 - Math.exp(-gap / BUCKET_CORRECTION_S)) * error
    this.level = Math.min(this.now(t, limit), Math.max(2, highest + 1)) + correction
    this.at = t
    this.takenByOthers(this.othersPerS - correction / OTHERS_CORRECTION_S, limit)
    // A bucket that stays full does not show what others take.
    if (remaining >= highest - 1) this.othersPerS *= Math.exp(-gap / 10)
  }

  takenByOthers(perS: number, limit: number): void {
    this.othersPerS = Math.min((0.98 * limit) / PERIOD_S, Math.max(0, perS))
  }
}

/** The weight of one answer in the mean errors, `gap` seconds after the last. */
export const errorWeight = (gap: number, limit: number): number =>
  Math.max(1 - Math.exp(-gap / ERROR_MEMORY_S), 0.02 / (1 + limit / 600))
