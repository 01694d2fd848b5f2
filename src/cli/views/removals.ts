// Records whose rows are gone from the source, or ask for it, as text.

import type { DeletionCounts } from '../../core/domain/deletions.ts'
import { NOTED_DELETIONS } from '../../core/domain/outcomes.ts'
import type { Removals, ReportedRemoval } from '../../ledger/ledger.ts'
import { formatNumber, safeText, type Terminal } from '../shared/terminal.ts'

/** Records that are named. */
const SHOWN = 20

/** The first records that a person has to look at. */
export const readNotedRemovals = async (
  ledger: Pick<Removals, 'removals'>,
  run: number,
): Promise<readonly ReportedRemoval[]> =>
  (await ledger.removals(run, { states: NOTED_DELETIONS, after: 0, limit: SHOWN })).rows

/** Names them on the screen of the person who asked, and in no log. */
export function printNotedRemovals(terminal: Terminal, removals: readonly ReportedRemoval[]): void {
  if (!terminal.isScreen) return
  for (const { state, key, recordId, reason, detail, code } of removals) {
    const why = [reason, detail, code].filter((text) => text !== null).join(', ')
    const record = recordId === null ? '' : ` (record ${safeText(recordId, 60)})`
    terminal.out(
      `    ${state.padEnd(13)} ${safeText(key, 80)}${record}${why === '' ? '' : `: ${safeText(why, 200)}`}`,
    )
  }
}

/** The first records that a run would remove, and those that it would hold back. */
export const readPlannedRemovals = async (
  ledger: Pick<Removals, 'removals'>,
  run: number,
): Promise<readonly ReportedRemoval[]> =>
  (await ledger.removals(run, { states: ['pending', 'not_sent'], after: 0, limit: SHOWN })).rows

/** Names them on the screen of the person who asked, and in no log. */
export function printPlannedRemovals(
  terminal: Terminal,
  removals: readonly ReportedRemoval[],
  { pending: planned = 0, not_sent: unsent = 0 }: DeletionCounts,
): void {
  if (!terminal.isScreen || removals.length === 0) return
  terminal.out('Records without a row:')
  for (const { state, key, recordId } of removals) {
    const record = recordId === null ? '' : ` (record ${safeText(recordId, 60)})`
    terminal.out(`  ${safeText(key, 80)}${record}${state === 'not_sent' ? ', held back' : ''}`)
  }
  const more = planned + unsent - removals.length
  if (more > 0) terminal.out(`  and ${formatNumber(more)} more`)
}
