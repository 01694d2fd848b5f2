// `records-sync run A B`, `run GROUP` and `run --all`: starts a group on the Temporal server and follows it. Ctrl-C detaches; its
// runs go on.

import { createHash } from 'node:crypto'
import { WorkflowExecutionAlreadyStartedError, type Client } from '@temporalio/client'
import type { Config } from '../../../config/index.ts'
import { groupSync } from '../../../workflows/names.ts'
import { groupId, taskQueueOf } from '../../../workflows/queues.ts'
import { LIVE_STATES } from '../../core/domain/books.ts'
import { groupLabel, type GroupChoice } from '../../core/domain/sync-order.ts'
import { tuningProblem } from '../../core/domain/tuning.ts'
import { ConfigError, SyncError } from '../../core/errors.ts'
import { systemClock } from '../../core/ports.ts'
import { findParts } from '../../dev/parts.ts'
import { groupPlanOf, type GroupPlan } from '../../runs/group-plan.ts'
import { describeWorkflow } from '../../temporal/is-live.ts'
import type { TemporalSettings } from '../../temporal/settings.ts'
import { boundHeap } from '../../worker/heap.ts'
import { askAgain } from '../shared/ask-again.ts'
import { commandLine, withinDev, withLocal } from '../shared/command-line.ts'
import { connectTemporal, EXIT, temporalOf, type CommandContext } from '../shared/context.ts'
import { BEGIN_MAX_MS } from '../shared/detached.ts'
import { followGroup, type GroupFollowed } from '../follow/follow-group.ts'
import type { LiveRun } from '../shared/group-reader.ts'
import { areAsked, leftByParts, printQuestion } from '../follow/leave.ts'
import { createLocalWait } from '../shared/local-wait.ts'
import type { LocalParts } from '../shared/local.ts'
import { notStarted } from '../shared/not-started.ts'
import { startWithLedger } from '../shared/ledger-start.ts'
import { requireServices } from '../shared/preflight.ts'
import { groupToJson, readAccounts, reportGroup, type GroupRef } from '../follow/report-group.ts'
import { requireWorker } from '../../actions/project.ts'
import { osActor, recorded } from '../../actions/recorded.ts'
import type { Terminal } from '../shared/terminal.ts'
import { printJson } from '../json.ts'
import type { RunOptions } from '../shared/run-options.ts'

interface GroupJob {
  readonly config: Config
  readonly choice: GroupChoice
  readonly label: string
  readonly plan: GroupPlan
  readonly tuning: object
  /** The command line, with all options. */
  readonly line: string
  readonly options: RunOptions
}

export async function runGroup(
  context: CommandContext,
  config: Config,
  choice: GroupChoice,
  options: RunOptions,
): Promise<number> {
  checkOptions(options)
  const plan = groupPlanOf(config, choice)
  if ('problem' in plan) throw new ConfigError('SYNC', plan.problem)
  for (const { sync, after } of plan.ignored)
    context.terminal.err(
      `${sync} runs after ${after.join(', ')}, not run here: it does not wait for ${after.length === 1 ? 'it' : 'them'}`,
    )
  const names = 'group' in choice ? [choice.group] : choice.syncs === 'all' ? [] : choice.syncs
  const job = {
    config,
    choice,
    plan,
    options,
    label: groupLabel(choice),
    tuning: parseGroupTuning(options.tuning, context.env),
    line: commandLine(['run', ...names, ...(names.length === 0 ? ['--all'] : [])], options),
  }
  const syncs = plan.members.map(({ sync }) => sync)
  await startWithLedger(context, config, { syncs, beginsAnew: options.newLedger })
  const parts = findParts(context.configFile)
  const dev = !options.detach && parts?.pid === process.ppid ? parts.command : null
  if (options.local || dev !== null) return await runLocally(context, job, dev)
  return await startGroup(context, job, temporalOf(config, context.env), null)
}

/** @throws ConfigError for what means one sync */
function checkOptions({ full, links, plan, priority, attach, detach, wait }: RunOptions): void {
  const alone = 'it is of one sync; run that one alone'
  if (full) throw new ConfigError('--full', alone)
  if (links) throw new ConfigError('--links', alone)
  if (plan !== undefined) throw new ConfigError('--plan', alone)
  if (priority !== undefined) throw new ConfigError('--priority', alone)
  if (attach && detach)
    throw new ConfigError('--attach', 'it follows a group at work; leave out --detach')
  if (wait && detach) throw new ConfigError('--wait', 'it waits for a decision; leave --detach out')
}

const TUNING_EXPECTED =
  'expected a JSON object such as {"syncs_in_flight": 4, "import": {"in_flight": 4}}; valid: syncs_in_flight (1 to 64), import, mirror'

/** @throws ConfigError for what a group cannot be tuned to */
export function parseGroupTuning(text: string | undefined, env: NodeJS.ProcessEnv): object {
  if (text === undefined) return {}
  const refuse = (message: string) => new ConfigError('--tuning', message)
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    throw refuse(TUNING_EXPECTED)
  }
  const isObject = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isObject(parsed)) throw refuse(TUNING_EXPECTED)
  for (const [name, value] of Object.entries(parsed)) {
    if (name === 'syncs_in_flight') {
      const isCount = Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 64
      if (!isCount) throw refuse(`syncs_in_flight: expected a whole number from 1 to 64`)
    } else if ((name === 'import' || name === 'mirror') && isObject(value)) {
      const problem = tuningProblem(name, value, env)
      if (problem !== null) throw refuse(`${name}: ${problem}`)
    } else throw refuse(TUNING_EXPECTED)
  }
  return parsed
}

async function runLocally(
  context: CommandContext,
  job: GroupJob,
  dev: string | null,
): Promise<number> {
  const { config, plan, label, line, options } = job
  if (options.detach)
    throw new ConfigError('--local', 'the runs end with this process; leave --detach out')
  const syncs = plan.members.map(({ sync }) => config.syncs[sync]!)
  await requireServices(context, config, { syncs, command: line })
  boundHeap()
  const { startLocal } = await import('../shared/local.ts')
  const again = context.hint(dev === null ? withLocal(line) : withinDev(line, dev))
  const wanted = { sync: label, command: line, again, goOn: again }
  const local = await startLocal(context, config, wanted)
  try {
    return await startGroup(context, job, local.temporal, local)
  } finally {
    await local.stop()
  }
}

async function startGroup(
  context: CommandContext,
  job: GroupJob,
  temporal: TemporalSettings,
  local: LocalParts | null,
): Promise<number> {
  const offer = context.hint(withLocal(job.line))
  const { client, close } = await connectTemporal(temporal, { offer })
  const closing = [close]
  try {
    const { id: project } = await requireWorker(context, client, temporal, { offer })
    // A connection of its own that retries only as `waitForEnd` says; made before anything is started.
    const waiting = await connectTemporal(temporal, { retries: false })
    closing.push(waiting.close)
    const begun = await begin(context, client, job, { project, local })
    const { options } = job
    const of = { label: job.label, workflowId: begun.workflowId }
    const followed = await followGroup(context, {
      ...begun,
      config: job.config,
      client,
      waiting: waiting.client,
      isQuiet: context.json || options.detach,
      ...(!local?.isOwn && {
        isEnough: (_: unknown, live: readonly LiveRun[]) =>
          areAsked(
            context,
            options,
            live.map(({ run }) => run),
          ),
      }),
      ...(options.detach && { isEnough: begunOr(options.beginMaxMs ?? BEGIN_MAX_MS) }),
      ...(local && {
        failed: local.failed.then((error) => leftByParts(error, local.goOn)),
      }),
      ...(local?.isOwn && {
        interrupted: local.interrupted,
        isEnough: heldUp(context, client, {
          again: local.goOn,
          isNew: begun.isNew,
          waits: options.wait,
        }),
      }),
    })
    if (followed.kind === 'ended') return await reportGroup(context, of, followed)
    if (options.detach) return await printBegun(context, of, followed)
    if (local?.isOwn) return await leaveGroup(context, of, followed, local)
    const live = [...followed.runs.values()].filter(({ state }) => LIVE_STATES.includes(state))
    if (areAsked(context, options, live)) {
      const account = groupToJson(of, followed, await readAccounts(context, followed.runs))
      return printQuestion(context, live, { goOn: null, account })
    }
    context.terminal.err(`Detached; the runs go on. Watch them: ${context.hint('watch')}`)
    return EXIT.done
  } finally {
    for (const each of closing) await each()
  }
}

/** The group's workflow: a new one, or that which is at work. */
async function begin(
  context: CommandContext,
  client: Client,
  { choice, label, tuning, options }: GroupJob,
  { project, local }: { readonly project: string; readonly local: LocalParts | null },
): Promise<{ workflowId: string; workflowRunId: string; isNew: boolean }> {
  const workflowId = groupId(idPartOf(choice), project)
  try {
    const about = { action: 'run', sync: label, run: null, details: 'group' } as const
    const { firstExecutionRunId } = await recorded(context, osActor(), about, async () => {
      const result = await client.workflow.start(groupSync, {
        taskQueue: taskQueueOf(project),
        workflowId,
        args: [{ ...choice, tuning }],
        staticSummary: `group ${label}`,
      })
      return { result, workflowId }
    })
    return { workflowId, workflowRunId: firstExecutionRunId, isNew: true }
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw notStarted(context, error)
    const isPlain = options.tuning === undefined && !options.detach
    const isFollowed =
      options.attach === true || local !== null || (context.terminal.isScreen === true && isPlain)
    const live = await describeWorkflow(client, { workflowId })
    if (!isFollowed || live === null) {
      context.terminal.err(`See its runs: ${context.hint('watch')}`)
      throw new SyncError(
        'already_running',
        `Group "${label}" is already running (workflow ${workflowId})`,
      )
    }
    context.terminal.err(`${label} is at work: this follows it, and starts nothing.`)
    return { workflowId, workflowRunId: live.runId, isNew: false }
  }
}

/** No group has a dash in its name. */
function idPartOf(choice: GroupChoice): string {
  if ('group' in choice) return choice.group
  if (choice.syncs === 'all') return 'every-sync'
  const names = [...choice.syncs].toSorted().join(' ')
  return `of-${createHash('sha256').update(names).digest('hex').slice(0, 12)}`
}

/** Whether its first runs are open, or the wait for that is over. */
function begunOr(maxMs: number): (progress: GroupFollowed['progress']) => boolean {
  const until = systemClock.now() + maxMs
  return (progress) =>
    (progress?.syncs.some(({ run }) => run !== null) ?? false) || systemClock.now() >= until
}

/**
 * Whether a local group ends its process: each of its live runs is held up by something that a person puts right, or, where
 * nobody watches, for long.
 */
function heldUp(
  context: CommandContext,
  client: Client,
  {
    again,
    isNew,
    waits: decided,
  }: { readonly again: string; readonly isNew: boolean; readonly waits: boolean | undefined },
): (progress: unknown, live: readonly LiveRun[], terminal: Terminal) => boolean {
  const waits = new Map<
    number,
    { readonly wait: ReturnType<typeof createLocalWait>; isAsked: boolean }
  >()
  return (_, live, terminal) => {
    const held = live.map(({ run }) => {
      let known = waits.get(run.id)
      if (known === undefined) {
        known = {
          wait: createLocalWait(
            { hint: context.hint, terminal },
            { again, endsForPerson: true, waits: decided },
          ),
          isAsked: isNew,
        }
        waits.set(run.id, known)
        // One that was left blocked asks at once: what it waits for may be put right since.
        if (!isNew) void askAgain(context, client, run).finally(() => (known!.isAsked = true))
      }
      return known.isAsked && known.wait(run)
    })
    return held.length > 0 && held.every(Boolean)
  }
}

async function printBegun(
  context: CommandContext,
  of: GroupRef,
  followed: GroupFollowed,
): Promise<number> {
  const { terminal, json, hint } = context
  const { progress } = followed
  const accounts = await readAccounts(context, followed.runs)
  if (json) printJson(terminal, groupToJson(of, followed, accounts))
  else if (progress?.syncs.some(({ run }) => run !== null))
    terminal.out(
      `Started ${of.workflowId}: ${progress.syncs.length} syncs. Watch them: ${hint('watch')}`,
    )
  else
    terminal.out(
      `${of.workflowId} waits for a worker. It begins when one is free. Watch it: ${hint('watch')}`,
    )
  return EXIT.done
}

/** The parts of this process stop; its runs stay where they are. */
async function leaveGroup(
  context: CommandContext,
  of: GroupRef,
  followed: GroupFollowed,
  local: LocalParts,
): Promise<number> {
  const { terminal, json, hint } = context
  terminal.err('Stopping: batches in flight are settled first. Once more ends at once.')
  await local.stop()
  const blocked = local.interrupted.aborted
    ? []
    : [...followed.runs.values()].filter(({ state }) => state === 'blocked')
  const why = blocked.map((run) => `Run ${run.id} of ${run.sync} is ${run.message ?? 'blocked'}`)
  const goOn = `go on with it: ${local.goOn}`
  const end = blocked[0] && `. Or end one: ${hint(`dev --no-service -- cancel ${blocked[0].id}`)}`
  const message =
    why.length > 0
      ? `${why.join('. ')}. Put that right, and ${goOn}${end}`
      : `The group stays where it is. Go on with it: ${local.goOn}`
  const [first] = blocked
  const error = { code: first ? `blocked_${first.reason}` : 'interrupted', message }
  if (json)
    printJson(terminal, {
      ...groupToJson(of, followed, await readAccounts(context, followed.runs)),
      error,
    })
  else terminal.err(terminal.style(first ? 'red' : 'yellow', message))
  return first ? EXIT.stopped : EXIT.unknown
}
