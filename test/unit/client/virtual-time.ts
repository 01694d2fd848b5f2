// A clock that jumps from one sleeper to the next, and services that count requests in its time.

import type { Answer, Clock } from '../../../src/core/ports.ts'

interface Sleeper {
  readonly atMs: number
  wake(): void
}

export class VirtualClock implements Clock {
  private nowMs = 1_000_000_007
  private readonly sleepers = new Set<Sleeper>()

  now(): number {
    return this.nowMs
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const onAbort = () => {
        this.sleepers.delete(sleeper)
        reject(signal?.reason)
      }
      const wake = () => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      }
      const sleeper = { atMs: this.nowMs + Math.max(0, ms), wake }
      this.sleepers.add(sleeper)
      signal?.addEventListener('abort', onAbort)
    })
  }

  /** Timers that nobody has stopped. */
  get sleeping(): number {
    return this.sleepers.size
  }

  /** Lets everything happen that happens within `ms`. */
  async pass(ms: number): Promise<void> {
    const untilMs = this.nowMs + ms
    for (;;) {
      await settled()
      let first: Sleeper | null = null
      for (const sleeper of this.sleepers) if (!first || sleeper.atMs < first.atMs) first = sleeper
      if (!first || first.atMs > untilMs) break
      this.sleepers.delete(first)
      this.nowMs = Math.max(this.nowMs, first.atMs)
      first.wake()
    }
    this.nowMs = untilMs
  }
}

/** Everything that follows from what has happened has happened. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Answers the request that arrives at `nowMs`. */
export type Limiter = (nowMs: number) => Answer

const answerOf = (limit: number, used: number, freeAtMs: number, nowMs: number): Answer => {
  const isFree = used < limit
  return {
    status: isFree ? 200 : 429,
    limit: String(limit),
    remaining: String(isFree ? limit - used - 1 : 0),
    retryAfter: isFree ? undefined : String(Math.max(1, Math.ceil((freeAtMs - nowMs) / 1_000))),
  }
}

/** The window begins with each minute. */
export function fixedWindow(limit: number): Limiter {
  let window = 0
  let used = 0
  return (nowMs) => {
    const current = Math.floor(nowMs / 60_000)
    if (current !== window) used = 0
    window = current
    const answer = answerOf(limit, used, (window + 1) * 60_000, nowMs)
    if (answer.status === 200) used += 1
    return answer
  }
}

/** Each request counts for 60 seconds. */
export function slidingLog(limit: number): Limiter {
  const log: number[] = []
  return (nowMs) => {
    while (log.length > 0 && log[0]! <= nowMs - 60_000) log.shift()
    const answer = answerOf(limit, log.length, (log[0] ?? nowMs) + 60_000, nowMs)
    if (answer.status === 200) log.push(nowMs)
    return answer
  }
}
