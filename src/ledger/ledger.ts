// The ledger: the outbox and the books of every run at once. The state of an item is the checkpoint; there is no other
// cursor (design sections 3 to 5). Promises kept here: every source row has exactly one item; a stale worker settles
// nothing (fences); no transaction touches more than 1,000 rows.

import type { CorrectedRow } from './corrected.ts'
import type { BlockReason } from '../core/errors.ts'
import type {
  Difference,
  DifferenceCounts,
  DifferenceKind,
  ChangedBy,
} from '../core/differences.ts'
import type { Json } from '../core/json.ts'
import type { Purpose, RetryChoice } from '../core/purpose.ts'
import type { Books, ItemState, RunState } from '../core/states.ts'
import type { Watermark } from '../core/watermark.ts'

/** A run as the ledger holds it. Times are ISO 8601 in UTC. */
export interface Run {
  readonly id: number
  readonly sync: string
  readonly kind: 'import' | 'mirror'
  /** A `plan` stages and counts, and never sends; it does not hold the sync. */
  readonly mode: 'run' | 'plan'
  readonly purpose: Purpose
  /** Of a retry: the run whose rows it takes. */
  readonly of: number | null
  readonly state: RunState
  readonly reason: BlockReason | 'abandoned' | null
  /** What a person should know about the state, in one line. */
  readonly message: string | null
  readonly workflowId: string
  readonly workflowRunId: string
  /** The resolved configuration of the sync, without secrets; every step after `open` uses this copy. */
  readonly config: Json
  readonly destination: number | null
  readonly keyFingerprint: string | null
  /** What the service said of the properties that an import writes, when it was staged. */
  readonly schema: RunSchema | null
  readonly sourceColumns: readonly string[] | null
  readonly sourceDigest: string | null
  /** Source rows read; null until staging is complete. */
  readonly rowsRead: number | null
  readonly warnings: readonly string[]
  /** The state counts of an import at close; they outlive the items. */
  readonly counts: Books | null
  /** Of a reconciliation that was whole and left no difference: when it began. */
  readonly verifiedThrough: string | null
  readonly openedAt: string
  readonly closedAt: string | null
}

/** The mapped properties, by name. */
export type RunSchema = Readonly<Record<string, PropertyFacts>>

export interface PropertyFacts {
  readonly type: string
  readonly isMulti: boolean
  /** Values that it accepts, where these are listed; the first 100. */
  readonly options: readonly string[]
  /** Of the matching property: whether the service takes capitals and small letters for the same. Runs of earlier versions lack it. */
  readonly folds?: boolean
}

/** Where accepted values live: what was accepted in one place says nothing about another. */
export interface Destination {
  readonly sync: string
  readonly origin: string
  readonly orgId: number
  readonly objectType: string
  readonly matchingProperty: string
}

/** What is wrong with a cell. */
export interface CellError {
  readonly reason: string
  readonly column: string | null
  readonly field: string | null
  readonly value: string | null
  readonly detail: string
}

/** A row as staging found it. */
export type StagedItem =
  | {
      readonly ordinal: number
      readonly line: number
      /** Of a retry: the ordinal of the row in the run that it is of. */
      readonly of?: number
      readonly raw: string
      readonly valid: true
      readonly key: string
      /** The exact JSON text of the batch item. */
      readonly payload: string
      readonly hash: string
      /** The text of the key as the source has it, where it is sent otherwise. */
      readonly rawKey?: string
    }
  | ({
      readonly ordinal: number
      readonly line: number
      readonly of?: number
      readonly raw: string
      readonly valid: false
      readonly key: string | null
      /** What else is wrong with it. */
      readonly more?: readonly CellError[]
    } & CellError)

/** The last run of a destination that is complete and that noted a watermark: the next one goes on from it. */
export interface LastReading {
  readonly run: number
  readonly watermark: Watermark
  /** The columns of its rows. */
  readonly columns: readonly string[]
}

/** The share of a run that one activity works on: items `first` to `last`, by ordinal. */
export interface RunSegment {
  readonly first: number
  readonly last: number
}

/** A planned item, ready to be sent. */
export interface PlannedItem {
  readonly ordinal: number
  readonly key: string
  readonly payload: string
  readonly hash: string
  readonly attempts: number
  /** The text of the key as the source has it, where it is sent otherwise and no form was decided on. */
  readonly rawKey?: string | null
}

/** A batch that was written down before it was sent. */
export interface SentBatch {
  readonly batch: number
  readonly attempt: number
  /** SHA-256 of the body, hex. */
  readonly digest: string
  readonly items: readonly PlannedItem[]
}

/** How one item of an answer is booked. `planned` sends it again in a later round; `sent` leaves it in doubt, for verify to settle. */
export interface ItemOutcome {
  readonly ordinal: number
  readonly state: 'created' | 'updated' | 'rejected' | 'planned' | 'sent'
  readonly httpStatus: number | null
  readonly recordId: string | null
  readonly code: string | null
  readonly reason: string | null
  readonly field: string | null
  readonly detail: string | null
  readonly inDoubt: boolean
  /** Of what was accepted: the marks of its values (src/import/verify/baseline-hashes.ts). */
  readonly marks: string | null
  /** Of what was accepted: what its answer shows otherwise than it was sent. Such an item is `answered` until it is read back. */
  readonly answered?: Answered | null
}

/** What the answer of an accepted item shows otherwise than it was sent. */
export interface Answered extends ItemNote {
  readonly field: string
  /** The item's key in the form of the answer, where that is another one. */
  readonly key?: string | null
}

/** What a person is told of an accepted item that is not as it was sent. */
export interface ItemNote {
  readonly reason: string
  readonly detail: string
  readonly column: string | null
  readonly value: string | null
}

/** How one request ended. */
export interface RequestOutcome {
  /** HTTP status, or null where no answer came. */
  readonly status: number | null
  readonly requestId: string | null
  readonly durationMs: number
}

/** An item as reports show it. */
export interface ReportedItem {
  readonly ordinal: number
  readonly line: number
  readonly of: number | null
  /**
   * The row of a later run that is the newest attempt to bring it in: the rest is told of that one, but for `ordinal`, `line`
   * and `of`. Null where it is the row itself.
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
  /** What else is wrong with an invalid row. */
  readonly more: readonly CellError[]
  readonly requestId: string | null
  readonly inDoubt: boolean
}

/** An item to read back: what was sent, and what is in doubt. */
export interface WrittenItem {
  readonly ordinal: number
  readonly key: string
  readonly payload: string
  readonly hash: string
  readonly state: ItemState
  readonly recordId: string | null
  readonly inDoubt: boolean
  /** What an earlier run read of the key that was not as it was sent, as a digest; null where none did. */
  readonly lastRead: string | null
  /** What is known of the key; null where nothing was accepted for it. */
  readonly known: KnownBaseline | null
  /** What its answer showed otherwise, as a reason; null where it showed nothing, or the item was read back since. */
  readonly answered: string | null
  /** The key as its answer had it, where that is another form of it. */
  readonly answeredKey: string | null
}

/** Marks of a key's values: those that were sent last and before that, and what an earlier run has seen of them. */
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
  /** `normalised`: not as it was sent, and as an earlier run read it: it counts as equal. */
  readonly verdict: 'equal' | 'different' | 'missing' | 'normalised'
  readonly recordId: string | null
  readonly field: string | null
  /** Of an equal one: the marks of what was sent. */
  readonly marks?: string | null
  /** Digest of what was read, where it is not as it was sent. */
  readonly readBack?: string | null
  /** Of the same: marks of what was sent, is held, and was held before (src/import/verify/previous-values.ts). */
  readonly seen?: string | null
  /** Where it is null, what is told of the item already stays, unless it is equal. */
  readonly told?: ItemNote | null
}

/** What was accepted for a key. */
export interface AcceptedRecord {
  readonly key: string
  readonly recordId: string | null
  /** Null while a request is in flight, and where its outcome is not known. */
  readonly hash: string | null
  readonly marks: string | null
  readonly run: number
  /** Digest of what was read back otherwise than it was sent; null where nothing was. */
  readonly readBack: string | null
  /** Whether that is the service's own form of what was accepted. */
  readonly normalised?: true
}

/** A planned item of a reconciliation, and what was accepted for its key; null where nothing was. */
export interface UncomparedItem extends PlannedItem {
  readonly accepted: AcceptedRecord | null
}

/** What comparing an item with its record showed. */
export interface ItemComparison {
  readonly ordinal: number
  readonly recordId: string | null
  /** Null where they are equal. */
  readonly kind: Exclude<DifferenceKind, 'extra'> | null
  /** Of an equal one: whether the service holds a form of its own, as an earlier run has found. */
  readonly normalised?: boolean
  /** Marks of the item's values. */
  readonly marks: string
  /** Why it must not be sent by itself: it becomes `unsent` with this reason. Null: it stays planned. */
  readonly held: { readonly reason: string; readonly detail: string } | null
  /** One for each field, or one for the whole record; none where they are equal. */
  readonly differences: readonly Difference[]
}

/** Differences of a run of one kind, in one field, by the same side. */
export interface DifferenceGroup {
  readonly stream: string
  readonly kind: DifferenceKind
  readonly field: string | null
  readonly whose: ChangedBy
  readonly differences: number
  readonly repaired: number
  /** The lowest ordinal; null where none has one. */
  readonly example: number | null
}

/** What a run did in one share of its time. */
export interface TimelinePoint {
  /** Its beginning, ISO 8601 in UTC. */
  readonly at: string
  readonly requests: number
  /** Requests that were not answered 2xx, or not at all. */
  readonly failedRequests: number
  readonly created: number
  readonly updated: number
  readonly rejected: number
  readonly failed: number
}

/** The sealed account of a closed run (src/ledger/manifest.ts). */
export interface StoredManifest {
  readonly run: number
  readonly sync: string
  /** Canonical JSON. */
  readonly body: string
  /** SHA-256 of the body, hex. */
  readonly digest: string
  /** HMAC-SHA256 of the body, hex; null where the ledger had no signing key. */
  readonly signature: string | null
}

/** What can be exported, each a table or view of the ledger of this name. */
export const EXPORTS = [
  'runs',
  'results',
  'differences',
  'last_accepted',
  'requests',
  'streams',
  'manifests',
] as const
export type ExportName = (typeof EXPORTS)[number]

/** The state of a run's work at a moment, from counters; cheap. */
export interface RunCounters {
  readonly read: number
  readonly planned: number
  readonly created: number
  readonly updated: number
  readonly rejected: number
  readonly failed: number
  readonly requests: number
}

/** What a mirror's run did to one stream: a table of the warehouse. The sums are those of the run so far. */
export interface StreamBooks {
  /** Such as `svc_contact`. */
  readonly stream: string
  /** Its table, with the schema; null until it is known. */
  readonly table: string | null
  readonly state: 'waiting' | 'pulling' | 'sweeping' | 'approval' | 'complete' | 'failed'
  /** Whether everything was read, or what had changed. */
  readonly mode: 'full' | 'incremental' | null
  readonly requests: number
  /** Rows that the service sent: a record that is sent twice is two. */
  readonly read: number
  readonly inserted: number
  readonly changed: number
  readonly unchanged: number
  readonly deleted: number
  /** Answers that came late and were left alone. Left out by versions that did not count them, as are the next two. */
  readonly older?: number
  /** Of `changed`: rows that were newer than the service has them. */
  readonly reverted?: number
  /** Whether the table is known not to hold what the service holds, and the run could not mend it; null while that is open. */
  readonly differs?: boolean | null
  /** Rows of the table with a value that did not fit its column. */
  readonly misfits: number | null
  /** Records by the service's own count, and rows of the table that are there; null until they were counted. */
  readonly serviceCount: number | null
  readonly tableCount: number | null
  /** What a person should know about it, in one line. */
  readonly message: string | null
}

/** How a sync stands, as its runs tell. Times are ISO 8601 in UTC. */
export interface SyncHealth {
  readonly kind: Run['kind']
  /** Of its newest run. */
  readonly state: RunState
  readonly reason: Run['reason']
  /** Whether its newest run ended and knows that the two sides do not hold the same, whatever its state. */
  readonly differs: boolean
  /** When the newest run that is complete, with rejects or without, was closed; null where there is none. */
  readonly succeededAt: string | null
  /** When the live run was opened that has rows to be sent, or sent and not settled; null where there is none. */
  readonly waitingSince: string | null
  /** When the newest run was opened that came to the end of a mirror's stream, by stream. */
  readonly streams: ReadonlyMap<string, string>
}

/** What staging decided, in rows. */
export interface StageCounts {
  readonly planned: number
  readonly superseded: number
  /** Those of `superseded` that gave way to a newer row of another run: rows of a retry. */
  readonly newer?: number
  readonly unchanged: number
  readonly invalid: number
  /** Those of `planned` that were accepted as they are, before the ledger was put back from a backup. */
  readonly distrusted?: number
}

/**
 * The ledger's drivers implement this; `test/contract/ledger.suite.ts` holds for each of them.
 * Every method may throw `LedgerError`; those that take a fence may throw `FenceLost`.
 */
export interface Ledger {
  /** Where it is, for messages. */
  readonly place: string

  /** The project that the ledger is of: eight random hexadecimal digits, drawn when it was made. */
  project(): Promise<string>
  /**
   * Which copy of the ledger this is, eight hexadecimal digits: the same for everybody who has this very file, or database, open,
   * by whatever path.
   */
  copy(): Promise<string>
  /**
   * The last run before the ledger was put back from a backup; 0 if it never was. What was accepted until then may be older than
   * what the service holds: a run does not believe it, and a watermark that was reached does not count.
   */
  restoredAfter(): Promise<number>
  /** The runs that are not closed, oldest first: one of each sync at most. */
  liveRuns(): Promise<readonly Run[]>
  /** Opens a run, in one transaction, or says which live run holds the sync. */
  openRun(run: {
    sync: string
    kind: Run['kind']
    mode: 'run' | 'plan'
    workflowId: string
    workflowRunId: string
    config: Json
    /** Default `sync`. */
    purpose?: Purpose
    of?: number | null
  }): Promise<{ run: Run } | { heldBy: Run }>
  run(id: number): Promise<Run | null>
  /** Null for a sync that never ran. Reads a few rows, however many runs there were. */
  syncHealth(sync: string): Promise<SyncHealth | null>
  /** Newest first. `isCompared`: true gives reconciliations alone, false leaves them out. */
  runs(filter: { sync?: string; limit: number; isCompared?: boolean }): Promise<readonly Run[]>
  setRunState(
    id: number,
    state: RunState,
    reason?: BlockReason | 'abandoned' | null,
    message?: string | null,
  ): Promise<void>
  /** Notes the destination, the key in use and what the mapping warned of. Returns the destination's id. */
  bindDestination(
    id: number,
    destination: Destination,
    facts: { keyFingerprint: string; warnings: readonly string[]; schema: RunSchema },
  ): Promise<number>
  /** Where a run writes to; null before it was bound. */
  destinationOf(run: number): Promise<Destination | null>

  /** Starts staging anew: a higher fence, and no items. */
  beginStage(run: number, columns: readonly string[]): Promise<number>
  /** Writes at most 1,000 items. */
  stageItems(run: number, fence: number, items: readonly StagedItem[]): Promise<void>
  /**
   * Marks superseded and unchanged items, slice by slice, and cuts the run into segments. Notes the watermark that was
   * reached: it counts from when the run is closed as complete, in the transaction that closes it.
   */
  finishStage(
    run: number,
    fence: number,
    source: {
      rows: number
      digest: string
      rowsPerSegment: number
      watermark?: Watermark | undefined
      /** Whether what was accepted is believed, and so left out as `unchanged`. Default true; a reconciliation asks instead. */
      believes?: boolean
    },
    onSlice?: () => void,
  ): Promise<StageCounts>
  /**
   * Takes all but about `rows` of the planned items out of a run that is staged, evenly, and from its count of rows: as if
   * its source had no more. Returns what is left planned.
   */
  keepSample(run: number, fence: number, rows: number): Promise<number>

  lastReading(destination: Destination): Promise<LastReading | null>
  /**
   * Rows above `after`, in ordinal order, that a closed run left over: not accepted, or not found as they were sent; each as
   * its newest attempt had it, in this run, a retry of it, a retry of that one or another retry of the same row. Without those
   * that an attempt brought in, those whose newest key a later run brought in, and those without a key, of which nobody could
   * tell that they were mended.
   */
  leftRows(
    run: number,
    options: { after: number; limit: number },
  ): Promise<readonly { ordinal: number; raw: readonly Json[] }[]>
  /**
   * Rows of a closed run that a retry takes, above `after`, in ordinal order: those of `leftRows`, and those without a key,
   * that are chosen. Codes and reasons are those of the newest attempt. Of a correction its rows, as they were corrected.
   */
  retryRows(
    run: number,
    choice: RetryChoice,
    options: { after: number; limit: number },
  ): Promise<readonly { ordinal: number; line: number; raw: readonly Json[] }[]>
  /**
   * Keeps rows of a closed run as a person corrected them; at most 1,000 a call. `correction`: what an earlier call gave, to
   * add to it; null begins one. They go with the items of the run.
   */
  addCorrections(
    run: number,
    correction: number | null,
    rows: readonly { ordinal: number; raw: readonly Json[] }[],
  ): Promise<number>
  /** The retries of a run, and theirs, oldest first. */
  retries(run: number): Promise<readonly Run[]>
  /** Which of at most 1,000 keys the items of a run have, of the ordinals `upTo`. */
  stagedKeys(
    run: number,
    keys: readonly string[],
    options: { upTo: number },
  ): Promise<ReadonlySet<string>>

  /** The segments that still have planned or sent items. */
  openSegments(run: number): Promise<readonly RunSegment[]>
  /** Takes a segment over; whoever held it before can settle nothing more. */
  claimSegment(run: number, segment: RunSegment): Promise<number>
  /** When the last of those requests of the run was written down whose end is not known; null where there is none. */
  lastSentAt(run: number): Promise<string | null>
  /** Batches of the segment that were sent and never settled, oldest first. */
  unsettledBatches(run: number, segment: RunSegment): Promise<readonly SentBatch[]>
  /** The next planned items above `after`, in ordinal order, that had fewer than `attemptsBelow` attempts. */
  nextPlanned(
    run: number,
    segment: RunSegment,
    options: { after: number; attemptsBelow: number; limit: number },
  ): Promise<readonly PlannedItem[]>
  /** Planned items of a segment whose key has another form in the source, of which none was decided on. */
  looseKeys(
    run: number,
    segment: RunSegment,
    options: { limit: number },
  ): Promise<readonly PlannedItem[]>
  /** Decides on the form of their keys: `payload` is sent instead, where there is one. */
  settleKeys(
    run: number,
    items: readonly { ordinal: number; payload: string | null }[],
  ): Promise<void>
  /** How the keys of a run that was staged differ from their forms in the source, and from each other. */
  keyCounts(run: number): Promise<{
    /** Rows whose key is sent otherwise than the source has it. */
    readonly loose: number
    /** Rows whose key is not known: they have none, or nobody can tell which cell it is. */
    readonly keyless: number
    /** Superseded rows whose key the source has in another form than the row that supersedes them. */
    readonly merged: number
    /** Keys with capitals whose form in small letters is a key too, of the run or of what was accepted. */
    readonly variants: number
  }>
  /** Adds to what a person should know about a live run. */
  addWarnings(run: number, warnings: readonly string[]): Promise<void>

  /** Writes a batch down before it is sent: stamps and marks its items, clears their accepted hashes. */
  recordSend(
    run: number,
    segment: RunSegment,
    fence: number,
    batch: { operation: string; digest: string; items: readonly PlannedItem[] },
  ): Promise<SentBatch>
  /** Writes down that a batch is sent again; `replayed` flags its items where the outcome before is unknown. */
  recordResend(
    run: number,
    segment: RunSegment,
    fence: number,
    batch: SentBatch,
    options: { operation: string; replayed: boolean },
  ): Promise<SentBatch>
  /** Settles a request whose batch stays sent: no believable answer came. */
  recordNoAnswer(run: number, batch: SentBatch, outcome: RequestOutcome): Promise<void>
  /** Settles a batch: outcomes, accepted hashes and the request row, in one transaction. */
  settle(
    run: number,
    segment: RunSegment,
    fence: number,
    batch: SentBatch,
    outcome: RequestOutcome,
    items: readonly ItemOutcome[],
  ): Promise<void>
  /** Puts a batch that was certainly not carried out back to planned; no attempt is counted. */
  release(
    run: number,
    segment: RunSegment,
    fence: number,
    batch: SentBatch,
    outcome: RequestOutcome,
  ): Promise<void>
  finishSegment(run: number, segment: RunSegment, fence: number): Promise<void>
  progress(run: number): Promise<RunCounters>

  /**
   * Written and doubtful items above `after` that were not read back yet, in ordinal order; of the written ones, every
   * `every`-th by ordinal, and those that are `answered`. Where `every` is null, the doubtful ones alone.
   */
  written(
    run: number,
    options: { after: number; every: number | null; limit: number },
  ): Promise<readonly WrittenItem[]>
  /** Books what reading back showed, in a live run; items keep a terminal state. At most 1,000. */
  recordVerified(run: number, items: readonly VerificationResult[]): Promise<void>
  /**
   * The item was sent after all others of its record: it is accepted, no other key of the record is, and the other items of the
   * run are `overwritten`, told with this reason and detail. `answered`: as in `ItemOutcome`; the item is not accepted then.
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
  /** Items above `after` whose record was written by another item of the run too, and that come last: to be sent once more. */
  collisions(
    run: number,
    options: { after: number; limit: number },
  ): Promise<readonly PlannedItem[]>

  /** Planned items above `after`, in ordinal order, that were not compared yet. */
  uncompared(
    run: number,
    options: { after: number; limit: number },
  ): Promise<readonly UncomparedItem[]>
  /**
   * Books what comparing showed, for items that are still planned; at most 1,000. An equal one is `unchanged`, verified and
   * accepted; the others stay planned, unless they are held, their differences are noted in place of earlier ones, and what
   * was accepted stays. The segments' counts of planned items fall with those that are planned no more.
   */
  recordCompared(run: number, items: readonly ItemComparison[]): Promise<void>
  /**
   * A page of the keys of the run's destination that have a record and that no item of the run has, valid or not. `next` is
   * where the next page goes on; null at the end. A page may be empty.
   */
  absentKeys(
    run: number,
    options: { after: string | null; limit: number },
  ): Promise<{
    /** `place`: where a page would go on behind the key. */
    readonly keys: readonly (AcceptedRecord & { readonly place: string })[]
    readonly next: string | null
  }>
  /** Notes differences, in place of those that the run has of the same record; at most 1,000 records. `repaired`: mended already. */
  noteDifferences(
    run: number,
    differences: readonly Difference[],
    options: { repaired: boolean },
  ): Promise<void>
  /**
   * Of these records of the run's destination, those that other syncs have written too, with one of the syncs, by key: of the
   * same origin, org and object type, they have the same record, or the same key of the same matching property.
   */
  writtenElsewhere(
    run: number,
    records: readonly { key: string; recordId: string }[],
  ): Promise<ReadonlyMap<string, string>>
  /**
   * Of these records, those that belong to rows of the run: an item was found under the record or written to it, or an item's
   * key is accepted with it in the run's destination.
   */
  recordsOfRows(run: number, recordIds: readonly string[]): Promise<ReadonlySet<string>>
  /** The records that are accepted for at most 1,000 keys in the run's destination, and the runs that they are from. */
  acceptedRecords(
    run: number,
    keys: readonly string[],
  ): Promise<ReadonlyMap<string, { readonly recordId: string; readonly run: number }>>
  /** Removes the differences of records that seemed extra and are not. */
  dropExtra(run: number, records: readonly { key: string; recordId: string }[]): Promise<void>
  /**
   * Of these keys of the run's destination, those that a correction brought in: a retry of a row that had no key or another
   * one, which no run has read from the source since. With the row that was corrected; where it is not kept any more, with the
   * retry and no row.
   */
  broughtByCorrection(
    run: number,
    keys: readonly string[],
  ): Promise<ReadonlyMap<string, CorrectedRow>>
  /**
   * The record of this key was deleted on purpose, and is gone: nothing is accepted for it any more, whichever sync wrote it, and its
   * difference is mended.
   */
  recordDeleted(run: number, records: readonly { key: string; recordId: string }[]): Promise<void>
  /** Marks the differences as mended of which the item was created or updated, and did not read back otherwise. */
  settleDifferences(run: number): Promise<void>
  /** Records that differ, by kind: all, and those that are not mended. */
  differenceCounts(
    run: number,
  ): Promise<{ readonly found: DifferenceCounts; readonly left: DifferenceCounts }>
  /** Differences by kind, field and side, most frequent first; at most 1,000. */
  differenceGroups(run: number): Promise<readonly DifferenceGroup[]>
  /** A page of the differences, in the order in which they were noted; `next` null at the end. */
  differences(
    run: number,
    options: { after: number; limit: number; kind?: DifferenceKind; isRepaired?: boolean },
  ): Promise<{
    readonly rows: readonly (Difference & { readonly repaired: boolean })[]
    readonly next: number | null
  }>
  /** When the newest whole reconciliation without a difference began; null where there is none. */
  reconciled(sync: string): Promise<{ readonly verifiedThrough: string | null }>
  /** Where a reconciliation of a stream stands, as its own text; null where nothing was kept. */
  loadStepState(run: number, stream: string): Promise<string | null>
  saveStepState(run: number, stream: string, place: string): Promise<void>
  /** Counts requests of a live run that write and belong to no segment, such as deletions, under the name of their step. */
  noteRequests(run: number, step: string, count: number): Promise<void>

  /** Turns what is left into terminal states, slice by slice: sent into failed (in doubt), planned into unsent. */
  settleLeftovers(run: number): Promise<void>
  /** The books as one query over the items. */
  books(run: number): Promise<Books>
  /**
   * Writes the counts, the final state and the manifest, in one transaction, and drops the payloads and raw rows of accepted
   * items before it.
   */
  closeRun(
    run: number,
    end: {
      state: RunState
      reason?: BlockReason | 'abandoned' | null
      message?: string | null
      /** Null for a mirror, whose account is its streams. */
      books: Books | null
      verifiedThrough?: string | null
    },
  ): Promise<void>
  /** Notes where a mirror's run is with one stream: one row for each stream, written anew. */
  noteStream(run: number, books: StreamBooks): Promise<void>
  /** The streams of a mirror's run, in the order of their names. */
  streams(run: number): Promise<readonly StreamBooks[]>
  /** Removes a plan's run and items. */
  discard(run: number): Promise<void>
  /**
   * Removes items and requests of runs closed before `before` (ISO 8601), in slices; `runs` and `accepted` stay, and what
   * the next incremental reading goes on from.
   */
  prune(before: string): Promise<number>

  /** Items in the given states, in ordinal order, above `after`. */
  report(
    run: number,
    options: {
      states: readonly ItemState[]
      after: number
      limit: number
      /** Only what a retry would take (`retryRows`), as the newest attempt left it. */
      isLeft?: boolean
      /** Also what was accepted and read back otherwise. */
      readBack?: boolean
    },
  ): Promise<readonly ReportedItem[]>
  /** How many rows of a closed run a retry would take, by the run of their newest attempt, in the order of these. */
  leftByRun(run: number): Promise<readonly { readonly run: number; readonly rows: number }[]>
  /**
   * Rejects, and what was accepted and read back otherwise, by state, code, reason and column, most frequent first. `isLeft`:
   * only what a retry of the closed run would take, as the newest attempt left it.
   */
  rejectGroups(
    run: number,
    options?: { isLeft?: boolean },
  ): Promise<
    readonly {
      state: ItemState
      code: string | null
      reason: string | null
      column: string | null
      field: string | null
      items: number
      example: number
      /** Whether it is what else is wrong with rows that are in another group too. */
      isMore?: true
    }[]
  >
  /** What the run did over its time, in at most `points` equal shares; none without requests. */
  timeline(run: number, points: number): Promise<readonly TimelinePoint[]>
  /** The manifests of a sync, oldest first, of runs above `after`. */
  manifests(
    sync: string,
    options: { after: number; limit: number },
  ): Promise<readonly StoredManifest[]>
  /** Names of all syncs that have runs, in order. */
  syncs(): Promise<readonly string[]>
  /** A page of a table or view, in a fixed order; times are ISO 8601, JSON columns texts. `next` is null at the end. */
  exportRows(
    name: ExportName,
    options: { after: string | null; limit: number },
  ): Promise<{
    readonly rows: readonly Readonly<Record<string, string | number | null>>[]
    readonly next: string | null
  }>
  /** How many keys of the run's planned items the destination has an accepted record for. */
  knownKeys(run: number): Promise<number>
  /** Planned items above `after`, in ordinal order, whose key the destination has no accepted record for. */
  keysWithoutRecord(
    run: number,
    options: { after: number; limit: number },
  ): Promise<readonly PlannedItem[]>
  close(): Promise<void>
}
