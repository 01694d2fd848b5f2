// The figures of a run in a table, whatever its kind.

import type { Run } from '../ledger/ledger.ts'
import { streamTotals, type RunAccount } from './account.ts'
import { jobOf } from '../runs/job.ts'
import type { LiveProgress } from './live-progress.ts'

/**
 * Rows that were read, those that were written (records, or rows of tables), those that were not, and those that are known to
 * differ although they were written. The last two count links as well: those that were not accepted, and those that were not kept.
 */
export function figuresOf(
  run: Run,
  account: Pick<RunAccount, 'run' | 'streams'> | null,
  progress: LiveProgress | null,
): (number | null)[] {
  if (progress?.counters) {
    const { read, created, updated, rejected } = progress.counters
    return [run.rowsRead ?? read, created + updated, rejected, null]
  }
  if (!account) return [run.rowsRead, null, null, null]
  const { run: facts, streams } = account
  if (streams) {
    const { read, inserted, changed, deleted } = streamTotals(streams)
    return [read, inserted + changed + deleted, null, null]
  }
  const { rows, deletions, links } = facts
  // What a reconciliation only compared is `not_sent`, and nothing has rejected it; nor has anything what a cancelled run did not
  // come to.
  const isNotSentOnly = jobOf(run).reconcile?.repair === false || run.state === 'cancelled'
  const rejected = [rows, deletions, links].reduce(
    (sum, one) =>
      sum + (one ? one.rejected - (isNotSentOnly ? (one.reasons.not_sent ?? 0) : 0) : 0),
    0,
  )
  const written = rows!.created + rows!.updated + (deletions?.deleted ?? 0)
  const differ =
    facts.rows_different === null ? null : facts.rows_different + (links?.reasons.vanished ?? 0)
  return [run.rowsRead, written, rejected, differ]
}
