// The import, as a workflow: it opens the run, and drives the steps (import-order.ts) with activities. It carries names,
// ids and counts; rows and keys never enter its history.

import { CancellationScope, proxyActivities } from '@temporalio/workflow'
import type { Activities, SegmentRef } from '../activities/index.ts'
import type { ShortActivities, StreamingActivities } from './queues.ts'
import { DIFFERENCE_KINDS } from '../src/core/domain/differences.ts'
import { approvalText, waitingText } from '../src/core/domain/limit-exceeded.ts'
import { formatNumber } from '../src/core/format.ts'
import type { BackfillLimits } from '../src/core/domain/backfill.ts'
import type { ReconcileScope, Task } from '../src/core/domain/purpose.ts'
import { takeApprovals, type Approvals } from './approvals.ts'
import { runImportSteps, type ImportSteps } from './import-order.ts'
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
type ClosedRun = Awaited<ReturnType<Activities['closeImport']>>
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
    try {
      const closed = await runImportSteps(
        this.#steps(),
        this.#scope,
        tuning.segments_in_flight ?? 2,
      )
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

  #steps(): ImportSteps<SegmentRef, StagedRun, ClosedRun> {
    return {
      begin: (step) =>
        this.#status.note({
          step,
          ...(step === 'stage' && { run: this.#run }),
          ...(step === 'compare' && { planned: 0 }),
          ...(step === 'remove' && { deleted: 0 }),
        }),
      stage: () => this.#stage(),
      plan: () => this.#plan(),
      compare: () => this.#compare(),
      review: () => this.#refusal(),
      push: (segment) => this.#pushSegment(segment),
      link: () => this.#link(),
      remove: () => this.#remove(),
      close: async (ending) => {
        if (ending.kind === 'finished')
          return await this.#control.pausable(() => this.#close(ending))
        this.#control.end()
        return await this.#close(ending)
      },
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

  async #stage(): Promise<StagedRun> {
    const staged = await this.#control.pausable(() =>
      this.#streaming.stageImport.executeWithOptions({ summary: `stage ${this.#input.sync}` }, [
        { ...this.#step, window: this.#limits?.window ?? null },
      ]),
    )
    const { rows, planned, invalid, segments, errors } = staged
    this.#invalid = invalid
    this.#status.noteErrors(errors)
    if (invalid > 0) this.#status.noteFailed(invalid)
    this.#status.note({
      rows,
      planned,
      rejected: invalid,
      segments: { total: segments.length, done: 0 },
    })
    return staged
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

  async #link() {
    const slice = this.#nextSlice()
    const linked = await this.#control.pausable(() =>
      this.#streaming.linkRows.executeWithOptions({ summary: `link ${this.#input.sync}` }, [slice]),
    )
    this.#status.note({ links: linksProgress(linked.links) })
    return linked
  }

  #notePushed({ progress, errors, requests }: PushedSlice): void {
    const { created, updated } = progress
    const before = this.#status.progress
    const rejected = this.#invalid + progress.rejected
    if (rejected !== before.rejected) this.#status.noteFailed(rejected)
    this.#status.noteErrors(errors)
    this.#status.note({ requests: before.requests + requests, created, updated, rejected })
  }

  async #compare() {
    const slice = this.#nextSlice()
    const summary = `compare ${this.#input.sync}`
    const compared = await this.#control.pausable(() =>
      this.#streaming.compareImport.executeWithOptions({ summary }, [slice]),
    )
    const { found, done, planned } = compared
    this.#status.note({ found })
    if (done) this.#status.note({ planned })
    return compared
  }

  async #plan() {
    const slice = this.#nextSlice()
    const looked = await this.#control.pausable(() =>
      this.#streaming.planImport.executeWithOptions({ summary: `plan ${this.#input.sync}` }, [
        slice,
      ]),
    )
    this.#status.note({ verdicts: looked.verdicts })
    return looked
  }

  async #remove() {
    const slice = this.#nextSlice()
    const summary = `remove of ${this.#input.sync}`
    const removed = await this.#control.pausable(() =>
      this.#streaming.removeImport.executeWithOptions({ summary }, [slice]),
    )
    this.#status.note({ deleted: removed.removed, requests: removed.requests })
    return removed
  }

  /** Null if the run may go on, else why it may not. */
  async #refusal(): Promise<string | null> {
    const { sync, tuning } = this.#input
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
