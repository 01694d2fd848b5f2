// The activities: thin, over the modules of src/import. Each is safe to run again at any point: the ledger knows what is
// done. What crosses Temporal is a name, an id or a count.

import { Context } from '@temporalio/activity'
import { ApplicationFailure } from '@temporalio/common'
import { LIVE_STATES } from '../src/core/states.ts'
import { SyncError } from '../src/core/errors.ts'
import type { Clock, Logger, Priority } from '../src/core/ports.ts'
import type { SyncConfig } from '../src/core/sync.ts'
import { close, type CloseResult, type Ending } from '../src/import/close.ts'
import { open, type Holder } from '../src/import/open.ts'
import {
  DEFAULT_TUNING,
  type ImportClient,
  type ImportDeps,
  type Tuning,
} from '../src/import/ports.ts'
import { push, type PushResult } from '../src/import/push.ts'
import { beatWhile } from '../src/import/beat-while.ts'
import { stage, type StageResult } from '../src/import/stage.ts'
import { settleTwins } from '../src/import/twins.ts'
import { verify } from '../src/import/verify.ts'
import type { Ledger, Run } from '../src/ledger/ledger.ts'
import type { Source } from '../src/sources/source.ts'
import { translate } from './failure.ts'

/** What the composition root hands in. */
export interface ActivityDeps {
  readonly ledger: Ledger
  readonly clock: Clock
  readonly logger: Logger
  /** Reads the configuration file now. */
  loadSync(name: string): Promise<SyncConfig>
  /** The client of a service's connection, and the fingerprint of the key in use. */
  connect(connection: string): Promise<{ client: ImportClient; keyFingerprint: string }>
  /** Ends with `signal`. */
  openSource(sync: SyncConfig, signal: AbortSignal): Promise<Source>
  /** Whether a workflow execution is still open. */
  isLive(holder: Holder): Promise<boolean>
}

export interface SegmentRef {
  readonly first: number
  readonly last: number
}

type TuningInput = { readonly [Name in keyof Tuning]?: Tuning[Name] | undefined }
type Step = {
  readonly run: number
  readonly tuning: TuningInput
  /** Default `import`. */
  readonly priority?: Priority
}

export interface Activities {
  openImport(input: { sync: string }): Promise<number>
  stageImport(
    input: Step,
  ): Promise<Pick<StageResult, 'rows' | 'planned'> & { segments: readonly SegmentRef[] }>
  pushSegment(input: Step & { segment: SegmentRef }): Promise<PushResult>
  closeImport(input: Step & { ending: Ending }): Promise<CloseResult>
}

const withDefaults = (input: TuningInput): Tuning => ({
  ...DEFAULT_TUNING,
  ...(Object.fromEntries(
    Object.entries(input).filter(([, value]) => value !== undefined),
  ) as Partial<Tuning>),
})

export function createActivities(deps: ActivityDeps): Activities {
  const { ledger, logger, clock } = deps

  const runOf = async (id: number): Promise<{ run: Run; sync: SyncConfig }> => {
    const run = await ledger.run(id)
    if (!run) throw new SyncError('run_unknown', `Run ${id} is not in the ledger ${ledger.place}`)
    return { run, sync: run.config as unknown as SyncConfig }
  }

  /** Runs the body of an activity: the environment, the state of the run, and the border for errors. */
  const activity = async <Result>(
    { run, tuning: tuningInput, priority = 'import' }: Omit<Step, 'run'> & { run: number | null },
    body: (env: Omit<ImportDeps, 'client'>) => Promise<Result>,
  ): Promise<Result> => {
    // Taken before any await: an abort listener may not touch the context.
    const context = Context.current()
    const signal = context.cancellationSignal
    const tuning = withDefaults(tuningInput)
    try {
      const beat = () => context.heartbeat()
      return await body({ ledger, clock, logger, tuning, priority, signal, beat })
    } catch (error) {
      // An AbortError that escapes would hang the activity until its heartbeat times out.
      if (signal.aborted) throw signal.reason
      if (error instanceof ApplicationFailure) throw error
      const { failure, blocked } = translate(error, {
        attempt: context.info.attempt,
        serviceProbeMs: tuning.service_probe_ms,
        blockedProbeMs: tuning.blocked_probe_ms,
        logger,
      })
      if (blocked && run !== null)
        await ledger.setRunState(run, 'blocked', blocked.reason, blocked.message).catch(() => {
          // A ledger that is full or away cannot take the note; the failure itself says it.
        })
      throw failure
    }
  }

  /** The client of a run; a run that was blocked asks `/self/` before it goes on. */
  const clientOf = async (id: number, env: Omit<ImportDeps, 'client'>) => {
    const { run, sync } = await runOf(id)
    if (!LIVE_STATES.includes(run.state))
      throw new SyncError('run_closed', `Run ${id} is ${run.state}; nothing more can be done in it`)
    const { client, keyFingerprint } = await deps.connect(sync.import.to)
    if (run.state === 'blocked') {
      await beatWhile(env, client.readSelf({ signal: env.signal, priority: 'interactive' }))
      await ledger.setRunState(id, 'running')
    }
    return { sync, keyFingerprint, importDeps: { ...env, client } }
  }

  return {
    openImport: ({ sync: name }) =>
      activity({ run: null, tuning: {} }, async () => {
        const { workflowExecution } = Context.current().info
        const sync = await deps.loadSync(name)
        const holder: Holder = {
          workflowId: workflowExecution?.workflowId ?? '',
          workflowRunId: workflowExecution?.runId ?? '',
        }
        const run = await open({ ledger, logger, isLive: deps.isLive }, { sync, holder })
        logger.info({ run: run.id, sync: name }, 'run_opened')
        return run.id
      }),

    stageImport: (step) =>
      activity(step, async (env) => {
        const { run } = step
        const { sync, keyFingerprint, importDeps } = await clientOf(run, env)
        const result = await stage(importDeps, { run, sync, keyFingerprint }, () =>
          deps.openSource(sync, env.signal),
        )
        for (const warning of result.warnings) logger.info({ run, warning }, 'mapping_warning')
        logger.info({ run, rows: result.rows, planned: result.planned }, 'run_staged')
        return {
          rows: result.rows,
          planned: result.planned,
          segments: await ledger.openSegments(run),
        }
      }),

    pushSegment: (step) =>
      activity(step, async (env) => {
        const { run, segment } = step
        const { sync, importDeps } = await clientOf(run, env)
        return await push(importDeps, { run, config: sync.import, segment })
      }),

    closeImport: (step) =>
      activity(step, async (env) => {
        const { run, ending } = step
        const { run: row } = await runOf(run)
        // A retry of a close that was already written down.
        if (!LIVE_STATES.includes(row.state) && row.counts)
          return { state: row.state, books: row.counts }
        if (ending.kind === 'finished') {
          const { sync, importDeps } = await clientOf(run, env)
          const progress = await ledger.progress(run)
          await settleTwins(importDeps, { run, config: sync.import })
          const verified = await verify(importDeps, {
            run,
            config: sync.import,
            written: progress.created + progress.updated,
          })
          if (verified.read > 0) logger.info({ run, ...verified }, 'run_verified')
        }
        const closed = await close(ledger, run, ending)
        logger.info({ run, state: closed.state, ...closed.books.states }, 'run_closed')
        return closed
      }),
  }
}
