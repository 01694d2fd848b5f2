// Our own accepted requests of the last minute, counted in two ways. Times are seconds.

import type { InFlight } from './in-flight.ts'
import { UsageWindow, type UsageWindowText } from './usage-window.ts'
import { PERIOD_S } from './reset-clock.ts'

export class OwnUsage {
  /** By the time of the answer: the limiter counted it earlier, so it also leaves the limiter's log earlier. */
  private readonly answered: UsageWindow
  /** By the time when the limiter likely counted it. */
  private readonly counted: UsageWindow

  constructor(data?: { readonly answered: UsageWindowText; readonly counted: UsageWindowText }) {
    this.answered = new UsageWindow(data?.answered)
    this.counted = new UsageWindow(data?.counted)
  }

  toJSON(): object {
    return { answered: this.answered, counted: this.counted }
  }

  static restore(data: object): OwnUsage {
    return new OwnUsage(data as { answered: UsageWindowText; counted: UsageWindowText })
  }

  add(answeredAt: number, countedAt: number, requests = 1): void {
    this.answered.add(answeredAt, requests)
    this.counted.add(countedAt, requests)
  }

  lastMinute(t: number): number {
    return this.answered.since(t - PERIOD_S)
  }

  /** How much of the limiter's last 60 seconds is ours: never too few. */
  atMost(t: number, flights: InFlight): number {
    return this.lastMinute(t) + flights.size
  }

  /** Ours in the 60 seconds before `countedAt`: the best guess. */
  likely(countedAt: number, flights: InFlight): number {
    const { counted } = this
    const use = counted.before(countedAt) - counted.before(countedAt - PERIOD_S)
    return use + flights.countedBy(countedAt)
  }

  /** When `requests` of ours have certainly left the last minute; null if there are fewer. */
  whenFree(t: number, requests: number): number | null {
    return this.answered.whenOlder(t, PERIOD_S, requests)
  }
}
