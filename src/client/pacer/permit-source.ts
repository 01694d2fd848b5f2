// Where a process gets its permits: from a quota of its own in memory, or from the row that several processes share
// (leased-permits.ts). All times are on the process's clock.

import { randomUUID } from 'node:crypto'
import type { Clock } from '../../core/ports.ts'
import type { ByPriority } from './consumers.ts'
import { OrgQuota, type PermitGrant, type PermitOutcome, type QuotaSettings } from './org-quota.ts'

/** How close together exchanges may be, ms. */
export interface PollInterval {
  readonly usualMs: number
  /** For an interactive caller, or a report of a refusal. */
  readonly urgentMs: number
  /**
   * Added to all but urgent intervals, with another value each time: if processes asked in step, the first would take everything
   * that is available every time.
   */
  spreadMs(): number
}

export interface PermitSource {
  readonly pace: PollInterval
  /** Delivers reports, and asks for permits. Fails only if our own code does. */
  exchange(
    reports: readonly PermitOutcome[],
    wanted: ByPriority,
    settings: QuotaSettings,
  ): Promise<PermitGrant>
  /** Starts no further exchange. */
  close(): void
}

export function localPermits(clock: Clock): PermitSource {
  const user = { id: randomUUID(), name: 'this process' }
  const quota = OrgQuota.restore(null, clock.now())
  return {
    pace: { usualMs: 0, urgentMs: 0, spreadMs: () => 0 },
    exchange: async (reports, wanted, settings) =>
      quota.exchange({ user, reports, wanted, everyMs: 0, settings }, clock.now()),
    close() {},
  }
}
