// `records-sync undo RUN`: takes back what a run wrote. The plan is shown first, and a person confirms it.

import { undoJob } from '../../actions/jobs.ts'
import { isUndoPossible, nextRunTexts, nothingLeft } from '../../actions/undo-facts.ts'
import { makeUndoPlan } from '../../actions/undo-plan.ts'
import { findSync, type Config, type ImportSync } from '../../../config/index.ts'
import { ConfigError, SyncError } from '../../core/errors.ts'
import type { UndoChoice, UndoTask } from '../../core/domain/purpose.ts'
import { parseRows } from '../../core/domain/row-list.ts'
import {
  isPart,
  sendsAgain,
  textHash,
  undoProblem,
  type UndoneChange,
  type UndoPlan,
} from '../../import/index.ts'
import { isComplete } from '../../core/domain/run-states.ts'
import { readUndos, type UndoOfRun } from '../../report/later-runs.ts'
import type { Run } from '../../ledger/ledger.ts'
import { pauseSchedule } from '../../schedules/control.ts'
import { NO_PROJECT } from '../../runs/project.ts'
import { commandLine } from '../shared/command-line.ts'
import {
  connectTemporal,
  EXIT,
  temporalOf,
  withLedger,
  type CommandContext,
} from '../shared/context.ts'
import { findRun } from '../shared/find-run.ts'
import { createAsker } from '../shared/questions.ts'
import { findProject } from '../../actions/project.ts'
import { fillPlanFile, planFormat } from '../shared/plan-files.ts'
import { countText, safeText } from '../shared/terminal.ts'
import { FirstChanges } from '../views/plan-changes.ts'
import { printUndoPlan, undoPlanToJson, type FirstUndone } from '../views/undo-plan.ts'
import { printJson } from '../json.ts'
import { parseTuning, startRun } from './run.ts'

export interface UndoOptions {
  readonly rows?: string
  readonly where?: string
  readonly property?: readonly string[]
  /** A file for all records that would be changed. */
  readonly out?: string
  readonly dryRun: boolean
  readonly yes: boolean
  readonly pauseSchedule: boolean
  readonly detach: boolean
  readonly local?: boolean
  readonly wait?: boolean
  readonly tuning?: string
}

/** @throws ConfigError, SyncError before anything is sent */
export async function undoRun(
  context: CommandContext,
  runText: string,
  options: UndoOptions,
): Promise<number> {
  const config = await context.loadConfig()
  const choice = choiceOf(options)
  if (options.out !== undefined) planFormat(options.out)
  const { run, sync, before } = await askLedger(context, config, runText, choice)
  const task: UndoTask = { of: run.id, choice }
  const made = () => makePlan(context, sync, task, options.out)
  // Without its file, and without a plan, a script may go on; not where the plan says that it cannot be undone.
  const mayGoOn = options.yes && options.out === undefined && !options.dryRun
  const planned = mayGoOn ? await orUnplanned(made) : await made()
  const plan = planned?.plan ?? null
  if (planned !== null && plan !== null) {
    refuseNothing(run, plan, { before, choice })
    showPlan(context, run, planned, options.dryRun)
    for (const each of before.filter(({ takenBackBy }) => takenBackBy === null))
      context.terminal.err(
        `Run ${each.id} has undone it before (${each.state}); this is what is left`,
      )
    noteNextRun(context, sync, { run, plan }, options)
  }
  if (options.dryRun) return EXIT.done
  if (!options.yes && !(await confirms(context, run)))
    throw new SyncError('undo_left', 'Not confirmed; nothing was sent')
  if (options.pauseSchedule) await pause(context, config, sync, run)
  const { rows, tuning } = options
  const { where, properties } = choice
  const choices = {
    ...(rows !== undefined && { rows }),
    ...(properties && { properties }),
    ...(where && { where }),
    ...(plan !== null && { deletions_confirmed: plan.deletions }),
    ...(tuning !== undefined && { tuning: parseTuning(tuning, 'import', context.env) }),
  }
  const job = {
    ...undoJob(sync, run, choices),
    sync,
    command: `undo ${run.id}`,
    line: commandLine(['undo', `${run.id}`], { ...options, out: undefined, yes: true }),
  }
  return await startRun(context, config, job, options)
}

/** Null where no plan can be made, as without the key in this terminal. @throws SyncError that the run cannot be undone so */
async function orUnplanned(made: () => Promise<Planned>): Promise<Planned | null> {
  try {
    return await made()
  } catch (error) {
    if (!(error instanceof SyncError) || error.code === 'undo_refused') throw error
    return null
  }
}

/** @throws ConfigError for options that cannot be meant */
function choiceOf({ rows, where, property }: UndoOptions): UndoChoice {
  const ranges = rows === undefined ? undefined : parseRows(rows)
  if (ranges === null) throw new ConfigError('--rows', `"${rows}": expected rows such as 3,7-12`)
  const at = where?.indexOf('=') ?? 0
  if (where !== undefined && at < 1)
    throw new ConfigError('--where', `"${where}": expected property=value, such as country=DE`)
  return {
    ...(ranges && { rows: ranges }),
    ...(property && { properties: property }),
    // The value stays out of Temporal.
    ...(where !== undefined && {
      where: { property: where.slice(0, at), digest: textHash(where.slice(at + 1)) },
    }),
  }
}

/** The run, its sync, and the undos of it that there were. @throws SyncError if it cannot be undone */
async function askLedger(
  context: CommandContext,
  config: Config,
  runText: string,
  choice: UndoChoice,
): Promise<{
  readonly run: Run
  readonly sync: ImportSync
  readonly before: readonly UndoOfRun[]
}> {
  return await withLedger(context, async (ledger) => {
    const run = await findRun(ledger, runText)
    const sync = findSync(config, run.sync)
    const problem = await undoProblem(ledger, { of: run.id, choice }, run, sync)
    if (problem !== null || sync.kind !== 'import')
      throw new SyncError('undo_refused', `${problem}; nothing was sent`)
    return { run, sync, before: await readUndos(ledger, run.id) }
  })
}

/** Records of each kind that are shown, and the characters of their values. */
const ROWS_SHOWN = 20
const CHARS_SHOWN = 1_048_576

interface Planned {
  readonly plan: UndoPlan
  readonly first: FirstUndone
}

async function makePlan(
  context: CommandContext,
  sync: ImportSync,
  task: UndoTask,
  out: string | undefined,
): Promise<Planned> {
  const { terminal, json } = context
  const first: FirstUndone = new FirstChanges(ROWS_SHOWN, CHARS_SHOWN, (row) => row)
  let plan: UndoPlan | null = null
  let count = 0
  const looked = (rows: number) => {
    if (!json) terminal.live(`${safeText(sync.name, 63)}  looking up  ${rows} rows`)
  }
  try {
    await fillPlanFile(out, async (put) => {
      const tell = async (rows: readonly UndoneChange[]) => {
        for (const row of rows) first.add(row)
        count += rows.length
        await put(rows)
      }
      plan = await makeUndoPlan(context, sync, task, { looked, tell })
    })
  } finally {
    terminal.endLive()
  }
  if (out !== undefined) terminal.err(`${countText(count, 'record')} that the undo changes: ${out}`)
  return { plan: plan!, first }
}

/** @throws SyncError if there is nothing to do */
function refuseNothing(
  run: Run,
  plan: UndoPlan,
  { before, choice }: { readonly before: readonly UndoOfRun[]; readonly choice: UndoChoice },
): void {
  if (isUndoPossible(plan)) return
  const { kept, gone, unknown, deletions } = plan
  // One that failed, such as for want of a permission, has undone nothing.
  const last = before.findLast(({ state }) => isComplete(state))
  if (isPart(choice) && kept + gone + unknown + deletions === 0)
    throw new SyncError(
      'undo_refused',
      `run ${run.id}: no row that it wrote, and no value that it changed, is what was chosen (--rows, --where, --property)`,
    )
  throw new SyncError(
    'undo_refused',
    last === undefined
      ? nothingLeft(run, plan)
      : last.takenBackBy === null
        ? `run ${run.id}: nothing of it is left to be undone: run ${last.id} has undone it`
        : `run ${run.id}: run ${last.id} has undone it, and run ${last.takenBackBy} has taken that back, so that what there is now is of run ${last.takenBackBy}; to take it away: undo ${last.takenBackBy}`,
  )
}

function showPlan(
  context: CommandContext,
  run: Run,
  { plan, first }: Planned,
  isAll: boolean,
): void {
  const { terminal, json } = context
  if (json && isAll) return printJson(terminal, undoPlanToJson(run, plan, first))
  // Standard output is that of the run.
  if (json) return
  printUndoPlan(terminal, run, plan, first)
  for (const warning of plan.warnings)
    terminal.out(terminal.style('yellow', `warning: ${safeText(warning, 1_000)}`))
}

function noteNextRun(
  { terminal, hint }: CommandContext,
  sync: ImportSync,
  { run, plan }: { readonly run: Run; readonly plan: UndoPlan },
  { pauseSchedule: isPaused }: UndoOptions,
): void {
  const texts = nextRunTexts(sync, run, plan)
  for (const text of texts) terminal.err(text)
  if (texts.length === 0) return
  if (sync.schedule !== undefined && !isPaused && sendsAgain(sync) === null)
    terminal.err(
      `The schedule of ${sync.name} is on, and begins that run; --pause-schedule pauses it (${hint(`schedules resume ${sync.name}`)} resumes it)`,
    )
}

/** @throws ConfigError where nobody can be asked */
async function confirms({ terminal, json }: CommandContext, run: Run): Promise<boolean> {
  if (json || !terminal.isScreen || !process.stdin.isTTY)
    throw new ConfigError(
      '--yes',
      'nobody can be asked here, so nothing was sent; add --yes to undo the run as the plan says, or --dry-run to see the plan alone',
    )
  const asker = createAsker({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test(await asker.ask(`Undo run ${run.id}? (y or n)`, 'n'))
  } finally {
    asker.close()
  }
}

async function pause(
  context: CommandContext,
  config: Config,
  { name }: ImportSync,
  run: Run,
): Promise<void> {
  const of = { sync: name, project: (await findProject(context)) ?? NO_PROJECT }
  const { client, close } = await connectTemporal(temporalOf(config, context.env))
  try {
    const isPaused = await pauseSchedule(client, of, `Paused: run ${run.id} is undone`)
    context.terminal.err(
      isPaused
        ? `The schedule of ${name} is paused: ${context.hint(`schedules resume ${name}`)}`
        : `${name} has no schedule of its own to pause`,
    )
  } finally {
    await close()
  }
}
