// What the steps of a delivery share.

import type {
  AcceptedRecords,
  BeforeImages,
  LedgerIdentity,
  Outbox,
  Reconciliation,
  RowStaging,
  Runs,
  RunSegment,
  StepStates,
} from '../../ledger/ledger.ts'
import type { AppliedPlan } from './applied-plan.ts'
import type { StagedImport } from '../ports.ts'

/** What delivering asks of the ledger: the outbox, and what is known of keys whose record has another id. */
export type DeliveryLedger = AcceptedRecords &
  BeforeImages &
  LedgerIdentity &
  Outbox &
  Reconciliation &
  RowStaging &
  Runs &
  StepStates

/** A segment of a run that this worker has claimed. */
export interface ClaimedSegment extends StagedImport {
  readonly segment: RunSegment
  readonly fence: number
  /** The plan that the run keeps to; null if there is none. */
  readonly plan: AppliedPlan | null
  readonly itemsPerRequest: number
  /** Items that the service refused alone, one after the other, at the end of the slice before. */
  readonly refusedInRow: number
}

/** What a call of `push` reached. */
export interface PushResult {
  /** False if time ran out first: call again. */
  readonly done: boolean
  readonly requests: number
  /** Rows refused one after the other, none taken in between: the next slice of the segment goes on counting. */
  readonly refusedInRow: number
}
