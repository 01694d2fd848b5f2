// Seeded faults, so that users can rehearse a bad day. Promise kept here: the same seed and the same order of requests
// give the same faults.

export const FAULT_KINDS = [
  /** The connection breaks, nothing is done. */
  'reset_before',
  /** The work is done, then the connection breaks. */
  'reset_after',
  /** The work is done, half of the answer arrives. */
  'torn_body',
  /** The work is done, the answer arrives in dribbles, whole and right. */
  'slow_body',
  /** A proxy answers in HTML, nothing is done. */
  'html_502',
  /** The service answers 503 with seconds to wait, nothing is done. */
  'unavailable_503',
  /** Like `unavailable_503`, but the time to wait is a date, as some proxies send it. */
  'unavailable_503_date',
  /** The service answers 500, nothing is done. */
  'internal_500_before',
  /** The work is done, the service answers 500. */
  'internal_500_after',
  /** Some items of a batch are answered 503 and not stored. */
  'item_503',
  /** Some items of a batch are answered 500 and not stored. */
  'item_500',
  /** A cursor is refused as if it were older than 24 hours. */
  'expired_cursor',
  /** A page of records holds a third of what it could, and more records follow (section 4.5). */
  'short_page',
  /** Before the work, an object type loses or gains a property. */
  'schema_change',
] as const
export type FaultKind = (typeof FAULT_KINDS)[number]

export interface FaultPlan {
  readonly seed: number
  /** Share of the requests that a kind applies to, 0 to 1. */
  readonly rate: number
  readonly kinds: readonly FaultKind[]
  /** How long a `slow_body` takes. Default 2,000 ms. */
  readonly slowBodyMs?: number
}

/** The facts that decide which faults apply to a request. */
export interface FaultTarget {
  readonly isBatch: boolean
  readonly hasCursor: boolean
  /** Whether a success is a page of records. */
  readonly isPage: boolean
  /** Whether a success has a body that can be torn or slow: the answers to a deletion and to HEAD have none. */
  readonly hasAnswerBody: boolean
}

/** Numbers from 0 to below 1, the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

export class Faults {
  readonly slowBodyMs: number
  private readonly random: () => number
  private readonly plan: FaultPlan

  constructor(plan: FaultPlan) {
    this.plan = plan
    this.slowBodyMs = plan.slowBodyMs ?? 2_000
    this.random = seededRandom(plan.seed)
  }

  /** The fault of the next request, or null. Only kinds that apply to the request are drawn, so that the rate holds for it. */
  next(victim: FaultTarget): FaultKind | null {
    if (this.random() >= this.plan.rate) return null
    const kinds = this.plan.kinds.filter((kind) => fits(kind, victim))
    return kinds.length === 0 ? null : kinds[Math.floor(this.random() * kinds.length)]!
  }

  /** Whether an item of a batch under `item_503` or `item_500` fails: about every second one. */
  itemFails(): boolean {
    return this.random() < 0.5
  }
}

function fits(kind: FaultKind, victim: FaultTarget): boolean {
  if (kind === 'item_503' || kind === 'item_500') return victim.isBatch
  if (kind === 'expired_cursor') return victim.hasCursor
  if (kind === 'short_page') return victim.isPage
  if (kind === 'torn_body' || kind === 'slow_body') return victim.hasAnswerBody
  return true
}
