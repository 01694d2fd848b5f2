// What is known if the service counts without windows: two guesses, of which the better one applies. Times are seconds.

import { BucketLevel, errorWeight, OthersLog, type Observation } from './observers.ts'

/** Answers before a guess is judged. */
const OBSERVATIONS_MIN = 40
/** How long a bucket that proved wrong is not assumed again. */
const NO_BUCKET_S = 600
/** This many answers prove that it cannot be a log. */
const BEYOND_LOG = 5
/** How long a visible surplus remains valid. */
const SURPLUS_S = 1

/** Whether Remaining never came near the limit: a bucket that allows only small bursts. */
export const isSmallBurst = (highest: number, limit: number): boolean => highest < 0.3 * limit

export class RollingEstimates {
  others = new OthersLog(0)
  bucket = new BucketLevel(0, 0)
  private observations = 0
  private observedAt = 0
  private noBucketUntil = 0
  /** Answers that reported more than any log could have left, up to the number that counts as proof. */
  private beyondLog = 0
  /** The newest Remaining, when its request was sent, and when it came. */
  private newest = { sentAt: -9, remaining: 0, t: -9 }

  static restore(data: object): RollingEstimates {
    const estimates = Object.assign(new RollingEstimates(), data)
    estimates.others = Object.assign(new OthersLog(0), estimates.others)
    estimates.bucket = Object.assign(new BucketLevel(0, 0), estimates.bucket)
    return estimates
  }

  /** Both guesses restart; `ownUse` of ours are in the log, `sentAfter` requests have left since. */
  begin(limit: number, remaining: number, t: number, ownUse: number, sentAfter: number): void {
    this.others = new OthersLog(limit - remaining - ownUse)
    this.bucket = new BucketLevel(remaining - sentAfter, t)
    this.observations = 0
    this.observedAt = t
  }

  /** No answer reports what remains: the log holds our own use, until a refusal shows that others use some of the limit. */
  beginBlind(t: number): void {
    this.others = new OthersLog(0)
    this.observations = 0
    this.observedAt = t
    this.forgetSurplus()
  }

  /** What nothing has confirmed since loses weight. */
  fadeOthers(t: number, memoryS: number): void {
    this.others.raw *= Math.exp(-Math.max(0, t - this.observedAt) / memoryS)
    this.observedAt = Math.max(this.observedAt, t)
  }

  /** When the newest Remaining was asked for and, while it is still valid, how much of it is more than a log would leave. */
  surplus(t: number, limit: number): { readonly sentAt: number; readonly credit: number } | null {
    const { sentAt, remaining } = this.newest
    if (t - this.newest.t > SURPLUS_S) return null
    return { sentAt, credit: remaining - Math.ceil(3 + 0.05 * limit) }
  }

  /** An accepted request, sent at `sentAt`. */
  see(sentAt: number, seen: Observation): void {
    const { remaining, limit, t } = seen
    if (sentAt < this.newest.sentAt - 0.3) return
    if (sentAt >= this.newest.sentAt) this.newest = { sentAt, remaining, t }
    const gap = Math.max(0.01, Math.min(5, t - this.observedAt))
    const weight = errorWeight(gap, limit)
    this.observedAt = t
    this.observations++
    // In a log, what remains and what we used of the last minute add up to the limit at most.
    if (remaining + seen.ownUse > 1.5 * limit)
      this.beyondLog = Math.min(BEYOND_LOG, this.beyondLog + 1)
    this.others.learn(seen, gap, weight)
    this.bucket.learn(seen, gap, weight)
  }

  /**
   * Which guess applies, with a margin against switching back and forth. A small bucket never comes near the limit; one as large
   * as a minute's limit was seen to allow more than a log could.
   */
  better(believed: 'rolling' | 'bucket', highest: number, limit: number, t: number) {
    if (this.observations <= OBSERVATIONS_MIN) return believed
    const [log, bucket] = [this.others.meanError, this.bucket.meanError]
    if (believed === 'bucket') return log < 0.9 * bucket - 0.05 ? 'rolling' : 'bucket'
    if (t <= this.noBucketUntil) return 'rolling'
    const isBetter = isSmallBurst(highest, limit)
      ? bucket < 0.6 * log - 0.15
      : this.beyondLog >= BEYOND_LOG && bucket < 0.9 * log
    return isBetter ? 'bucket' : 'rolling'
  }

  /** Refused: nothing is left, whatever was assumed. */
  refused(limit: number, t: number): void {
    this.forgetSurplus()
    this.bucket.level = Math.min(this.bucket.level, 0)
    this.bucket.at = t
    this.bucket.takenByOthers(this.bucket.othersPerS + 0.05, limit)
  }

  rejectBucket(t: number): void {
    this.noBucketUntil = t + NO_BUCKET_S
  }

  forgetSurplus(): void {
    this.newest.t = -9
  }
}
