// What the statements of this folder need of a database, and how its SQL differs. These statements are the same for every
// engine; `$1` is the first value. What an engine does in a transaction, or with a plan of its own, is in its own folder.

import type { ColumnReaders } from '../rows/runs.ts'
import type { Row } from '../rows/values.ts'

/** The largest number that a column has, of an ordinal or of attempts, in every engine. */
export const COLUMN_MAX = 2_147_483_647

/** A bound of such a column: whoever means every row gives any number. PostgreSQL refuses a larger one than the column may have. */
export const columnBound = (bound: number): number => Math.min(bound, COLUMN_MAX)

export type StatementValue = string | number | null | readonly (string | number | null)[]

/** The first rows of a statement, and how much text they have: there may be more from LEDGER_CHARS_MAX characters on. */
export interface RowPage {
  readonly rows: readonly Row[]
  readonly chars: number
}

/** Runs single statements, each in a transaction of its own. */
export interface StatementRunner {
  all(text: string, values?: readonly StatementValue[]): Promise<readonly Row[]>
  /**
   * The rows of a statement, in the order of their `ordinal`, until the texts of `column` have LEDGER_CHARS_MAX characters: at least one, if
   * there is any.
   */
  page(
    text: string,
    values: readonly StatementValue[],
    column: 'payload' | 'raw' | 'sent' | 'before',
  ): Promise<RowPage>
  one(text: string, values?: readonly StatementValue[]): Promise<Row | undefined>
  run(text: string, values?: readonly StatementValue[]): Promise<unknown>
}

/** How the SQL of an engine differs. */
export interface SqlDialect extends ColumnReaders {
  /** A join whose tables are read in the order in which they are written. */
  readonly join: string
  /** Behind a table: the index to use; empty if the engine chooses by itself. */
  indexedBy(index: string): string
  /** Behind a text: compared byte by byte. */
  readonly collate: string
  /** Joins each of `items` with its payload; `LEFT` may go before it. */
  readonly withPayload: string
  /** A list of texts as a value, and the place of that value as one. */
  readonly list: (values: readonly string[]) => StatementValue
  readonly listAt: (place: string) => string
  /** Whether a text is in such a list. */
  isOneOf(text: string, place: string): string
  /** Whether a text has another one in it, character for character. */
  contains(text: string, place: string): string
  /** What a run was configured with at a path; null if that is nothing. A truth is 1, or `true`. */
  configured(run: string, path: readonly string[]): string
  /** Run and ordinal of the row that an item was first read from, in one number, in the order in which rows are read. */
  originOf(run: string, ordinal: string): string
  /** The elements of a JSON text as the table `each`, with the column `value`. */
  eachOf(json: string): string
  /**
   * `FROM` of a statement about the rows of the closed run `$1` that are left, in the order of their ordinals: `own` has the
   * row's place in the run, `now` is its newest attempt, whose key no later run has brought in from a newer row.
   * @param kept a table with `raw` that has only rows that may be left: `own` then has its `raw`; null: all rows are read
   * @param where a further condition on `items` and `kept`
   */
  leftOf(kept: 'payloads' | 'corrections' | null, where?: string): string
  /**
   * The corrections that stand of the retry `$2`, of the run `$5`, for the destination of the run `$1`; above the ordinal `$3`, at
   * most `$4`. `$6`: the number of its correction, or null.
   */
  readonly correctedByRetry: string
  /** The same that the run `$2` met again. */
  readonly correctedMetAgain: string
  /**
   * The rows that the run `$2` wrote, has not read back, and keeps; as long as what they wrote is accepted in the destination of the run
   * `$1`. Above the ordinal `$3`, at most `$4`.
   */
  readonly unreadOf: string
  /**
   * `FROM` of a statement about what all runs have in `table` of the value `$1`: `runs`, and the rows of each, found by an index for
   * each run.
   */
  ofAllRuns(
    table: 'items' | 'removals' | 'differences',
    column: 'key' | 'record_id' | 'subject',
  ): string
  /** `FROM` of a statement about what was accepted of the key or record `$1`, in all destinations. */
  acceptedOf(column: 'key' | 'record_id'): string
  /** Joins `now` with the payload `last` that it was read from; behind `leftOf`. */
  readonly withRaw: string
  /**
   * The same with the payload of the newest reading of the key by any run since `$1` that is over, if that one is left over; rows
   * that are not have none.
   */
  readonly withNewestRaw: string
}
