// Which bulk priority goes next if several want permits: each moves forward by 1 / weight with every permit, and the one furthest
// behind is next (weighted fair queueing). A priority that wanted nothing for a while starts level with the others, so that it
// cannot save anything up.

import { BULK_PRIORITIES, type BulkPriority } from '../../core/ports.ts'

/**
 * A priority that wanted nothing for this long, in seconds, is new when it comes back. A waiting process asks at least every 5 s.
 */
const IDLE_S = 6

export type Weights = Readonly<Record<BulkPriority, number>>

export class FairShares {
  /** How far each priority has come. */
  private readonly position: Record<BulkPriority, number>
  private readonly wantedAt: Record<BulkPriority, number>

  constructor(data?: object) {
    this.position = { import: 0, mirror: 0, backfill: 0 }
    this.wantedAt = { import: -1e9, mirror: -1e9, backfill: -1e9 }
    if (data) Object.assign(this, data)
  }

  /** These priorities want permits at `t`, in any process. */
  want(priorities: ReadonlySet<BulkPriority>, t: number): void {
    const isBusy = (priority: BulkPriority) => this.wantedAt[priority] > t - IDLE_S
    const busy = BULK_PRIORITIES.filter(isBusy).map((priority) => this.position[priority])
    const level = busy.length > 0 ? Math.min(...busy) : Math.max(...Object.values(this.position))
    for (const priority of priorities) {
      if (!isBusy(priority)) this.position[priority] = Math.max(this.position[priority], level)
      this.wantedAt[priority] = t
    }
  }

  /** The one of `priorities` that is furthest behind; of equals, the earlier. */
  next(priorities: Iterable<BulkPriority>): BulkPriority | null {
    let first: BulkPriority | null = null
    for (const priority of priorities)
      if (first === null || this.position[priority] < this.position[first] - 1e-9) first = priority
    return first
  }

  granted(priority: BulkPriority, weights: Weights): void {
    this.position[priority] += 1 / weights[priority]
  }

  refunded(priority: BulkPriority, weights: Weights): void {
    this.position[priority] -= 1 / weights[priority]
  }

  /** The priorities that want permits now. */
  busy(t: number): readonly BulkPriority[] {
    return BULK_PRIORITIES.filter((priority) => this.wantedAt[priority] > t - IDLE_S)
  }
}
