// Everything that the ledger has of one key, or of one record, over all runs.

import type { ItemState } from '../../core/domain/outcomes.ts'
import type { Run } from './runs.ts'
import type { Destination } from './runs.ts'
import type { NotedDifference } from './differences.ts'
import type { ReportedRemoval } from './removals.ts'

/** The run that something is of. */
interface OfRun extends Pick<Run, 'sync' | 'purpose' | 'openedAt'> {
  readonly run: number
}

/** A row of a run with the key, or one that was written to the record. */
export interface RowItem extends OfRun {
  readonly ordinal: number
  readonly line: number
  readonly key: string | null
  readonly state: ItemState
  readonly recordId: string | null
  /** Of what is sent: the same hash is the same content. */
  readonly hash: string | null
  readonly attempts: number
  /** When it was sent last; null if it was not. */
  readonly sentAt: string | null
  readonly httpStatus: number | null
  readonly requestId: string | null
  /** What reading it back showed. */
  readonly verified: string | null
  readonly code: string | null
  readonly reason: string | null
  readonly column: string | null
  readonly field: string | null
  readonly inDoubt: boolean
  /** Values that others changed, and that the row left as they were. */
  readonly keptValues: number
}

/** What is known of the key: what was accepted last in a destination. */
export interface KnownKey extends Destination {
  readonly key: string
  readonly recordId: string | null
  /** The run that wrote it last. */
  readonly run: number
}

export interface RowHistory {
  readonly items: readonly RowItem[]
  readonly removals: readonly (OfRun & ReportedRemoval)[]
  readonly differences: readonly (OfRun & NotedDifference)[]
  readonly known: readonly KnownKey[]
}

export type RowSubject = { readonly key: string } | { readonly recordId: string }

export interface RowHistories {
  /** Newest first; at most `limit` of each kind. One look into an index for each run. */
  rowHistory(subject: RowSubject, limit: number): Promise<RowHistory>
}
