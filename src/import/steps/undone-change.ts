// What an undo changes, record by record, for whoever decides about it.

import type { PropertyChange } from '../judge/image-changes.ts'

/** A record that an undo changes, as far as it is known before anything is sent. */
export interface UndoneChange {
  readonly line: number
  readonly key: string
  readonly verdict: 'restore' | 'delete' | 'make'
  readonly recordId: string | null
  /** Of a record that gets values back, or that is made again. */
  readonly changes: readonly PropertyChange[]
}

/** Gets them page by page, in the order in which they are found. */
export type ReportChanges = (changes: readonly UndoneChange[]) => Promise<void>
