// Observers of a run's state: schedules that are paused, people who are notified, metrics. Promise kept here: a run never fails,
// and never waits for long, because one of them cannot be reached.

import type { BlockReason } from '../core/errors.ts'
import type { Purpose } from '../core/domain/purpose.ts'
import type { Books, RunState } from '../core/domain/books.ts'
import type { Run } from '../ledger/ledger.ts'

/** A run that changed its state, or that could not be opened; a group of which none could be. No values of rows, no keys. */
export interface RunChange {
  /** Null if it could not be opened. */
  readonly run: number | null
  readonly sync: string
  readonly kind: 'import' | 'mirror' | 'group'
  readonly purpose: Purpose
  /** Null if the run begins, or could not be opened. */
  readonly from: RunState | null
  readonly to: RunState
  readonly reason: BlockReason | 'abandoned' | null
  /** What a person should know, in one line. */
  readonly message: string | null
  /** For an import that ended. */
  readonly books: Books | null
  /** For a run that ended: records that it knows to differ. Null if they were not counted, or none differs. */
  readonly differences: number | null
  /** For a run that ended: ends of their APIs that its services announce. */
  readonly announced: readonly string[]
  readonly workflowId: string
}

/** What most changes leave out. */
export const NO_CHANGE = {
  reason: null,
  message: null,
  books: null,
  differences: null,
  announced: [],
} as const

/** The change of a run to another state. */
export const runChange = (
  { id, sync, kind, purpose, state: from, workflowId }: Run,
  now: Pick<RunChange, 'to'> & Partial<RunChange>,
): RunChange => ({ run: id, sync, kind, purpose, from, workflowId, ...NO_CHANGE, ...now })

export interface RunObserver {
  /** Takes at most 10 s, and never rejects. The same change may be reported twice, after a crash between two steps. */
  changed(change: RunChange): Promise<void>
}

/** Notifies all of them concurrently. */
export function notifyObservers(all: readonly RunObserver[]): RunObserver {
  return {
    async changed(change) {
      await Promise.all(all.map((one) => one.changed(change)))
    },
  }
}
