// Every sync at a glance: how its latest run stands, when the next one begins, whether it is fresh, and what waits for a person. Promise
// kept here: it reads no item; its cost grows with the syncs, and not with their runs.

import { basename } from 'node:path'
import { z } from 'zod'
import type { Config, GroupConfig } from '../../../config/index.ts'
import { LIVE_STATES } from '../../core/domain/books.ts'
import type { ScheduleConfig } from '../../core/domain/schedule.ts'
import type { Ledger, Run } from '../../ledger/ledger.ts'
import { overdueAfterSeconds } from '../../monitoring/overdue.ts'
import { readRunOutline } from '../../report/account.ts'
import { comparisonOf } from '../../report/comparison.ts'
import { figuresOf } from '../../report/run-figures.ts'
import { latestRuns, NEVER_VERIFIED, readVerified, stateText } from '../../report/sync-status.ts'
import { reportVerdict } from '../../report/verdict.ts'
import type { FollowedRuns } from '../live-reader.ts'
import type { ConsoleParts, ScheduleState } from '../parts.ts'
import { LedgerAway, type ConsoleReadings, type TemporalReading } from '../readings.ts'
import { TEXT } from '../texts.ts'
import { orgQuota, readQuotas } from './quotas.ts'
import { barOf, toneOf } from './run-bars.ts'
import {
  count,
  countOrNull,
  liveProgress,
  runBar,
  step,
  anyText as text,
  textOrNull,
  time,
  timeOrNull,
  tone,
} from './shapes.ts'

/** Runs in the small chart of a sync. */
export const HISTORY_RUNS = 30

const syncSchedule = z.object({
  state: z.enum(['active', 'paused', 'missing', 'foreign', 'unknown']),
  when: textOrNull,
  next: timeOrNull,
  note: textOrNull,
  group: textOrNull.describe('The group whose schedule it is.'),
})

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
    live: liveProgress.nullable(),
    schedule: syncSchedule.nullable(),
    freshness,
    verified_through: timeOrNull,
    differences_left: count,
    history: z.array(runBar).describe('The newest runs, the oldest of them first.'),
    attention: z
      .object({
        tone,
        words: text,
        meaning: text,
        message: textOrNull.describe('What the run says itself.'),
        next: z.array(step),
        run: countOrNull.describe('The run that it is of.'),
      })
      .nullable()
      .describe('What waits for a person, and what helps.'),
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
  deps: Pick<OverviewDeps, 'parts' | 'now'>,
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
    live: known?.view ?? null,
    freshness: freshnessOf(config, name, health?.succeededAt ?? null, deps.now()),
    verified_through: through,
    differences_left: left,
    history: history.map(barOf).toReversed(),
    attention:
      (await attentionNow(ledger, { shown, account, followUp }, deps.parts)) ??
      idleOf(shown, temporal, deps.parts) ??
      scheduleAttention(config, name, temporal, deps.parts),
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
    live: null,
    schedule: scheduleOf(config, name, temporal),
    freshness: { state: 'none', succeeded_at: null, late_after_seconds: null },
    verified_through: NEVER_VERIFIED.through,
    differences_left: NEVER_VERIFIED.left,
    history: [],
    attention: null,
  }
}

/** The schedules that begin runs of a sync: its own, or those of its groups. */
function schedulesOf(
  { syncs, groups }: Config,
  name: string,
): { readonly of: string; readonly group: string | null; readonly schedule: ScheduleConfig }[] {
  const own = syncs[name]?.schedule
  if (own !== undefined) return [{ of: name, group: null, schedule: own }]
  const isOf = (group: GroupConfig) => group.syncs.includes(name)
  return Object.values(groups)
    .filter(isOf)
    .flatMap(({ name: group, schedule }) =>
      schedule === undefined ? [] : [{ of: group, group, schedule }],
    )
}

function scheduleOf(
  config: Config,
  name: string,
  temporal: TemporalReading | null,
): SyncGlance['schedule'] {
  const [first] = schedulesOf(config, name)
  if (first === undefined) return null
  const view: ScheduleState | undefined = temporal?.schedules.views?.get(first.of)
  if (view === undefined)
    return { state: 'unknown', when: null, next: null, note: null, group: first.group }
  const { state, when, note, next } = view
  return { state, when, next: next?.toISOString() ?? null, note, group: first.group }
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

type Account = Awaited<ReturnType<typeof readRunOutline>>
type Hints = Pick<ConsoleParts, 'hint'>

/** What a run asks of a person. */
function attentionOf(run: Run, account: Account, { hint }: Hints): SyncGlance['attention'] {
  const comparison = account && comparisonOf(run, account)
  const found = { books: account?.books ?? null, streams: account?.streams ?? null, comparison }
  const verdict = reportVerdict(run, found, hint)
  if (verdict.tone !== 'look' && verdict.tone !== 'bad') return null
  // Links that wait for their targets, or for the next run, are no work of a person.
  if (verdict.next.length === 0) return null
  const { words, meaning, next } = verdict
  const { id, message } = run
  return { tone: verdict.tone, words, meaning, message, next: [...next], run: id }
}

/** A run of all that another one left, or did, takes over what that one asks for. */
async function attentionNow(
  ledger: Ledger,
  newest: { readonly shown: Run; readonly account: Account; readonly followUp: Run | null },
  parts: Hints,
): Promise<SyncGlance['attention']> {
  const { shown, account, followUp } = newest
  if (followUp === null) return attentionOf(shown, account, parts)
  const follows = attentionOf(followUp, await readRunOutline(ledger, followUp), parts)
  return followUp.of === shown.id ? follows : (attentionOf(shown, account, parts) ?? follows)
}

/** A run that is live in the ledger alone. */
function idleOf(
  run: Run,
  temporal: TemporalReading | null,
  { hint }: Hints,
): SyncGlance['attention'] {
  const idle = temporal?.work.idle ?? null
  if (idle === null || !LIVE_STATES.includes(run.state)) return null
  return {
    tone: 'bad',
    words: TEXT.idle.words,
    meaning: TEXT.idle.meaning(idle),
    message: null,
    next: [{ text: TEXT.idle.next, command: hint('worker') }],
    run: run.id,
  }
}

/** A schedule that does not begin runs although it is configured. */
function scheduleAttention(
  config: Config,
  name: string,
  temporal: TemporalReading | null,
  { hint }: Hints,
): SyncGlance['attention'] {
  const schedule = scheduleOf(config, name, temporal)
  const of = schedule?.group ?? name
  if (schedule?.state === 'missing')
    return {
      tone: 'look',
      words: TEXT.schedules.words,
      meaning: TEXT.schedules.missing,
      message: null,
      next: [{ text: TEXT.schedules.put, command: hint('schedules apply') }],
      run: null,
    }
  if (schedule?.state === 'foreign')
    return {
      tone: 'look',
      words: TEXT.schedules.words,
      meaning: TEXT.schedules.foreign,
      message: null,
      next: [{ text: TEXT.schedules.see, command: hint('schedules plan') }],
      run: null,
    }
  if (schedule?.state === 'paused')
    return {
      tone: 'look',
      words: TEXT.schedules.pausedWords,
      meaning: TEXT.schedules.paused,
      message: schedule.note,
      next: [{ text: TEXT.schedules.resume, command: hint(`schedules resume ${of}`) }],
      run: null,
    }
  return null
}
