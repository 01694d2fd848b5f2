// The mirror, as a workflow: open, discover, then the streams, each slice by slice, then close. A stream that fails does not
// stop the others; the run fails at the end and names it. No continue-as-new: slices bound the history (time-slices.ts), and the
// run in the ledger belongs to this execution. The history holds names, ids and counts only.

import { CancellationScope, isCancellation, proxyActivities } from '@temporalio/workflow'
import type {
  DeletionVerdict,
  DiscoveredStreams,
  StreamRef,
  StreamResult,
} from '../activities/index.ts'
import type { ShortActivities, StreamingActivities } from './queues.ts'
import type { BackfillLimits } from '../src/core/domain/backfill.ts'
import type { Task } from '../src/core/domain/purpose.ts'
import { takeApprovals, type Approvals } from './approvals.ts'
import { MirrorInput, type MirrorResult } from './messages.ts'
import { MirrorStatus, streamLabel } from './mirror-progress.ts'
import {
  APPROVAL_MS,
  cancelled,
  tuningArgument,
  stacklessFailure,
  failureMessage,
  parseInput,
  SHORT,
  streamingOptions,
} from './run.ts'
import { RunControl } from './run-control.ts'
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
export function runMirror(
  input: MirrorInput,
  limits: BackfillLimits | null,
  task: Task | null = null,
): Promise<MirrorResult> {
  return new MirrorRun(input, limits, task).execute()
}

class MirrorRun {
  readonly #input: MirrorInput
  readonly #limits: BackfillLimits | null
  readonly #task: Task | null
  readonly #status: MirrorStatus
  readonly #approvals: Approvals
  readonly #control: RunControl
  readonly #short = proxyActivities<ShortActivities>(SHORT)
  readonly #streaming: ReturnType<typeof proxyActivities<StreamingActivities>>
  readonly #inTurn: ReturnType<typeof createSemaphore>
  readonly #failed: string[] = []
  #run = 0
  #slices = 0

  constructor(input: MirrorInput, limits: BackfillLimits | null, task: Task | null) {
    const { sync, tuning, priority } = input
    this.#input = input
    this.#limits = limits
    this.#task = task
    this.#status = new MirrorStatus(sync)
    this.#approvals = takeApprovals('deletions')
    this.#streaming = proxyActivities<StreamingActivities>(
      streamingOptions(priority, tuning.heartbeat_timeout_ms),
    )
    this.#control = new RunControl(this.#status)
    const atOnce = tuning.streams_in_flight ?? MIRROR_DEFAULTS.streams_in_flight
    this.#inTurn = createSemaphore(atOnce)
  }

  async execute(): Promise<MirrorResult> {
    const { sync, tuning } = this.#input
    const [limits, task] = [this.#limits, this.#task]
    this.#run = await cancelled(
      this.#short.openMirror.executeWithOptions({ summary: `open ${sync}` }, [
        { sync, ...(task === null ? { limits } : { task }), ...tuningArgument(tuning) },
      ]),
    )
    this.#status.note({ run: this.#run, step: 'discover' })
    const stopped = await this.#work().then(
      () => null,
      (error: unknown) => ({ error }),
    )
    this.#control.end()
    this.#status.note({ step: 'close' })
    return await this.#close(stopped)
  }

  async #work(): Promise<void> {
    const { sync, tuning, priority } = this.#input
    const [run, limits] = [this.#run, this.#limits]
    const found = await this.#control.pausable(() =>
      this.#task === null
        ? this.#streaming.discoverMirror.executeWithOptions({ summary: `discover ${sync}` }, [
            {
              run,
              window: limits?.window ?? null,
              only: limits?.only ?? null,
              tuning,
              priority,
            },
          ])
        : this.#streaming.discoverReconcile.executeWithOptions({ summary: `discover ${sync}` }, [
            { run, tuning, priority },
          ]),
    )
    this.#status.noteStreams(found.streams)
    for (const step of ['records', 'edges'] as const) {
      this.#status.note({ step })
      await this.#mirrorStreams(
        found.streams.filter(({ kind }) => kind === step),
        found,
      )
    }
  }

  /** Ends when every stream has ended. */
  async #mirrorStreams(streams: readonly StreamRef[], found: Found): Promise<void> {
    const results = await Promise.allSettled(
      streams.map(async (stream) => {
        try {
          await this.#mirrorStream(stream, found)
        } catch (error) {
          if (isCancellation(error)) throw error
          const message = failureMessage(error)
          this.#failed.push(`${streamLabel(stream)}: ${message}`)
          this.#status.noteErrors([{ stream: streamLabel(stream), message }])
          this.#status.noteStream(stream, { state: 'failed' })
        }
      }),
    )
    for (const result of results) if (result.status === 'rejected') throw result.reason
  }

  /** Bounded by the slices that a run may have. */
  async #mirrorStream(stream: StreamRef, found: Found): Promise<void> {
    const { tuning, priority } = this.#input
    let verdict: DeletionVerdict | null = null
    for (;;) {
      const result = await this.#inTurn(() => this.#slice(stream, found, verdict))
      if (result.state === 'done') return this.#status.noteStream(stream, { state: 'done' })
      if (result.state === 'again') {
        this.#status.noteStream(stream, { state: 'waiting' })
        continue
      }
      const { rows, of } = result
      this.#status.noteStream(stream, { state: 'approval', deletions: { rows, of } })
      // Without a slot: a stream that waits for a person must not make others wait.
      const timeoutMs = tuning.approval_ms ?? MIRROR_DEFAULTS.approval_ms
      const { approved } = await this.#approvals.ask(streamLabel(stream), rows, timeoutMs)
      verdict = { approved, rows }
      this.#status.noteStream(stream, { state: 'waiting' })
      await cancelled(
        this.#short.noteVerdict.executeWithOptions(
          { summary: `${approved ? 'approved' : 'rejected'}: ${rows} of ${streamLabel(stream)}` },
          [{ run: this.#run, stream, approved, tuning, priority }],
        ),
      )
    }
  }

  async #slice(
    stream: StreamRef,
    { sortable, sight = null }: Found,
    verdict: DeletionVerdict | null,
  ): Promise<StreamResult> {
    const { sync, full, tuning, priority } = this.#input
    const isMirror = this.#task === null
    const summary = `${isMirror ? 'mirror' : 'reconcile'} ${sync}, ${streamLabel(stream)}`
    const stream_ms = nextSliceMs(this.#slices++, tuning.stream_ms ?? MIRROR_DEFAULTS.stream_ms)
    this.#status.noteStream(stream, { state: 'working' })
    const step = { run: this.#run, tuning: { ...tuning, stream_ms }, priority, sight }
    const window = this.#limits?.window ?? null
    return await this.#control.pausable(() =>
      isMirror
        ? this.#streaming.mirrorStream.executeWithOptions({ summary }, [
            { ...step, stream, sortable, full, window, verdict },
          ])
        : this.#streaming.reconcileStream.executeWithOptions({ summary }, [
            { ...step, stream, sortable, verdict },
          ]),
    )
  }

  /** Closes the run whatever happened; `stopped` has the error that ended it. */
  async #close(stopped: { readonly error: unknown } | null): Promise<MirrorResult> {
    const { sync, tuning, priority } = this.#input
    const run = this.#run
    const ending =
      stopped === null
        ? ({ kind: 'finished' } as const)
        : isCancellation(stopped.error)
          ? ({ kind: 'cancelled' } as const)
          : ({ kind: 'failed', message: failureMessage(stopped.error) } as const)
    const { state, message, manifest } = await CancellationScope.nonCancellable(() =>
      this.#short.closeMirror.executeWithOptions({ summary: `close ${sync}` }, [
        { run, ending, tuning, priority },
      ]),
    )
    this.#status.note({ step: 'closed', state, message })
    if (stopped !== null) throw stopped.error
    const failed = this.#failed
    if (state === 'failed' || failed.length > 0)
      throw stacklessFailure(message ?? failed.slice(0, failuresMax).join('; '), 'MirrorFailed', [
        { run },
      ])
    return { run, state, manifest }
  }
}
