// How many requests of ours were accepted, by 50 ms, over the last 64 seconds. Times are seconds.

const BUCKETS_PER_S = 20
/** A little more than the minute, so that a guess of when a request was counted may lie a few seconds back. */
const KEPT = 64 * BUCKETS_PER_S

export interface UsageWindowText {
  /** Number of the first bucket since 1970. */
  readonly first: number
  readonly counts: readonly number[]
}

export class UsageWindow {
  private first: number
  private readonly counts: number[]
  private total: number

  constructor({ first, counts }: UsageWindowText = { first: 0, counts: [] }) {
    this.first = first
    this.counts = [...counts]
    this.total = sum(this.counts, 0, this.counts.length)
  }

  /** Counts `requests` at `t`; one older than the 64 seconds is forgotten at once. */
  add(t: number, requests = 1): void {
    const bucket = Math.floor(t * BUCKETS_PER_S)
    if (this.total === 0) {
      this.first = bucket
      this.counts.length = 0
    }
    const newest = this.first + this.counts.length - 1
    if (bucket <= newest - KEPT) return
    if (bucket >= newest + KEPT) {
      this.first = bucket
      this.counts.length = 0
      this.total = 0
    }
    for (; this.first > bucket; this.first--) this.counts.unshift(0)
    while (this.first + this.counts.length <= bucket) this.counts.push(0)
    this.counts[bucket - this.first]! += requests
    this.total += requests
    const surplus = this.counts.length - KEPT
    if (surplus <= 0) return
    this.total -= sum(this.counts, 0, surplus)
    this.counts.splice(0, surplus)
    this.first += surplus
  }

  /** Requests at `t` or later, whole buckets: never too few. */
  since(t: number): number {
    return this.total - sum(this.counts, 0, Math.floor(t * BUCKETS_PER_S) - this.first)
  }

  /** Requests before `t`, the bucket of `t` taken in part. */
  before(t: number): number {
    const position = t * BUCKETS_PER_S - this.first
    if (position <= 0) return 0
    if (position >= this.counts.length) return this.total
    const whole = Math.floor(position)
    return this.countedUpTo(whole) + this.counts[whole]! * (position - whole)
  }

  /** Of the buckets before `index`; added up from the nearer end, because every answer asks. */
  private countedUpTo(index: number): number {
    const { counts, total } = this
    return index < counts.length / 2
      ? sum(counts, 0, index)
      : total - sum(counts, index, counts.length)
  }

  /** When `requests` of them are certainly older than `age` seconds; null if there are fewer. */
  whenOlder(t: number, age: number, requests: number): number | null {
    let left = requests
    const end = (index: number) => (this.first + index + 1) / BUCKETS_PER_S + age
    for (let index = 0; index < this.counts.length; index++) {
      if (this.counts[index] === 0 || end(index) <= t) continue
      left -= this.counts[index]!
      if (left <= 0) return end(index)
    }
    return null
  }

  toJSON(): UsageWindowText {
    return { first: this.first, counts: this.counts }
  }
}

function sum(counts: readonly number[], from: number, to: number): number {
  let total = 0
  for (let index = Math.max(0, from); index < Math.min(to, counts.length); index++)
    total += counts[index]!
  return total
}
