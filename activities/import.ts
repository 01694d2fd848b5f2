// The activities of an import: thin, over the modules of src/import.

import type { Priority } from '../src/core/ports.ts'
import { LIVE_STATES } from '../src/core/states.ts'
import type { ImportSync } from '../src/core/sync.ts'
import { close, type CloseResult } from '../src/import/close.ts'
import {
  DEFAULT_TUNING,
  type ImportClient,
  type ImportDeps,
  type Tuning,
} from '../src/import/ports.ts'
import { push, type PushResult } from '../src/import/push.ts'
import { stage, type StageResult } from '../src/import/stage.ts'
import { settleTwins } from '../src/import/twins.ts'
import { verify } from '../src/import/verify.ts'
import { beatWhile } from '../src/runs/beat-while.ts'
import type { Ending } from '../src/runs/ending.ts'
import type { Extent, Source } from '../src/sources/source.ts'
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
  openImport(input: { sync: string }): Promise<number>
  stageImport(
    input: Step,
  ): Promise<Pick<StageResult, 'rows' | 'planned'> & { segments: readonly SegmentRef[] }>
  pushSegment(input: Step & { segment: SegmentRef }): Promise<PushResult>
  closeImport(input: Step & { ending: Ending }): Promise<CloseResult>
}

export function importActivities(deps: ImportActivityDeps): ImportActivities {
  const { ledger, logger, clock } = deps
  const { activity, runOf, liveRun, openRun } = shared(deps)

  const step = <Result>(
    { run, tuning: given, priority = 'import' }: Step,
    body: (env: Omit<ImportDeps, 'client'>) => Promise<Result>,
  ): Promise<Result> => {
    const tuning = withDefaults(DEFAULT_TUNING, given)
    return activity(run, tuning, async ({ signal, beat }) =>
      body({ ledger, clock, logger, tuning, priority, signal, beat: () => beat() }),
    )
  }

  /** The client of a run; a run that was blocked asks `/self/` before it goes on. */
  const clientOf = async (id: number, env: Omit<ImportDeps, 'client'>) => {
    const run = await liveRun(id)
    const sync = run.config as unknown as ImportSync
    const { client, keyFingerprint } = await deps.connect(sync.import.to)
    if (run.state === 'blocked') {
      await beatWhile(env, client.readSelf({ signal: env.signal, priority: 'interactive' }))
      await ledger.setRunState(id, 'running')
    }
    return { sync, keyFingerprint, importDeps: { ...env, client } }
  }

  return {
    openImport: ({ sync }) => activity(null, DEFAULT_TUNING, () => openRun(sync, 'import')),

    stageImport: (input) =>
      step(input, async (env) => {
        const { run } = input
        const { sync, keyFingerprint, importDeps } = await clientOf(run, env)
        const result = await stage(importDeps, { run, sync, keyFingerprint }, (extent) =>
          deps.openSource(sync, env.signal, extent),
        )
        for (const warning of result.warnings) logger.info({ run, warning }, 'mapping_warning')
        logger.info({ run, rows: result.rows, planned: result.planned }, 'run_staged')
        return {
          rows: result.rows,
          planned: result.planned,
          segments: await ledger.openSegments(run),
        }
      }),

    pushSegment: (input) =>
      step(input, async (env) => {
        const { run, segment } = input
        const { sync, importDeps } = await clientOf(run, env)
        return await push(importDeps, { run, config: sync.import, segment })
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
        logger.info({ run, state: closed.state, ...closed.books.states }, 'run_closed')
        return closed
      }),
  }
}
