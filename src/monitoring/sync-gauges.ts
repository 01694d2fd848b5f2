// The part of the page that is read from elsewhere on request: the state of each sync, from the ledger. Promises kept here: what
// could not be read is not on the page, rather than an old value; each place is read at most every 5 seconds, however many
// requests come, and none is waited for longer than that.

import { COUNTED_WHEN_CLOSED, COUNTED_WHEN_SETTLED } from '../core/domain/outcomes.ts'
import type { Clock } from '../core/ports.ts'
import { FINAL_STATES } from '../core/domain/books.ts'
import type { GroupConfig, SyncConfig } from '../../config/index.ts'
import type { SyncHealth, Syncs } from '../ledger/ledger.ts'
import { labelsOf, MIRROR_OUTCOMES } from './ledger-metrics.ts'
import { overdueAfterSeconds } from './overdue.ts'
import { COLLECTED, type CollectedPart, type Metrics } from './metrics.ts'
import { withTimeout } from './timeout.ts'

const EVERY_MS = 5_000
const WAIT_MAX_MS = 5_000

/** What the collector needs from a configuration. */
export interface CollectedConfig {
  readonly syncs: Readonly<Record<string, SyncConfig>>
  readonly groups: Readonly<Record<string, GroupConfig>>
  readonly notifications: Readonly<Record<string, unknown>>
}

export interface CollectOptions {
  readonly metrics: Metrics
  readonly ledger: Pick<Syncs, 'syncHealth'>
  readonly clock: Clock
  /** The current configuration. */
  loadConfig(): Promise<CollectedConfig>
  /** Used if the current one cannot be read. */
  readonly config: CollectedConfig
  /** Longest wait for what it reads, ms. Default 5 s. */
  readonly waitMaxMs?: number
}

/** Returns a function that updates the gauges. It never rejects. */
export function syncGauges(options: CollectOptions): () => Promise<void> {
  const { metrics, ledger, clock, waitMaxMs = WAIT_MAX_MS } = options
  let config = options.config
  let healthBySync: ReadonlyMap<string, SyncHealth> | null = null
  let readMs = -Infinity
  let reading: Promise<void> | null = null

  const missed = (part: CollectedPart) => metrics.collectErrors.add({ part })

  const read = async () => {
    const loaded = await withTimeout(options.loadConfig(), waitMaxMs)
    if (loaded) config = loaded
    else missed('config')
    const names = Object.keys(config.syncs)
    const asked = Promise.all(
      names.map(async (name) => [name, await ledger.syncHealth(name)] as const),
    )
    const health = await withTimeout(asked, waitMaxMs)
    if (!health) missed('ledger')
    healthBySync =
      health && new Map(health.flatMap(([name, one]) => (one ? [[name, one] as const] : [])))
    readMs = clock.now()
  }

  return async () => {
    if (clock.now() - readMs >= EVERY_MS)
      await (reading ??= read().finally(() => {
        reading = null
      }))
    makeKnown(metrics, config)
    showSchedules(metrics, config)
    showSyncHealth(metrics, healthBySync ?? new Map(), clock.now())
  }
}

/** To a query that computes a rate, a counter that first appears with its first increase has not increased. */
function makeKnown(
  { rows, runs, notifications, collectErrors }: Metrics,
  config: CollectedConfig,
): void {
  for (const part of COLLECTED) collectErrors.add({ part }, 0)
  for (const [sync, { kind }] of Object.entries(config.syncs)) {
    for (const labels of kind === 'mirror'
      ? MIRROR_OUTCOMES.map((outcome) => ({ outcome, reason: '' }))
      : [...COUNTED_WHEN_SETTLED, ...COUNTED_WHEN_CLOSED].map(labelsOf))
      rows.add({ sync, ...labels }, 0)
    for (const state of FINAL_STATES) runs.add({ sync, kind, state }, 0)
  }
  for (const notification of Object.keys(config.notifications))
    for (const outcome of ['sent', 'failed']) notifications.add({ notification, outcome }, 0)
}

function showSchedules({ lateAfter }: Metrics, config: CollectedConfig): void {
  lateAfter.clear()
  const { syncs, groups } = config
  for (const [sync, { schedule }] of Object.entries(syncs)) {
    const ofGroups = Object.values(groups).filter((group) => group.syncs.includes(sync))
    const after = [schedule, ...ofGroups.map((group) => group.schedule)].flatMap((each) =>
      each ? [overdueAfterSeconds(each)] : [],
    )
    if (after.length > 0) lateAfter.set({ sync }, Math.min(...after))
  }
}

function showSyncHealth(
  { runState, differences, lastSuccess, oldestPending, mirrorLag }: Metrics,
  standings: ReadonlyMap<string, SyncHealth>,
  nowMs: number,
): void {
  for (const gauge of [runState, differences, lastSuccess, oldestPending, mirrorLag]) gauge.clear()
  const age = (time: string) => Math.max(0, (nowMs - Date.parse(time)) / 1_000)
  for (const [
    sync,
    { kind, state, reason, differs, succeededAt, waitingSince, streams },
  ] of standings) {
    runState.set({ sync, kind, state, reason: reason ?? '' }, 1)
    differences.set({ sync }, differs ? 1 : 0)
    if (succeededAt !== null) lastSuccess.set({ sync, kind }, Date.parse(succeededAt) / 1_000)
    else if (FINAL_STATES.includes(state)) lastSuccess.set({ sync, kind }, 0)
    if (kind === 'import')
      oldestPending.set({ sync }, waitingSince === null ? 0 : age(waitingSince))
    for (const [stream, since] of streams) mirrorLag.set({ sync, stream }, age(since))
  }
}
