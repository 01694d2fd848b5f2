// The plan of an import: it is staged into the ledger, counted by SQL, and its rows are taken out again. With `--diff` its rows are
// looked up, and it is kept. Nothing is written to the service.

import { systemClock, type BulkPriority } from '../../core/ports.ts'
import { readLedgerPlace, type ImportSync } from '../../../config/index.ts'
import { requireOwnLedger } from '../../dev/known-ledgers.ts'
import type { RecordsClient } from '../../client/index.ts'
import { readsAll, requestsOf, reviewLimits, stage, type ImportDeps } from '../../import/index.ts'
import type { Ledger, Run, RunReports, Runs } from '../../ledger/ledger.ts'
import type { Source } from '../../sources/source.ts'
import { openPlan } from '../../runs/open-plan.ts'
import { EXIT, type CommandContext } from '../shared/context.ts'
import type { Forecast } from '../shared/forecast.ts'
import { planDeps } from '../../actions/plan-deps.ts'
import { importPlanToJson, printImportPlan, type ImportPlan } from '../views/import-plan.ts'
import { stagingProgress } from '../../report/live-progress.ts'
import { paceOf, progressParts } from '../views/progress-line.ts'
import { RateMeter } from '../../report/rate.ts'
import { readPlannedRemovals } from '../views/removals.ts'
import { noneValidText } from './check-rows.ts'
import { keepPlan, showKeptPlan, type PlanDiffOptions } from './plan-diff.ts'
import { writeFolder } from './rejects.ts'
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

export interface PlanOptions extends PlanDiffOptions {
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
  const config = await context.loadConfig()
  const ledger = await context.openLedger({ readOnly: false })
  let run: Run | null = null
  let isKept = false
  try {
    const place = await readLedgerPlace(config.ledger, context.env)
    await requireOwnLedger(config, { place, ledger, syncs: [sync.name] })
    run = await openPlan(ledger, sync)
    const deps = planDeps(ledger, parts.client)
    const { diff, sample, limitRequests } = options
    const isPart = sample !== undefined || limitRequests !== undefined
    const appliesPlan = diff === true && !isPart
    const plan = await makePlan(context, sync, parts, { deps, run, appliesPlan })
    if (options.rejects !== undefined) await writeRejects(context, ledger, run, options.rejects)
    if (options.diff === true) {
      await keepPlan(context, deps, { run: run.id, plan }, options)
      isKept = true
      await showKeptPlan(context, ledger, run.id, options)
    } else if (context.json) printJson(terminal, importPlanToJson(sync, plan))
    else printImportPlan(terminal, sync, plan)
    return EXIT.done
  } finally {
    terminal.endLive()
    if (run !== null && !isKept) await ledger.discard(run.id)
    await ledger.close()
  }
}

/** Stages the rows, and asks the ledger and the quota about them. */
async function makePlan(
  context: CommandContext,
  sync: ImportSync,
  { client, keyFingerprint, connect, forecastOf }: PlanParts,
  {
    deps: given,
    run,
    appliesPlan,
  }: {
    readonly deps: ImportDeps<Ledger>
    readonly run: Run
    /** Whether what is foreseen is a run that applies this plan. */
    readonly appliesPlan: boolean
  },
): Promise<ImportPlan> {
  const { createSourceOpeners } = await import('../../resources/openers.ts')
  const { openSource } = await import('../../sources/index.ts')
  let rows = 0
  let source: Source | null = null
  const meter = new RateMeter()
  const { ledger } = given
  const deps = {
    ...given,
    beat: (read = 0) => {
      rows += read
      const now = stagingProgress(rows, source?.readShare?.() ?? null)
      const parts = [sync.name, ...progressParts(now, paceOf(meter, systemClock.now(), now))]
      if (!context.json) context.terminal.live(parts.join('  '))
    },
  }
  const openers = createSourceOpeners(context, connect)
  const { fence: _, ...staged } = await stage(
    deps,
    { run: run.id, sync, keyFingerprint, stageFence: run.stageFence },
    async (extent) => {
      source = await openSource(sync, openers, undefined, extent)
      return source
    },
  )
  context.terminal.endLive()
  const { planned, invalid } = staged
  const noneValid = invalid > 0 && invalid === staged.rows ? [noneValidText(invalid)] : []
  const known = await ledger.knownKeys(run.id)
  const links = (await ledger.progress(run.id)).links ?? null
  const requests = await requestsOf(client, sync.import, {
    rows: planned,
    known,
    links: links?.planned ?? 0,
    removals: staged.removals.pending ?? 0,
    appliesPlan,
    perMinute: (await forecastOf(1)).perMinute,
  })
  return {
    staged: { ...staged, warnings: [...staged.warnings, ...noneValid] },
    known,
    links,
    groups: await describedGroups(ledger, run.id),
    removals: await readPlannedRemovals(ledger, run.id),
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
