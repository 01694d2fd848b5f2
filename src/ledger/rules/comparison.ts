// What comparing an item with its record means for the item.

import type { ItemComparison } from '../roles/reconciliation.ts'
import { partition } from '../../core/slices.ts'
import { REPLACED_MAX } from './ranges.ts'

/**
 * An equal item is left as it is, and so is one that the mode does not write; one that is held is not sent; the others are still to
 * be sent.
 */
export const stateOnceCompared = ({ kind, held, spared }: ItemComparison) => {
  if (spared) return spared
  if (kind === null) return 'unchanged'
  return held === null ? 'pending' : 'not_sent'
}

/** Comparisons that one transaction writes, with their differences. */
export const comparisonParts = (items: readonly ItemComparison[]): ItemComparison[][] =>
  partition(items, ({ differences }) => 1 + differences.length, REPLACED_MAX)
