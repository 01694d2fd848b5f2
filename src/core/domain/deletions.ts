// Deletions: why a record is to go whose row is gone from the source or asks for it, what happens to it, and the words for all.

import { type DeletionState } from './outcomes.ts'
import { countAll, equationText, type Counts } from './outcome-counts.ts'

/**
 * Why: the row is gone from the source, it asks for the deletion itself (`delete_when`), a reconciliation found the record to be extra, or
 * the run that made the record is undone.
 */
export const REMOVAL_CAUSES = ['missing', 'asked', 'extra', 'undo'] as const
export type RemovalCause = (typeof REMOVAL_CAUSES)[number]

/** Deletions by state: those that occur. */
export type DeletionCounts = Counts<DeletionState>

/** What happens to the record. */
export const REMOVAL_ACTIONS = ['delete', 'clear'] as const
export type RemovalAction = (typeof REMOVAL_ACTIONS)[number]

/** `13 deletions due = 12 deleted + 1 skipped (changed_since 1)`; null if there is none. */
export function deletionsText(counts: DeletionCounts = {}): string | null {
  const due = countAll(counts)
  return due === 0 ? null : equationText('deletion', due, counts)
}
