// What an undo would do: it is staged as a plan, its deletions are judged, and it is taken out of the ledger again. Nothing is sent.

import type { DeletionCounts } from '../../core/domain/deletions.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import { slicesOf } from '../../core/slices.ts'
import { IN_VALUES_MAX } from '../../contract/index.ts'
import { openPlan } from '../../runs/open-plan.ts'
import type { LimitExceeded } from '../../core/domain/limit-exceeded.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { ImportDeps } from '../ports.ts'
import { judgeOpen, removalJob } from '../outbox/remove.ts'
import { reviewLimits } from './review.ts'
import type { UndoJob } from './bind-undo.ts'
import { stageUndo } from './stage-undo.ts'
import type { UndoFindings } from './undo-warnings.ts'
import type { ReportChanges } from './undone-change.ts'

export interface UndoPlan extends UndoFindings {
  /** Of `deletions`: the records that are deleted. */
  readonly deleted: number
  /** The others, by what is known of them. */
  readonly left: DeletionCounts
  readonly warnings: readonly string[]
  /** What a person is asked first. */
  readonly excesses: readonly LimitExceeded[]
}

/**
 * @param tell gets each record that would be changed
 * @throws SyncError if the key may not do it, or the run wrote elsewhere
 */
export async function planUndo(
  deps: ImportDeps<Ledger>,
  job: Omit<UndoJob, 'run'>,
  tell: ReportChanges = async () => {},
): Promise<UndoPlan> {
  const { ledger } = deps
  const { sync, task } = job
  const { id: run, stageFence } = await openPlan(ledger, sync, { undo: task })
  try {
    const { findings, planned, warnings } = await stageUndo(deps, { ...job, run, stageFence }, tell)
    const { schema } = (await ledger.run(run))!
    const staged = { run, config: sync.import, schema, undoes: task.of }
    const { deleted, left } = await judgeAll(deps, staged, tell)
    // Who starts the undo by its plan has confirmed what it deletes.
    const { deletions: confirmed } = findings
    const excesses = await reviewLimits(deps, { ...staged, planned, confirmed, looksUp: false })
    return { ...findings, warnings, deleted, left, excesses }
  } finally {
    await ledger.discard(run)
  }
}

/** How many of the removals would be carried out, and what becomes of the others. */
async function judgeAll(
  deps: ImportDeps<Ledger>,
  staged: Parameters<typeof removalJob>[1],
  tell: ReportChanges,
): Promise<{ readonly deleted: number; readonly left: DeletionCounts }> {
  const { ledger } = deps
  const left: Record<string, number> = {}
  let deleted = 0
  let job: Awaited<ReturnType<typeof removalJob>> | null = null
  // Bounded by the removals of the run: every pass goes on after the one before it.
  for (let after = 0; ;) {
    const open = await ledger.openRemovals(staged.run, { after, limit: LEDGER_ROWS_MAX })
    if (open.length === 0) return { deleted, left }
    after = open.at(-1)!.number
    job ??= await removalJob(deps, staged)
    for (const part of slicesOf(open, IN_VALUES_MAX)) {
      const { settled, sent } = await judgeOpen(deps, job, part)
      deleted += sent.length
      await tell(
        sent.map(({ key, recordId }) => ({
          line: 0,
          key,
          verdict: 'delete',
          recordId,
          changes: [],
        })),
      )
      for (const { state } of settled) left[state] = (left[state] ?? 0) + 1
      deps.beat(part.length)
    }
  }
}
