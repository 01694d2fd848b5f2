// The differences that a reconciliation found, of an import or of a mirror.

import type {
  ChangedBy,
  Difference,
  DifferenceCounts,
  DifferenceKind,
} from '../../core/domain/differences.ts'
import type { KeyedRecord } from './accepted-records.ts'

/** A difference, and whether it is repaired. */
export interface NotedDifference extends Difference {
  readonly repaired: boolean
}

/** Differences of a run of one kind, in one field, by the same side. */
export interface DifferenceGroup {
  readonly stream: string
  readonly kind: DifferenceKind
  readonly field: string | null
  readonly whose: ChangedBy
  readonly differences: number
  readonly repaired: number
  /** The lowest ordinal; null if none has one. */
  readonly example: number | null
}

export interface Differences {
  /** Notes differences, replacing those that the run has of the same record; at most 1,000 records. `repaired`: already. */
  noteDifferences(
    run: number,
    differences: readonly Difference[],
    options: { repaired: boolean },
  ): Promise<void>
  /** Removes the differences of records that seemed extra and are not. */
  dropExtra(run: number, records: readonly KeyedRecord[]): Promise<void>
  /** Marks the differences as repaired whose item was created or updated, and did not read back different. */
  settleDifferences(run: number): Promise<void>
  /** Records that differ, by kind: all, and those that are not repaired. */
  differenceCounts(
    run: number,
  ): Promise<{ readonly found: DifferenceCounts; readonly left: DifferenceCounts }>
  /** Items that are missing at the service, and still planned: a repair creates their records. */
  plannedMissing(run: number): Promise<number>
  /** Differences by kind, field and side, most frequent first; at most 1,000. */
  differenceGroups(run: number): Promise<readonly DifferenceGroup[]>
  /** A page of the differences, in the order in which they were noted; `next` null at the end. */
  differences(
    run: number,
    options: {
      after: number
      limit: number
      kind?: DifferenceKind
      field?: string
      isRepaired?: boolean
    },
  ): Promise<{ readonly rows: readonly NotedDifference[]; readonly next: number | null }>
}
