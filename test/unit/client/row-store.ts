// A quota store in virtual time: rows in memory, a clock that may differ from the processes', a way there and back, and
// failures on demand. Whether real stores keep the same promises, test/suites/quota-store.suite.ts tells.

import { SyncError } from '../../../src/core/errors.ts'
import type { QuotaStore } from '../../../src/core/ports.ts'
import type { VirtualClock } from './virtual-time.ts'

export class RowStore implements QuotaStore {
  readonly place = 'a place of the test'
  readonly rows = new Map<string, string>()
  /** When each update began, on the processes' clock. */
  readonly asked: number[] = []
  /** `fails`: at once. `hangs`: its answers wait until it is there again. */
  mode: 'there' | 'fails' | 'hangs' = 'there'
  readonly clock: VirtualClock
  /** Its clock minus the processes'. */
  readonly aheadMs: number
  readonly oneWayMs: number
  /** How old its time is when it arrives. */
  staleMs = (): number => 0
  private readonly hanging: (() => void)[] = []

  constructor(clock: VirtualClock, { aheadMs = 0, oneWayMs = 3 } = {}) {
    this.clock = clock
    this.aheadMs = aheadMs
    this.oneWayMs = oneWayMs
  }

  async update<Result>(
    org: string,
    work: (state: string | null, nowMs: number) => { state: string; result: Result },
  ): Promise<Result> {
    this.asked.push(this.clock.now())
    await this.clock.sleep(this.oneWayMs)
    if (this.mode === 'fails') throw new SyncError('quota_failed', 'the place of the test is shut')
    if (this.mode === 'hangs') await new Promise<void>((resolve) => this.hanging.push(resolve))
    const nowMs = this.clock.now() + this.aheadMs - this.staleMs()
    const { state, result } = work(this.rows.get(org) ?? null, nowMs)
    this.rows.set(org, state)
    await this.clock.sleep(this.oneWayMs)
    return result
  }

  /** It is there again: what hangs is answered. */
  comeBack(): void {
    this.mode = 'there'
    for (const resolve of this.hanging.splice(0)) resolve()
  }

  async all() {
    const orgs = [...this.rows].map(([org, state]) => ({ org, state }))
    return { nowMs: this.clock.now() + this.aheadMs, orgs }
  }

  async orgOfKey() {
    return null
  }

  async noteOrgOfKey() {}

  async close() {}
}
