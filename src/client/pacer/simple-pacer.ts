// The quota of one org within one process: a queue of callers around the state machine.
// Promises kept here: earlier priorities first, first come first served within one; every caller gets a permit, a
// `QuotaWait` or its own abort; an idle pacer holds no timer.

import { setMaxListeners } from 'node:events'
import { QuotaWait, SyncError } from '../../core/errors.ts'
import { QUOTA_WAIT_MAX_MS } from '../../core/limits.ts'
import { PRIORITIES, systemClock } from '../../core/ports.ts'
import type { AcquireOptions, Clock, Permit, Quota } from '../../core/ports.ts'
import { PacerState } from './state.ts'

/** Callers that may wait at the same time. */
export const WAITERS_MAX = 10_000

interface Waiter {
  readonly deadlineMs: number
  grant(permit: Permit): void
  refuse(error: unknown): void
}

export class SimplePacer implements Quota {
  private readonly clock: Clock
  private readonly state = new PacerState()
  private readonly queues: readonly Waiter[][] = PRIORITIES.map(() => [])
  private waiting = 0
  private lastId = 0
  private timer: { readonly atMs: number; readonly stop: AbortController } | null = null

  constructor(clock: Clock = systemClock) {
    this.clock = clock
  }

  /**
   * The right to send one request. Default priority: `interactive`.
   * @throws QuotaWait where the wait is, or turns out to be, longer than `maxWaitMs`
   * @throws SyncError `quota_queue_full` above 10,000 waiting callers
   */
  acquire(options: AcquireOptions = {}): Promise<Permit> {
    const { priority = 'interactive', signal, maxWaitMs = QUOTA_WAIT_MAX_MS } = options
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      if (this.waiting >= WAITERS_MAX) {
        const message = `More than ${WAITERS_MAX} requests wait for the quota: fewer at a time were expected`
        return reject(new SyncError('quota_queue_full', message))
      }
      const queue = this.queues[PRIORITIES.indexOf(priority)]!
      const onAbort = () => {
        queue.splice(queue.indexOf(waiter), 1)
        this.waiting -= 1
        reject(signal!.reason)
        this.pump()
      }
      const waiter: Waiter = {
        deadlineMs: this.clock.now() + maxWaitMs,
        grant: (permit) => {
          signal?.removeEventListener('abort', onAbort)
          resolve(permit)
        },
        refuse: (error) => {
          signal?.removeEventListener('abort', onAbort)
          reject(error)
        },
      }
      if (signal) {
        // Many callers share one signal, rightly: Node would warn of a leak at the eleventh.
        setMaxListeners(0, signal)
        signal.addEventListener('abort', onAbort, { once: true })
      }
      queue.push(waiter)
      this.waiting += 1
      this.pump()
    })
  }

  limitPerMinute(): number | null {
    return this.state.limitPerMinute()
  }

  /** Lets go whoever may go, refuses whoever cannot wait that long, and comes back when something may have changed. */
  private pump(): void {
    const nowMs = this.clock.now()
    let askAgainMs = 0
    // Bounded by the waiters: every pass lets one go, or ends.
    while (this.waiting > 0 && askAgainMs === 0) {
      askAgainMs = this.state.next(nowMs)
      if (askAgainMs === 0) this.letGo(nowMs)
    }
    if (this.waiting > 0) this.refuseTheHurried(askAgainMs, nowMs)
    this.arm(this.waiting > 0 ? askAgainMs : null, nowMs)
  }

  private letGo(nowMs: number): void {
    const waiter = this.queues.find((queue) => queue.length > 0)!.shift()!
    this.waiting -= 1
    this.lastId += 1
    this.state.onSend(this.lastId, nowMs)
    waiter.grant(this.permit(this.lastId))
  }

  private permit(id: number): Permit {
    let open = true
    const close = (report: (nowMs: number) => void) => {
      if (!open) return
      open = false
      report(this.clock.now())
      this.pump()
    }
    return {
      observe: (answer) => close((nowMs) => this.state.onAnswer(id, answer, nowMs)),
      lost: () => close((nowMs) => this.state.onLost(id, nowMs)),
      unused: () => close(() => this.state.onUnused(id)),
    }
  }

  private refuseTheHurried(askAgainMs: number, nowMs: number): void {
    for (const queue of this.queues) {
      const hurried = queue.filter((waiter) => waiter.deadlineMs < askAgainMs)
      if (hurried.length === 0) continue
      queue.splice(0, queue.length, ...queue.filter((waiter) => waiter.deadlineMs >= askAgainMs))
      this.waiting -= hurried.length
      for (const waiter of hurried) waiter.refuse(new QuotaWait(askAgainMs - nowMs))
    }
  }

  private arm(atMs: number | null, nowMs: number): void {
    // A timer that fires too early only asks again.
    if (this.timer && atMs !== null && this.timer.atMs <= atMs) return
    this.timer?.stop.abort()
    this.timer = null
    if (atMs === null) return
    const timer = { atMs, stop: new AbortController() }
    this.timer = timer
    const wake = () => {
      if (this.timer !== timer) return
      this.timer = null
      this.pump()
    }
    this.clock.sleep(atMs - nowMs, timer.stop.signal).then(wake, () => {})
  }
}
