// What is left of a closed import's rejects, and what later runs brought in: retries, their retries, and regular runs.

import {
  LIVE_STATES,
  countReadBackDifferent,
  countRejects,
  type Books,
} from '../core/domain/books.ts'
import type { Leftovers, Run } from '../ledger/ledger.ts'
import { formatNumber } from './format.ts'
import type { LeftoverReport } from './run-report.ts'

/**
 * Null for a run that is not over, or had no rejects, or whose rows are no longer kept.
 * @param isKept whether rows of the run still exist
 */
export async function readLeftovers(
  ledger: Leftovers,
  run: Run,
  isKept: boolean,
): Promise<LeftoverReport | null> {
  if (!isKept || !run.counts || LIVE_STATES.includes(run.state)) return null
  const byRun = await ledger.leftByRun(run.id)
  return {
    rows: byRun.reduce((sum, { rows }) => sum + rows, 0),
    of: countRejects(run.counts) + countReadBackDifferent(run.counts),
    by_run: byRun,
  }
}

/** `86 of 104 brought in by later runs, 18 left: 15 as run 7 left them, 3 not sent again` */
export function leftoversText({ rows, of, by_run }: LeftoverReport, id: number): string {
  const parts = by_run.map((part) =>
    part.run === id
      ? `${formatNumber(part.rows)} not sent again`
      : `${formatNumber(part.rows)} as run ${part.run} left ${part.rows === 1 ? 'it' : 'them'}`,
  )
  const brought = `${formatNumber(of - rows)} of ${formatNumber(of)} brought in by later runs`
  return rows === 0
    ? `${brought}, none left`
    : `${brought}, ${formatNumber(rows)} left: ${parts.join(', ')}`
}

/** Rows of a retry that the service holds as they were sent. */
export const countBroughtIn = (books: Books): number =>
  books.states.created +
  books.states.updated +
  books.states.unchanged -
  countReadBackDifferent(books)
