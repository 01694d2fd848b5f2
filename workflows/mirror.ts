// The mirror, as a workflow: open, discover, then the streams, each slice by slice, then close. A stream that fails does not
// stop the others; the run fails at the end and names it. No continue-as-new: slices bound the history (time-slices.ts), and the
// run in the ledger belongs to this execution. The history holds names, ids and counts only.

import { CancellationScope, isCancellation, proxyActivities } from '@temporalio/workflow'
import type { DiscoveredStreams, StreamRef, DeletionVerdict } from '../activities/index.ts'
import type { ShortActivities, StreamingActivities } from './queues.ts'
import type { BackfillLimits } from '../src/core/backfill.ts'
import type { Task } from '../src/core/purpose.ts'
import { takeApprovals } from './approvals.ts'
import { MirrorInput, type MirrorResult } from './messages.ts'
import { streamLabel, trackMirror } from './mirror-progress.ts'
import {
  APPROVAL_MS,
  tuningArgument,
  stacklessFailure,
  failureMessage,
  parseInput,
  SHORT,
  streamingOptions,
} from './run.ts'
import { takeRunControl } from './run-control.ts'
import { createSemaphore, nextSliceMs } from './time-slices.ts'

/** The settings of DEFAULT_MIRROR_TUNING that this workflow itself applies. */
export const MIRROR_DEFAULTS = {
  streams_in_flight: 3,
  stream_ms: 600_000,
  approval_ms: APPROVAL_MS,
} as const

/** What every stream gets of the results of discovery. */
type Found = Pick<DiscoveredStreams, 'sortable' | 'sight'>

const failuresMax = 5

/** Brings the tables of a mirror up to date. Input: `{"sync": "crm_copy"}`; with `"full": true` everything is read. */
export async function mirrorSync(input?: unknown): Promise<MirrorResult> {
  return await runMirror(parseInput(MirrorInput, input, { sync: 'crm_copy' }), null)
}

/** Does a whole run. `limits`: those of a backfill; `task`: that of a reconciliation. */
export async function runMirror(
  { sync, full, tuning, priority }: MirrorInput,
  limits: BackfillLimits | null,
  task: Task | null = null,
): Promise<MirrorResult> {
  const { standing, noteStream, begin } = trackMirror(sync)
  const { note } = standing
  const approvals = takeApprovals('deletions')
  const short = proxyActivities<ShortActivities>(SHORT)
  const streaming = proxyActivities<StreamingActivities>(
    streamingOptions(priority, tuning.heartbeat_timeout_ms),
  )

  const control = takeRunControl(standing)
  const { run: steered } = control

  const run = await short.openMirror.executeWithOptions({ summary: `open ${sync}` }, [
    { sync, ...(task === null ? { limits } : { task }), ...tuningArgument(tuning) },
  ])
  note({ run, step: 'discover' })
  const window = limits?.window ?? null

  const turn = createSemaphore(tuning.streams_in_flight ?? MIRROR_DEFAULTS.streams_in_flight)
  const failed: string[] = []
  let slices = 0

  /** Bounded by the slices that a run may have. */
  const mirrorStream = async (stream: StreamRef, { sortable, sight = null }: Found) => {
    const summary = `${task === null ? 'mirror' : 'reconcile'} ${sync}, ${streamLabel(stream)}`
    const slice = async (verdict: DeletionVerdict | null) => {
      const stream_ms = nextSliceMs(slices++, tuning.stream_ms ?? MIRROR_DEFAULTS.stream_ms)
      noteStream(stream, { state: 'working' })
      const step = { run, tuning: { ...tuning, stream_ms }, priority, sight }
      return await steered(() =>
        task === null
          ? streaming.mirrorStream.executeWithOptions({ summary }, [
              { ...step, stream, sortable, full, window, verdict },
            ])
          : streaming.reconcileStream.executeWithOptions({ summary }, [
              { ...step, stream, sortable, verdict },
            ]),
      )
    }
    let verdict: DeletionVerdict | null = null
    for (;;) {
      const result = await turn(() => slice(verdict))
      if (result.state === 'done') return noteStream(stream, { state: 'done' })
      if (result.state === 'again') {
        noteStream(stream, { state: 'waiting' })
        continue
      }
      const { rows, of } = result
      noteStream(stream, { state: 'approval', deletions: { rows, of } })
      // Without a slot: a stream that waits for a person must not make others wait.
      const timeoutMs = tuning.approval_ms ?? MIRROR_DEFAULTS.approval_ms
      const { approved } = await approvals.ask(streamLabel(stream), rows, timeoutMs)
      verdict = { approved, rows }
      noteStream(stream, { state: 'waiting' })
      await short.noteVerdict.executeWithOptions(
        { summary: `${approved ? 'approved' : 'rejected'}: ${rows} of ${streamLabel(stream)}` },
        [{ run, stream, approved, tuning, priority }],
      )
    }
  }

  /** Ends when every stream has ended. */
  const mirrorStreams = async (streams: readonly StreamRef[], found: Found) => {
    const results = await Promise.allSettled(
      streams.map(async (stream) => {
        try {
          await mirrorStream(stream, found)
        } catch (error) {
          if (isCancellation(error)) throw error
          const message = failureMessage(error)
          failed.push(`${streamLabel(stream)}: ${message}`)
          standing.noteErrors([{ stream: streamLabel(stream), message }])
          noteStream(stream, { state: 'failed' })
        }
      }),
    )
    for (const result of results) if (result.status === 'rejected') throw result.reason
  }

  const work = async () => {
    const found = await steered(() =>
      task === null
        ? streaming.discoverMirror.executeWithOptions({ summary: `discover ${sync}` }, [
            { run, window, only: limits?.only ?? null, tuning, priority },
          ])
        : streaming.discoverReconcile.executeWithOptions({ summary: `discover ${sync}` }, [
            { run, tuning, priority },
          ]),
    )
    begin(found.streams)
    for (const step of ['records', 'edges'] as const) {
      note({ step })
      await mirrorStreams(
        found.streams.filter(({ kind }) => kind === step),
        found,
      )
    }
  }
  const stopped = await work().then(
    () => null,
    (error: unknown) => ({ error }),
  )
  control.end()
  note({ step: 'close' })
  const ending =
    stopped === null
      ? ({ kind: 'finished' } as const)
      : isCancellation(stopped.error)
        ? ({ kind: 'cancelled' } as const)
        : ({ kind: 'failed', message: failureMessage(stopped.error) } as const)
  const { state, message, manifest } = await CancellationScope.nonCancellable(() =>
    short.closeMirror.executeWithOptions({ summary: `close ${sync}` }, [
      { run, ending, tuning, priority },
    ]),
  )
  note({ step: 'closed', state, message })
  if (stopped !== null) throw stopped.error
  if (state === 'failed' || failed.length > 0)
    throw stacklessFailure(message ?? failed.slice(0, failuresMax).join('; '), 'MirrorFailed', [
      { run },
    ])
  return { run, state, manifest }
}
