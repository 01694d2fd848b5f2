// Removals: the records whose rows are gone from the source, or ask for it, and what became of them. Each is written down before it is
// sent, and settled after; what is removed is no longer accepted.

import type { RemovalCause, DeletionCounts } from '../../core/domain/deletions.ts'
import type { DeletionState, SettledDeletion } from '../../core/domain/outcomes.ts'
import type { AcceptedRecord } from './accepted-records.ts'
import type { LedgerPage } from './outbox.ts'

/** A key that the source has no row of, or whose row asks for the deletion of its record. */
export interface GoneKey {
  readonly key: string
  /** The record that is accepted for it; null if there is none, or its id is not known. */
  readonly recordId: string | null
  /** Whether anything is accepted for it: a service may answer without the id of the record. */
  readonly isTracked: boolean
}

export interface NewRemoval extends Omit<GoneKey, 'isTracked'> {
  /** Its place among the removals of the run, from 1. */
  readonly number: number
  readonly cause: RemovalCause
  readonly state: Extract<DeletionState, 'pending' | 'not_owned' | 'not_sent' | 'still_wanted'>
  readonly reason: string | null
  /** The version of an extra record, as it was compared. */
  readonly detail?: string
}

/** A removal that is not settled, with what is accepted for its key now. */
export interface OpenRemoval {
  readonly number: number
  readonly key: string
  readonly cause: RemovalCause
  /** The record that it is of, as far as it was known when it was planned, or is now. */
  readonly recordId: string | null
  /** Whether it was sent, and what became of that is not known. */
  readonly isSent: boolean
  readonly attempts: number
  /** The version of an extra record, as it was compared. */
  readonly detail: string | null
  readonly accepted:
    | (AcceptedRecord & {
        /** What an earlier run read back otherwise than it was sent, as baseline hashes, and that run. */
        readonly seen: string | null
        readonly seenRun: number | null
      })
    | null
}

export interface SentRemoval {
  readonly number: number
  /** JSON object of what the record holds; null where that is not kept. */
  readonly before: string | null
}

/** A record that was deleted. */
export interface RemovedImage {
  readonly number: number
  readonly key: string
  readonly before: string
  /** That of what was accepted for the key until then. */
  readonly watermark?: string
}

/** How one removal is settled. `planned`: it is sent once more. */
export interface RemovalOutcome {
  readonly number: number
  readonly key: string
  readonly state: SettledDeletion | 'pending'
  readonly recordId: string | null
  readonly httpStatus?: number | null
  readonly code?: string | null
  readonly reason?: string | null
  readonly detail?: string | null
}

/** A removal as reports show it. */
export interface ReportedRemoval {
  readonly number: number
  readonly key: string
  readonly recordId: string | null
  readonly cause: RemovalCause
  readonly state: DeletionState
  readonly httpStatus: number | null
  readonly code: string | null
  readonly reason: string | null
  readonly detail: string | null
  readonly inDoubt: boolean
}

export interface Removals {
  /**
   * The newest complete regular run of the run's destination before it; null if there is none. `isKept`: the ledger still has all of
   * its items.
   */
  previousReading(run: number): Promise<{ readonly run: number; readonly isKept: boolean } | null>
  /**
   * Keys of the items of the run `earlier` with ordinals from `after` on that no item of this run has, and no removal of it; each
   * once. `next` is where the next page goes on; null at the end. A page may be empty.
   */
  missingKeys(
    run: number,
    options: LedgerPage & { readonly earlier: number },
  ): Promise<{
    /** `isWithdrawn`: its row asked for the deletion then; `rawKey`: how the source had the key, where that was otherwise. */
    readonly keys: readonly (GoneKey & {
      readonly isWithdrawn: boolean
      readonly rawKey: string | null
    })[]
    readonly next: number | null
  }>
  /**
   * Keys that a run after `earlier` has written, and that no item of this run has, and no removal of it: of a stretch of what is accepted,
   * behind `after`. `next` is where the next stretch begins; null at the end.
   */
  madeKeys(
    run: number,
    options: { readonly earlier: number; readonly after: string | null; readonly limit: number },
  ): Promise<{ readonly keys: readonly GoneKey[]; readonly next: string | null }>
  /** Items of the run above `after` that ask for the deletion of their record, and are tracked. */
  askedKeys(
    run: number,
    page: LedgerPage,
  ): Promise<readonly (GoneKey & { readonly ordinal: number })[]>
  /** Removals of the run `earlier` above `after` that it left open, whose key is tracked, and no item of this run has it. */
  carriedKeys(
    run: number,
    options: LedgerPage & { readonly earlier: number },
  ): Promise<readonly (GoneKey & { readonly number: number; readonly cause: RemovalCause })[]>
  /** Of at most 1,000 keys, those that runs of the destination after `earlier`, and before this one, have removed. */
  removedSince(run: number, earlier: number, keys: readonly string[]): Promise<ReadonlySet<string>>
  /** Notes at most 1,000 removals of a run that is being staged, or claims them; those that it has already stay as they are. */
  addRemovals(run: number, fence: number, removals: readonly NewRemoval[]): Promise<void>
  /** How many keys of the run's destination are tracked. */
  trackedRecords(run: number): Promise<number>

  /**
   * The newest run, `upTo` at the most, that has written the record of a key in the destination of `upTo`; null if the ledger has none: a
   * row that was compared and found equal wrote nothing, and old rows are pruned.
   */
  writerOf(key: string, upTo: number): Promise<number | null>
  /** Takes the removals of a live run over; their holder before can settle nothing more. @throws FenceLost if it is closed */
  claimRemovals(run: number): Promise<number>
  /** Removals above `after` that are planned, or sent and not settled. */
  openRemovals(run: number, page: LedgerPage): Promise<readonly OpenRemoval[]>
  /** Writes removals down before they are sent. */
  recordRemovals(run: number, fence: number, removals: readonly SentRemoval[]): Promise<void>
  /** Records that the run has deleted, and what they held, above `after`. Only an empty page says that there are no more. */
  removedImages(run: number, page: LedgerPage): Promise<readonly RemovedImage[]>
  /**
   * Settles at most 1,000 removals. Nothing is accepted any more for keys whose record is gone or changed on purpose; a difference that
   * the record was extra is repaired.
   */
  settleRemovals(run: number, fence: number, outcomes: readonly RemovalOutcome[]): Promise<void>

  removalCounts(run: number): Promise<DeletionCounts>
  /** A page of the removals in these states, in order; `next` null at the end. */
  removals(
    run: number,
    options: LedgerPage & { readonly states: readonly DeletionState[] },
  ): Promise<{ readonly rows: readonly ReportedRemoval[]; readonly next: number | null }>
}
