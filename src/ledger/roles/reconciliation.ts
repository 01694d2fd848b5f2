// Reconciliation: planned items are compared with their records before any of them is sent.

import type { SparedState } from '../../core/domain/outcomes.ts'
import type { Difference, OriginalDifferenceKind } from '../../core/domain/differences.ts'
import type { AcceptedRecord } from './accepted-records.ts'
import type { LedgerPage, PlannedItem } from './outbox.ts'

/** A planned item of a reconciliation, and what was accepted for its key; null if nothing was. */
export interface UncomparedItem extends PlannedItem {
  /** The rank of the row (core/domain/watermark-rank.ts). */
  readonly watermark?: string
  readonly accepted: AcceptedRecord | null
}

/** What comparing an item with its record showed. */
export interface ItemComparison {
  readonly ordinal: number
  readonly recordId: string | null
  /** Null if they are equal. */
  readonly kind: OriginalDifferenceKind | null
  /** Of an equal one: whether the service holds a form of its own, as an earlier run found. */
  readonly normalised?: boolean
  /** That the mode of the import does not write it, whatever it is. Then no difference is recorded. */
  readonly spared?: SparedState | null
  /** Baseline hashes of the item's values. */
  readonly marks: string
  /** Why it must not be sent by itself: it becomes `unsent` with this reason. Null: it stays planned. */
  readonly held: { readonly reason: string; readonly detail: string } | null
  /** One for each field, or one for the whole record; none if they are equal. */
  readonly differences: readonly Difference[]
}

export interface Reconciliation {
  /** Planned items above `after`, in ordinal order, that were not compared yet. */
  uncompared(run: number, page: LedgerPage): Promise<readonly UncomparedItem[]>
  /**
   * Records what comparing showed, for items that are still planned; at most 1,000. An equal one is `unchanged`, verified and
   * accepted; one that is spared gets that state; the others stay planned, unless they are held, their differences replace earlier ones, and what was accepted
   * stays. The segments' counts of planned items fall with those that are planned no more.
   */
  recordCompared(run: number, items: readonly ItemComparison[]): Promise<void>
}
