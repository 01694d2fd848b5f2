// Records whose rows are gone from the source, or ask for it, as text.

import type { Purpose } from '../../core/domain/purpose.ts'
import { NOTED_REMOVALS, removalsOf, type RemovalCounts } from '../../core/domain/removals.ts'
import type { Removals, ReportedRemoval } from '../../ledger/ledger.ts'
import type { BooksReport } from '../../report/run-report.ts'
import { formatNumber, safeText, type Terminal } from '../shared/terminal.ts'

/** Records that are named. */
const SHOWN = 20

/** Records by what became of them. */
export function printRemovals(
  terminal: Terminal,
  removals: BooksReport['removals'],
  purpose: Purpose = 'sync',
): void {
  if (removals.length === 0) return
  terminal.out(`  ${capitalized(removalsOf(purpose))}:`)
  const width = Math.max(...removals.map(({ records }) => formatNumber(records).length))
  for (const { state, records, meaning } of removals)
    terminal.out(
      `  ${state.padEnd(13)} ${formatNumber(records).padStart(width)}  ${terminal.style('dim', meaning)}`,
    )
}

/** The first records that a person has to look at. */
export const readNotedRemovals = async (
  ledger: Pick<Removals, 'removals'>,
  run: number,
): Promise<readonly ReportedRemoval[]> =>
  (await ledger.removals(run, { states: NOTED_REMOVALS, after: 0, limit: SHOWN })).rows

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
  (await ledger.removals(run, { states: ['planned', 'unsent'], after: 0, limit: SHOWN })).rows

/** Names them on the screen of the person who asked, and in no log. */
export function printPlannedRemovals(
  terminal: Terminal,
  removals: readonly ReportedRemoval[],
  { planned = 0, unsent = 0 }: RemovalCounts,
): void {
  if (!terminal.isScreen || removals.length === 0) return
  terminal.out('Records without a row:')
  for (const { state, key, recordId } of removals) {
    const record = recordId === null ? '' : ` (record ${safeText(recordId, 60)})`
    terminal.out(`  ${safeText(key, 80)}${record}${state === 'unsent' ? ', held back' : ''}`)
  }
  const more = planned + unsent - removals.length
  if (more > 0) terminal.out(`  and ${formatNumber(more)} more`)
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
