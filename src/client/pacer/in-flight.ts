// The requests in flight: which they are, how long answers take, and how many there may be at a time. Times are seconds.

/** A request in flight, with what was known when it left. */
export interface SentRequest {
  readonly id: string
  sentAt: number
  readonly epoch: number
  /** The lowest Remaining of that epoch, and when the request that reported it was sent. */
  readonly lowest: number
  readonly lowestSentAt: number
  /** The newest Remaining, likewise. */
  readonly newest: number
  readonly newestSentAt: number
}

/** A request whose end is not reported within this time counts as used. */
export const IN_FLIGHT_MAX_S = 30
/** Requests of an org in flight at most, whatever the limit and the latency. */
export const ORG_IN_FLIGHT_MAX = 256
/** This many may always be in flight, unless the service said that it is overloaded. */
const IN_FLIGHT_MIN = 8

/** The part of the growth where the service has refused as many: one more for about 100 answers of each in flight. */
const SLOWLY = 0.01

/** The request used one of the quota. A 401 counts elsewhere, if at all. */
export const isAccepted = (status: number): boolean =>
  status !== 429 && status !== 503 && status !== 401

export class InFlight {
  private out = new Map<string, SentRequest>()
  /** Mean latency. */
  latency = 0.2
  /** A latency that few answers exceed. */
  private slow = 0.5
  /** The most in flight after a 503, or a refusal of too many at a time; grows back with each answer. */
  private ceiling: number | null = null
  private ceilingSince = -1
  /** How many were in flight when the service refused too many at a time; null unless it has. */
  private crowd: number | null = null

  static restore(data: object): InFlight {
    const flights = Object.assign(new InFlight(), data)
    flights.out = new Map((data as { out: SentRequest[] }).out.map((sent) => [sent.id, sent]))
    return flights
  }

  toJSON(): object {
    return { ...this, out: [...this.out.values()] }
  }

  get size(): number {
    return this.out.size
  }

  add(sent: SentRequest): void {
    this.out.set(sent.id, sent)
  }

  take(id: string): SentRequest | undefined {
    const sent = this.out.get(id)
    this.out.delete(id)
    return sent
  }

  /** Removes, one at a time, requests whose end was not reported in time. */
  takeForgotten(t: number): SentRequest | undefined {
    const [oldest] = this.out.values()
    return oldest && oldest.sentAt <= t - IN_FLIGHT_MAX_S ? this.take(oldest.id) : undefined
  }

  clear(): void {
    this.out.clear()
  }

  sentAfter(t: number): number {
    let count = 0
    for (const sent of this.out.values()) if (sent.sentAt > t) count++
    return count
  }

  /** Requests that the limiter has likely counted by `t`: it counts early in a call. */
  countedBy(t: number): number {
    let count = 0
    for (const sent of this.out.values()) if (sent.sentAt + 0.3 * this.latency <= t) count++
    return count
  }

  /** An answer came after `latency`. */
  learn(latency: number, status: number, sentAt: number, t: number): void {
    this.latency += 0.05 * (Math.min(latency, 1) - this.latency)
    const gap = Math.min(latency, IN_FLIGHT_MAX_S) - this.slow
    this.slow += (gap > 0 ? 0.3 : 0.01) * gap
    if (status === 503) this.halve(sentAt, t)
    else if (isAccepted(status) && this.ceiling !== null) {
      const isFar = this.crowd === null || this.ceiling + 1 < this.crowd
      this.ceiling += (isFar ? 1 : SLOWLY) / this.ceiling
      if (this.ceiling >= ORG_IN_FLIGHT_MAX) this.uncrowded()
    }
  }

  /** Overloaded: allow half as many, once for all requests that were out together. */
  private halve(sentAt: number, t: number): void {
    if (sentAt <= this.ceilingSince) return
    const out = this.size + 1
    this.ceiling = Math.max(1, Math.floor(Math.min(this.ceiling ?? out, out) / 2))
    this.ceilingSince = t
  }

  /** Refused next to others, and by no quota: as many are too many. Fewer are soon tried again, as many only after a while. */
  crowded(sentAt: number, t: number): void {
    if (sentAt > this.ceilingSince) this.crowd = this.size + 1
    this.halve(sentAt, t)
  }

  /** How many are in flight is not why the service refuses. */
  uncrowded(): void {
    if (this.crowd === null && this.ceiling !== null && this.ceiling < ORG_IN_FLIGHT_MAX) return
    this.crowd = null
    this.ceiling = null
  }

  /** The most in flight: what `perSecond` needs at a latency that few exceed, and half as much again. */
  cap(perSecond: number): number {
    const needed = Math.ceil(1.5 * perSecond * (this.slow + 0.25))
    const cap = Math.min(ORG_IN_FLIGHT_MAX, Math.max(IN_FLIGHT_MIN, needed))
    return Math.max(1, Math.floor(Math.min(cap, this.ceiling ?? cap)))
  }
}
