// What the activities of imports and mirrors have in common: what they are handed, the border for errors, opening a run,
// and going on after a block.

import { Context } from '@temporalio/activity'
import { ApplicationFailure } from '@temporalio/common'
import type { BackfillLimits } from '../src/core/backfill.ts'
import { ConfigError, SyncError, type BlockReason } from '../src/core/errors.ts'
import { storedJob } from '../src/runs/job.ts'
import type { Clock, Logger } from '../src/core/ports.ts'
import type { Task } from '../src/core/purpose.ts'
import { LIVE_STATES, type RunState } from '../src/core/states.ts'
import type { SyncConfig } from '../config/index.ts'
import type { Ledger, Run } from '../src/ledger/ledger.ts'
import { tuningProblem } from '../src/core/tuning.ts'
import { ABANDONED, openOrResumeRun, type RunHolder } from '../src/runs/open.ts'
import type { RunChange, RunObserver } from '../src/runs/observers.ts'
import { toApplicationFailure } from './failure.ts'

/** What the composition root hands in for every kind of run. */
export interface SharedDeps {
  readonly ledger: Ledger
  readonly clock: Clock
  readonly logger: Logger
  /**
   * Reads the configuration file now.
   * @throws ConfigError where there is no such sync, or it is of another kind
   */
  loadSync(name: string, kind: SyncConfig['kind']): Promise<SyncConfig>
  /** Whether a workflow execution is still open. */
  isLive(holder: RunHolder): Promise<boolean>
  /** Who is told of every change of a run's state. */
  readonly watch: RunObserver
  /** The error, with its places in the configuration file where it is one of a mapping. Default: as it is. */
  placed?(error: unknown): Promise<unknown>
  /** Of the worker. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** A tuning as the workflows pass it on: what is left out has its default. */
export type PartialTuning<Tuning> = { readonly [Name in keyof Tuning]?: Tuning[Name] | undefined }

export function withDefaults<Tuning extends object>(
  defaults: Tuning,
  given: PartialTuning<Tuning>,
): Tuning {
  const set = Object.entries(given).filter(([, value]) => value !== undefined)
  return { ...defaults, ...(Object.fromEntries(set) as Partial<Tuning>) }
}

/** How long a blocked run waits before it asks again, ms, by what blocks it. */
interface Probes {
  readonly service_probe_ms: number
  readonly blocked_probe_ms: number
}

/** What a run is opened with, beside its sync. */
export interface RunOpening {
  readonly limits?: BackfillLimits | null | undefined
  readonly task?: Task | null | undefined
  readonly tuning?: object | undefined
  /** Called before the books of a run are closed whose workflow is gone. */
  abandoning?(run: Run): Promise<void>
}

/** What the body of an activity gets of its surroundings. */
export interface ActivityScope {
  readonly signal: AbortSignal
  /** Says that the work moves; `details` are shown beside the activity. */
  beat(details?: object): void
}

export type SharedActivities = ReturnType<typeof createSharedActivities>

export function createSharedActivities(deps: SharedDeps) {
  const { ledger, logger, loadSync, isLive, watch, env = {} } = deps
  const placed = deps.placed?.bind(deps)
  const runOf = async (id: number): Promise<Run> => {
    const run = await ledger.run(id)
    if (!run) throw new SyncError('run_unknown', `Run ${id} is not in the ledger ${ledger.place}`)
    return run
  }

  /** Tells whoever watches; what is left out is null. */
  const announce = (
    change: Omit<RunChange, 'reason' | 'message' | 'books' | 'differences'> & Partial<RunChange>,
  ): Promise<void> =>
    watch.changed({ reason: null, message: null, books: null, differences: null, ...change })

  /** Tells whoever watches that `before` is in another state now. */
  const tell = (
    { id, sync, kind, purpose, state: from, workflowId }: Run,
    {
      state: to,
      ...now
    }: { state: RunState } & Partial<
      Pick<RunChange, 'reason' | 'message' | 'books' | 'differences'>
    >,
  ): Promise<void> => announce({ run: id, sync, kind, purpose, from, to, workflowId, ...now })

  /** Sets the state of a live run, and tells it where it is another one. */
  const setState = async (
    id: number,
    state: RunState,
    reason: BlockReason | null = null,
    message: string | null = null,
  ): Promise<void> => {
    const before = await runOf(id)
    if (!LIVE_STATES.includes(before.state)) return
    await ledger.setRunState(id, state, reason, message)
    if (before.state !== state || before.reason !== reason)
      await tell(before, { state, reason, message })
  }

  return {
    /** @throws SyncError `run_unknown` */
    runOf,
    setState,
    tell,

    /** Digest of the manifest that a closed run was sealed with; null where none was. */
    async manifestOf({ id, sync }: Run): Promise<string | null> {
      const [found] = await ledger.manifests(sync, { after: id - 1, limit: 1 })
      return found?.run === id ? found.digest : null
    },

    /** @throws SyncError `run_unknown`, `run_closed` */
    async liveRun(id: number): Promise<Run> {
      const run = await runOf(id)
      if (LIVE_STATES.includes(run.state)) return run
      throw new SyncError('run_closed', `Run ${id} is ${run.state}; nothing more can be done in it`)
    },

    /** Runs the body of an activity; its errors become failures here, and a block is noted in the run. */
    async activity<Result>(
      run: number | null,
      probes: Probes,
      body: (around: ActivityScope) => Promise<Result>,
    ): Promise<Result> {
      // Taken before any await: an abort listener may not touch the context.
      const context = Context.current()
      const signal = context.cancellationSignal
      try {
        return await body({ signal, beat: (details) => context.heartbeat(details) })
      } catch (error) {
        // An AbortError that escapes would hang the activity until its heartbeat times out.
        if (signal.aborted) throw signal.reason
        if (error instanceof ApplicationFailure) throw error
        const { failure, blocked } = toApplicationFailure((await placed?.(error)) ?? error, {
          attempt: context.info.attempt,
          serviceProbeMs: probes.service_probe_ms,
          blockedProbeMs: probes.blocked_probe_ms,
          logger,
        })
        if (blocked) {
          // A ledger that is full, away or damaged cannot take the note: then the log has it.
          const noted =
            run !== null &&
            (await setState(run, 'blocked', blocked.reason, blocked.message).then(
              () => true,
              () => false,
            ))
          if (!noted)
            logger.warn({ run, reason: blocked.reason, message: blocked.message }, 'work_blocked')
        }
        throw failure
      }
    },

    /** Opens a run of the sync for the workflow that asks. What it is limited to is kept with the run. */
    async openRun(name: string, kind: SyncConfig['kind'], opening: RunOpening): Promise<number> {
      const { limits = null, task = null, tuning = {} } = opening
      const problem = tuningProblem(kind, tuning, env)
      if (problem !== null) throw invalid(`tuning: ${problem}`)
      const { workflowExecution } = Context.current().info
      const workflowId = workflowExecution?.workflowId ?? ''
      try {
        const sync = await loadSync(name, kind)
        const holder: RunHolder = { workflowId, workflowRunId: workflowExecution?.runId ?? '' }
        const { heartbeat_timeout_ms: heartbeatMs } = tuning as { heartbeat_timeout_ms?: number }
        // Whoever takes the run over has to know how old its writes may be.
        const tuned = heartbeatMs === undefined ? {} : { heartbeat_timeout_ms: heartbeatMs }
        const job = storedJob(sync, { limits, task, tuned })
        const run = await openOrResumeRun(
          {
            ledger,
            logger,
            isLive,
            abandoning: opening.abandoning,
            abandoned: (gone) => tell(gone, GONE),
          },
          { sync: name, kind, holder, ...job },
        )
        logger.info({ run: run.id, sync: name }, 'run_opened')
        const began = { run: run.id, sync: name, kind, purpose: job.purpose, workflowId }
        await announce({ ...began, from: null, to: run.state })
        return run.id
      } catch (error) {
        if (error instanceof ConfigError)
          await announce({
            run: null,
            sync: name,
            kind,
            purpose: 'sync',
            from: null,
            to: 'failed',
            message: error.message,
            workflowId,
          })
        throw error
      }
    },

    /** A run was stopped by a person, or goes on. */
    async park(id: number, isParked: boolean, reason: string | null): Promise<void> {
      if (isParked) await setState(id, 'paused', null, reason)
      else if ((await runOf(id)).state === 'paused') await setState(id, 'running')
      logger.info({ run: id }, isParked ? 'run_paused' : 'run_resumed')
    },
  }
}

function invalid(message: string): ApplicationFailure {
  const failure = ApplicationFailure.create({ message, type: 'InvalidInput', nonRetryable: true })
  // Stacks hold paths of the machine.
  failure.stack = ''
  return failure
}

const GONE = {
  state: 'failed',
  reason: 'abandoned',
  message: ABANDONED,
} as const
