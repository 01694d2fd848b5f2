// What a service, or something in front of it, does beside counting requests a minute: other limits, and headers that are
// missing or untrue. A habit changes the answers of whichever server it stands before.

import type { Answer } from '../../../src/core/ports.ts'
import type { ServerAnswer } from './servers.ts'

export interface Habits {
  /** Each so-manieth request is refused with `Retry-After: 1`, by no limit that the headers tell of. */
  readonly refuseEach?: number
  /** At most so many requests within a clock second; more are refused with `Retry-After: 1`. */
  readonly perSecond?: number
  /** What such a refusal tells of the minute's quota; default `all`. `zero`: the limit, and that nothing remains. */
  readonly otherRefusalsTell?: 'all' | 'nothing' | 'zero'
  /** Which answers tell which numbers; default `all`. */
  readonly tells?: 'all' | 'nothing' | 'limit' | 'remaining' | 'refusals'
  /** No Retry-After either. */
  readonly mute?: boolean
  /** What Remaining says, whatever is left. */
  readonly remaining?: 'limit' | 'zero'
  /** The first refusal after this time says to wait for 1,000,000,000 s; it comes out of turn. */
  readonly oddRetryAfterAtS?: number
  /** Retry-After is in milliseconds. */
  readonly milliseconds?: boolean
  /** Retry-After is a date, of a clock that is so far ahead of ours. */
  readonly clockAheadS?: number
}

/** 2026-01-01T00:00:00Z: what time 0 of a run is in the headers. */
const EPOCH_MS = Date.UTC(2026, 0, 1)

export class Habit {
  private readonly habits: Habits
  private requests = 0
  private second = { at: -1, requests: 0 }
  private hasBeenOdd = false

  constructor(habits: Habits) {
    this.habits = habits
  }

  /** The answer to a request; `count` asks the server proper, and uses a request of its quota. */
  answer(
    nowMs: number,
    count: () => ServerAnswer,
    look: () => Pick<ServerAnswer, 'limit' | 'remaining'>,
  ): { readonly answer: Answer; readonly isOther: boolean } {
    const { otherRefusalsTell = 'all', oddRetryAfterAtS } = this.habits
    if (oddRetryAfterAtS !== undefined && !this.hasBeenOdd && nowMs >= 1_000 * oddRetryAfterAtS) {
      this.hasBeenOdd = true
      return { answer: { status: 429, retryAfter: '1000000000' }, isOther: true }
    }
    if (this.isRefusedOtherwise(nowMs)) {
      const { limit, remaining } = look()
      const left = otherRefusalsTell === 'zero' ? 0 : remaining
      const told = { status: 429 as const, limit, remaining: left, retryAfterS: 1 }
      if (otherRefusalsTell === 'nothing')
        return { answer: { status: 429, retryAfter: '1' }, isOther: true }
      return { answer: this.tell(told, nowMs), isOther: true }
    }
    return { answer: this.tell(count(), nowMs), isOther: false }
  }

  private isRefusedOtherwise(nowMs: number): boolean {
    const { refuseEach, perSecond } = this.habits
    this.requests += 1
    if (refuseEach !== undefined && this.requests % refuseEach === 0) return true
    const at = Math.floor(nowMs / 1_000)
    if (at !== this.second.at) this.second = { at, requests: 0 }
    if (perSecond !== undefined && this.second.requests >= perSecond) return true
    this.second.requests += 1
    return false
  }

  private tell({ status, limit, remaining, retryAfterS }: ServerAnswer, nowMs: number): Answer {
    const { tells = 'all', remaining: untrue, mute = false } = this.habits
    const isTold = tells !== 'nothing' && (tells !== 'refusals' || status === 429)
    const left = untrue === undefined ? remaining : untrue === 'zero' ? 0 : limit
    return {
      status,
      limit: isTold && tells !== 'remaining' ? String(limit) : undefined,
      remaining: isTold && tells !== 'limit' ? String(left) : undefined,
      ...(retryAfterS !== null && !mute && this.wait(retryAfterS, nowMs)),
    }
  }

  private wait(seconds: number, nowMs: number): Pick<Answer, 'retryAfter' | 'date'> {
    const { milliseconds = false, clockAheadS } = this.habits
    if (milliseconds) return { retryAfter: String(1_000 * seconds) }
    if (clockAheadS === undefined) return { retryAfter: String(seconds) }
    const theirsMs = EPOCH_MS + nowMs + 1_000 * clockAheadS
    return {
      date: new Date(theirsMs).toUTCString(),
      retryAfter: new Date(theirsMs + 1_000 * seconds).toUTCString(),
    }
  }
}
