// Seeded faults, so that users can rehearse a bad day. Promise kept here: the same seed and the same order of requests
// give the same faults.

export const FAULT_KINDS = [
  /** The connection breaks, nothing is done. */
  'reset_before',
  /** The work is done, then the connection breaks. */
  'reset_after',
  /** The work is done, half of the answer arrives. */
  'torn_body',
  /** A proxy answers in HTML, nothing is done. */
  'html_502',
  /** The service answers 503, nothing is done. */
  'unavailable_503',
  /** Some items of a batch are answered 503 and not stored. */
  'item_503',
  /** A cursor is refused as if it were older than 24 hours. */
  'expired_cursor',
] as const
export type FaultKind = (typeof FAULT_KINDS)[number]

export interface FaultPlan {
  readonly seed: number
  /** Share of requests, 0 to 1. */
  readonly rate: number
  readonly kinds: readonly FaultKind[]
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
  private readonly random: () => number
  private readonly plan: FaultPlan

  constructor(plan: FaultPlan) {
    this.plan = plan
    this.random = seededRandom(plan.seed)
  }

  /** The fault of the next request, or null. */
  next(): FaultKind | null {
    const { rate, kinds } = this.plan
    if (kinds.length === 0 || this.random() >= rate) return null
    return kinds[Math.floor(this.random() * kinds.length)]!
  }

  /** Whether an item of a batch under `item_503` fails: every second one or so. */
  itemFails(): boolean {
    return this.random() < 0.5
  }
}
