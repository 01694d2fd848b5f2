// What the service accepted, by key: the newest values of each key of a destination, and the record that holds them.

import type { LedgerPage, PlannedItem } from './outbox.ts'

/** What was accepted for a key. */
export interface AcceptedRecord {
  readonly key: string
  readonly recordId: string | null
  /** Null while a request is in flight, and if its outcome is not known. */
  readonly hash: string | null
  readonly marks: string | null
  readonly run: number
  /** The rank of the row (core/domain/watermark-rank.ts). */
  readonly watermark?: string
  /** Digest of what was read back, if it differed from what was sent; otherwise null. */
  readonly readBack: string | null
  /** Whether that is the service's own form of what was accepted. */
  readonly normalised?: true
  /** What was read back then, as baseline hashes (src/import/look/previous-values.ts), and the run that read it. */
  readonly seen?: string | null
  readonly seenRun?: number | null
  /** The records of a key that has several, or may have. */
  readonly records?: readonly string[]
}

/** The record that is accepted for a key. */
export interface AcceptedOfKey {
  readonly recordId: string
  readonly run: number
  /** All records of the key, where it has several, or may have; otherwise none. */
  readonly records: readonly string[]
}

/** The same, where the service may have named no record in its answer. */
export type WrittenKey = Omit<AcceptedOfKey, 'recordId'> & { readonly recordId: string | null }

/** A row that was sent without an answer. */
export interface SentInDoubt {
  readonly key: string
  readonly hash: string
  readonly sent: string | null
  /** Whether its key had no record right before it was sent. */
  readonly isNew: boolean
}

/** The row that a correction is of; without an ordinal: a retry whose rows are gone. */
export interface CorrectedRow {
  readonly run: number
  readonly ordinal: number | null
}

/** A record of a run's destination, under the key that the run knows it by. */
export interface KeyedRecord {
  readonly key: string
  readonly recordId: string
}

/** A record that is gone. */
export interface GoneRecord extends KeyedRecord {
  /** It was gone before the run came: its key may have another record by now. Default: no. */
  readonly wasGone?: boolean
}

/** A row of a run, by its key. */
export interface RowOfRun {
  readonly run: number
  readonly key: string
}

export interface KeptBefore extends RowOfRun {
  /** The list of its image (`BeforeImage`); null if nothing was kept. */
  readonly kept: string | null
}

export interface AcceptedRecords {
  /** How many keys of the run's planned items have an accepted record in the destination. */
  knownKeys(run: number): Promise<number>
  /** Whether the destination of the run has taken any row, in this run or an earlier one. */
  hasAccepted(run: number): Promise<boolean>
  /** Planned items above `after`, in ordinal order, whose key has no accepted record in the destination. */
  keysWithoutRecord(run: number, page: LedgerPage): Promise<readonly PlannedItem[]>
  /** The records that are accepted for at most 1,000 keys in the run's destination, and the runs that they are from. */
  acceptedRecords(run: number, keys: readonly string[]): Promise<ReadonlyMap<string, AcceptedOfKey>>
  /** All that is accepted for at most 1,000 keys in the run's destination, also where the record is not known. */
  acceptedValues(run: number, keys: readonly string[]): Promise<ReadonlyMap<string, AcceptedRecord>>
  /**
   * All that the sync of the run has had accepted with one of at most 1,000 records of the same org and object type, whichever address
   * and matching property it wrote them by. Where a service has answered without records, those of the key and matching property.
   */
  acceptedOfRecords(
    run: number,
    records: readonly { readonly key: string; readonly recordId: string }[],
  ): Promise<readonly AcceptedRecord[]>
  /**
   * The same for keys as other syncs have written them: those of the same origin, org, object type and matching property. Of
   * several syncs, the newest run counts.
   */
  recordsElsewhere(
    run: number,
    keys: readonly string[],
  ): Promise<ReadonlyMap<string, AcceptedOfKey>>
  /**
   * Notes for at most 1,000 keys of the run's destination which records they have, or may have; less than two: it is one alone. A
   * key with several has nothing accepted, so the next run sends its row again.
   */
  noteRecordsOfKeys(
    run: number,
    keys: readonly { readonly key: string; readonly records: readonly string[] }[],
  ): Promise<void>
  /**
   * The newest 20 closed runs before this one of its destination, by whichever address, that left rows in doubt: all, or those that had
   * another API key, from the beginning or later (`OTHER_KEY`).
   */
  runsInDoubt(run: number, options: { readonly ofAnyKey: boolean }): Promise<readonly number[]>
  /**
   * Rows of at most 1,000 keys that the run left in doubt, and that no reading has settled, with what they sent, where their images are
   * in the ledger: a JSON object by property; else null.
   */
  sentInDoubt(run: number, keys: readonly string[]): Promise<readonly SentInDoubt[]>
  /** What at most 1,000 rows of earlier runs kept, as their images have it. A row without an image is left out. */
  keptBefore(rows: readonly RowOfRun[]): Promise<readonly KeptBefore[]>
  /** How many keys of the run's destination have several records, or may have, and no item of the run. */
  absentWithSeveral(run: number): Promise<number>
  /**
   * A page of the keys of the run's destination that have a record and that no item of the run has, valid or not. `next` is
   * where the next page goes on; null at the end. A page may be empty.
   */
  absentKeys(
    run: number,
    options: { after: string | null; limit: number },
  ): Promise<{
    /** `place`: where a page behind the key would go on. */
    readonly keys: readonly (AcceptedRecord & { readonly place: string })[]
    readonly next: string | null
  }>
  /**
   * Of these records of the run's destination, those that other syncs have written too, with one of the syncs, by key: of the
   * same origin, org and object type, they have the same record, or the same key of the same matching property.
   */
  writtenElsewhere(
    run: number,
    records: readonly KeyedRecord[],
  ): Promise<ReadonlyMap<string, string>>
  /**
   * Of these records, those that belong to rows of the run: an item was found under the record or written to it, or an item's
   * key is accepted with it in the run's destination.
   */
  recordsOfRows(run: number, recordIds: readonly string[]): Promise<ReadonlySet<string>>
  /**
   * Of these keys of the run's destination, those that a correction brought in: a retry of a row that had no key or another
   * one, which no run has read from the source since. With the row that was corrected; if that row is gone, with the retry and
   * no row.
   */
  broughtByCorrection(
    run: number,
    keys: readonly string[],
  ): Promise<ReadonlyMap<string, CorrectedRow>>
  /**
   * These records were deleted on purpose, and are gone: nothing is accepted for their keys any more, whichever sync wrote
   * them, and their differences are repaired.
   */
  recordDeleted(run: number, records: readonly KeyedRecord[]): Promise<void>
}
