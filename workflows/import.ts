// The import, as a workflow: open, stage, review, push segment by segment, close (which verifies first). It carries names,
// ids and counts; rows and keys never enter its history.

import { CancellationScope, proxyActivities } from '@temporalio/workflow'
import type { Activities, SegmentRef } from '../activities/index.ts'
import type { ShortActivities, StreamingActivities } from './queues.ts'
import { DIFFERENCE_KINDS } from '../src/core/domain/differences.ts'
import { approvalText, waitingText } from '../src/core/domain/limit-exceeded.ts'
import { formatNumber } from '../src/core/format.ts'
import { forEachConcurrent } from '../src/core/concurrency.ts'
import type { BackfillLimits } from '../src/core/domain/backfill.ts'
import type { ReconcileScope, Task } from '../src/core/domain/purpose.ts'
import { takeApprovals, type Approvals } from './approvals.ts'
import { linksProgress, startLinks } from './start-links.ts'
import { ImportInput, type ImportProgress, type ImportResult } from './messages.ts'
import {
  APPROVAL_MS,
  asCancellation,
  cancelled,
  tuningArgument,
  stacklessFailure,
  failureMessage,
  parseInput,
  SHORT,
  streamingOptions,
} from './run.ts'
import { isOfGroup, RunStatus } from './run-status.ts'
import { RunControl } from './run-control.ts'
import { nextPushMs } from './time-slices.ts'

const table = ({
  rows,
  planned,
  created,
  updated,
  rejected,
  found,
  verdicts,
  deleted,
  links,
}: ImportProgress) => [
  '',
  '| what | rows |',
  '|:--|--:|',
  `| read | ${formatNumber(rows)} |`,
  `| to send | ${formatNumber(planned)} |`,
  `| created | ${formatNumber(created)} |`,
  `| updated | ${formatNumber(updated)} |`,
  `| rejected | ${formatNumber(rejected)} |`,
  ...Object.entries(verdicts ?? {}).flatMap(([verdict, count]) =>
    count > 0 ? [`| plan: ${verdict} | ${formatNumber(count)} |`] : [],
  ),
  ...(deleted === undefined ? [] : [`| deleted | ${formatNumber(deleted)} |`]),
  ...(found ? DIFFERENCE_KINDS.map((kind) => `| ${kind} | ${formatNumber(found[kind])} |`) : []),
  ...(links
    ? Object.entries(links).map(([name, count]) => `| links: ${name} | ${formatNumber(count)} |`)
    : []),
]

const BEGINNING: Omit<ImportProgress, 'sync'> = {
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
}

type StagedRun = Awaited<ReturnType<Activities['stageImport']>>
type PushedSlice = Awaited<ReturnType<Activities['pushSegment']>>

/** Imports the rows of a sync's source. Input: `{"sync": "contacts"}`. */
export async function importSync(input?: unknown): Promise<ImportResult> {
  return await runImport(parseInput(ImportInput, input, { sync: 'contacts' }), null)
}

/** Does a whole run. `limits`: those of a backfill; `task`: that of a retry or a reconciliation. */
export function runImport(
  input: ImportInput,
  limits: BackfillLimits | null,
  task: Task | null = null,
): Promise<ImportResult> {
  return new ImportRun(input, limits, task).execute()
}

class ImportRun {
  readonly #input: ImportInput
  readonly #limits: BackfillLimits | null
  readonly #task: Task | null
  readonly #scope: ReconcileScope | null
  readonly #status: RunStatus<ImportProgress>
  readonly #approvals: Approvals
  readonly #control: RunControl
  readonly #short = proxyActivities<ShortActivities>(SHORT)
  readonly #streaming: ReturnType<typeof proxyActivities<StreamingActivities>>
  #run = 0
  #slices = 0
  #invalid = 0

  constructor(input: ImportInput, limits: BackfillLimits | null, task: Task | null) {
    const { sync, tuning, priority } = input
    this.#input = input
    this.#limits = limits
    this.#task = task
    this.#scope = task !== null && 'reconcile' in task ? task.reconcile : null
    this.#status = new RunStatus<ImportProgress>('import', { sync, ...BEGINNING }, table)
    this.#streaming = proxyActivities<StreamingActivities>(
      streamingOptions(priority, tuning.heartbeat_timeout_ms),
    )
    this.#approvals = takeApprovals('rows')
    this.#control = new RunControl(this.#status, ({ created, updated }) =>
      this.#status.note({ created, updated }),
    )
  }

  async execute(): Promise<ImportResult> {
    const { sync, tuning, plan } = this.#input
    const [limits, task] = [this.#limits, this.#task]
    const run = await cancelled(
      this.#short.openImport.executeWithOptions({ summary: `open ${sync}` }, [
        {
          sync,
          ...(task === null ? { limits } : { task }),
          ...(plan !== undefined && { plan }),
          ...tuningArgument(tuning),
        },
      ]),
    )
    this.#run = run
    this.#status.note({ run, step: 'stage' })
    try {
      const staged = await this.#control.pausable(() =>
        this.#streaming.stageImport.executeWithOptions({ summary: `stage ${sync}` }, [
          { ...this.#step, window: limits?.window ?? null },
        ]),
      )
      this.#noteStaged(staged)
      if (staged.makesPlan) await this.#plan()
      const isReviewDue = this.#scope === null ? staged.hasLimits : await this.#compare()
      const refused = isReviewDue ? await this.#refusal() : null
      if (refused !== null) {
        this.#control.end()
        return { run, ...(await this.#close({ kind: 'cancelled', message: refused })) }
      }
      const sends = this.#scope === null || this.#scope.repair
      if (sends) this.#status.note({ step: 'push' })
      if (sends) await this.#push(staged)
      if (sends && staged.hasLinks) await this.#link()
      if (sends && staged.removals > 0) await this.#remove()
      this.#status.note({ step: 'close' })
      const closed = await this.#control.pausable(() => this.#close({ kind: 'finished' }))
      if (closed.state === 'failed')
        throw stacklessFailure(`Run ${run}: the books do not balance`, 'BooksUnbalanced')
      const { resolves = [], ...result } = closed
      // A group tries them at its end, when all that it brings is there.
      if (isOfGroup()) return { run, ...result, ...(resolves.length > 0 && { resolves }) }
      await startLinks(run, resolves)
      return { run, ...result }
    } catch (error) {
      this.#control.end()
      const cancellation = asCancellation(error)
      const ending =
        cancellation === null
          ? ({ kind: 'failed', message: failureMessage(error) } as const)
          : ({ kind: 'cancelled' } as const)
      await CancellationScope.nonCancellable(() => this.#close(ending))
      throw cancellation ?? error
    }
  }

  /** What every activity of the run gets. */
  get #step() {
    const { tuning, priority } = this.#input
    return { run: this.#run, tuning, priority }
  }

  /** The same for an activity that works for the next slice of time. */
  #nextSlice() {
    const { tuning } = this.#input
    const segment_ms = nextPushMs(this.#slices++, tuning.segment_ms)
    return { ...this.#step, tuning: { ...tuning, segment_ms } }
  }

  #noteStaged({ rows, planned, invalid, segments, errors }: StagedRun): void {
    this.#invalid = invalid
    this.#status.noteErrors(errors)
    if (invalid > 0) this.#status.noteFailed(invalid)
    this.#status.note({
      rows,
      planned,
      rejected: invalid,
      segments: { total: segments.length, done: 0 },
    })
  }

  /** What earlier runs have read is sent before anything newer: the service may take two keys for one. */
  async #push({ segments, older = 0 }: StagedRun): Promise<void> {
    const atOnce = this.#input.tuning.segments_in_flight ?? 2
    const push = (segment: SegmentRef) => this.#pushSegment(segment)
    await forEachConcurrent(segments.slice(0, older), atOnce, push)
    await forEachConcurrent(segments.slice(older), atOnce, push)
  }

  async #pushSegment(segment: SegmentRef): Promise<void> {
    let { first } = segment
    let refusedInRow = 0
    // Bounded by the slices that a run may have.
    for (let done = false; !done;) {
      const summary = `push ${this.#input.sync}, rows ${first} to ${segment.last}`
      const slice = { ...this.#nextSlice(), segment, refusedInRow }
      const pushed = await this.#control.pausable(() =>
        this.#streaming.pushSegment.executeWithOptions({ summary }, [slice]),
      )
      done = pushed.done
      refusedInRow = pushed.refusedInRow
      first = pushed.next ?? first
      this.#notePushed(pushed)
    }
    const { segments } = this.#status.progress
    this.#status.note({ segments: { ...segments, done: segments.done + 1 } })
  }

  /** Sends the links of the rows, which need the records of all of them. */
  async #link(): Promise<void> {
    this.#status.note({ step: 'link' })
    const summary = `link ${this.#input.sync}`
    // Bounded by the slices that a run may have.
    for (let done = false; !done;) {
      const slice = this.#nextSlice()
      const linked = await this.#control.pausable(() =>
        this.#streaming.linkRows.executeWithOptions({ summary }, [slice]),
      )
      done = linked.done
      this.#status.note({ links: linksProgress(linked.links) })
    }
  }

  #notePushed({ progress, errors, requests }: PushedSlice): void {
    const { created, updated } = progress
    const before = this.#status.progress
    const rejected = this.#invalid + progress.rejected
    if (rejected !== before.rejected) this.#status.noteFailed(rejected)
    this.#status.noteErrors(errors)
    this.#status.note({ requests: before.requests + requests, created, updated, rejected })
  }

  /** Asks the service for every row that was staged. Returns whether a review is due before anything is repaired. */
  async #compare(): Promise<boolean> {
    this.#status.note({ step: 'compare', planned: 0 })
    const summary = `compare ${this.#input.sync}`
    // Bounded by the slices that a run may have.
    for (;;) {
      const slice = this.#nextSlice()
      const compared = await this.#control.pausable(() =>
        this.#streaming.compareImport.executeWithOptions({ summary }, [slice]),
      )
      this.#status.note({ found: compared.found })
      if (!compared.done) continue
      this.#status.note({ planned: compared.planned })
      return compared.hasLimits
    }
  }

  /** Looks all rows up, so that a person, or a rule, can decide about what they change. */
  async #plan(): Promise<void> {
    this.#status.note({ step: 'plan' })
    const summary = `plan ${this.#input.sync}`
    // Bounded by the slices that a run may have.
    for (let done = false; !done;) {
      const slice = this.#nextSlice()
      const looked = await this.#control.pausable(() =>
        this.#streaming.planImport.executeWithOptions({ summary }, [slice]),
      )
      done = looked.done
      this.#status.note({ verdicts: looked.verdicts })
    }
  }

  /** Removes the records of rows that are gone, or that ask for it. */
  async #remove(): Promise<void> {
    this.#status.note({ step: 'remove', deleted: 0 })
    const summary = `remove of ${this.#input.sync}`
    // Bounded by the slices that a run may have.
    for (let done = false; !done;) {
      const slice = this.#nextSlice()
      const removed = await this.#control.pausable(() =>
        this.#streaming.removeImport.executeWithOptions({ summary }, [slice]),
      )
      done = removed.done
      this.#status.note({ deleted: removed.removed, requests: removed.requests })
    }
  }

  /** Null if the run may go on, else why it may not. */
  async #refusal(): Promise<string | null> {
    const { sync, tuning } = this.#input
    this.#status.note({ step: 'review' })
    const { excesses, plan = null } = await this.#control.pausable(() =>
      this.#streaming.reviewImport.executeWithOptions({ summary: `review ${sync}` }, [this.#step]),
    )
    if (excesses.length === 0) return null
    this.#status.note({ step: 'approval' })
    const { planned } = this.#status.progress
    this.#status.noteWait(approvalText(planned, excesses, plan))
    const what = waitingText(planned, excesses)
    const timeoutMs = tuning.approval_ms ?? APPROVAL_MS
    const { approved, isTimeout } = await this.#approvals.ask(sync, planned, timeoutMs, what, plan)
    this.#status.noteWait(null)
    await this.#short.noteImportVerdict.executeWithOptions(
      { summary: `${approved ? 'approved' : 'rejected'}: ${what} of ${sync}` },
      [{ run: this.#run, approved }],
    )
    if (approved) return null
    return isTimeout
      ? 'it was not approved in time; nothing was sent'
      : 'rejected; nothing was sent'
  }

  async #close(ending: Parameters<Activities['closeImport']>[0]['ending']) {
    const { sync } = this.#input
    const summary = ending.kind === 'finished' ? `verify and close ${sync}` : `close ${sync}`
    const closed = await this.#streaming.closeImport.executeWithOptions({ summary }, [
      { ...this.#step, ending },
    ])
    const {
      created,
      updated,
      refused: rejected,
      outcome_unknown: failed,
      invalid,
    } = closed.books.states
    const refused = rejected + failed + invalid
    if (refused !== this.#status.progress.rejected) this.#status.noteFailed(refused)
    this.#status.note({
      step: 'closed',
      state: closed.state,
      message: closed.message ?? null,
      created,
      updated,
      rejected: refused,
      requests: closed.requests,
      ...(closed.deleted ? { deleted: closed.deleted } : {}),
    })
    return closed
  }
}
