// The figures of a run in a table, whatever its kind.

import { countDoneRemovals, countRejectedRemovals } from '../core/domain/removals.ts'
import { countRejects, LINK_REJECT_STATES, type LinkState } from '../core/domain/books.ts'
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
    const { read, created, updated, rejected, failed } = progress.counters
    return [run.rowsRead ?? read, created + updated, rejected + failed, null]
  }
  if (!account) return [run.rowsRead, null, null, null]
  const { run: facts, streams } = account
  if (streams) {
    const { read, inserted, changed, deleted } = streamTotals(streams)
    return [read, inserted + changed + deleted, null, null]
  }
  const states = facts.states!
  // What a reconciliation only compared is unsent, and nothing has rejected it.
  const onlyCompared = jobOf(run).reconcile?.repair === false
  // Nor has anything rejected the rows that a cancelled run did not come to.
  const isUnsentOnly = onlyCompared || run.state === 'cancelled'
  const removals = facts.removals ?? {}
  const left = countRejectedRemovals(removals) - (isUnsentOnly ? (removals.unsent ?? 0) : 0)
  const rejects = countRejects({ states }) - (isUnsentOnly ? states.unsent : 0) + left
  const written = states.created + states.updated + countDoneRemovals(removals)
  const links = countLinks(facts)
  const linkRejects = links(LINK_REJECT_STATES) - (isUnsentOnly ? links(['unsent']) : 0)
  const differ = facts.rows_different === null ? null : facts.rows_different + links(['not_kept'])
  return [run.rowsRead, written, rejects + linkRejects, differ]
}

const countLinks =
  ({ links }: Pick<RunAccount['run'], 'links'>) =>
  (states: readonly LinkState[]): number =>
    links === null ? 0 : states.reduce((sum, state) => sum + links.states[state], 0)
