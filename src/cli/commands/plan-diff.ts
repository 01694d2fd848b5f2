// `plan SYNC --diff`: what a run would change at the service, record by record. The plan is kept, with a number, and is shown again
// without a request.

import { ConfigError, QuotaWait } from '../../core/errors.ts'
import { parseJson, writeJson, type Json } from '../../core/json.ts'
import { shownDigest } from '../../core/domain/limit-exceeded.ts'
import { noVerdicts } from '../../core/domain/row-changes.ts'
import { RETENTION_MS } from '../../core/limits.ts'
import {
  lookUpChanges,
  planDigest,
  plannedChanges,
  PropertyTotals,
  readPlan,
  storePlan,
  type ImportDeps,
  type LookedUp,
  type LookUpBounds,
} from '../../import/index.ts'
import type { Ledger, Run, StepStates } from '../../ledger/ledger.ts'
import { jobOf } from '../../runs/job.ts'
import { EXIT, withLedger, type CommandContext } from '../shared/context.ts'
import { changeToJson, planFormat, writePlanFile } from '../shared/plan-files.ts'
import { countText, elapsedText, formatNumber, printWrapped, safeText } from '../shared/terminal.ts'
import { importPlanToJson, printImportPlan, type ImportPlan } from '../views/import-plan.ts'
import {
  FirstChanges,
  printFirstChanges,
  printPlanTotals,
  printVerdicts,
  type KeptPlan,
} from '../views/plan-changes.ts'
import { paceText } from '../views/progress-line.ts'
import { RateMeter } from '../../report/rate.ts'
import { printJson } from '../json.ts'
import { writePlanPage, type PlanFacts } from './plan-page.ts'

export interface PlanDiffOptions extends LookUpBounds {
  /** Whether the rows are looked up, and the plan is kept. */
  readonly diff?: boolean | undefined
  /** A file for all rows. */
  readonly out?: string | undefined
  /** A file for the page. */
  readonly html?: string | undefined
  /** Of a plan that is kept: it is shown again. */
  readonly number?: number | undefined
  /** A run that has looked its rows up, and waits with that, or did. */
  readonly run?: number | undefined
}

/** Next to the positions of the steps, under a name that no object type has. */
const NAME = '@kept_plan'

/** Rows of each verdict in the JSON output, and the characters of their values. */
const JSON_ROWS = 20
const JSON_CHARS = 1_048_576

const DAYS_KEPT = RETENTION_MS / 86_400_000

/** @throws ConfigError for options that do not go together */
export function checkPlanOptions(options: PlanDiffOptions & { readonly rejects?: unknown }): void {
  const { diff, number, run, sample, limitRequests, out, html, rejects } = options
  const refuse = (name: string, message: string) => {
    throw new ConfigError(name, message)
  }
  if (number !== undefined && (diff === true || rejects !== undefined))
    refuse('--number', 'shows a plan that was made; expected no --diff and no --rejects next to it')
  const others = [number, html, rejects].some((other) => other !== undefined)
  if (run !== undefined && (diff === true || others))
    refuse(
      '--run',
      'shows what a run has found; expected none of --diff, --number, --html and --rejects next to it',
    )
  const made = { '--sample': sample, '--limit-requests': limitRequests }
  const shown = { '--out': out, '--html': html }
  for (const [name, value] of Object.entries(made))
    if (value !== undefined && diff !== true)
      refuse(name, 'bounds what --diff looks up; add --diff')
  for (const [name, value] of Object.entries(shown))
    if (value !== undefined && diff !== true && number === undefined && run === undefined)
      refuse(name, 'writes what --diff finds; add --diff, or --number of a plan that is kept')
  if (out !== undefined) planFormat(out)
}

/** Looks the rows of a staged plan up, and keeps the plan. */
export async function keepPlan(
  context: CommandContext,
  deps: ImportDeps<Ledger>,
  { run: id, plan }: { readonly run: number; readonly plan: ImportPlan },
  { sample, limitRequests }: LookUpBounds,
): Promise<void> {
  const { ledger } = deps
  const run = (await ledger.run(id))!
  const bounds = {
    ...(sample !== undefined && { sample }),
    ...(limitRequests !== undefined && { limitRequests }),
  }
  const lookedUp = await lookUpRows(context, deps, run, bounds)
  const verdicts = noVerdicts()
  const totals = new PropertyTotals()
  for await (const rows of plannedChanges(ledger, stagedOf(run)))
    for (const row of rows) {
      verdicts[row.verdict] += 1
      totals.add(row)
    }
  const { sorted: properties, writtenOver } = totals
  const kept: KeptPlan = { plan, lookedUp, bounds, verdicts, properties, writtenOver }
  await ledger.saveStepState(id, NAME, writeJson(kept as unknown as Json))
  const at = new Date(deps.clock.now()).toISOString()
  const all = { planned: lookedUp.planned, verdicts, properties: totals.sorted }
  await storePlan(ledger, id, { ...(await planDigest(deps, id)), at, totals: all })
}

const stagedOf = (run: Run) => ({
  run: run.id,
  config: jobOf(run, 'import').sync.import,
  schema: run.schema,
})

async function lookUpRows(
  { terminal, json }: CommandContext,
  deps: ImportDeps<Ledger>,
  run: Run,
  bounds: LookUpBounds,
): Promise<LookedUp> {
  const { planned } = await deps.ledger.progress(run.id)
  const total = Math.min(planned, bounds.sample ?? planned, 100 * (bounds.limitRequests ?? planned))
  const meter = new RateMeter()
  let done = 0
  const show = (what: string) => {
    if (!json) terminal.live(`${safeText(run.sync)}  ${what}`)
  }
  const beat = (rows = 0) => {
    done += rows
    const pace = paceText(meter.pace(deps.clock.now(), 'looking up', { done, total }))
    const amount = `${formatNumber(done)} of ${countText(total, 'row')}`
    show(['looking up', amount, ...(pace === null ? [] : [pace])].join('  '))
  }
  try {
    // Bounded by the rows: each pass looks some up, or waits as long as the service asks for.
    for (;;) {
      try {
        const found = await lookUpChanges({ ...deps, beat }, stagedOf(run), bounds)
        if (found.done) return found
      } catch (error) {
        if (!(error instanceof QuotaWait)) throw error
        show(`waits ${elapsedText(error.retryAfterMs)} for the quota`)
        await deps.clock.sleep(error.retryAfterMs, deps.signal)
      }
    }
  } finally {
    terminal.endLive()
  }
}

/** `plan SYNC --number N`. @throws ConfigError if there is none, or it is of another sync */
export async function showPlanByNumber(
  context: CommandContext,
  sync: string,
  number: number,
  options: PlanDiffOptions,
): Promise<number> {
  return await withLedger(context, async (ledger) => {
    const run = await ledger.run(-number)
    if (run?.mode !== 'plan')
      throw new ConfigError(
        '--number',
        `there is no plan ${number}; \`${context.hint(`plan ${sync} --diff`)}\` makes one`,
      )
    if (run.sync !== sync)
      throw new ConfigError('--number', `plan ${number} is of ${run.sync}, not of ${sync}`)
    await showKeptPlan(context, ledger, run.id, options)
    return EXIT.done
  })
}

/** `plan SYNC --run N`. @throws ConfigError if it is of another sync, or has not looked its rows up */
export async function showPlanOfRun(
  context: CommandContext,
  sync: string,
  number: number,
  { out }: PlanDiffOptions,
): Promise<number> {
  const { terminal } = context
  return await withLedger(context, async (ledger) => {
    const run = await ledger.run(number)
    if (run === null || run.sync !== sync)
      throw new ConfigError(
        '--run',
        run === null
          ? `there is no run ${number}`
          : `run ${number} is of ${run.sync}, not of ${sync}`,
      )
    const plan = run.mode === 'run' && run.kind === 'import' ? await readPlan(ledger, number) : null
    if (plan === null)
      throw new ConfigError(
        '--run',
        `run ${number} did not look its rows up before it sent them (approve: plan); \`${context.hint(`plan ${sync} --diff`)}\` does`,
      )
    const totals = new PropertyTotals()
    const first = newFirstChanges()
    for await (const rows of plannedChanges(ledger, stagedOf(run)))
      for (const row of rows) {
        totals.add(row)
        first.add(row)
      }
    const verdicts = await ledger.imageCounts(number)
    if (context.json)
      printJson(terminal, {
        sync,
        run: number,
        state: run.state,
        digest: plan.digest,
        verdicts,
        properties: totals.sorted,
        written_over: totals.writtenOver,
        ...changesToJson(first, verdicts),
      })
    else {
      terminal.out(
        `Plan of run ${number} of ${safeText(sync)} (digest ${shownDigest(plan.digest)})`,
      )
      const { sorted: properties, writtenOver } = totals
      printVerdicts(terminal, { verdicts, properties, writtenOver })
      printFirstChanges(terminal, first, verdicts)
      terminal.out()
      if (run.state === 'blocked' && run.reason === 'approval')
        printWrapped(
          terminal,
          `It waits for approval: ${context.hint(`approve ${number} --plan ${shownDigest(plan.digest)}`)}, or ${context.hint(`reject ${number}`)}`,
        )
    }
    if (out !== undefined) {
      const rows = await writePlanFile(out, plannedChanges(ledger, stagedOf(run)))
      terminal.err(
        `${countText(rows, 'row')} of the plan of run ${number} ${rows === 1 ? 'is' : 'are'} in ${out}`,
      )
    }
    return EXIT.done
  })
}

/** Shows a plan that is kept, and writes its files. */
export async function showKeptPlan(
  context: CommandContext,
  ledger: Ledger,
  id: number,
  options: PlanDiffOptions,
): Promise<void> {
  const { terminal } = context
  const run = (await ledger.run(id))!
  const kept = await readKeptPlan(ledger, run)
  const { sync } = jobOf(run, 'import')
  const shown = await readFirstChanges(ledger, run, kept)
  const facts = { run, sync, kept, digest: (await readPlan(ledger, id))?.digest ?? null }
  if (context.json) printJson(terminal, keptPlanToJson(facts, shown))
  else {
    printImportPlan(terminal, sync, kept.plan, `Plan ${-id}`)
    printPlanTotals(terminal, kept)
    printFirstChanges(terminal, shown, kept.verdicts)
    terminal.out()
    const again = context.hint(`plan ${sync.name} --number ${-id}`)
    const digest = facts.digest === null ? '' : ` (digest ${shownDigest(facts.digest)})`
    printWrapped(
      terminal,
      `Plan ${-id}${digest} is kept for ${DAYS_KEPT} days: ${again} shows it again, with --out FILE all of its rows, with --html FILE as a page`,
    )
    const { rows, planned } = kept.lookedUp
    if (rows === planned)
      printWrapped(
        terminal,
        `To do exactly this, or nothing: ${context.hint(`run ${sync.name} --plan ${-id}`)}`,
      )
  }
  const { out, html } = options
  if (out === undefined && html === undefined) return
  if (isGone(kept, shown))
    throw new ConfigError(
      '--number',
      `the rows of plan ${-id} are not kept any more (${DAYS_KEPT} days); make a new one`,
    )
  if (out !== undefined) {
    const rows = await writePlanFile(out, plannedChanges(ledger, stagedOf(run)))
    terminal.err(`${countText(rows, 'row')} of plan ${-id} ${rows === 1 ? 'is' : 'are'} in ${out}`)
  }
  if (html !== undefined) {
    await writePlanPage(html, ledger, facts, plannedChanges(ledger, stagedOf(run)))
    terminal.err(`The page of plan ${-id} is in ${html}`)
  }
}

const isGone = ({ lookedUp }: KeptPlan, { rows }: FirstChanges): boolean =>
  lookedUp.rows > 0 && rows.size === 0

async function readKeptPlan(ledger: StepStates, { id, sync }: Run): Promise<KeptPlan> {
  const text = await ledger.loadStepState(id, NAME)
  if (text !== null) return parseJson(text) as unknown as KeptPlan
  throw new ConfigError(
    '--number',
    `plan ${-id} of ${sync} did not come to its end; make a new one`,
  )
}

const newFirstChanges = () => new FirstChanges(JSON_ROWS, JSON_CHARS, (row) => row)

/** Reads no further than to the last row that has a place. */
async function readFirstChanges(
  ledger: Ledger,
  run: Run,
  { verdicts }: KeptPlan,
): Promise<FirstChanges> {
  const first = newFirstChanges()
  for await (const rows of plannedChanges(ledger, stagedOf(run))) {
    for (const row of rows) first.add(row)
    if (first.has(verdicts)) break
  }
  return first
}

const keptPlanToJson = ({ run, sync, kept, digest }: PlanFacts, first: FirstChanges) => {
  return {
    ...importPlanToJson(sync, kept.plan),
    plan: -run.id,
    digest,
    looked_up: kept.lookedUp.rows,
    look_up_requests: kept.lookedUp.requests,
    verdicts: kept.verdicts,
    properties: kept.properties,
    written_over: kept.writtenOver,
    ...changesToJson(first, kept.verdicts),
  }
}

const changesToJson = (first: FirstChanges, verdicts: KeptPlan['verdicts']) => {
  const changes = first.all.map(changeToJson)
  const rows = Object.values(verdicts).reduce((sum, count) => sum + count, 0)
  return { changes, omitted: rows - changes.length }
}
