// `records-sync run SYNC`: starts a run on the Temporal server and follows it. Ctrl-C detaches; the run goes on.

import type { Client, WorkflowHandle } from '@temporalio/client'
import { findSync, type Config, type SyncConfig } from '../../../config/index.ts'
import {
  importSync,
  links as linksWorkflow,
  mirrorSync,
  reconcile,
  retry,
  undo,
} from '../../../workflows/names.ts'
import { findHolder } from '../../actions/holder.ts'
import { regularJob } from '../../actions/jobs.ts'
import { osActor } from '../../actions/recorded.ts'
import { startJob, type StartedJob, type WorkflowRef } from '../../actions/start.ts'
import { ConfigError } from '../../core/errors.ts'
import { PURPOSES } from '../../core/domain/purpose.ts'
import { isComplete } from '../../core/domain/run-states.ts'
import type { Run } from '../../ledger/ledger.ts'
import { jobOf } from '../../runs/job.ts'
import { tunable, tuningProblem } from '../../core/domain/tuning.ts'
import { findParts } from '../../dev/parts.ts'
import { heldUpRun, type HeldUp } from '../../temporal/held-up.ts'
import type { TemporalSettings } from '../../temporal/settings.ts'
import { connectTemporal, EXIT, temporalOf, type CommandContext } from '../shared/context.ts'
import { announce } from '../shared/announce.ts'
import { commandLine, withinDev, withLocal } from '../shared/command-line.ts'
import { BEGIN_MAX_MS, heldBy, openedOr, printStarted } from '../shared/detached.ts'
import { followRun, type FollowResult } from '../shared/follow.ts'
import { devAt } from '../shared/dev-service.ts'
import { createLedgerRetry, type LedgerRetry } from '../shared/ledger-retry.ts'
import { awaitFreeLedger, lockWatch } from '../shared/ledger-lock.ts'
import { safeText } from '../shared/terminal.ts'
import { progressLine } from '../views/progress-line.ts'
import {
  areAsked,
  isOver,
  leftByParts,
  printLeft,
  printQuestion,
  stopParts,
} from '../follow/leave.ts'
import { createLocalWait } from '../shared/local-wait.ts'
import { askAgain } from '../shared/ask-again.ts'
import { RunQuotas } from '../shared/run-quota.ts'
import { startWithLedger } from '../shared/ledger-start.ts'
import { requireServices } from '../shared/preflight.ts'
import type { LocalParts } from '../shared/local.ts'
import { reportEnd } from '../follow/report-end.ts'
import { checkOptions, isSpecial, type RunOptions } from '../shared/run-options.ts'
import { requireWorker } from '../../actions/project.ts'
import { attachTo, mayAttach } from '../shared/second-run.ts'
import { notStarted } from '../shared/not-started.ts'
import { awaitStartedLinks } from '../follow/started-links.ts'
import { waitForEnd } from '../shared/wait-for-end.ts'
import { boundHeap } from '../../worker/heap.ts'
import { requireMachine } from '../../worker/machine.ts'

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

/** What is started, and the command lines of it. */
export interface Job extends StartedJob {
  readonly sync: SyncConfig
  /** `run contacts`: what others see of it. */
  readonly command: string
  /** The same with all options, for the person who typed it. */
  readonly line: string
  /** Goes on with such a run. Default: `line`. */
  readonly goOn?: string
}

export async function run(
  context: CommandContext,
  name: string,
  options: RunOptions,
): Promise<number> {
  const config = await context.loadConfig()
  const sync = findSync(config, name)
  checkOptions(sync, options)
  const tuning = parseTuning(options.tuning, sync.kind, context.env)
  const label = { command: `run ${sync.name}`, line: commandLine(['run', sync.name], options) }
  const { isScreen } = context.terminal
  const { attach, detach } = options
  const asked = { attach, isSpecial: detach || isSpecial(options), isScreen }
  const job = { ...regularJob(sync, options, tuning), sync, ...label }
  return await startRun(context, config, job, {
    ...options,
    isFollowed: (held) => mayAttach(held, asked),
  })
}

interface StartOptions extends Pick<
  RunOptions,
  'detach' | 'local' | 'wait' | 'beginMaxMs' | 'newLedger'
> {
  /** Whether a run that holds the sync is followed instead. Default: never. */
  isFollowed?(held: Run): boolean
}

/** Starts a run, and follows it unless it is detached; a local one takes up what the one before has left. */
export async function startRun(
  context: CommandContext,
  config: Config,
  job: Job,
  options: StartOptions,
): Promise<number> {
  if (options.wait && options.detach)
    throw new ConfigError('--wait', 'it waits for a decision; leave --detach out')
  const { sync } = job
  await startWithLedger(context, config, { syncs: [sync.name], beginsAnew: options.newLedger })
  const parts = findParts(context.configFile)
  const dev = !options.detach && parts?.pid === process.ppid ? parts.command : null
  if (!options.local && dev === null) {
    const place = { temporal: temporalOf(config, context.env), local: null, goOnAt: null }
    return await startRunAt(context, config, place, job, options)
  }
  if (options.detach)
    throw new ConfigError('--local', 'the run ends with this process; leave --detach out')
  await requireServices(context, config, { syncs: [job.sync], command: job.line })
  requireMachine()
  boundHeap()
  const { startLocal } = await import('../shared/local.ts')
  const form = (line: string, origin: string | null = null) =>
    context.hint(dev === null ? withLocal(line) : withinDev(line, devAt(dev, origin)))
  const goOnAt = (origin: string | null) => form(job.goOn ?? job.line, origin)
  const wanted = {
    sync: job.sync.name,
    command: job.command,
    again: form(job.line),
    goOn: goOnAt(null),
  }
  const local = await startLocal(context, config, wanted)
  try {
    return await startRunAt(
      context,
      config,
      { temporal: local.temporal, local, goOnAt },
      job,
      options,
    )
  } finally {
    await local.stop()
  }
}

interface Place {
  readonly temporal: TemporalSettings
  /** What the run is done by, if it was asked for with `--local`. */
  readonly local: LocalParts | null
  /** The command line that goes on with a run which writes to this origin; null where the run goes on elsewhere. */
  readonly goOnAt: ((origin: string | null) => string) | null
}

async function startRunAt(
  context: CommandContext,
  config: Config,
  { temporal, local, goOnAt }: Place,
  job: Job,
  options: StartOptions,
): Promise<number> {
  const offer = context.hint(withLocal(job.line))
  const again = local?.goOn ?? offer
  const { client, close } = await connectTemporal(temporal, { offer })
  const closing = [close]
  try {
    const { id: project } = await requireWorker(context, client, temporal, { offer })
    // A connection of its own that retries only as `waitForEnd` says; made before anything is started.
    const waiting = await connectTemporal(temporal, { retries: false })
    closing.push(waiting.close)
    const patience = createLedgerRetry({
      noteAway: (away) =>
        context.terminal.err(
          away ? 'The ledger does not answer; the run goes on. Asking again' : 'The ledger is back',
        ),
    })
    const once = async () => {
      // A ledger that cannot be read from here is reported before anything is started.
      const held = await findHolder(context, client, job.sync.name)
      const isLeft = held !== null && local !== null && takesUp(held, job, local)
      if (held) attachTo(context, held, isLeft || (options.isFollowed?.(held) ?? false))
      else
        await awaitFreeLedger(config, {
          say: ({ text }) => context.terminal.err(waitsToBegin(job.sync.name, text)),
          maxMs: options.detach ? (options.beginMaxMs ?? BEGIN_MAX_MS) : undefined,
        })
      const workflow = held ?? (await startWorkflow(context, client, job, project))
      const isAnnounced = held === null && ![reconcile, linksWorkflow, undo].includes(job.type)
      const isFresh = held === null || !local?.isOwn || (await askAgain(context, client, held))
      const wait = createLocalWait(context, { again, endsForPerson: isFresh, waits: options.wait })
      const parts = {
        config,
        workflow,
        waiting: waiting.client,
        patience,
        isAnnounced,
        local,
        wait,
      }
      const followed = await follow(context, job, options, parts)
      const second = heldBy(followed.kind === 'ended' ? followed.error : null)
      return { workflowId: workflow.workflowId, followed, second }
    }
    let done = await once()
    // The process before was killed between the start of a workflow and the opening of its run, which has come first now.
    if (done.second !== null && local !== null) done = await once()
    if (done.second !== null) throw done.second
    const code = await reportFollowed(context, job, {
      ...options,
      ...done,
      local,
      patience,
      goOnAt,
    })
    const { kind, run: ended } = done.followed
    if (local !== null && kind === 'ended' && ended && isComplete(ended.state))
      await awaitStartedLinks(context, { config, client, project, run: ended, local, patience })
    return code
  } finally {
    for (const each of closing) await each()
  }
}

const waitsToBegin = (sync: string, why: string): string =>
  `${sync} waits to begin: ${safeText(why, 500)}. It begins by itself`

/** What the run has become: it has ended, or it is left to itself. */
async function reportFollowed(
  context: CommandContext,
  { sync }: Job,
  of: {
    readonly workflowId: string
    readonly followed: FollowResult
    readonly local: LocalParts | null
    readonly patience: LedgerRetry
    readonly goOnAt: Place['goOnAt']
    readonly detach: boolean
    readonly wait?: boolean
  },
): Promise<number> {
  const { workflowId, followed, local, patience, goOnAt } = of
  const { run } = followed
  const isUnderWay = followed.kind === 'detached' || (followed.error === null && run !== null)
  if (of.detach && isUnderWay) return printStarted(context, { sync: sync.name, workflowId }, run)
  if (followed.kind === 'ended') return await reportEnd(context, followed, { patience, workflowId })
  if (local?.isOwn) {
    const left = await stopParts(context, local, run)
    const ended = { kind: 'ended' as const, run: left.run, error: null }
    if (isOver(left.run)) return await reportEnd(context, ended, { patience, workflowId })
    const isBlocked = !local.interrupted.aborted
    // What has not begun needs all that was given.
    const next = left.run === null ? local.again : (goOnAt?.(left.origin) ?? local.goOn)
    return printLeft(context, { ...left, again: next, isBlocked })
  }
  if (run !== null && areAsked(context, of, [run]))
    return printQuestion(context, [run], { goOn: null })
  const watch = context.hint(`watch ${sync.name}`)
  context.terminal.err(`Detached; the run goes on. Watch it: ${watch}`)
  return EXIT.done
}

/** A run of another purpose, such as that of waiting links, is gone on with by `run SYNC`, as nothing else works on it. */
const takesUp = (held: Run, job: Job, { isOwn }: LocalParts): boolean =>
  isOfJob(held, job) || (isOwn && isPlainRun(job))

const isPlainRun = ({ type, input }: Job): boolean =>
  (type === importSync || type === mirrorSync) && !('plan' in input)

/** Whether the run is what the job would start. */
const isOfJob = (run: Run, { type, input }: Job): boolean => {
  const { purpose, of } = run
  const asked = input as { readonly run?: number; readonly plan?: number }
  return (
    purpose === (PURPOSES.find((name) => name === type) ?? 'sync') &&
    (![retry, undo].includes(purpose) || of === asked.run) &&
    jobOf(run).plan === asked.plan
  )
}

async function startWorkflow(
  context: CommandContext,
  client: Client,
  job: Job,
  project: string,
): Promise<WorkflowRef> {
  const started = startJob(context, osActor(), job, async (start) => {
    const workflow = await start({ client, project })
    return { workflow, result: workflow }
  })
  return await started.catch((error: unknown) => {
    throw notStarted(context, error)
  })
}

/** Follows a run until it ends; one that is detached until it is opened. */
async function follow(
  context: CommandContext,
  { sync, priority }: Job,
  options: Pick<RunOptions, 'detach' | 'wait' | 'beginMaxMs' | 'plan'>,
  parts: {
    readonly config: Config
    readonly workflow: WorkflowRef
    readonly waiting: Client
    readonly patience: LedgerRetry
    /** Whether it is said what will be sent, and how long that takes. */
    readonly isAnnounced: boolean
    readonly local: LocalParts | null
    /** Whether a local run that is held up ends its process. */
    readonly wait: (run: Run | null) => boolean
  },
): Promise<FollowResult> {
  const { config, workflow, waiting, patience, isAnnounced, local, wait } = parts
  const { workflowId, workflowRunId } = workflow
  const handle: WorkflowHandle = waiting.workflow.getHandle(workflowId, workflowRunId)
  const following = new AbortController()
  const quotas = new RunQuotas(context, config)
  const line = progressLine(
    context,
    (rows) => {
      if (sync.kind !== 'import' || !isAnnounced || rows === 0) return
      // Without a forecast, as without the key in this terminal, the run goes on all the same.
      const appliesPlan = options.plan !== undefined
      const { signal } = following
      announce(context, { sync, priority, rows, appliesPlan, signal }).catch(() => {})
    },
    (run) => quotas.of(run),
  )
  let held: HeldUp | null = null
  const lock = lockWatch(config)
  let wasLocked = false
  try {
    return await followRun({
      terminal: context.terminal,
      patience,
      // Made by the worker when the run opens.
      ledger: () => context.findLedger(),
      sync: sync.name,
      workflowId,
      untilEnded: async (signal, noteAway) => {
        const noteHeldUp = (now: HeldUp | null) => void (held = now)
        const ended = waitForEnd(waiting, handle, { signal, noteAway, noteHeldUp })
        const failed = local?.failed.then((error) => Promise.reject(leftByParts(error, local.goOn)))
        await (failed ? Promise.race([ended, failed]) : ended)
      },
      beforeOpened: () => {
        const locked = lock.look()?.text ?? null
        wasLocked ||= locked !== null
        // The work is tried again a while after the lock has ended.
        const why = locked ?? (wasLocked ? null : (held?.message ?? null))
        return why && waitsToBegin(sync.name, why)
      },
      ...(local?.isOwn && { interrupted: local.interrupted, isEnough: wait }),
      line:
        context.json || options.detach ? null : (ledger, run) => line(ledger, heldUpRun(run, held)),
      ...(!local?.isOwn && {
        isEnough: (run) => areAsked(context, options, run === null ? [] : [run]),
      }),
      ...(options.detach ? { isEnough: openedOr(options.beginMaxMs ?? BEGIN_MAX_MS) } : {}),
    })
  } finally {
    following.abort()
    await quotas.close()
  }
}
