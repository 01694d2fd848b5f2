// `records-sync run SYNC`: starts a run on the Temporal server and follows it. Ctrl-C detaches; the run goes on.

import type { Client, WorkflowHandle } from '@temporalio/client'
import { findSync, type Config, type ImportSync, type SyncConfig } from '../../../config/index.ts'
import { importSync, mirrorSync, reconcile } from '../../../workflows/names.ts'
import { taskQueueOf } from '../../../workflows/queues.ts'
import { ConfigError } from '../../core/errors.ts'
import type { BulkPriority } from '../../core/ports.ts'
import { lookOf, type RunLook } from '../../core/domain/run-states.ts'
import type { Run } from '../../ledger/ledger.ts'
import { tunable, tuningProblem } from '../../core/domain/tuning.ts'
import { readRunAccount, type RunAccount } from '../../report/account.ts'
import { runPurposeText, printRunAccount, runToJson } from '../views/run-summary.ts'
import {
  connectTemporal,
  createClients,
  EXIT,
  exitCodeOf,
  temporalOf,
  withLedger,
  type CommandContext,
} from '../shared/context.ts'
import { nextStepOf } from '../views/differences.ts'
import { BEGIN_MAX_MS, heldBy, openedOr, printStarted } from '../shared/detached.ts'
import {
  followRun,
  innermostMessage,
  isConfigFailure,
  type FollowResult,
} from '../shared/follow.ts'
import { forecast, readKeyQuota } from '../shared/forecast.ts'
import { LedgerUnreachable, createLedgerRetry, type LedgerRetry } from '../shared/ledger-retry.ts'
import { progressLine } from '../views/progress-line.ts'
import { requireWorker } from '../shared/require-worker.ts'
import { attachTo, findHolder, mayAttach } from '../shared/second-run.ts'
import { formatNumber, messageLines, safeText } from '../shared/terminal.ts'
import { ServerAway, waitForEnd } from '../shared/wait-for-end.ts'

export interface RunOptions {
  /** Start, and return once a worker has opened the run. */
  readonly detach: boolean
  /** How long that may take, ms; default 60 s. */
  readonly beginMaxMs?: number
  /** A JSON object of `tuning` settings. */
  readonly tuning?: string | undefined
  /** What the run is to others that share the org's quota. Default: what it is, an import or a mirror. */
  readonly priority?: BulkPriority | undefined
  /** Of a mirror: everything is read again. */
  readonly full?: boolean | undefined
  /** Follow a run of the sync that is at work, instead of starting one. Default: at a terminal, where no other option is given. */
  readonly attach?: boolean | undefined
}

/** @throws ConfigError for what a run of that kind cannot be tuned to */
export function parseTuning(
  text: string | undefined,
  kind: SyncConfig['kind'],
  env: NodeJS.ProcessEnv,
): object {
  if (text === undefined) return {}
  const refuse = (message: string) => new ConfigError('--tuning', message)
  const expected = `expected a JSON object such as {"in_flight": 4}; of ${kind === 'import' ? 'an import' : 'a mirror'} these can be tuned: ${tunable(kind)}`
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    throw refuse(expected)
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) throw refuse(expected)
  const problem = tuningProblem(kind, parsed, env)
  if (problem !== null) throw refuse(problem)
  return parsed
}

/** @throws ConfigError for what the sync's kind does not have, or what contradicts itself */
function checkOptions({ name, kind }: SyncConfig, options: RunOptions): void {
  const { full, priority } = options
  if (options.attach && (options.detach || isSpecial(options)))
    throw new ConfigError(
      '--attach',
      'it follows a run as it is; leave out --detach, --full, --tuning and --priority',
    )
  if (full && kind !== 'mirror')
    throw new ConfigError(
      '--full',
      `"${name}" is an import; only a mirror reads everything on request`,
    )
  if (priority !== undefined && priority !== 'backfill' && priority !== kind)
    throw new ConfigError(
      '--priority',
      `"${name}" is of the kind ${kind}; expected ${kind} or backfill`,
    )
}

/** Whether a run is asked for that is not like every other one. */
const isSpecial = ({ full, priority, tuning }: RunOptions): boolean =>
  full === true || priority !== undefined || tuning !== undefined

/** The workflow of a sync, and its input. */
function workflowOf(sync: SyncConfig, tuning: object, options: RunOptions) {
  const priority = options.priority === 'backfill' ? { priority: 'backfill' } : {}
  const input = { sync: sync.name, tuning, ...priority }
  return sync.kind === 'import'
    ? { type: importSync, input }
    : { type: mirrorSync, input: { ...input, full: options.full ?? false } }
}

/** One line on what will be sent and how long that takes. */
async function announce(
  context: CommandContext,
  sending: { sync: ImportSync; priority: BulkPriority; rows: number; signal: AbortSignal },
): Promise<void> {
  const { sync, priority, rows, signal } = sending
  const quotas = await context.openQuotas()
  const connections = await createClients(context, 'run', quotas)
  try {
    const { client, keyFingerprint } = await connections.connect(sync.import.to)
    const { text } = forecast(
      Math.ceil(rows / (await client.upsertsPerRequest())),
      priority,
      await readKeyQuota(quotas, { origin: client.origin, fingerprint: keyFingerprint }),
      { limit: null, reserve: 0 },
    )
    if (!signal.aborted)
      context.terminal.err(`${sync.name}  ${formatNumber(rows)} rows to send: ${text}`)
  } finally {
    await connections.close()
    await quotas.close()
  }
}

/** What is started: a workflow, its id's beginning, and its input. */
export interface Job {
  readonly sync: SyncConfig
  readonly type: string
  readonly id: string
  readonly summary: string
  readonly input: object
  readonly priority: BulkPriority
}

export async function run(
  context: CommandContext,
  name: string,
  options: RunOptions,
): Promise<number> {
  const config = await context.loadConfig()
  const sync = findSync(config, name)
  checkOptions(sync, options)
  const { type, input } = workflowOf(
    sync,
    parseTuning(options.tuning, sync.kind, context.env),
    options,
  )
  const label = { id: `${sync.kind}-${sync.name}`, summary: `${sync.kind} ${sync.name}` }
  const priority = options.priority ?? sync.kind
  const { isScreen } = context.terminal
  const { attach, detach } = options
  const asked = { attach, isSpecial: detach || isSpecial(options), isScreen }
  const job = { sync, type, input, priority, ...label }
  return await startRun(context, config, job, {
    ...options,
    isFollowed: (held) => mayAttach(held, asked),
  })
}

interface StartOptions extends Pick<RunOptions, 'detach' | 'beginMaxMs'> {
  /** Whether a run that holds the sync is followed instead. Default: never. */
  isFollowed?(held: Run): boolean
}

/** Starts a run, and follows it unless it is detached. */
export async function startRun(
  context: CommandContext,
  config: Config,
  job: Job,
  options: StartOptions,
): Promise<number> {
  const temporal = temporalOf(config, context.env)
  const { client, close } = await connectTemporal(temporal)
  const closing = [close]
  try {
    const { id: project } = await requireWorker(context, client, temporal)
    // A connection of its own that retries only as `waitForEnd` says; made before anything is started.
    const waiting = await connectTemporal(temporal, { retries: false })
    closing.push(waiting.close)
    // A ledger that cannot be read from here is reported before anything is started.
    const held = await findHolder(context, client, job.sync.name)
    if (held) attachTo(context, held, options.isFollowed?.(held) ?? false)
    const workflow = held ?? (await startWorkflow(client, job, project))
    const isAnnounced = held === null && job.type !== reconcile
    const patience = createLedgerRetry({
      noteAway: (away) =>
        context.terminal.err(
          away ? 'The ledger does not answer; the run goes on. Asking again' : 'The ledger is back',
        ),
    })
    const followed = await follow(context, job, options, {
      workflow,
      waiting: waiting.client,
      patience,
      isAnnounced,
    })
    const second = heldBy(followed.kind === 'ended' ? followed.error : null)
    if (second !== null) throw second
    const { run } = followed
    const isUnderWay = followed.kind === 'detached' || (followed.error === null && run !== null)
    if (options.detach && isUnderWay)
      return printStarted(context, { sync: job.sync.name, workflowId: workflow.workflowId }, run)
    if (followed.kind === 'ended')
      return await reportEnd(context, followed, { patience, workflowId: workflow.workflowId })
    const watch = context.hint(`watch ${job.sync.name}`)
    context.terminal.err(`Detached; the run goes on. Watch it: ${watch}`)
    return EXIT.done
  } finally {
    for (const each of closing) await each()
  }
}

/** A workflow, and its first run. */
type WorkflowRef = Pick<Run, 'workflowId' | 'workflowRunId'>

async function startWorkflow(client: Client, job: Job, project: string): Promise<WorkflowRef> {
  const stamp = new Date().toISOString().replaceAll(/[:.]/g, '-')
  const { workflowId, firstExecutionRunId } = await client.workflow.start(job.type, {
    taskQueue: taskQueueOf(project),
    workflowId: `${job.id}-${project}-${stamp}`,
    args: [job.input],
    staticSummary: job.summary,
  })
  return { workflowId, workflowRunId: firstExecutionRunId }
}

/** Follows a run until it ends; one that is detached until it is opened. */
async function follow(
  context: CommandContext,
  { sync, priority }: Job,
  options: Pick<RunOptions, 'detach' | 'beginMaxMs'>,
  parts: {
    readonly workflow: WorkflowRef
    readonly waiting: Client
    readonly patience: LedgerRetry
    /** Whether it is said what will be sent, and how long that takes. */
    readonly isAnnounced: boolean
  },
): Promise<FollowResult> {
  const { workflow, waiting, patience, isAnnounced } = parts
  const { workflowId, workflowRunId } = workflow
  const handle: WorkflowHandle = waiting.workflow.getHandle(workflowId, workflowRunId)
  const following = new AbortController()
  const line = progressLine(context, (rows) => {
    if (sync.kind !== 'import' || !isAnnounced || rows === 0) return
    // Without a forecast, as without the key in this terminal, the run goes on all the same.
    announce(context, { sync, priority, rows, signal: following.signal }).catch(() => {})
  })
  return await followRun({
    terminal: context.terminal,
    patience,
    // Made by the worker when the run opens.
    ledger: () => context.findLedger(),
    sync: sync.name,
    workflowId,
    untilEnded: (signal, noteAway) => waitForEnd(waiting, handle, { signal, noteAway }),
    line: context.json || options.detach ? null : line,
    ...(options.detach ? { isEnough: openedOr(options.beginMaxMs ?? BEGIN_MAX_MS) } : {}),
  }).finally(() => following.abort())
}

/** Reports a run that has ended, or whose end is not known here. Gives the exit code. */
async function reportEnd(
  context: CommandContext,
  followed: FollowResult & { kind: 'ended' },
  { patience, workflowId }: { patience: LedgerRetry; workflowId: string },
): Promise<number> {
  const { run } = followed
  let account: RunAccount | null = null
  let { error } = followed
  // The books are read once more; while the ledger stays away, the end is not known here.
  if (run && !isAway(error))
    try {
      const read = () => withLedger(context, (ledger) => readRunAccount(ledger, run))
      account = (await patience.until(read))?.value ?? null
    } catch (failure) {
      if (!(failure instanceof LedgerUnreachable)) throw failure
      error ??= failure
    }
  if (isAway(error)) return printUnknown(context, run, error)
  if (error !== null || !run) {
    const message =
      error === null
        ? `${workflowId} has ended, and the ledger of ${context.configFile} has no run of it: the worker that took it has another ledger, or the ledger was replaced`
        : // The form that is below is one of the Temporal UI.
          innermostMessage(error).replace(/\.? Copy what to write from below$/, '')
    printFailed(context, run, { account, message })
    return isConfigFailure(error) ? EXIT.usage : EXIT.stopped
  }
  if (context.json) context.terminal.out(JSON.stringify(runToJson(run, account)))
  else printEnded(context, run, account)
  return exitCodeOf(run.state)
}

const isAway = (error: unknown): error is ServerAway | LedgerUnreachable =>
  error instanceof ServerAway || error instanceof LedgerUnreachable

function printUnknown(
  context: CommandContext,
  run: Run | null,
  { code, message }: ServerAway | LedgerUnreachable,
): number {
  const { terminal } = context
  if (context.json)
    terminal.out(JSON.stringify({ ...(run && runToJson(run, null)), error: { code, message } }))
  else {
    const see = context.hint(run ? `show ${run.id}` : 'status')
    terminal.err(terminal.style('yellow', `${message}. See it: ${see}`))
  }
  return EXIT.unknown
}

function printFailed(
  { terminal, json }: CommandContext,
  run: Run | null,
  { account, message }: { account: RunAccount | null; message: string },
): void {
  if (json) {
    terminal.out(JSON.stringify({ ...(run && runToJson(run, account)), error: { message } }))
    return
  }
  for (const line of messageLines(safeText(message, 4_000)))
    terminal.err(terminal.style('red', line))
  if (run && account) printRunAccount(terminal, account)
}

function printEnded(context: CommandContext, run: Run, account: RunAccount | null): void {
  const { terminal } = context
  terminal.out(`Run ${run.id} of ${run.sync}: ${terminal.style('bold', run.state)}`)
  const about = runPurposeText(run)
  if (about !== null) terminal.out(`  ${safeText(about, 300)}`)
  for (const warning of run.warnings)
    terminal.out(terminal.style('yellow', `  ${safeText(warning, 1_000)}`))
  if (account) printRunAccount(terminal, account)
  const next = account?.differences
    ? nextStepOf(context, run, account.differences)
    : whatToSee(context, run)
  if (next !== null) terminal.out(`  ${next}`)
}

/** Where a person sees what a run of this state left, if anything. */
function whatToSee({ hint }: CommandContext, { id, state }: Run): string | null {
  const look = lookOf(state)
  const steps: Readonly<Record<RunLook, string | null>> = {
    blocked: null,
    rejects: `The rejects: ${hint(`rejects ${id}`)}`,
    differences: `What differs: ${hint(`show ${id}`)}`,
  }
  return look && steps[look]
}
