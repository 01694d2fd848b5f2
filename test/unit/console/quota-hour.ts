// An hour of requests in the quota of an org, as processes would have used it, for pages that show it.

import { DEFAULT_QUOTA_SETTINGS, OrgQuota } from '../../../src/client/pacer/org-quota.ts'
import type { Priority, QuotaStore } from '../../../src/core/ports.ts'

const NOBODY = { interactive: 0, import: 0, mirror: 0, backfill: 0 }
const MINUTES = 60

export interface HourOptions {
  readonly org?: string
  readonly user?: string
  /** The key whose org it is, as `<origin> key#<fingerprint>`. */
  readonly key?: string
}

/** Imports all the time, a mirror in the last half, people now and then; some requests are refused. */
export async function fillQuotaHour(
  store: QuotaStore,
  {
    org = 'http://127.0.0.1:9 org 7',
    user = 'worker 4711 on desk',
    key = 'http://127.0.0.1:9 key#1a2b3c4d5e6f',
  }: HourOptions = {},
): Promise<void> {
  await store.noteOrgOfKey(key, org)
  await store.update(org, (_, nowMs) => {
    const first = nowMs - (MINUTES - 1) * 60_000
    const quota = OrgQuota.restore(null, first)
    const use = (priority: Priority, ms: number, status: number) => {
      const exchange = {
        user: { id: 'a', name: user },
        everyMs: 0,
        settings: { ...DEFAULT_QUOTA_SETTINGS, reserve: 0.1 },
      }
      const { permits } = quota.exchange(
        { ...exchange, reports: [], wanted: { ...NOBODY, [priority]: 1 } },
        ms,
      )
      const answer = { status, limit: '60', ...(status === 429 && { retryAfter: '1' }) }
      const reports = permits.map(({ id }) => ({ id, sentMs: ms, endedMs: ms + 10, end: answer }))
      quota.exchange({ ...exchange, reports, wanted: NOBODY }, ms + 10)
    }
    for (let minute = 0; minute < MINUTES; minute++)
      for (let second = 1; second < 50; second += 2) {
        const ms = first + minute * 60_000 + second * 1_000
        if (ms > nowMs) break
        if (minute % 20 === 7 && second === 1) use('import', ms, 429)
        else if (minute > 30 && second % 3 === 0) use('mirror', ms, 200)
        else if (minute % 9 === 4 && second === 5) use('interactive', ms, 200)
        else if (second % 60 < 10 + (minute % 25) * 1.5) use('import', ms, 200)
      }
    return { state: quota.state(nowMs), result: undefined }
  })
}
