// The quota that a run uses, as all processes know it, and how long the rest of the run takes at least.

import type { Config } from '../../config/index.ts'
import { forecastMinutes, readQuotaView, type QuotaView } from '../client/pacer/view.ts'
import { BATCH_ITEMS_MAX } from '../contract/index.ts'
import { SyncError } from '../core/errors.ts'
import { ownValue } from '../core/json.ts'
import type { QuotaStore } from '../core/ports.ts'
import type { Run } from '../ledger/ledger.ts'
import type { LiveProgress } from '../report/live-progress.ts'

/** What is known of a quota is worth no failure: null where it cannot be read. */
async function orUnknown<Result>(work: () => Promise<Result>): Promise<Result | null> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof SyncError) return null
    throw error
  }
}

/** The quota at an origin that is closed for longest, or that refuses every request; null if none is, or it cannot be read. */
export async function readHeldUp(store: QuotaStore, origin: string): Promise<QuotaView | null> {
  return await orUnknown(async () => {
    const { nowMs, orgs } = await store.all()
    const held = orgs
      .filter(({ org }) => org.startsWith(`${origin} `))
      .map(({ org, state }) => readQuotaView(org, state, nowMs))
      .filter(({ closedUntilMs, refusals }) => closedUntilMs !== null || refusals !== null)
    return held.toSorted((a, b) => (b.closedUntilMs ?? 0) - (a.closedUntilMs ?? 0))[0] ?? null
  })
}

/** The quota of a key's org, from its row; null if there is none yet, or it cannot be read: a forecast is worth no failure. */
export async function readKeyQuota(
  store: QuotaStore,
  key: { readonly origin: string; readonly fingerprint: string },
): Promise<QuotaView | null> {
  const name = `${key.origin} key#${key.fingerprint}`
  return await orUnknown(async () => {
    const org = (await store.orgOfKey(name)) ?? name
    const { nowMs, orgs } = await store.all()
    const row = orgs.find((one) => one.org === org)
    return row ? readQuotaView(org, row.state, nowMs) : null
  })
}

/**
 * The quota of the org of the run's key. Before the run has a key, what the service holds up: what it says to one key of ours it says
 * to the run. Null before the first request, or if its connection is not configured any more.
 */
export async function readRunQuota(
  { connections, syncs }: Pick<Config, 'connections' | 'syncs'>,
  quotas: QuotaStore,
  run: Pick<Run, 'sync' | 'keyFingerprint'>,
): Promise<QuotaView | null> {
  const sync = ownValue(syncs, run.sync)
  const connection = sync && connections[sync.kind === 'import' ? sync.import.to : sync.mirror.from]
  if (!connection) return null
  const { origin } = new URL(connection.service)
  const { keyFingerprint: fingerprint } = run
  return fingerprint === null
    ? await readHeldUp(quotas, origin)
    : await readKeyQuota(quotas, { origin, fingerprint })
}

/** Requests that say how many rows one takes. */
const REQUESTS_MIN = 5

/** The requests that are left to be sent, and how long they take at least, ms: the quota grants no more. Null: nothing is known. */
export function quotaLeft(
  view: QuotaView,
  { phase, work, counters }: Pick<LiveProgress, 'phase' | 'work' | 'counters'>,
  run: Pick<Run, 'kind' | 'purpose'>,
): { readonly requests: number; readonly ms: number | null } | null {
  if (phase !== 'sending' || work === null || work.total === null) return null
  const { requests = 0 } = counters ?? {}
  const seen = requests >= REQUESTS_MIN ? work.done / requests : BATCH_ITEMS_MAX
  const perRequest = Math.min(BATCH_ITEMS_MAX, Math.max(1, seen))
  const left = Math.ceil(Math.max(0, work.total - work.done) / perRequest)
  const minutes = forecastMinutes(view, left, run.purpose === 'backfill' ? 'backfill' : run.kind)
  return { requests: left, ms: minutes === null ? null : minutes * 60_000 }
}

/** The time alone. */
export const quotaLeftMs = (...of: Parameters<typeof quotaLeft>): number | null =>
  quotaLeft(...of)?.ms ?? null
