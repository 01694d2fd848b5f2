// A process that exchanges with an org's quota in a time of its own, for the tests of the quota.

import { DEFAULT_QUOTA_SETTINGS, OrgQuota } from '../../../src/client/pacer/org-quota.ts'
import type {
  PermitGrant,
  QuotaSettings,
  PermitOutcome,
} from '../../../src/client/pacer/org-quota.ts'
import { readQuotaView, type QuotaView } from '../../../src/client/pacer/view.ts'
import type { Answer, Priority } from '../../../src/core/ports.ts'

export const START_MS = 1_700_000_000_000
export const nobody = { interactive: 0, import: 0, mirror: 0, backfill: 0 }

export class Scene {
  nowMs = START_MS
  quota = OrgQuota.restore(null, START_MS)
  readonly out: { id: string; sentMs: number; priority: Priority }[] = []
  settings: QuotaSettings = DEFAULT_QUOTA_SETTINGS
  askAgainMs = 0

  ask(
    wanted: Partial<Record<Priority, number>>,
    reports: readonly PermitOutcome[] = [],
    user = 'a',
    settings = this.settings,
  ): PermitGrant {
    const granted = this.quota.exchange(
      {
        user: { id: user, name: user },
        reports,
        wanted: { ...nobody, ...wanted },
        everyMs: 0,
        settings,
      },
      this.nowMs,
    )
    for (const { id, priority } of granted.permits)
      this.out.push({ id, sentMs: this.nowMs, priority })
    this.askAgainMs = granted.askAgainMs
    return granted
  }

  view(): QuotaView {
    return readQuotaView('org', this.quota.state(this.nowMs), this.nowMs)
  }

  /** Answers the request in flight with this index. */
  end(
    index: number,
    end: PermitOutcome['end'],
    wanted: Partial<Record<Priority, number>> = {},
  ): PermitGrant {
    const [{ id, sentMs }] = this.out.splice(index % this.out.length, 1) as [(typeof this.out)[0]]
    return this.ask(wanted, [{ id, sentMs, endedMs: this.nowMs, end }])
  }
}

export const told = (remaining: number, more: Partial<Answer> = {}): Answer => ({
  status: 200,
  limit: '600',
  remaining: String(remaining),
  ...more,
})
