// The import, as a workflow: open, stage, review, push segment by segment, close (which verifies first). It carries names,
// ids and counts; rows and keys never enter its history.

import { CancellationScope, isCancellation, proxyActivities } from '@temporalio/workflow'
import type { Activities, SegmentRef } from '../activities/index.ts'
import type { ShortActivities, StreamingActivities } from './queues.ts'
import { DIFFERENCE_KINDS } from '../src/core/differences.ts'
import { approvalText, waitingText } from '../src/core/limit-exceeded.ts'
import { formatNumber } from '../src/core/format.ts'
import { forEachConcurrent } from '../src/core/concurrency.ts'
import type { BackfillLimits } from '../src/core/backfill.ts'
import type { Task } from '../src/core/purpose.ts'
import { takeApprovals } from './approvals.ts'
import { ImportInput, type ImportProgress, type ImportResult } from './messages.ts'
import {
  APPROVAL_MS,
  tuningArgument,
  stacklessFailure,
  failureMessage,
  parseInput,
  SHORT,
  streamingOptions,
} from './run.ts'
import { showRunStatus } from './run-status.ts'
import { takeRunControl } from './run-control.ts'
import { nextPushMs } from './time-slices.ts'

const table = ({ rows, planned, created, updated, rejected, found, deleted }: ImportProgress) => [
  '',
  '| what | rows |',
  '|:--|--:|',
  `| read | ${formatNumber(rows)} |`,
  `| to send | ${formatNumber(planned)} |`,
  `| created | ${formatNumber(created)} |`,
  `| updated | ${formatNumber(updated)} |`,
  `| rejected | ${formatNumber(rejected)} |`,
  ...(deleted === undefined ? [] : [`| deleted | ${formatNumber(deleted)} |`]),
  ...(found ? DIFFERENCE_KINDS.map((kind) => `| ${kind} | ${formatNumber(found[kind])} |`) : []),
]

/** Imports the rows of a sync's source. Input: `{"sync": "contacts"}`. */
export async function importSync(input?: unknown): Promise<ImportResult> {
  return await runImport(parseInput(ImportInput, input, { sync: 'contacts' }), null)
}

/** Does a whole run. `limits`: those of a backfill; `task`: that of a retry or a reconciliation. */
export async function runImport(
  { sync, tuning, priority }: ImportInput,
  limits: BackfillLimits | null,
  task: Task | null = null,
): Promise<ImportResult> {
  const standing = showRunStatus<ImportProgress>(
    'import',
    {
      sync,
      run: null,
      step: 'open',
      state: 'running',
      message: null,
      rows: 0,
      planned: 0,
      created: 0,
      updated: 0,
      rejected: 0,
      segments: { total: 0, done: 0 },
      requests: 0,
    },
    table,
  )
  const { note, noteErrors } = standing
  const short = proxyActivities<ShortActivities>(SHORT)
  const streaming = proxyActivities<StreamingActivities>(
    streamingOptions(priority, tuning.heartbeat_timeout_ms),
  )
  const approvals = takeApprovals('rows')
  const control = takeRunControl(standing, ({ created, updated }) => note({ created, updated }))
  const { run: steered } = control

  const run = await short.openImport.executeWithOptions({ summary: `open ${sync}` }, [
    { sync, ...(task === null ? { limits } : { task }), ...tuningArgument(tuning) },
  ])
  const scope = task !== null && 'reconcile' in task ? task.reconcile : null
  note({ run, step: 'stage' })
  const step = { run, tuning, priority }
  let slices = 0
  let invalid = 0

  const pushSegment = async (segment: SegmentRef) => {
    let { first } = segment
    let refusedInRow = 0
    // Bounded by the slices that a run may have.
    for (let done = false; !done;) {
      const summary = `push ${sync}, rows ${first} to ${segment.last}`
      const segment_ms = nextPushMs(slices++, tuning.segment_ms)
      const pushed = await steered(() =>
        streaming.pushSegment.executeWithOptions({ summary }, [
          { ...step, segment, refusedInRow, tuning: { ...tuning, segment_ms } },
        ]),
      )
      done = pushed.done
      refusedInRow = pushed.refusedInRow ?? 0
      first = pushed.next ?? first
      const { created, updated } = pushed.progress
      const rejected = invalid + pushed.progress.rejected + pushed.progress.failed
      if (rejected !== standing.progress().rejected) standing.noteFailed(rejected)
      noteErrors(pushed.errors)
      note({ requests: standing.progress().requests + pushed.requests, created, updated, rejected })
    }
    const { segments } = standing.progress()
    note({ segments: { ...segments, done: segments.done + 1 } })
  }

  /** Asks the service for every row that was staged. Returns whether a review is due before anything is repaired. */
  const compare = async (): Promise<boolean> => {
    note({ step: 'compare', planned: 0 })
    // Bounded by the slices that a run may have.
    for (;;) {
      const segment_ms = nextPushMs(slices++, tuning.segment_ms)
      const compared = await steered(() =>
        streaming.compareImport.executeWithOptions({ summary: `compare ${sync}` }, [
          { ...step, tuning: { ...tuning, segment_ms } },
        ]),
      )
      note({ found: compared.found })
      if (!compared.done) continue
      note({ planned: compared.planned })
      return compared.hasLimits
    }
  }

  /** Null if the run may go on, else why it may not. */
  const refusal = async (): Promise<string | null> => {
    note({ step: 'review' })
    const { excesses } = await steered(() =>
      streaming.reviewImport.executeWithOptions({ summary: `review ${sync}` }, [step]),
    )
    if (excesses.length === 0) return null
    note({ step: 'approval' })
    const { planned } = standing.progress()
    standing.noteWait(approvalText(planned, excesses))
    const what = waitingText(planned, excesses)
    const timeoutMs = tuning.approval_ms ?? APPROVAL_MS
    const { approved, isTimeout } = await approvals.ask(sync, planned, timeoutMs, what)
    standing.noteWait(null)
    await short.noteImportVerdict.executeWithOptions(
      { summary: `${approved ? 'approved' : 'rejected'}: ${what} of ${sync}` },
      [{ run, approved }],
    )
    if (approved) return null
    return isTimeout ? 'nobody approved it in time; nothing was sent' : 'rejected; nothing was sent'
  }

  const closeImport = async (ending: Parameters<Activities['closeImport']>[0]['ending']) => {
    const summary = ending.kind === 'finished' ? `verify and close ${sync}` : `close ${sync}`
    const closed = await streaming.closeImport.executeWithOptions({ summary }, [
      { ...step, ending },
    ])
    const { created, updated, rejected, failed, invalid: bad } = closed.books.states
    if (rejected + failed + bad !== standing.progress().rejected)
      standing.noteFailed(rejected + failed + bad)
    note({
      step: 'closed',
      state: closed.state,
      message: closed.message ?? null,
      created,
      updated,
      rejected: rejected + failed + bad,
      // Results of older releases have neither.
      requests: closed.requests ?? standing.progress().requests,
      ...(closed.deleted ? { deleted: closed.deleted } : {}),
    })
    return closed
  }

  try {
    const staged = await steered(() =>
      streaming.stageImport.executeWithOptions({ summary: `stage ${sync}` }, [
        { ...step, window: limits?.window ?? null },
      ]),
    )
    invalid = staged.invalid
    noteErrors(staged.errors)
    if (invalid > 0) standing.noteFailed(invalid)
    note({
      rows: staged.rows,
      planned: staged.planned,
      rejected: invalid,
      segments: { total: staged.segments.length, done: 0 },
    })
    const isReviewDue = scope === null ? staged.hasLimits : await compare()
    const refused = isReviewDue ? await refusal() : null
    if (refused !== null) {
      control.end()
      return { run, ...(await closeImport({ kind: 'cancelled', message: refused })) }
    }
    const sends = scope === null || scope.repair
    if (sends) note({ step: 'push' })
    if (sends) await forEachConcurrent(staged.segments, tuning.segments_in_flight ?? 2, pushSegment)
    note({ step: 'close' })
    const closed = await steered(() => closeImport({ kind: 'finished' }))
    if (closed.state === 'failed')
      throw stacklessFailure(`Run ${run}: the books do not balance`, 'BooksUnbalanced')
    return { run, ...closed }
  } catch (error) {
    control.end()
    const ending = isCancellation(error)
      ? ({ kind: 'cancelled' } as const)
      : ({ kind: 'failed', message: failureMessage(error) } as const)
    await CancellationScope.nonCancellable(() => closeImport(ending))
    throw error
  }
}
