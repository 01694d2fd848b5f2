// What people ask about a run: its items, its rejects by kind, and what it did when.

import type { Json } from '../../core/json.ts'
import type { ItemState, TimedOutcome } from '../../core/domain/outcomes.ts'
import type { CellError } from './staging.ts'

/** An item as reports show it. */
export interface ReportedItem {
  readonly ordinal: number
  readonly line: number
  readonly of: number | null
  /**
   * The row of a later run that is the newest attempt to bring it in: all but `ordinal`, `line` and `of` are of that row. Null
   * if it is the row itself.
   */
  readonly attempt: { readonly run: number; readonly ordinal: number } | null
  readonly key: string | null
  readonly state: ItemState
  readonly raw: readonly Json[] | null
  readonly httpStatus: number | null
  readonly recordId: string | null
  readonly code: string | null
  readonly reason: string | null
  readonly column: string | null
  readonly field: string | null
  readonly value: string | null
  readonly detail: string | null
  /** Further errors of an invalid row. */
  readonly more: readonly CellError[]
  readonly requestId: string | null
  readonly inDoubt: boolean
}

/** Rejects of one state, code, reason and column. */
export interface RejectGroup {
  readonly state: ItemState
  readonly code: string | null
  readonly reason: string | null
  readonly column: string | null
  readonly field: string | null
  readonly items: number
  readonly example: number
  /** Whether it counts further errors of rows that are in another group too. */
  readonly isMore?: true
}

/** What a run did in one share of its time. */
export interface TimelinePoint extends Readonly<Record<TimedOutcome, number>> {
  /** Its beginning, ISO 8601 in UTC. */
  readonly at: string
  readonly requests: number
  /** Requests that were not answered 2xx, or not at all. */
  readonly failedRequests: number
}

export interface RunReports {
  /** Items in the given states, in ordinal order, above `after`. */
  report(
    run: number,
    options: {
      states: readonly ItemState[]
      after: number
      limit: number
      /** Only what a retry would take (`retryRows`), as the newest attempt left it. */
      isLeft?: boolean
      /** Also what was accepted and read back different. */
      readBack?: boolean
    },
  ): Promise<readonly ReportedItem[]>
  /**
   * Rejects, and what was accepted and read back different, by state, code, reason and column, most frequent first. `isLeft`:
   * only what a retry of the closed run would take, as the newest attempt left it.
   */
  rejectGroups(run: number, options?: { isLeft?: boolean }): Promise<readonly RejectGroup[]>
  /** When the run sent its first batch, and when the last one was answered; null before the first. Reads two requests. */
  requestTimes(
    run: number,
  ): Promise<{ readonly first: string; readonly last: string | null } | null>
  /** What the run did over its time, in at most `points` equal shares; none without requests. */
  timeline(run: number, points: number): Promise<readonly TimelinePoint[]>
}
