// The plan of an import: it is staged into the ledger, counted by SQL, and its rows are taken out again. Nothing is written to
// the service.

import { SyncError } from '../../core/errors.ts'
import type { Json } from '../../core/json.ts'
import { silentLogger, systemClock, type BulkPriority } from '../../core/ports.ts'
import { approvalText, type LimitExceeded } from '../../core/domain/limit-exceeded.ts'
import type { RemovalCounts } from '../../core/domain/removals.ts'
import type { ImportSync } from '../../../config/index.ts'
import type { RecordsClient } from '../../client/index.ts'
import {
  DEFAULT_IMPORT_TUNING,
  readsAll,
  requestsOf,
  reviewLimits,
  stage,
  type ImportDeps,
} from '../../import/index.ts'
import type { Ledger, Run, RunReports, Runs } from '../../ledger/ledger.ts'
import type { Source } from '../../sources/source.ts'
import { EXIT, type CommandContext } from '../shared/context.ts'
import type { Forecast } from '../shared/forecast.ts'
import { stagingProgress } from '../views/live-progress.ts'
import { paceOf, progressParts } from '../views/progress-line.ts'
import { RateMeter } from '../views/rate.ts'
import { printPlannedRemovals, readPlannedRemovals } from '../views/removals.ts'
import {
  printRejectGroups,
  REJECT_GROUPS_SHOWN,
  rejectGroupToJson,
} from '../views/reject-groups.ts'
import { noneValidText } from './check-rows.ts'
import { writeFolder } from './rejects.ts'
import { countText, printWrapped, safeText, table, type Terminal } from '../shared/terminal.ts'
import { printJson } from '../json.ts'

/** What the plan of either kind is made with. */
export interface PlanParts {
  /** Of the service that is written to, or mirrored. */
  readonly client: RecordsClient
  readonly keyFingerprint: string
  connect(name: string): Promise<{ client: RecordsClient; keyFingerprint: string }>
  /** How long so many requests take, by what is known of the quota by then. Default: as urgent as the sync itself. */
  forecastOf(requests: number, priority?: BulkPriority): Promise<Forecast>
}

export interface PlanOptions {
  /** A folder for the rows that would be rejected: a file for each kind of error. */
  readonly rejects?: string | undefined
}

export async function planImport(
  context: CommandContext,
  sync: ImportSync,
  parts: PlanParts,
  options: PlanOptions,
): Promise<number> {
  const { terminal } = context
  const ledger = await context.openLedger({ readOnly: false })
  let run: Run | null = null
  try {
    run = await openPlan(ledger, sync)
    const plan = await makePlan(context, sync, parts, { ledger, run })
    if (options.rejects !== undefined) await writeRejects(context, ledger, run, options.rejects)
    if (context.json) printJson(terminal, planToJson(sync, plan))
    else printPlan(terminal, sync, plan)
    return EXIT.done
  } finally {
    terminal.endLive()
    if (run !== null) await ledger.discard(run.id)
    await ledger.close()
  }
}

async function openPlan(ledger: Runs, sync: ImportSync): Promise<Run> {
  const opened = await ledger.openRun({
    sync: sync.name,
    kind: sync.kind,
    mode: 'plan',
    workflowId: '',
    workflowRunId: '',
    config: sync as unknown as Json,
  })
  if (!('run' in opened)) throw new SyncError('plan_failed', 'The ledger refused to open a plan')
  return opened.run
}

type ImportPlan = Awaited<ReturnType<typeof makePlan>>

/** Stages the rows, and asks the ledger and the quota about them. */
async function makePlan(
  context: CommandContext,
  sync: ImportSync,
  { client, keyFingerprint, connect, forecastOf }: PlanParts,
  { ledger, run }: { readonly ledger: Ledger; readonly run: Run },
) {
  const { createSourceOpeners } = await import('../../resources/openers.ts')
  const { openSource } = await import('../../sources/index.ts')
  let rows = 0
  let source: Source | null = null
  const meter = new RateMeter()
  const deps: ImportDeps<Ledger> = {
    ledger,
    client,
    clock: systemClock,
    logger: silentLogger,
    tuning: DEFAULT_IMPORT_TUNING,
    signal: new AbortController().signal,
    priority: 'import',
    beat: (read = 0) => {
      rows += read
      const now = stagingProgress(rows, source?.readShare?.() ?? null)
      const parts = [sync.name, ...progressParts(now, paceOf(meter, systemClock.now(), now))]
      if (!context.json) context.terminal.live(parts.join('  '))
    },
  }
  const openers = createSourceOpeners(context, connect)
  const staged = await stage(deps, { run: run.id, sync, keyFingerprint }, async (extent) => {
    source = await openSource(sync, openers, undefined, extent)
    return source
  })
  context.terminal.endLive()
  const { planned, invalid } = staged
  const noneValid = invalid > 0 && invalid === staged.rows ? [noneValidText(invalid)] : []
  const known = await ledger.knownKeys(run.id)
  const links = (await ledger.progress(run.id)).links ?? null
  const requests = await requestsOf(client, sync.import, {
    rows: planned,
    known,
    links: links?.planned ?? 0,
    targets: links?.planned ?? 0,
    removals: staged.removals.planned ?? 0,
  })
  return {
    staged: { ...staged, warnings: [...staged.warnings, ...noneValid] },
    /** Keys that were accepted before. */
    known,
    /** Null if the sync has none. */
    links,
    groups: await describedGroups(ledger, run.id),
    /** The first records that would be removed, or are held back. */
    removals: await readPlannedRemovals(ledger, run.id),
    /** Limits of the sync that the plan exceeds. */
    excesses: await reviewLimits(deps, {
      run: run.id,
      config: sync.import,
      schema: null,
      planned,
      isRegular: readsAll(run),
      looksUp: false,
    }),
    forecast: await forecastOf(requests),
  }
}

async function writeRejects(
  context: CommandContext,
  ledger: RunReports & Runs,
  { id }: Run,
  directory: string,
): Promise<void> {
  const { terminal } = context
  // With --json standard output is the plan's alone.
  const own = context.json ? { ...context, terminal: { ...terminal, out: terminal.err } } : context
  await writeFolder(own, ledger, (await ledger.run(id))!, { directory, exact: false })
}

const planToJson = (
  sync: ImportSync,
  {
    staged: { links: _counts, carriedLinks: _carried, ...staged },
    known,
    links,
    groups,
    excesses,
    forecast,
  }: ImportPlan,
) => ({
  sync: sync.name,
  kind: sync.kind,
  ...staged,
  rows_read: staged.rows,
  states: {
    planned: staged.planned,
    unchanged: staged.unchanged,
    superseded: staged.superseded,
    invalid: staged.invalid,
    ...(staged.corrected !== undefined && { corrected: staged.corrected }),
    ...(staged.withdrawn !== undefined && { withdrawn: staged.withdrawn }),
  },
  ...(links && {
    links: { read: links.read, planned: links.planned, unchanged: links.unchanged },
  }),
  known_keys: known,
  new_keys: staged.planned - known,
  requests: forecast.requests,
  requests_per_minute: forecast.perMinute,
  minutes: forecast.minutes,
  asks_first: excesses,
  rejects: groups.map(rejectGroupToJson),
})

function printPlan(terminal: Terminal, sync: ImportSync, plan: ImportPlan): void {
  const { staged, known, links, groups, forecast } = plan
  const created = staged.planned - known
  terminal.out(`Plan of ${sync.name} (nothing was written):`)
  terminal.out(
    table(
      ['', 'rows'],
      [
        ['read', staged.rows],
        ['to send', staged.planned],
        ['  keys accepted before', known],
        ['  keys new to us', created],
        ['unchanged', staged.unchanged],
        ['superseded by a later row', staged.superseded],
        ...(staged.corrected
          ? [['corrected by a retry, old in the source', staged.corrected] as const]
          : []),
        ['invalid', staged.invalid],
        ...removalRows(sync, staged.removals, staged.withdrawn ?? 0),
        ['cells that clear a property', staged.cleared],
        ...(links
          ? [
              ['links', links.read],
              ['  to send, at most', links.planned],
              ['  linked before', links.unchanged],
            ]
          : []),
      ],
    ),
  )
  printWrapped(terminal, forecast.text)
  for (const ask of asksText(sync.import, plan.excesses, { planned: staged.planned, created }))
    printWrapped(terminal, ask, { style: 'yellow' })
  for (const warning of staged.warnings)
    terminal.out(terminal.style('yellow', `warning: ${safeText(warning, 1_000)}`))
  printPlannedRemovals(terminal, plan.removals, staged.removals)
  printRejectGroups(terminal, groups, false)
  const expectations = groups
    .slice(0, REJECT_GROUPS_SHOWN)
    .filter(({ detail }) => detail !== null)
    .map(({ reason, column, detail }) => {
      const where = [reason, ...(column === null ? [] : [safeText(column, 30)])].join(', ')
      return `${where}: ${safeText(detail!, 300)}`
    })
  for (const expectation of new Set(expectations)) printWrapped(terminal, expectation)
}

/** Rows that ask for a deletion, and records that a run would remove; nothing for a sync that removes none. */
function removalRows(
  { import: { missing_rows: missing = 'ignore', delete_when: when } }: ImportSync,
  { planned = 0, unsent = 0, not_tracked: untracked = 0 }: RemovalCounts,
  withdrawn: number,
): [string, number][] {
  if (missing === 'ignore' && when === undefined) return []
  return [
    ...(when === undefined ? [] : ([['asking for a deletion', withdrawn]] as [string, number][])),
    [
      typeof missing === 'object'
        ? 'records without a row, to be changed'
        : 'records without a row, to be deleted',
      planned,
    ],
    ...(unsent > 0
      ? ([['  held back: their rows may be there', unsent]] as [string, number][])
      : []),
    ...(untracked > 0 ? ([['  never written by this sync', untracked]] as [string, number][]) : []),
  ]
}

/** What a run asks a person first, by the limits of the sync; `created`: rows whose keys no run has brought in. */
function asksText(
  { creates_max_percent: createsMax }: ImportSync['import'],
  excesses: readonly LimitExceeded[],
  { planned, created }: { readonly planned: number; readonly created: number },
): string[] {
  const isAsked = createsMax !== undefined && created * 100 > planned * createsMax
  return [
    ...(excesses.length > 0 ? [`A run asks first: ${approvalText(planned, excesses)}`] : []),
    ...(isAsked
      ? [
          `A run looks up ${countText(created, 'key')}, and asks first where more than ${createsMax} % of its rows are new records (creates_max_percent)`,
        ]
      : []),
  ]
}

/** The kinds of rejects, each with what was expected in its first row. */
async function describedGroups(ledger: RunReports, run: number) {
  const groups = await ledger.rejectGroups(run)
  const described: ((typeof groups)[number] & { readonly detail: string | null })[] = []
  for (const group of groups) {
    const { state, example, reason, field } = group
    const first = { states: [state], after: example - 1, limit: 1 }
    const [item] = await ledger.report(run, first)
    const found =
      item && [item, ...item.more].find((one) => one.reason === reason && one.field === field)
    described.push({ ...group, detail: found?.detail ?? null })
  }
  return described
}
