// Closing: what is left becomes terminal, the books are counted and sealed, and old work is removed.

import type { Books, RunState } from '../../core/domain/books.ts'
import type { Run } from './runs.ts'

/** How a run ends. */
export interface RunEnd {
  readonly state: RunState
  readonly reason?: Run['reason']
  readonly message?: string | null
  /** Null for a mirror, whose account is its streams. */
  readonly books: Books | null
  readonly verifiedThrough?: string | null
}

export interface RunClosing {
  /** Turns what is left into terminal states, slice by slice: sent into failed (in doubt), planned into unsent. */
  settleLeftovers(run: number): Promise<void>
  /** The books, counted from the items. */
  books(run: number): Promise<Books>
  /**
   * Drops the payloads and raw rows of accepted items, and then writes the counts, the final state and the manifest in one
   * transaction.
   */
  closeRun(run: number, end: RunEnd): Promise<void>
  /** Removes a plan's run and items. */
  discard(run: number): Promise<void>
  /**
   * Removes items and requests of runs closed before `before` (ISO 8601), in slices; `runs` and `accepted` stay, and what the
   * next incremental read goes on from. Returns the number of rows removed.
   */
  prune(before: string): Promise<number>
}
