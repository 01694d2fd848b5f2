// The quota of callers without a key: each network has its own, so that one of them uses up nobody else's. Promise kept here: memory is
// bounded, however many networks ask.

import { networkOf } from '../../net/network.ts'
import type { Limiter, LimiterVerdict } from './limiter.ts'

/** Networks that are counted; the one that asked longest ago is forgotten. */
const NETWORKS_MAX = 10_000

export class KeylessQuota {
  readonly #create: () => Limiter
  readonly #limiters = new Map<string, Limiter>()
  /** Undefined: as `create` has it. */
  #limit: number | null | undefined

  /** @param create makes the limiter of a network */
  constructor(create: () => Limiter) {
    this.#create = create
  }

  /** @param address of the caller; undefined: its connection is gone */
  take(address: string | undefined, nowMs: number): LimiterVerdict {
    const network = networkOf(address ?? '')
    const limiter = this.#limiters.get(network) ?? this.#newLimiter()
    this.#limiters.delete(network)
    this.#limiters.set(network, limiter)
    if (this.#limiters.size > NETWORKS_MAX)
      this.#limiters.delete(this.#limiters.keys().next().value!)
    return limiter.take(nowMs)
  }

  setLimit(limitPerMinute: number | null): void {
    this.#limit = limitPerMinute
    for (const limiter of this.#limiters.values()) limiter.setLimit(limitPerMinute)
  }

  #newLimiter(): Limiter {
    const limiter = this.#create()
    if (this.#limit !== undefined) limiter.setLimit(this.#limit)
    return limiter
  }
}
