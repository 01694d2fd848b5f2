// Our own accepted requests of the last minute, seen in two ways. Times are seconds.

import type { Flights } from './flights.ts'
import { RecentUse } from './recent-use.ts'
import type { RecentUseText } from './recent-use.ts'
import { PERIOD_S } from './reset-clock.ts'

export class OwnUse {
  /** By when the answer came: the limiter counted it earlier, so it leaves the limiter's log earlier, too. */
  private readonly answered: RecentUse
  /** By when it was likely counted. */
  private readonly counted: RecentUse

  constructor(data?: { readonly answered: RecentUseText; readonly counted: RecentUseText }) {
    this.answered = new RecentUse(data?.answered)
    this.counted = new RecentUse(data?.counted)
  }

  toJSON(): object {
    return { answered: this.answered, counted: this.counted }
  }

  static restore(data: object): OwnUse {
    return new OwnUse(data as { answered: RecentUseText; counted: RecentUseText })
  }

  add(answeredAt: number, countedAt: number, requests = 1): void {
    this.answered.add(answeredAt, requests)
    this.counted.add(countedAt, requests)
  }

  /** Accepted in the last minute. */
  lastMinute(t: number): number {
    return this.answered.since(t - PERIOD_S)
  }

  /** What of the limiter's last 60 seconds is ours: never too few. */
  atMost(t: number, flights: Flights): number {
    return this.lastMinute(t) + flights.size
  }

  /** Ours in the 60 seconds before `countedAt`: the best guess. */
  likely(countedAt: number, flights: Flights): number {
    const { counted } = this
    const use = counted.before(countedAt) - counted.before(countedAt - PERIOD_S)
    return use + flights.countedBy(countedAt)
  }

  /** When `requests` of ours have certainly left the last minute; null where there are fewer. */
  whenFree(t: number, requests: number): number | null {
    return this.answered.whenOlder(t, PERIOD_S, requests)
  }
}
