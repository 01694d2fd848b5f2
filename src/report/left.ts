// What is left of a closed import's rejects, and what later runs brought in: retries, their retries, and regular runs.

import { LIVE_STATES, readBackDiffers, rejectsOf, type Books } from '../core/states.ts'
import type { Ledger, Run } from '../ledger/ledger.ts'
import { figure } from './figures.ts'

export interface Left {
  readonly rows: number
  /** So many rejects the run had. */
  readonly of: number
  /** By the run that tried them last. */
  readonly byRun: readonly { readonly run: number; readonly rows: number }[]
}

/**
 * Null of a run that is not over, or had none, or whose rows are not kept any more.
 * @param isKept whether rows of the run are there
 */
export async function leftOf(ledger: Ledger, run: Run, isKept: boolean): Promise<Left | null> {
  if (!isKept || !run.counts || LIVE_STATES.includes(run.state)) return null
  const byRun = await ledger.leftByRun(run.id)
  return {
    rows: byRun.reduce((sum, { rows }) => sum + rows, 0),
    of: rejectsOf(run.counts) + readBackDiffers(run.counts),
    byRun,
  }
}

/** `86 of 104 brought in by later runs, 18 left: 15 as run 7 left them, 3 not sent again` */
export function leftText({ rows, of, byRun }: Left, id: number): string {
  const parts = byRun.map((part) =>
    part.run === id
      ? `${figure(part.rows)} not sent again`
      : `${figure(part.rows)} as run ${part.run} left ${part.rows === 1 ? 'it' : 'them'}`,
  )
  const brought = `${figure(of - rows)} of ${figure(of)} brought in by later runs`
  return rows === 0
    ? `${brought}, none left`
    : `${brought}, ${figure(rows)} left: ${parts.join(', ')}`
}

/** Rows of a retry that the service holds as they were sent. */
export const broughtIn = (books: Books): number =>
  books.states.created + books.states.updated + books.states.unchanged - readBackDiffers(books)
