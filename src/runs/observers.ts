// Who wants to know when a run changes its state: schedules that are paused, people who are told, metrics. Promise kept
// here: a run never fails, and never waits for long, because one of them cannot be reached.

import type { BlockReason } from '../core/errors.ts'
import type { Purpose } from '../core/purpose.ts'
import type { Books, RunState } from '../core/states.ts'

/** A run that changed its state, or that could not be opened. No values of rows, no keys. */
export interface RunChange {
  /** Null where it could not be opened. */
  readonly run: number | null
  readonly sync: string
  readonly kind: 'import' | 'mirror'
  readonly purpose: Purpose
  /** Null where the run begins, or could not be opened. */
  readonly from: RunState | null
  readonly to: RunState
  readonly reason: BlockReason | 'abandoned' | null
  /** What a person should know, in one line. */
  readonly message: string | null
  /** Of an import that ended. */
  readonly books: Books | null
  /** Of a run that ended: records that it knows to differ. Null where they were not counted, or none does. */
  readonly differences: number | null
  readonly workflowId: string
}

export interface RunObserver {
  /** Takes at most 10 s, and never rejects. The same change may be told twice, after a crash between two steps. */
  changed(change: RunChange): Promise<void>
}

/** Tells them all, side by side. */
export function notifyObservers(all: readonly RunObserver[]): RunObserver {
  return {
    async changed(change) {
      await Promise.all(all.map((one) => one.changed(change)))
    },
  }
}
