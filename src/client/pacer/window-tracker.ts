// What is known if the service counts in fixed windows: what is left of this one, and when the next begins. It also holds while
// the kind of limiter is being learned: the same evidence shows that it is another. Times are seconds.

import { WindowState } from './window-state.ts'
import type { SentRequest } from './in-flight.ts'
import { PERIOD_S, ResetClock } from './reset-clock.ts'

export interface WindowAnswer {
  readonly limit: number
  readonly remaining: number
  readonly accepted: boolean
  /** It answers a probe: the only request that was out. */
  readonly wasProbe: boolean
  readonly inFlight: number
  readonly t: number
}

/**
 * What an answer showed beyond its numbers: that a window began; that the quota grows by little, so that there are no windows; that
 * the window did not end when it had to, so that the assumption is wrong. `straggler`: it arrived before or around a reset that was
 * already seen.
 */
type WindowEvidence = 'window' | 'rolling' | 'learning' | 'straggler' | null

/** Three small gains within this time are no window. */
const GAINS_WITHIN_S = 10
const GAINS = 3
/** Gains closer together than this count as one. */
const GAIN_APART_S = 0.3
/** Two answers that promise the same reset, this far apart, are reliable. */
const PROMISE_AGE_S = 2

interface TimeSpan {
  readonly from: number
  readonly to: number
}

export class WindowTracker {
  epoch = new WindowState(0, 0, -1, 0, 0)
  /** Null until a reset was seen, or promised. */
  clock: ResetClock | null = null
  /** When Remaining was last seen to grow by little. */
  private gains: number[] = []
  /** The last reset: answers to requests sent before it was seen may come from either side. */
  private jump: { remaining: number; inFlight: number; seenAt: number } | null = null
  /** Send time of the latest request known to be before the next reset. */
  private latestBefore = -1
  /** Probes at the reset that saw none. */
  private missed = 0
  /** A long Retry-After: a reset, if it ends in a full quota. */
  private told: TimeSpan | null = null
  /** A reset that the service documents, and since when it promises it. */
  private promised: (TimeSpan & { readonly since: number }) | null = null

  static restore(data: object): WindowTracker {
    const tracker = Object.assign(new WindowTracker(), data)
    tracker.epoch = WindowState.restore(tracker.epoch)
    tracker.clock = tracker.clock && ResetClock.restore(tracker.clock)
    return tracker
  }

  /** Another kind of limiter, or a new limit, begins with this Remaining. */
  begin(remaining: number, sentAt: number, t: number): void {
    this.openWindow(remaining, sentAt, t)
    this.gains = []
    this.jump = null
  }

  /**
   * Inside one window Remaining only falls: an answer is below the lowest value that was known when its request was sent, in
   * whatever order answers come and whichever processes also send. An answer that is not below proves that the quota grew.
   */
  see(sent: SentRequest, answer: WindowAnswer): WindowEvidence {
    const { remaining, accepted, t } = answer
    const isCurrent = sent.epoch === this.epoch.number
    if (!isCurrent && this.jump && sent.sentAt <= this.jump.seenAt)
      return this.seeStraggler(sent, answer, this.jump)
    if (isCurrent && accepted && remaining >= sent.lowest) return this.seeGain(sent, answer)
    const isLate = answer.wasProbe && accepted && this.isAfterReset(sent)
    this.epoch.learn(remaining, sent.sentAt, accepted, t)
    this.latestBefore = Math.max(this.latestBefore, sent.sentAt)
    return isLate ? this.missReset(sent, t) : null
  }

  /** Sent before a reset was seen: it counted on one side or the other. */
  private seeStraggler(
    sent: SentRequest,
    { remaining, accepted, limit }: WindowAnswer,
    jump: NonNullable<WindowTracker['jump']>,
  ): WindowEvidence {
    const near = jump.remaining - 2 * jump.inFlight - 3 - 0.05 * limit
    if (accepted && remaining >= near) {
      this.epoch.lowest = Math.min(this.epoch.lowest, remaining)
      this.epoch.ownAccepted += 1
    } else this.clock?.notBefore(sent.sentAt + PERIOD_S)
    return 'straggler'
  }

  /** Remaining grew: at once to about the limit is a reset; by little, several times, is no window. */
  private seeGain(sent: SentRequest, answer: WindowAnswer): WindowEvidence {
    const { limit, remaining, t } = answer
    const isDue = this.clock !== null && t > this.clock.from - 0.1
    const gain = remaining - (sent.lowest - 1)
    if (remaining >= 0.6 * limit && (isDue || isJump(gain, limit, t - sent.lowestSentAt))) {
      this.reset(sent, answer)
      return 'window'
    }
    this.gains = this.gains.filter((at) => t - at < GAINS_WITHIN_S)
    if (this.gains.length === 0 || t - this.gains.at(-1)! > GAIN_APART_S) this.gains.push(t)
    this.openWindow(remaining, sent.sentAt, t)
    return this.gains.length >= GAINS ? 'rolling' : null
  }

  /** A window began after the latest request that was still in the old one. */
  reset(sent: SentRequest, answer: WindowAnswer, latestBefore = this.latestBefore): void {
    const { limit, remaining, t } = answer
    const from = latestBefore > 0 ? latestBefore : sent.sentAt - 1
    this.missed = 0
    if (this.clock === null) this.clock = new ResetClock(from, t)
    else this.clock.saw(from, t, { sentAt: sent.sentAt, fresh: remaining >= limit - 1 })
    this.beginWindow(sent, answer)
  }

  private beginWindow(sent: SentRequest, { remaining, inFlight, t }: WindowAnswer): void {
    this.jump = { remaining, inFlight, seenAt: t }
    this.openWindow(remaining, sent.sentAt, t)
    this.latestBefore = -1
    this.gains = []
  }

  private isAfterReset(sent: SentRequest): boolean {
    return this.clock !== null && sent.sentAt >= this.clock.to
  }

  /** A probe saw no reset where one was due: the clock is off; the second time, there is none. */
  private missReset(sent: SentRequest, t: number): WindowEvidence {
    // No request asked around the reset: not seeing it proves nothing.
    if (sent.sentAt > this.clock!.to + 3) {
      this.clock!.runOn(t)
      return null
    }
    this.missed++
    if (this.missed < 2) {
      this.clock!.from = sent.sentAt
      this.clock!.to = t + 1
      return null
    }
    this.missed = 0
    return 'learning'
  }

  /** Refused, with a wait until between `from` and `to`: the time of the reset. */
  refused(sent: SentRequest, wait: TimeSpan, t: number): void {
    if (this.clock === null) {
      if (wait.to - t > 5) this.told = wait
      return
    }
    // Refused although the reset was certain: windows open at the first request.
    if (sent.sentAt >= this.clock.to - 1e-3) this.clock.opening = 'request'
    this.clock.told(wait.from, wait.to, t)
  }

  /** A long Retry-After that ends in a full quota was a reset. True if this answer shows it. */
  confirmReported(sent: SentRequest, answer: WindowAnswer): boolean {
    const { told } = this
    if (!told || sent.sentAt < told.to - 0.02) return false
    this.told = null
    if (this.clock !== null || answer.remaining < 0.6 * answer.limit) return false
    this.clock = new ResetClock(told.from, told.to)
    this.beginWindow(sent, answer)
    return true
  }

  /** If a service documents when its window ends, no probe is needed. True if that shows a window. */
  hearPromise(span: TimeSpan, t: number): boolean {
    const before = this.promised
    if (before === null || span.from > before.to || span.to < before.from) {
      this.promised = { ...span, since: t }
      return false
    }
    const from = Math.max(span.from, before.from)
    const to = Math.min(span.to, before.to)
    this.promised = { from, to, since: before.since }
    if (this.clock !== null) this.clock.told(from, to, t)
    else if (t - before.since >= PROMISE_AGE_S) {
      this.clock = new ResetClock(from - PERIOD_S, to - PERIOD_S)
      return true
    }
    return false
  }

  forgetReported(): void {
    this.told = null
  }

  private openWindow(remaining: number, sentAt: number, t: number): void {
    const { number, othersPerS } = this.epoch
    this.epoch = new WindowState(number + 1, remaining, sentAt, t, othersPerS)
  }
}

/** More than a rolling limiter can give back within `age` seconds. */
export const isJump = (gain: number, limit: number, age: number): boolean =>
  gain >= 0.25 * limit && gain > ((1.5 * Math.max(1, limit)) / PERIOD_S) * age + 3
