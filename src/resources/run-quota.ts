// The quota that a run uses, as all processes know it, and how long the rest of the run takes at least.

import type { Config } from '../../config/index.ts'
import { forecastMinutes, readQuotaView, type QuotaView } from '../client/pacer/view.ts'
import { BATCH_ITEMS_MAX, IN_VALUES_MAX } from '../contract/index.ts'
import { SyncError } from '../core/errors.ts'
import { ownValue } from '../core/json.ts'
import { formatNumber, utc } from '../core/format.ts'
import { repeatedLooks } from '../core/domain/look-ups.ts'
import type { BulkPriority, QuotaStore } from '../core/ports.ts'
import type { Run } from '../ledger/ledger.ts'
import type { LiveProgress } from '../report/live-progress.ts'

/** What is known of a quota is worth no failure: null where it cannot be read. */
export async function orUnknown<Result>(work: () => Promise<Result>): Promise<Result | null> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof SyncError) return null
    throw error
  }
}

/** Of a quota with more requests a minute no wait is worth a word. */
const SLOW_PER_MINUTE = 60
/** A request that may go so soon is not waited for. */
const SOON_MS = 1_000

type Waited = Pick<QuotaView, 'limitPerMinute' | 'available' | 'closedUntilMs' | 'users' | 'nextMs'>

/** Whether requests wait for a quota that lets one through every few seconds only. */
function isWaitedFor({ limitPerMinute: limit, available, users }: Waited): boolean {
  if (limit === null || available === null) return false
  const most = Math.max(...Object.values(available))
  return most < SLOW_PER_MINUTE && users.some(({ waiting }) => Object.values(waiting).some(Boolean))
}

/** Until when a run waits for its quota, ms; null if it does not, or not for long. */
export function quotaWaitUntil(view: Waited, nowMs: number): number | null {
  if (view.closedUntilMs !== null) return view.closedUntilMs
  const { nextMs } = view
  return isWaitedFor(view) && nextMs !== null && nextMs - nowMs >= SOON_MS ? nextMs : null
}

/** `waits for the quota: 5 requests a minute, next at 10:03:00 UTC`; null if a run does not wait for it. */
export function quotaWaitText(
  view: Waited,
  run: Pick<Run, 'kind' | 'purpose'>,
  nowMs: number,
): string | null {
  const until = quotaWaitUntil(view, nowMs)
  if (view.closedUntilMs !== null) return `waits for the quota until ${utc(until!, nowMs)}`
  if (!isWaitedFor(view)) return null
  const limit = view.limitPerMinute!
  const ours = view.available![priorityOf(run)]
  const pace =
    ours >= limit ? formatNumber(limit) : `${formatNumber(ours)} of ${formatNumber(limit)}`
  const next = until === null ? '' : `, next at ${utc(until, nowMs)}`
  return `waits for the quota: ${pace} requests a minute${next}`
}

const priorityOf = ({ kind, purpose }: Pick<Run, 'kind' | 'purpose'>): BulkPriority =>
  purpose === 'backfill' ? 'backfill' : kind

/** The quota at an origin that is closed for longest, refuses every request, or is waited for; null if none is, or it cannot be read. */
export async function readHeldUp(store: QuotaStore, origin: string): Promise<QuotaView | null> {
  return await orUnknown(async () => {
    const { nowMs, orgs } = await store.all()
    const held = orgs
      .filter(({ org }) => org.startsWith(`${origin} `))
      .map(({ org, state }) => readQuotaView(org, state, nowMs))
      .filter((view) => view.closedUntilMs !== null || view.refusals !== null || isWaitedFor(view))
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

/** Look-ups of a batch: one for two of them, and those that are repeated. */
export const lookUpsOfBatch = (perMinute: number | null): number =>
  BATCH_ITEMS_MAX / IN_VALUES_MAX + repeatedLooks(perMinute)

/** Requests that say how many rows one takes. */
const REQUESTS_MIN = 5

/** The requests that are left to be sent, and how long they take at least, ms: the quota grants no more. Null: nothing is known. */
export function quotaLeft(
  view: QuotaView,
  {
    phase,
    work,
    counters,
    looksFirst,
  }: Pick<LiveProgress, 'phase' | 'work' | 'counters' | 'looksFirst'>,
  run: Pick<Run, 'kind' | 'purpose'>,
): { readonly requests: number; readonly ms: number | null } | null {
  if (phase !== 'sending' || work === null || work.total === null) return null
  const priority = priorityOf(run)
  const { requests = 0 } = counters ?? {}
  const seen = requests >= REQUESTS_MIN && work.done > 0 ? work.done / requests : BATCH_ITEMS_MAX
  const perRequest = Math.min(BATCH_ITEMS_MAX, Math.max(1, seen))
  const batches = Math.ceil(Math.max(0, work.total - work.done) / perRequest)
  const perMinute = view.available?.[priority] ?? null
  const left = looksFirst ? Math.ceil(batches * (1 + lookUpsOfBatch(perMinute))) : batches
  const minutes = forecastMinutes(view, left, priority)
  return { requests: left, ms: minutes === null ? null : minutes * 60_000 }
}

/** The time alone. */
export const quotaLeftMs = (...of: Parameters<typeof quotaLeft>): number | null =>
  quotaLeft(...of)?.ms ?? null
