// Where a process gets its permits: from a quota of its own in memory, or from the row that several processes share
// (shared-desk.ts). All times are those of the process's clock.

import { randomUUID } from 'node:crypto'
import type { Clock } from '../../core/ports.ts'
import { OrgQuota } from './org-quota.ts'
import type { PermitExchange, PermitGrant, QuotaSettings, PermitOutcome } from './org-quota.ts'

/** Permits wanted, by priority. */
export type PermitsWanted = PermitExchange['wanted']

/** How close together exchanges may be, ms. */
export interface PollInterval {
  readonly usualMs: number
  /** For an interactive caller, or a report of a refusal. */
  readonly urgentMs: number
  /**
   * Comes on top of all but what is urgent, another value each time: of processes that asked in step, the first would
   * take what there is every time.
   */
  spreadMs(): number
}

export interface PermitSource {
  readonly pace: PollInterval
  /** Delivers reports, and asks for permits. Fails only where our own code does. */
  exchange(
    reports: readonly PermitOutcome[],
    wanted: PermitsWanted,
    settings: QuotaSettings,
  ): Promise<PermitGrant>
  /** Begins nothing more. */
  close(): void
}

/** A desk whose quota nobody shares. */
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
