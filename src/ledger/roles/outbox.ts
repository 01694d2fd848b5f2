// The outbox: every batch is written down before it is sent, and settled after.

import type { AnsweredState } from '../../core/domain/outcomes.ts'

/** The share of a run that one activity works on: items `first` to `last`, by ordinal. */
export interface RunSegment {
  readonly first: number
  readonly last: number
}

/**
 * At most `limit` of what is above `after`, in order. Where rows come with their payloads or cells, a page ends sooner, once these
 * have LEDGER_CHARS_MAX characters: only an empty page says that there are no more.
 */
export interface LedgerPage {
  readonly after: number
  readonly limit: number
}

/** A planned item, ready to be sent. */
export interface PlannedItem {
  readonly ordinal: number
  readonly key: string
  readonly payload: string
  readonly hash: string
  readonly attempts: number
  /** The key as the source spells it, if it is sent in another form and the form is not decided yet. */
  readonly rawKey?: string | null
  /** Of an update: the record that it is sent to. */
  readonly recordId?: string | null
  /** Of a row that is not sent whole: the baseline hashes that are accepted with it. */
  readonly marks?: string | null
  /** The whole payload, where properties are left out because its record has them. */
  readonly whole?: string
  /** The record that this run has made for it: what is answered as an update of that is a creation still. */
  readonly madeId?: string
  /** A sending of it may have been carried out although no answer says so. */
  readonly isReplayed?: true
}

/** An item, by its place; of an update with its record. */
export type ItemPlace = Pick<PlannedItem, 'ordinal' | 'recordId'>

/** A batch that was written down before it was sent. */
export interface SentBatch<Item extends ItemPlace = PlannedItem> {
  readonly batch: number
  readonly attempt: number
  /** SHA-256 of the body, hex. */
  readonly digest: string
  readonly items: readonly Item[]
}

/** What a person should know about an accepted item that is not as it was sent. */
export interface ItemNote {
  readonly reason: string
  readonly detail: string
  readonly column: string | null
  readonly value: string | null
}

/** What the answer of an accepted item shows that differs from what was sent. */
export interface Answered extends ItemNote {
  readonly field: string
  /** The item's key in the form of the answer, if that is another one. */
  readonly key?: string | null
}

/**
 * How one item of an answer is settled. `planned`: a later round sends it again; `sent`: it stays in doubt, for verify to
 * settle.
 */
export interface ItemOutcome {
  readonly ordinal: number
  readonly state: AnsweredState
  readonly httpStatus: number | null
  readonly recordId: string | null
  readonly code: string | null
  readonly reason: string | null
  readonly field: string | null
  readonly detail: string | null
  readonly inDoubt: boolean
  /** Of what was accepted: the baseline hashes of its values (src/import/look/baseline-hashes.ts). */
  readonly marks: string | null
  /** Of what was accepted: what its answer shows that differs. Such an item is `answered` until it is read back. */
  readonly answered?: Answered | null
}

/** How one request ended. */
export interface RequestOutcome {
  /** HTTP status, or null if no answer came. */
  readonly status: number | null
  readonly requestId: string | null
  readonly durationMs: number
}

export interface Outbox {
  /**
   * The segments that still have planned or sent items.
   * @param fence of who has staged them @throws FenceLost if the run is staged by another one since
   */
  openSegments(run: number, fence?: number): Promise<readonly RunSegment[]>
  /** Takes a segment over; its holder before can settle nothing more. */
  claimSegment(run: number, segment: RunSegment): Promise<number>
  finishSegment(run: number, segment: RunSegment, fence: number): Promise<void>
  /** When the last of the run's requests was written down whose end is not known; null if there is none. */
  lastSentAt(run: number): Promise<string | null>
  /**
   * Batches of the segment that were sent and never settled, oldest first: those behind the batch `after`, until they have
   * LEDGER_CHARS_MAX characters, and none if there are no more.
   */
  unsettledBatches(run: number, segment: RunSegment, after?: number): Promise<readonly SentBatch[]>
  /** The next planned items above `after`, in ordinal order, that had fewer than `attemptsBelow` attempts. */
  nextPlanned(
    run: number,
    segment: RunSegment,
    options: { after: number; attemptsBelow: number; limit: number },
  ): Promise<readonly PlannedItem[]>
  /** Planned items of a segment whose key has another form in the source, while it is not decided which one is sent. */
  looseKeys(
    run: number,
    segment: RunSegment,
    options: { limit: number },
  ): Promise<readonly PlannedItem[]>
  /** Decides on the form of their keys: `payload` is sent instead, if there is one. */
  settleKeys(
    run: number,
    items: readonly { ordinal: number; payload: string | null }[],
  ): Promise<void>

  /**
   * Writes a batch down before it is sent: stamps and marks its items, clears their accepted hashes. `replayed`: its items are those of
   * a batch that was sent before, whose outcome is unknown.
   */
  recordSend<Item extends ItemPlace>(
    run: number,
    segment: RunSegment,
    fence: number,
    batch: { operation: string; digest: string; items: readonly Item[]; replayed?: boolean },
  ): Promise<SentBatch<Item>>
  /** Writes down that a batch is sent again; `replayed` flags its items if the outcome before is unknown. */
  recordResend<Item extends ItemPlace>(
    run: number,
    segment: RunSegment,
    fence: number,
    batch: SentBatch<Item>,
    options: { operation: string; replayed: boolean },
  ): Promise<SentBatch<Item>>
  /** Settles a request whose batch stays sent: no valid answer came. */
  recordNoAnswer(run: number, batch: SentBatch<ItemPlace>, outcome: RequestOutcome): Promise<void>
  /** Settles a batch: outcomes, accepted hashes and the request row, in one transaction. */
  settle(
    run: number,
    segment: RunSegment,
    fence: number,
    batch: SentBatch<ItemPlace>,
    outcome: RequestOutcome,
    items: readonly ItemOutcome[],
  ): Promise<void>
  /** Settles items of the segment without an answer: those that are not sent, and those whose lost answer was looked up. */
  settleUnanswered(
    run: number,
    segment: RunSegment,
    fence: number,
    items: readonly ItemOutcome[],
  ): Promise<void>
  /** Puts a batch that was certainly not carried out back to planned; no attempt is counted. */
  release(
    run: number,
    segment: RunSegment,
    fence: number,
    batch: SentBatch<ItemPlace>,
    outcome: RequestOutcome,
  ): Promise<void>
}
