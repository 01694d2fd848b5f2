// The ledger: the outbox and the books of every run at once. The state of an item is the checkpoint; there is no other
// cursor (design sections 3 to 5). Promises kept here: every source row has exactly one item; a stale worker settles
// nothing (fences); no transaction touches more than 1,000 rows.

import type { BlockReason } from '../core/errors.ts'
import type { Json } from '../core/json.ts'
import type { Books, ItemState, RunState } from '../core/states.ts'
import type { Watermark } from '../core/watermark.ts'

/** A run as the ledger holds it. Times are ISO 8601 in UTC. */
export interface Run {
  readonly id: number
  readonly sync: string
  readonly kind: 'import' | 'mirror'
  /** A `plan` stages and counts, and never sends; it does not hold the sync. */
  readonly mode: 'run' | 'plan'
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
  readonly sourceColumns: readonly string[] | null
  readonly sourceDigest: string | null
  /** Source rows read; null until staging is complete. */
  readonly rowsRead: number | null
  readonly warnings: readonly string[]
  /** The state counts of an import at close; they outlive the items. */
  readonly counts: Books | null
  readonly openedAt: string
  readonly closedAt: string | null
}

/** Where accepted values live: what was accepted in one place says nothing about another. */
export interface Destination {
  readonly sync: string
  readonly origin: string
  readonly orgId: number
  readonly objectType: string
  readonly matchingProperty: string
}

/** A row as staging found it. */
export type StagedItem =
  | {
      readonly ordinal: number
      readonly line: number
      readonly raw: string
      readonly valid: true
      readonly key: string
      /** The exact JSON text of the batch item. */
      readonly payload: string
      readonly hash: string
    }
  | {
      readonly ordinal: number
      readonly line: number
      readonly raw: string
      readonly valid: false
      readonly key: string | null
      readonly reason: string
      readonly column: string | null
      readonly field: string | null
      readonly value: string | null
      readonly detail: string
    }

/** The last run of a destination that is complete and that noted a watermark: the next one goes on from it. */
export interface LastReading {
  readonly run: number
  readonly watermark: Watermark
  /** The columns of its rows. */
  readonly columns: readonly string[]
}

/** The share of a run that one activity works on: items `first` to `last`, by ordinal. */
export interface Segment {
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
}

/** The state of a run's work at a moment, from counters; cheap. */
export interface Progress {
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
  /** Rows of the table with a value that did not fit its column. */
  readonly misfits: number | null
  /** Records by the service's own count, and rows of the table that are there; null until they were counted. */
  readonly serviceCount: number | null
  readonly tableCount: number | null
  /** What a person should know about it, in one line. */
  readonly message: string | null
}

/** How a sync stands, as its runs tell. Times are ISO 8601 in UTC. */
export interface Standing {
  readonly kind: Run['kind']
  /** Of its newest run. */
  readonly state: RunState
  readonly reason: Run['reason']
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
  readonly unchanged: number
  readonly invalid: number
}

/**
 * The ledger's drivers implement this; `test/contract/ledger.suite.ts` holds for each of them.
 * Every method may throw `LedgerError`; those that take a fence may throw `FenceLost`.
 */
export interface Ledger {
  /** Where it is, for messages. */
  readonly place: string

  /** Opens a run, in one transaction, or says which live run holds the sync. */
  openRun(run: {
    sync: string
    kind: Run['kind']
    mode: 'run' | 'plan'
    workflowId: string
    workflowRunId: string
    config: Json
  }): Promise<{ run: Run } | { heldBy: Run }>
  run(id: number): Promise<Run | null>
  /** Null for a sync that never ran. Reads a few rows, however many runs there were. */
  standing(sync: string): Promise<Standing | null>
  /** Newest first. */
  runs(filter: { sync?: string; limit: number }): Promise<readonly Run[]>
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
    facts: { keyFingerprint: string; warnings: readonly string[] },
  ): Promise<number>

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
    },
    onSlice?: () => void,
  ): Promise<StageCounts>

  lastReading(destination: Destination): Promise<LastReading | null>
  /**
   * Rows above `after`, in ordinal order, that a closed run left over: not accepted, or not found as they were sent. Without
   * those whose key a later run brought in, and those without a key, of which nobody could tell that they were mended.
   */
  leftRows(
    run: number,
    options: { after: number; limit: number },
  ): Promise<readonly { ordinal: number; raw: readonly Json[] }[]>
  /** Which of at most 1,000 keys the items of a run have, of the ordinals `upTo`. */
  stagedKeys(
    run: number,
    keys: readonly string[],
    options: { upTo: number },
  ): Promise<ReadonlySet<string>>

  /** The segments that still have planned or sent items. */
  openSegments(run: number): Promise<readonly Segment[]>
  /** Takes a segment over; whoever held it before can settle nothing more. */
  claimSegment(run: number, segment: Segment): Promise<number>
  /** Batches of the segment that were sent and never settled, oldest first. */
  unsettled(run: number, segment: Segment): Promise<readonly SentBatch[]>
  /** The next planned items above `after`, in ordinal order, that had fewer than `attemptsBelow` attempts. */
  nextPlanned(
    run: number,
    segment: Segment,
    options: { after: number; attemptsBelow: number; limit: number },
  ): Promise<readonly PlannedItem[]>
  /** Writes a batch down before it is sent: stamps and marks its items, clears their accepted hashes. */
  recordSend(
    run: number,
    segment: Segment,
    fence: number,
    batch: { operation: string; digest: string; items: readonly PlannedItem[] },
  ): Promise<SentBatch>
  /** Writes down that a batch is sent again; `replayed` flags its items where the outcome before is unknown. */
  recordResend(
    run: number,
    segment: Segment,
    fence: number,
    batch: SentBatch,
    options: { operation: string; replayed: boolean },
  ): Promise<SentBatch>
  /** Settles a request whose batch stays sent: no believable answer came. */
  recordNoAnswer(run: number, batch: SentBatch, outcome: RequestOutcome): Promise<void>
  /** Settles a batch: outcomes, accepted hashes and the request row, in one transaction. */
  settle(
    run: number,
    segment: Segment,
    fence: number,
    batch: SentBatch,
    outcome: RequestOutcome,
    items: readonly ItemOutcome[],
  ): Promise<void>
  /** Puts a batch that was certainly not carried out back to planned; no attempt is counted. */
  release(
    run: number,
    segment: Segment,
    fence: number,
    batch: SentBatch,
    outcome: RequestOutcome,
  ): Promise<void>
  finishSegment(run: number, segment: Segment, fence: number): Promise<void>
  progress(run: number): Promise<Progress>

  /** Written and doubtful items above `after` in ordinal order; of the written ones, every `every`-th by ordinal. */
  written(
    run: number,
    options: { after: number; every: number; limit: number },
  ): Promise<readonly WrittenItem[]>
  /** Books what reading back showed; items keep a terminal state. At most 1,000. */
  recordVerified(
    run: number,
    items: readonly {
      ordinal: number
      verdict: 'equal' | 'different' | 'missing'
      recordId: string | null
      field: string | null
    }[],
  ): Promise<void>
  /** Items above `after` whose record was written by another item of the run too, and that come last: to be sent once more. */
  twins(run: number, options: { after: number; limit: number }): Promise<readonly PlannedItem[]>

  /** Turns what is left into terminal states, slice by slice: sent into failed (in doubt), planned into unsent. */
  settleLeftovers(run: number): Promise<void>
  /** The books as one query over the items. */
  books(run: number): Promise<Books>
  /** Writes the counts and the final state, and drops the payloads and raw rows of accepted items. */
  closeRun(
    run: number,
    end: {
      state: RunState
      reason?: BlockReason | 'abandoned' | null
      message?: string | null
      /** Null for a mirror, whose account is its streams. */
      books: Books | null
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
    options: { states: readonly ItemState[]; after: number; limit: number },
  ): Promise<readonly ReportedItem[]>
  /** Rejects by state, code, reason and column, most frequent first. */
  rejectGroups(run: number): Promise<
    readonly {
      state: ItemState
      code: string | null
      reason: string | null
      column: string | null
      field: string | null
      items: number
      example: number
    }[]
  >
  /** How many keys of the run's planned items the destination has an accepted record for. */
  knownKeys(run: number): Promise<number>
  /** Planned items above `after`, in ordinal order, whose key the destination has no accepted record for. */
  strangers(run: number, options: { after: number; limit: number }): Promise<readonly PlannedItem[]>
  close(): Promise<void>
}
