// How often people may try to log in: by address, and by name. Promises kept here: a name that nobody has is limited as any other; what
// is remembered has a fixed size, whatever is tried.

import { createHmac, randomBytes } from 'node:crypto'
import { networkOf } from '../../net/network.ts'

/** Failures that an address, and a name, may have at once; one of them is forgotten each 30 s. */
export const FAILURES_MAX = { address: 10, name: 30 } as const
const FORGOTTEN_EVERY_MS = 30_000
const BUCKETS = 4_096

export class LoginLimits {
  readonly #now: () => number
  readonly #addresses: Buckets
  readonly #names: Buckets

  constructor(now: () => number) {
    this.#now = now
    this.#addresses = new Buckets(FAILURES_MAX.address)
    this.#names = new Buckets(FAILURES_MAX.name)
  }

  /** Counts a try, until it is given back. Returns how long it has to wait instead, ms; 0: it may try. */
  take(address: string, name: string): number {
    const now = this.#now()
    const of = networkOf(address)
    const waits = Math.max(this.#addresses.wait(of, now), this.#names.wait(name, now))
    if (waits > 0) return waits
    this.#addresses.add(of, 1, now)
    this.#names.add(name, 1, now)
    return 0
  }

  /** The try was no failure. */
  giveBack(address: string, name: string): void {
    const now = this.#now()
    this.#addresses.add(networkOf(address), -1, now)
    this.#names.add(name, -1, now)
  }
}

/** Failures by a text. Two texts may share a bucket; nobody outside knows which. */
class Buckets {
  readonly #secret = randomBytes(32)
  readonly #failures = new Float64Array(BUCKETS)
  readonly #at = new Float64Array(BUCKETS)
  readonly #max: number

  constructor(max: number) {
    this.#max = max
  }

  #of(text: string, now: number): number {
    const digest = createHmac('sha256', this.#secret).update(text).digest()
    const bucket = digest.readUInt32BE() % BUCKETS
    const forgotten = Math.max(0, now - this.#at[bucket]!) / FORGOTTEN_EVERY_MS
    this.#failures[bucket] = Math.max(0, this.#failures[bucket]! - forgotten)
    this.#at[bucket] = now
    return bucket
  }

  wait(text: string, now: number): number {
    const over = this.#failures[this.#of(text, now)]! - (this.#max - 1)
    return over > 0 ? Math.ceil(over * FORGOTTEN_EVERY_MS) : 0
  }

  add(text: string, failures: number, now: number): void {
    const bucket = this.#of(text, now)
    this.#failures[bucket] = Math.max(0, this.#failures[bucket]! + failures)
  }
}
