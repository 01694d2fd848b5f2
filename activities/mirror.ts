// The activities of a mirror: thin, over the modules of src/mirror.

import { sumOfDifferences } from '../src/core/domain/differences.ts'
import { SyncError } from '../src/core/errors.ts'
import type { ReconcileScope } from '../src/core/domain/purpose.ts'
import { LIVE_STATES, type RunState } from '../src/core/domain/books.ts'
import type { Window } from '../src/core/domain/watermark.ts'
import {
  closeMirror,
  closeReconcile,
  DEFAULT_MIRROR_TUNING,
  discoverReconcile,
  discoverStreams,
  mirrorStream,
  recheckTables,
  reconcileStream,
  streamsVisibility,
  type DiscoveredStreams,
  type StreamJob,
  type StreamRef,
  type StreamResult,
} from '../src/mirror/index.ts'
import { jobOf } from '../src/runs/job.ts'
import type { RunOutcome } from '../src/runs/outcome.ts'
import { withDefaults } from './deps.ts'
import { MirrorWork, type MirrorActivityDeps, type MirrorStep } from './mirror-work.ts'
import type { OpenRunInput } from './open-run.ts'

export type { MirrorActivityDeps } from './mirror-work.ts'

export interface MirrorActivities {
  openMirror(input: OpenRunInput): Promise<number>
  discoverMirror(
    input: MirrorStep & { window?: Window | null; only?: readonly string[] | null },
  ): Promise<DiscoveredStreams>
  mirrorStream(input: MirrorStep & StreamJob): Promise<StreamResult>
  /** What a reconciliation compares. */
  discoverReconcile(input: MirrorStep): Promise<DiscoveredStreams>
  reconcileStream(
    input: MirrorStep & Pick<StreamJob, 'stream' | 'sortable' | 'verdict'>,
  ): Promise<StreamResult>
  /** A person has decided about a stream's deletions: it no longer waits. */
  noteVerdict(input: MirrorStep & { stream: StreamRef; approved: boolean }): Promise<void>
  closeMirror(
    input: MirrorStep & { ending: RunOutcome },
  ): Promise<{ state: RunState; message: string | null; manifest?: string | null }>
}

export function mirrorActivities(deps: MirrorActivityDeps): MirrorActivities {
  const { logger } = deps
  const work = new MirrorWork(deps)
  const { activity, runOf, liveRun, openRun } = work.shared

  const scopeOf = async (run: number): Promise<ReconcileScope> => {
    const { reconcile: scope } = jobOf(await runOf(run))
    if (scope === undefined)
      throw new SyncError('not_a_reconcile', `Run ${run} is no reconciliation`)
    return scope
  }
  const noteResult = async (run: number, stream: StreamRef, result: StreamResult) => {
    logger.info({ run, ...stream, ...result }, 'mirror_stream')
    if (result.state === 'approval') await work.settleState(run)
    return result
  }

  return {
    openMirror: ({ sync, ...opening }) =>
      activity(null, DEFAULT_MIRROR_TUNING, () => openRun(sync, 'mirror', opening)),

    discoverMirror: (input) =>
      work.begin(input, async (mirrorDeps, { sync, keyFingerprint, sight }) => {
        const { run, window = null, only = null } = input
        const found = await discoverStreams(mirrorDeps, { run, sync, keyFingerprint, window, only })
        logger.info({ run, streams: found.streams.length }, 'mirror_discovered')
        return { ...found, sight: sight && streamsVisibility(sight, found.streams) }
      }),

    mirrorStream: (input) =>
      work.stream(input, async (mirrorDeps, { sync, sight }) => {
        const { run, stream, sortable, full, window = null, verdict } = input
        const job = { run, stream, sortable, full, window, verdict, sight, config: sync.mirror }
        return await noteResult(run, stream, await mirrorStream(mirrorDeps, job))
      }),

    discoverReconcile: (input) =>
      work.begin(input, async (mirrorDeps, { sync, sight }) => {
        const { run } = input
        const scope = await scopeOf(run)
        const found = await discoverReconcile(mirrorDeps, { run, sync, scope })
        logger.info({ run, streams: found.streams.length }, 'mirror_discovered')
        return { ...found, sight: sight && streamsVisibility(sight, found.streams) }
      }),

    reconcileStream: (input) =>
      work.stream(input, async (mirrorDeps, { sync, sight }) => {
        const { run, stream, sortable, verdict } = input
        const scope = await scopeOf(run)
        const job = { run, stream, sortable, scope, verdict, sight, config: sync.mirror }
        return await noteResult(run, stream, await reconcileStream(mirrorDeps, job))
      }),

    noteVerdict: ({ run, stream, approved, tuning }) =>
      activity(run, withDefaults(DEFAULT_MIRROR_TUNING, tuning), async () => {
        const { reason } = await liveRun(run)
        await work.noteStream(run, stream, { state: 'sweeping', message: null })
        // A verdict changes nothing about anything else that blocks the run.
        if (reason === 'approval') await work.settleState(run)
        logger.info({ run, ...stream, approved }, 'mirror_verdict')
      }),

    closeMirror: ({ run, ending, tuning }) =>
      activity(run, withDefaults(DEFAULT_MIRROR_TUNING, tuning), ({ signal }) =>
        close(work, { run, ending }, signal),
      ),
  }
}

async function close(
  { deps, shared }: MirrorWork,
  { run, ending }: { readonly run: number; readonly ending: RunOutcome },
  signal: AbortSignal,
): ReturnType<MirrorActivities['closeMirror']> {
  const { ledger, logger } = deps
  const { runOf, report, manifestOf, noteAnnounced } = shared
  const row = await runOf(run)
  // A retry of a close that was already recorded.
  if (!LIVE_STATES.includes(row.state))
    return { state: row.state, message: row.message, manifest: await manifestOf(row) }
  const { sync, purpose } = jobOf(row, 'mirror')
  const isReconcile = purpose === 'reconcile'
  if (!isReconcile && ending.kind === 'finished') {
    const { to, schema } = sync.mirror
    await recheckTables(ledger, run, () => deps.openMirrorTables(to, schema, signal))
  }
  const announced = await noteAnnounced(row)
  const { state, message, counts } = isReconcile
    ? await closeReconcile(ledger, run, ending)
    : { ...(await closeMirror(ledger, run, ending)), counts: null }
  const differences = counts && sumOfDifferences(counts.left)
  await report(row, { to: state, message, differences, announced })
  const manifest = await manifestOf(row)
  logger.info({ run, state, manifest }, 'run_closed')
  return { state, message, manifest }
}
