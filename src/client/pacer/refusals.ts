// Refusals (429) in a row, for people: a service that refuses every request for ever looks like one that is slow. Times are seconds.

/** Requests that were in flight together are refused together: only one that was sent after that shows that it goes on. */
const ROUNDS_MIN = 3

export class RefusalStreak {
  private since: number | null = null
  private last = 0
  private rounds = 0
  private requests = 0
  private retryAfter: number | null = null

  static restore(data: object): RefusalStreak {
    return Object.assign(new RefusalStreak(), data)
  }

  /** @param retryAfter what the service asked for; null if it did not say */
  refused(sentAt: number, endedAt: number, retryAfter: number | null): void {
    this.since ??= endedAt
    if (this.rounds === 0 || sentAt >= this.last) {
      this.rounds++
      this.last = endedAt
    }
    this.requests++
    this.retryAfter = retryAfter
  }

  /** The service has answered a request that was sent after the first of them. */
  answered(sentAt: number): void {
    if (this.since === null || sentAt < this.since) return
    this.since = null
    this.rounds = 0
    this.requests = 0
  }

  /** Null unless the service refuses all that it is asked. */
  view(): {
    readonly since: number
    readonly requests: number
    readonly retryAfter: number | null
  } | null {
    const { since, requests, retryAfter } = this
    return since === null || this.rounds < ROUNDS_MIN ? null : { since, requests, retryAfter }
  }
}
