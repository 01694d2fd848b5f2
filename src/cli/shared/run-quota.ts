// The quota that a run uses, as all processes know it: what it waits for, and how long the rest takes at least.

import type { Config } from '../../../config/index.ts'
import { UNLIMITED_PER_MINUTE } from '../../client/pacer/memory.ts'
import { forecastMinutes, type QuotaView } from '../../client/pacer/view.ts'
import { BATCH_ITEMS_MAX } from '../../contract/index.ts'
import { ownValue } from '../../core/json.ts'
import { systemClock, type QuotaStore } from '../../core/ports.ts'
import type { Run } from '../../ledger/ledger.ts'
import type { LiveProgress } from '../views/live-progress.ts'
import type { CommandContext } from './context.ts'
import { findQuotas, readHeldUp, readKeyQuota } from './forecast.ts'
import { countText, elapsedText, formatNumber, utc } from './terminal.ts'

const READ_EVERY_MS = 2_000

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

/** That every request is refused, since when, and what the service asks for; null if it does not refuse all. */
export function refusalsText(
  { refusals }: Pick<QuotaView, 'refusals'>,
  nowMs: number,
): string | null {
  if (refusals === null) return null
  const { sinceMs, requests, retryAfterMs } = refusals
  const asked =
    retryAfterMs === null ? 'no Retry-After' : `Retry-After ${elapsedText(retryAfterMs)}`
  return `the service refuses every request (429) since ${utc(sinceMs, nowMs)}: ${countText(requests, 'refusal')}, ${asked}`
}

/** The same for programs. */
export const refusalsToJson = ({ refusals }: Pick<QuotaView, 'refusals'>) =>
  refusals && {
    since: new Date(refusals.sinceMs).toISOString(),
    requests: refusals.requests,
    retry_after_seconds: refusals.retryAfterMs === null ? null : refusals.retryAfterMs / 1_000,
  }

/** `quota 520 of 600 a minute, 80 by others`; null where nothing limits. */
export function quotaText(view: QuotaView, nowMs: number): string | null {
  const { closedUntilMs, limitPerMinute: limit, lastMinute } = view
  const refused = refusalsText(view, nowMs)
  const waits =
    closedUntilMs === null ? null : `waits for the quota until ${utc(closedUntilMs, nowMs)}`
  if (refused !== null || waits !== null) return [waits, refused].filter(Boolean).join(': ')
  if (limit === null || limit >= UNLIMITED_PER_MINUTE) return null
  const { ours, others } = lastMinute
  const theirs = Math.round(others)
  const used = formatNumber(Math.round(ours + others))
  const shared = theirs > 0 ? `, ${formatNumber(theirs)} by others` : ''
  return `quota ${used} of ${formatNumber(limit)} a minute${shared}`
}

/** Requests that say how many rows one takes. */
const REQUESTS_MIN = 5

/** How long the rows that are left to be sent take at least, ms: the quota grants no more requests. Null if nothing is known. */
export function quotaLeftMs(
  view: QuotaView,
  { phase, work, counters }: Pick<LiveProgress, 'phase' | 'work' | 'counters'>,
  run: Pick<Run, 'kind' | 'purpose'>,
): number | null {
  if (phase !== 'sending' || work === null || work.total === null) return null
  const { requests = 0 } = counters ?? {}
  const seen = requests >= REQUESTS_MIN ? work.done / requests : BATCH_ITEMS_MAX
  const perRequest = Math.min(BATCH_ITEMS_MAX, Math.max(1, seen))
  const left = Math.ceil(Math.max(0, work.total - work.done) / perRequest)
  const minutes = forecastMinutes(view, left, run.purpose === 'backfill' ? 'backfill' : run.kind)
  return minutes === null ? null : minutes * 60_000
}

/** The quotas of runs that are looked at again and again; each is read every 2 s at most. */
export class RunQuotas {
  readonly #context: CommandContext
  readonly #config: Config
  readonly #views = new Map<number, { readonly view: QuotaView | null; readonly at: number }>()
  #store: QuotaStore | null = null

  constructor(context: CommandContext, config: Config) {
    this.#context = context
    this.#config = config
  }

  async of(run: Run): Promise<QuotaView | null> {
    const now = systemClock.now()
    const known = this.#views.get(run.id)
    if (known && now - known.at < READ_EVERY_MS) return known.view
    this.#store ??= await findQuotas(this.#context)
    const view = this.#store && (await readRunQuota(this.#config, this.#store, run))
    this.#views.set(run.id, { view, at: now })
    return view
  }

  forget(run: number): void {
    this.#views.delete(run)
  }

  async close(): Promise<void> {
    await this.#store?.close()
  }
}
