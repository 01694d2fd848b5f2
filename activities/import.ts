// The activities of an import: thin, over the modules of src/import.

import type { BackfillLimits } from '../src/core/backfill.ts'
import type { Priority } from '../src/core/ports.ts'
import { approvalText, type Excess } from '../src/core/excess.ts'
import { LIVE_STATES } from '../src/core/states.ts'
import type { ImportSync } from '../src/core/sync.ts'
import type { Window } from '../src/core/watermark.ts'
import { close, type CloseResult } from '../src/import/close.ts'
import {
  DEFAULT_TUNING,
  type ImportClient,
  type ImportDeps,
  type Tuning,
} from '../src/import/ports.ts'
import { push, type PushResult } from '../src/import/push.ts'
import { hasLimits, review } from '../src/import/review.ts'
import { rowErrors, type RowError } from '../src/import/row-errors.ts'
import { stage, type StageResult } from '../src/import/stage.ts'
import { settleTwins } from '../src/import/twins.ts'
import { verify } from '../src/import/verify.ts'
import { beatWhile } from '../src/runs/beat-while.ts'
import type { Ending } from '../src/runs/ending.ts'
import type { Extent, Source } from '../src/sources/source.ts'
import type { Progress } from '../src/ledger/ledger.ts'
import { shared, withDefaults, type Given, type SharedDeps } from './shared.ts'

/** What an import needs besides. */
export interface ImportActivityDeps extends SharedDeps {
  /** The client of a service's connection, and the fingerprint of the key in use. */
  connect(connection: string): Promise<{ client: ImportClient; keyFingerprint: string }>
  /** Ends with `signal`. */
  openSource(sync: ImportSync, signal: AbortSignal, extent: Extent): Promise<Source>
}

export interface SegmentRef {
  readonly first: number
  readonly last: number
}

type Step = {
  readonly run: number
  readonly tuning: Given<Tuning>
  /** Default `import`. */
  readonly priority?: Priority
}

export interface ImportActivities {
  openImport(input: { sync: string; limits?: BackfillLimits | null }): Promise<number>
  stageImport(input: Step & { window?: Window | null }): Promise<
    Pick<StageResult, 'rows' | 'planned' | 'invalid'> & {
      segments: readonly SegmentRef[]
      errors: readonly RowError[]
      /** Whether a review is due. */
      hasLimits: boolean
    }
  >
  /** What is above the limits of the sync; the run waits for a person then. */
  reviewImport(input: Step): Promise<{ excesses: readonly Excess[] }>
  /** A person, or the time that ran out, has decided about a run that waited. */
  noteImportVerdict(input: { run: number; approved: boolean }): Promise<void>
  pushSegment(
    input: Step & { segment: SegmentRef },
  ): Promise<PushResult & { progress: Progress; errors: readonly RowError[] }>
  closeImport(input: Step & { ending: Ending }): Promise<CloseResult>
  /** A run of any kind was stopped by a person, or goes on. Gives an import's counts. */
  noteParked(input: {
    run: number
    isParked: boolean
    reason: string | null
  }): Promise<Progress | null>
}

export function importActivities(deps: ImportActivityDeps): ImportActivities {
  const { ledger, logger, clock } = deps
  const { activity, runOf, liveRun, openRun, setState, tell, park } = shared(deps)

  const step = <Result>(
    { run, tuning: given, priority = 'import' }: Step,
    body: (env: Omit<ImportDeps, 'client'>) => Promise<Result>,
  ): Promise<Result> => {
    const tuning = withDefaults(DEFAULT_TUNING, given)
    return activity(run, tuning, async ({ signal, beat: heartbeat }) => {
      let rows = 0
      // What people see beside the activity: rows that were read, or sent.
      const beat = (more = 0) => {
        rows += more
        heartbeat({ rows })
      }
      return await body({ ledger, clock, logger, tuning, priority, signal, beat })
    })
  }

  /** The client of a run; a run that was blocked asks `/self/` before it goes on. */
  const clientOf = async (id: number, env: Omit<ImportDeps, 'client'>) => {
    const run = await liveRun(id)
    const sync = run.config as unknown as ImportSync
    const { client, keyFingerprint } = await deps.connect(sync.import.to)
    if (run.state === 'blocked') {
      await beatWhile(env, client.readSelf({ signal: env.signal, priority: 'interactive' }))
      await setState(id, 'running')
    }
    return { sync, keyFingerprint, importDeps: { ...env, client } }
  }

  return {
    openImport: ({ sync, limits }) =>
      activity(null, DEFAULT_TUNING, () => openRun(sync, 'import', limits ?? null)),

    stageImport: (input) =>
      step(input, async (env) => {
        const { run } = input
        const { sync, keyFingerprint, importDeps } = await clientOf(run, env)
        const { window = null } = input
        const result = await stage(importDeps, { run, sync, keyFingerprint, window }, (extent) =>
          deps.openSource(sync, env.signal, extent),
        )
        for (const warning of result.warnings) logger.info({ run, warning }, 'mapping_warning')
        logger.info({ run, rows: result.rows, planned: result.planned }, 'run_staged')
        return {
          rows: result.rows,
          planned: result.planned,
          invalid: result.invalid,
          segments: await ledger.openSegments(run),
          errors:
            result.invalid === 0
              ? []
              : await rowErrors(ledger, {
                  run,
                  config: sync.import,
                  states: ['invalid'],
                  after: 0,
                }),
          hasLimits: hasLimits(sync.import),
        }
      }),

    reviewImport: (input) =>
      step(input, async (env) => {
        const { run } = input
        const { sync, importDeps } = await clientOf(run, env)
        const { planned } = await ledger.progress(run)
        const excesses = await review(importDeps, { run, config: sync.import, planned })
        if (excesses.length > 0) {
          await setState(run, 'blocked', 'approval', approvalText(planned, excesses))
          logger.warn({ run, excesses }, 'run_waits_for_approval')
        }
        return { excesses }
      }),

    noteImportVerdict: ({ run, approved }) =>
      activity(run, DEFAULT_TUNING, async () => {
        const { reason } = await liveRun(run)
        if (reason === 'approval') await setState(run, 'running')
        logger.info({ run, approved }, 'run_verdict')
      }),

    noteParked: ({ run, isParked, reason }) =>
      activity(run, DEFAULT_TUNING, async () => {
        await park(run, isParked, reason)
        return (await runOf(run)).kind === 'import' ? await ledger.progress(run) : null
      }),

    pushSegment: (input) =>
      step(input, async (env) => {
        const { run, segment } = input
        const { sync, importDeps } = await clientOf(run, env)
        const pushed = await push(importDeps, { run, config: sync.import, segment })
        const progress = await ledger.progress(run)
        const hasErrors = progress.rejected + progress.failed > 0
        return {
          ...pushed,
          progress,
          errors: hasErrors
            ? await rowErrors(ledger, {
                run,
                config: sync.import,
                states: ['rejected', 'failed'],
                after: segment.first - 1,
              })
            : [],
        }
      }),

    closeImport: (input) =>
      step(input, async (env) => {
        const { run, ending } = input
        const row = await runOf(run)
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
        const message = ending.kind === 'finished' ? null : (ending.message ?? null)
        await tell(row, { ...closed, message })
        logger.info({ run, state: closed.state, ...closed.books.states }, 'run_closed')
        return closed
      }),
  }
}
