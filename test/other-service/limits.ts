// The rate limit of an org (section 8), and what its headers tell.

import type { Habits } from './habits.ts'
import { Refusal } from './refusal.ts'

const MINUTE = 60_000

export class Limiter {
  readonly #habits: () => Habits
  readonly #now: () => number
  /** When the requests were taken that still count. */
  #taken: number[] = []
  #windowEnds = 0
  #seen = 0
  refused = 0

  constructor(habits: () => Habits, now: () => number) {
    this.#habits = habits
    this.#now = now
  }

  /** Throws where the request is refused. Gives the headers of its answer. */
  take(): Readonly<Record<string, string>> {
    const { refuseEach, limiter, perMinute, retryAfter } = this.#habits()
    const now = this.#now()
    this.#seen++
    if (refuseEach !== null && this.#seen % refuseEach === 0) throw this.#refusal('1')
    if (limiter === 'window' && now >= this.#windowEnds) {
      this.#windowEnds = now + MINUTE
      this.#taken = []
    }
    if (limiter === 'rolling') {
      const first = this.#taken.findIndex((at) => at > now - MINUTE)
      this.#taken = first < 0 ? [] : this.#taken.slice(first)
    }
    if (this.#taken.length >= perMinute) {
      const frees = limiter === 'window' ? this.#windowEnds : this.#taken[0]! + MINUTE
      throw this.#refusal(String(Math.max(Number(retryAfter), Math.ceil((frees - now) / 1000))))
    }
    this.#taken.push(now)
    return this.#told(false)
  }

  /** Of an answer to a request that is not counted. */
  headers(): Readonly<Record<string, string>> {
    return this.#told(false)
  }

  #refusal(seconds: string): Refusal {
    this.refused++
    return new Refusal(429, 'rate_limited', 'too many requests', {
      headers: { ...this.#told(true), 'retry-after': seconds },
    })
  }

  #told(isRefusal: boolean): Record<string, string> {
    const { headers, perMinute } = this.#habits()
    if (headers === 'none' || (headers === 'refusals' && !isRefusal)) return {}
    return {
      ...(headers !== 'remaining' && { 'ratelimit-limit': String(perMinute) }),
      ...(headers !== 'limit' && {
        'ratelimit-remaining': String(Math.max(0, perMinute - this.#taken.length)),
      }),
    }
  }
}
