// Verification: written items are read back, and of several items that wrote one record the last one is sent once more.

import type { ItemState, WrittenState } from '../../core/domain/outcomes.ts'
import type { ItemNote, ItemOutcome, LedgerPage, PlannedItem } from './outbox.ts'

/** An item to read back: what was sent, and what is in doubt. */
export interface WrittenItem {
  readonly ordinal: number
  readonly key: string
  readonly payload: string
  readonly hash: string
  readonly state: ItemState
  readonly recordId: string | null
  readonly inDoubt: boolean
  /** Digest of what an earlier run read for the key, if it differed from what was sent; otherwise null. */
  readonly lastRead: string | null
  /** What is known about the key; null if nothing was accepted for it. */
  readonly known: KnownBaseline | null
  /** What its answer showed that differs, as a reason; null if it showed nothing, or the item was read back since. */
  readonly answered: string | null
  /** The key as its answer had it, if that is another form of it. */
  readonly answeredKey: string | null
  /** An earlier run has written it, and what is accepted stays that one's. */
  readonly isHeld: boolean
}

/** Baseline hashes of a key's values: those sent last and those before, and what an earlier run read back. */
export interface KnownBaseline {
  readonly run: number
  readonly marks: string | null
  readonly lastRun: number | null
  readonly lastBaseline: string | null
  readonly seenRun: number | null
  readonly seen: string | null
}

/** What reading an item back showed. */
export interface VerificationResult {
  readonly ordinal: number
  /** `normalised`: not as it was sent, but as an earlier run read it: it counts as equal. */
  readonly verdict: 'equal' | 'different' | 'missing' | 'normalised'
  readonly recordId: string | null
  readonly field: string | null
  /** Of an equal one: the baseline hashes of what was sent. */
  readonly marks?: string | null
  /** Digest of what was read, if it is not as it was sent. */
  readonly readBack?: string | null
  /** Of the same: baseline hashes of what was sent, is held, and was held before (src/import/look/previous-values.ts). */
  readonly seen?: string | null
  /** As of the item: what the earlier run keeps of it is not needed any more. */
  readonly isHeld?: boolean
  /** If it is null, the item keeps the note that it has, unless it is equal. */
  readonly told?: ItemNote | null
  /** What an item is whose answer was lost, and whose record is as it was sent. Default: updated. */
  readonly found?: WrittenState
}

export interface Verification {
  /**
   * Written and doubtful items above `after` that were not read back yet, in ordinal order; of the written ones, every
   * `every`-th by ordinal, and those that are `answered`. If `every` is null, only the doubtful ones.
   */
  written(
    run: number,
    options: { after: number; every: number | null; limit: number },
  ): Promise<readonly WrittenItem[]>
  /** Records what reading back showed, in a live run; items keep a terminal state. At most 1,000. */
  recordVerified(run: number, items: readonly VerificationResult[]): Promise<void>
  /**
   * Items above `after` whose record another item of the run wrote too, and that come last: to be sent once more. What an earlier run has
   * read comes before all others.
   */
  collisions(run: number, page: LedgerPage): Promise<readonly PlannedItem[]>
  /**
   * The item was sent after all others of its record: it is accepted, no other key of the record is, and the other items of the
   * run are `overwritten`, with this reason and detail. `answered`: as in `ItemOutcome`; the item is not accepted then.
   */
  recordCollision(
    run: number,
    ordinal: number,
    told: {
      readonly reason: string
      readonly detail: string
      readonly answered?: ItemOutcome['answered']
    },
  ): Promise<void>
}
