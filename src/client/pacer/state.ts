// When may the next request go? A pure state machine: no clock, no I/O. It knows what `RateLimit-Remaining` told and what
// is in flight; it does not know the kind of the service's window.
// Promises kept here: never more requests in flight than the lowest Remaining of this window allows; one probe into the
// unknown at a time; no request before a Retry-After has passed; whoever waits is let go in the end.

import type { Answer } from '../../core/ports.ts'
import { parseLimit, parseRetryAfter } from './headers.ts'

/** A request that nobody reported back within this time counts as used. */
export const IN_FLIGHT_MAX_MS = 120_000
const PROBE_WAIT_MIN_MS = 500
const PROBE_WAIT_MAX_MS = 5_000
/** How soon to ask again while requests are in flight; an answer comes sooner. */
const ASK_AGAIN_MS = 250

interface Sent {
  readonly sentMs: number
  readonly epoch: number
  /** The lowest Remaining known when it was sent. */
  readonly lowest: number
}

export class PacerState {
  /** Nothing is sent before this. */
  private gateMs = -Infinity
  /** Requests a minute, once known. */
  private limit: number | null = null
  /** The lowest Remaining since the quota was last seen to refill. Not known is 0: one probe at a time. */
  private lowest = 0
  /** At a `lowest` of 0, one request may be sent from here on. */
  private probeAtMs = -Infinity
  /** Grows whenever the quota is seen to refill or to be used up. */
  private epoch = 0
  /** Refusals in a row that did not say how long to wait. */
  private refusals = 0
  private readonly inFlight = new Map<number, Sent>()

  /** 0: send now, and call `onSend` at once. Else the time at which to ask again, always after `nowMs`. */
  next(nowMs: number): number {
    this.forgetLost(nowMs)
    if (nowMs < this.gateMs) return this.gateMs
    if (this.lowest - this.inFlight.size > 0) return 0
    if (this.inFlight.size > 0) return nowMs + ASK_AGAIN_MS
    return nowMs < this.probeAtMs ? this.probeAtMs : 0
  }

  /** A request with this number is on its way. */
  onSend(id: number, nowMs: number): void {
    this.inFlight.set(id, { sentMs: nowMs, epoch: this.epoch, lowest: this.lowest })
  }

  /** It was answered, with any status. */
  onAnswer(id: number, answer: Answer, nowMs: number): void {
    const sent = this.inFlight.get(id)
    this.inFlight.delete(id)
    this.limit = parseLimit(answer.limit) ?? this.limit
    const waitMs = parseRetryAfter(answer.retryAfter, nowMs)
    if (answer.status === 429) return this.refused(waitMs, nowMs)
    this.refusals = 0
    if (answer.status === 503 && waitMs !== null) {
      this.gateMs = Math.max(this.gateMs, nowMs + waitMs)
    }
    const told = parseLimit(answer.remaining)
    if (told !== null) this.learn(Math.min(told, this.limit ?? told), sent)
    // A service that answers without these headers is slowed down by its refusals alone.
    else if (answer.status < 500 && this.lowest === 0) this.lowest = Infinity
    else this.lowest = Math.max(0, this.lowest - 1)
    this.planProbe(nowMs)
  }

  /** It was sent and no answer came: it may have used its share. */
  onLost(id: number, nowMs: number): void {
    if (!this.inFlight.delete(id)) return
    this.lowest = Math.max(0, this.lowest - 1)
    this.planProbe(nowMs)
  }

  /** It was never sent. */
  onUnused(id: number): void {
    this.inFlight.delete(id)
  }

  /** Requests a minute as the last answer said; null before the first. */
  limitPerMinute(): number | null {
    return this.limit
  }

  private refused(waitMs: number | null, nowMs: number): void {
    const toldToWait = waitMs !== null && waitMs > 0
    this.refusals = toldToWait ? 0 : this.refusals + 1
    const growingMs = this.probeWaitMs() * 2 ** Math.min(this.refusals - 1, 10)
    const untilMs = nowMs + (toldToWait ? waitMs : Math.min(growingMs, PROBE_WAIT_MAX_MS))
    this.gateMs = Math.max(this.gateMs, untilMs)
    this.lowest = 0
    this.epoch += 1
  }

  /**
   * Within one window Remaining only falls, so an answer that is not below the lowest value known when its request was
   * sent proves a refill. An answer to a request sent before a refill was seen may come from either side of it: it
   * lowers what is left by one at most, which is what that request can have used.
   */
  private learn(remaining: number, sent: Sent | undefined): void {
    if (sent?.epoch !== this.epoch) {
      this.lowest = Math.min(this.lowest, Math.max(remaining, this.lowest - 1))
    } else if (remaining >= sent.lowest) {
      this.lowest = remaining
      this.epoch += 1
    } else {
      this.lowest = Math.min(this.lowest, remaining)
    }
  }

  private planProbe(nowMs: number): void {
    if (this.lowest === 0) this.probeAtMs = nowMs + this.probeWaitMs()
  }

  /** About one request's share of the minute, after which a rolling window may have moved. */
  private probeWaitMs(): number {
    const share = 60_000 / (this.limit ?? 600)
    return Math.min(PROBE_WAIT_MAX_MS, Math.max(PROBE_WAIT_MIN_MS, share))
  }

  private forgetLost(nowMs: number): void {
    for (const [id, sent] of this.inFlight) {
      if (nowMs - sent.sentMs < IN_FLIGHT_MAX_MS) return
      this.onLost(id, nowMs)
    }
  }
}
