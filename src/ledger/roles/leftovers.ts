// What earlier runs leave to the next one: how far they read, and the rows that they did not bring in.

import type { Json } from '../../core/json.ts'
import type { RetryChoice } from '../../core/domain/purpose.ts'
import type { Watermark } from '../../core/domain/watermark.ts'
import type { LedgerPage } from './outbox.ts'
import type { Correction } from './staging.ts'
import type { Destination } from './runs.ts'

/** The last complete run of a destination that noted a watermark: the next one goes on from it. */
export interface LastReading {
  readonly run: number
  readonly watermark: Watermark
  /** The columns of its rows. */
  readonly columns: readonly string[]
}

export interface LeftRow {
  readonly ordinal: number
  readonly raw: readonly Json[]
  readonly watermark?: string
}

export interface CarriedRow extends LeftRow {
  /** The run whose attempt this is. */
  readonly run: number
}

export interface RetriedRow extends LeftRow {
  readonly line: number
}

/** A row that a run wrote, and has not read back, as it was sent. */
export interface UnreadRow extends CarriedRow {
  readonly key: string
  readonly payload: string
  readonly hash: string
}

/** A correction that stands, with the cells that the row has in the source, as JSON. */
export interface KeptCorrection extends Correction {
  readonly raw: string
}

/** Where a reading of the rows of several runs goes on: behind an item of one of them. */
export interface RowPlace {
  readonly run: number
  readonly ordinal: number
}

export interface Leftovers {
  lastReading(destination: Destination): Promise<LastReading | null>
  /**
   * Rows above `after`, in ordinal order, that a closed run left over: not accepted, or read back different; each as its
   * newest attempt had it, in this run, a retry of it, a retry of that one or another retry of the same row. Without those
   * that an attempt brought in, those whose newest key a later run brought in, and those without a key, for which no run can
   * show that they were brought in. Where a later run has read the key again, which is over as well, that one's row comes in its
   * place, or none if it is not left over: what was read before may not be written over it. `keysRepeat`: rows with one key do
   * not take each other's place, and each comes as it is.
   */
  leftRows(
    run: number,
    page: LedgerPage & { readonly keysRepeat?: boolean },
  ): Promise<readonly CarriedRow[]>
  /**
   * Rows of a closed run that a retry takes, above `after`, in ordinal order: those of `leftRows`, and those without a key,
   * that are chosen. Codes and reasons are those of the newest attempt. Of a correction: its rows, as they were corrected.
   */
  retryRows(run: number, choice: RetryChoice, page: LedgerPage): Promise<readonly RetriedRow[]>
  /** How many rows of a closed run a retry would take, by the run of their newest attempt, in the order of these runs. */
  leftByRun(run: number): Promise<readonly { readonly run: number; readonly rows: number }[]>
  /**
   * A page of the corrections that stand in the destination of a bound run: of rows whose cells a person changed, which a retry
   * brought in, and whose record no run has written since. Also those that the last complete reading met again, because a row
   * is not kept as long as its correction stands. `next` is null at the end; a page may be empty.
   */
  keptCorrections(
    run: number,
    page: { readonly after: RowPlace | null; readonly limit: number },
  ): Promise<{
    readonly corrections: readonly KeptCorrection[]
    readonly next: RowPlace | null
  }>
  /**
   * A page of the rows that runs before a bound run wrote to its destination, and that nothing was written over since: runs that were to
   * read all back, and ended before. Only of rows that the source need not give again: those of retries, backfills and repairs, and those
   * that came again themselves. `next` is null at the end; a page may be empty.
   */
  unreadRows(
    run: number,
    page: { readonly after: RowPlace | null; readonly limit: number },
  ): Promise<{ readonly rows: readonly UnreadRow[]; readonly next: RowPlace | null }>
  /**
   * Keeps rows of a closed run as a person corrected them; at most 1,000 a call. `correction`: the number that an earlier call
   * returned, to add to it; null starts a new one. They are removed with the items of the run.
   */
  addCorrections(run: number, correction: number | null, rows: readonly LeftRow[]): Promise<number>
  /** The corrections of a run, the newest first: their numbers, and how many rows each has. */
  correctionsOf(
    run: number,
    limit: number,
  ): Promise<readonly { readonly correction: number; readonly rows: number }[]>
}
