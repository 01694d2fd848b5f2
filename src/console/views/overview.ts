// Every sync at a glance: how its latest run stands, when the next one begins, whether it is fresh, and what waits for a person. Promise
// kept here: it reads no item; its cost grows with the syncs, and not with their runs.

import { basename } from 'node:path'
import { z } from 'zod'
import type { Config } from '../../../config/index.ts'
import type { Ledger, Run } from '../../ledger/ledger.ts'
import { overdueAfterSeconds } from '../../monitoring/overdue.ts'
import { readRunOutline } from '../../report/account.ts'
import { figuresOf } from '../../report/run-figures.ts'
import { latestRuns, NEVER_VERIFIED, readVerified, stateText } from '../../report/sync-status.ts'
import type { FollowedRuns } from '../live-reader.ts'
import type { ConsoleDeps } from '../deps.ts'
import type { ConsoleParts } from '../parts.ts'
import { LedgerAway, type ConsoleReadings, type TemporalReading } from '../readings.ts'
import { TEXT } from '../texts.ts'
import { attention, attentionNow, idleOf, scheduleAttention } from './attention.ts'
import { countKept } from './kept-corrections.ts'
import { isNothingLeft } from './nothing-left.ts'
import { orgQuota, readQuotas } from './quotas.ts'
import { scheduleOf, schedulesOf, syncSchedule } from './schedules.ts'
import { barOf, toneOf } from './run-bars.ts'
import {
  count,
  countOrNull,
  liveProgress,
  runBar,
  anyText as text,
  time,
  timeOrNull,
  tone,
} from './shapes.ts'

/** Runs in the small chart of a sync. */
export const HISTORY_RUNS = 30

const freshness = z.object({
  state: z
    .enum(['fresh', 'late', 'never', 'none'])
    .describe('`never`: no run has succeeded yet. `none`: it has no schedule to be late for.'),
  succeeded_at: timeOrNull,
  late_after_seconds: z.number().nullable(),
})

export const syncSummary = z
  .object({
    sync: text,
    kind: z.enum(['import', 'mirror']),
    known: z
      .boolean()
      .describe('False while the ledger is away: then nothing of its runs is known.'),
    tone,
    state: text.describe('As `records-sync status` has it.'),
    run: countOrNull,
    follow_up: z
      .object({ run: count, tone, state: text })
      .nullable()
      .describe('A retry, an undo or a run of links that is newer than the run.'),
    opened_at: timeOrNull,
    closed_at: timeOrNull,
    rows: countOrNull,
    written: countOrNull,
    rejects: countOrNull,
    differ: countOrNull,
    brought_in: z.boolean().describe('Whether later runs brought in all rows that the run left.'),
    kept: count.describe('Rows of the run that are kept as corrected, and not sent yet.'),
    live: liveProgress.nullable(),
    schedule: syncSchedule.nullable(),
    freshness,
    verified_through: timeOrNull,
    differences_left: count,
    history: z.array(runBar).describe('The newest runs, the oldest of them first.'),
    attention: attention.nullable().describe('What waits for a person, and what helps.'),
  })
  .meta({ id: 'SyncGlance' })
export type SyncGlance = z.output<typeof syncSummary>

export const overview = z
  .object({
    v: z.literal(1),
    made_at: time,
    project: z.object({ file: text.describe('Name of the configuration file.') }),
    problems: z
      .array(z.object({ of: z.enum(['configuration', 'ledger', 'temporal']), text }))
      .describe('What does not answer now, or cannot be read.'),
    syncs: z.array(syncSummary),
    orgs: z.array(orgQuota),
  })
  .meta({ id: 'Overview' })
export type Overview = z.output<typeof overview>

export interface OverviewDeps {
  readonly parts: Pick<ConsoleParts, 'hint'>
  readonly visitor: ConsoleDeps['visitor']
  readonly readings: ConsoleReadings
  readLive(): Promise<FollowedRuns>
  now(): number
}

export async function readOverview(deps: OverviewDeps): Promise<Overview> {
  const { readings } = deps
  const { config, problem } = await readings.config()
  const problems: Overview['problems'] = []
  if (problem !== null) problems.push({ of: 'configuration', text: problem })
  let syncs: SyncGlance[] | null = null
  try {
    const live = await deps.readLive()
    const temporal = await readings.temporal(
      config,
      [...live.values()].map(({ run }) => run),
    )
    const unknown = temporal?.schedules.unknown ?? null
    if (unknown !== null) problems.push({ of: 'temporal', text: unknown })
    syncs = await readings.ledger((ledger) => summaries(deps, { config, ledger, live, temporal }))
    syncs ??= Object.values(config.syncs).map((sync) => unread(sync, 'never run', temporal, config))
  } catch (error) {
    if (!(error instanceof LedgerAway)) throw error
    problems.push({ of: 'ledger', text: error.message })
  }
  return {
    v: 1,
    made_at: new Date(deps.now()).toISOString(),
    project: { file: basename(config.file) },
    problems,
    syncs:
      syncs ?? Object.values(config.syncs).map((sync) => unread(sync, TEXT.unknown, null, config)),
    orgs: (await readings.quotas(readQuotas)) ?? [],
  }
}

interface Scene {
  readonly config: Config
  /** Null before the first run has made it. */
  readonly ledger: Ledger | null
  readonly live: FollowedRuns
  readonly temporal: TemporalReading | null
}

async function summaries(
  deps: OverviewDeps,
  scene: Scene & { readonly ledger: Ledger },
): Promise<SyncGlance[]> {
  const found: SyncGlance[] = []
  for (const name of Object.keys(scene.config.syncs))
    found.push(await readSummary(deps, scene, name))
  return found
}

/** A sync of the configuration. */
export async function readSummary(
  deps: Pick<OverviewDeps, 'parts' | 'now' | 'visitor'>,
  { config, ledger, live, temporal }: Scene,
  name: string,
): Promise<SyncGlance> {
  const sync = config.syncs[name]!
  const { run, followUp = null } = await latestRuns(ledger, name)
  if (ledger === null || run === undefined) return unread(sync, 'never run', temporal, config)
  const known = live.get(run.id)
  const progress = known?.progress ?? null
  const account = await readRunOutline(ledger, run)
  const [rows = null, written = null, rejects = null, differ = null] = figuresOf(
    run,
    account,
    progress,
  )
  const { through, left } = await readVerified(ledger, name)
  const history = await ledger.runBriefs(name, { limit: HISTORY_RUNS })
  const health = await ledger.syncHealth(name)
  const held = temporal?.work.held.get(run.id)
  const shown: Run = held && run.state === 'running' ? { ...run, ...held, state: 'blocked' } : run
  return {
    ...unread(sync, stateText(shown, progress), temporal, config),
    tone: toneOf(shown),
    run: run.id,
    follow_up: followUp && {
      run: followUp.id,
      tone: toneOf(followUp),
      state: stateText(followUp, null),
    },
    opened_at: run.openedAt,
    closed_at: run.closedAt,
    rows,
    written,
    rejects,
    differ,
    brought_in: followUp !== null && (await isNothingLeft(ledger, run)),
    kept: (rejects ?? 0) + (differ ?? 0) > 0 ? await countKept(ledger, run) : 0,
    live: known?.view ?? null,
    freshness: freshnessOf(config, name, health?.succeededAt ?? null, deps.now()),
    verified_through: through,
    differences_left: left,
    history: history.map(barOf).toReversed(),
    attention:
      (await attentionNow(deps, { sync, ledger, shown, account, followUp })) ??
      idleOf(deps, shown, temporal) ??
      scheduleAttention(deps, { config, sync, temporal }),
  }
}

/** A sync of whose runs nothing is known. */
function unread(
  { name, kind }: Config['syncs'][string],
  state: string,
  temporal: TemporalReading | null,
  config: Config,
): SyncGlance {
  return {
    sync: name,
    kind,
    known: state !== TEXT.unknown,
    tone: 'none',
    state,
    run: null,
    follow_up: null,
    opened_at: null,
    closed_at: null,
    rows: null,
    written: null,
    rejects: null,
    differ: null,
    brought_in: false,
    kept: 0,
    live: null,
    schedule: scheduleOf(config, name, temporal),
    freshness: { state: 'none', succeeded_at: null, late_after_seconds: null },
    verified_through: NEVER_VERIFIED.through,
    differences_left: NEVER_VERIFIED.left,
    history: [],
    attention: null,
  }
}

function freshnessOf(
  config: Config,
  name: string,
  succeeded: string | null,
  nowMs: number,
): SyncGlance['freshness'] {
  const after = schedulesOf(config, name).map(({ schedule }) => overdueAfterSeconds(schedule))
  const late = after.length === 0 ? null : Math.min(...after)
  const known = { succeeded_at: succeeded, late_after_seconds: late }
  if (late === null) return { state: 'none', ...known }
  if (succeeded === null) return { state: 'never', ...known }
  const isLate = nowMs - Date.parse(succeeded) > late * 1_000
  return { state: isLate ? 'late' : 'fresh', ...known }
}
