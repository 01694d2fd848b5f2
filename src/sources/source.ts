// The interface of sources. A source yields every row once, in order, with its place; it never skips one silently.

import type { SourceError } from '../core/errors.ts'
import type { Json } from '../core/json.ts'
import type { ColumnKind } from '../core/domain/column-kind.ts'
import type { KeyVisibility } from '../core/domain/visibility.ts'
import type { Watermark, Window } from '../core/domain/watermark.ts'

/** A row of a source: `cells` are in the order of the source's columns. */
export interface SourceRow {
  /** 1-based position in the source, the same on every reading of unchanged input. */
  readonly ordinal: number
  /** 1-based line of the file on which the row begins; equal to `ordinal` if the source has no lines. */
  readonly line: number
  /** For a retry: the ordinal of the row in the original run. */
  readonly of?: number
  /** The rank of its watermark (core/domain/watermark-rank.ts); left out where it has none. */
  readonly watermark?: string
  readonly cells: readonly Json[]
  /** Why its values could not be read; left out of a row that was. */
  readonly unread?: string
}

/** Which rows of a source are read. */
export interface Extent {
  /** The end of the last complete reading; null: there was none. For a query that uses `:watermark`. */
  readonly watermark: Watermark | null
  /** For a query that uses `:from` or `:to`, and for records with a modification time. */
  readonly window: Window | null
}

/** The rows of a first reading. */
export const FROM_THE_START: Extent = { watermark: null, window: null }

/** What a complete reading of a source found. */
export interface SourceSummary {
  readonly rows: number
  /** SHA-256 of the source's bytes, or of its cells if it has none, hex: two readings of the same input agree. */
  readonly digest: string
  /** Where the next reading starts; absent if there is no watermark, or nothing moves it. */
  readonly watermark?: Watermark
}

/** What the key saw that read a source, and in which org. */
export type SourceVisibility = Pick<KeyVisibility, 'key' | 'reach' | 'user'> & {
  readonly org: number
}

/** The records of a Records Service that a source reads, or a part of. */
export interface SourceRecords {
  readonly origin: string
  readonly orgId: number
  readonly objectType: string
  /** Whether it reads a part of them, by a filter. */
  readonly isFiltered: boolean
  /** The field type of a column by whose values records can be looked up, exactly; null if they cannot. */
  lookUpType(column: string): string | null
  /** Rows of records that have one of at most 100 values in such a column, or of all of them, whatever the filter says. */
  unfiltered(
    by: { readonly column: string; readonly values: readonly Json[] } | null,
  ): AsyncIterable<readonly SourceRow[]>
}

/** Makes the error of one source; the caller throws it. */
export type SourceFault = (code: string, message: string) => SourceError

/** An opened source. Memory does not grow with its length. */
export interface Source {
  /** Column names, unique and non-empty. */
  readonly columns: readonly string[]
  /** What the cells of each column are; left out where all are texts. */
  readonly kinds?: readonly ColumnKind[]
  /** What a person should know before the rows are used, one line each. */
  readonly warnings?: readonly string[]
  /** The line of a file that has all of these names of columns; null if none has. Left out where there are no lines. */
  lineWith?(names: readonly string[]): number | null
  /**
   * All rows, in chunks of at most `rowsMax`. Read at most once.
   * @throws SourceError with line and column if the source is not well formed
   */
  chunks(rowsMax: number, signal?: AbortSignal): AsyncIterable<readonly SourceRow[]>
  /** The share that was read so far, 0 to 1; null, or left out, where the length is not known. */
  readShare?(): number | null
  /** What its files looked like when it was opened, and until `chunks` ended; left out where it has none. */
  stamp?(): string
  /** The summary; only after `chunks` has ended. */
  summary(): SourceSummary
  /** What its key saw, at least, while it was read; only after `chunks` has ended. Left out where a source has no key. */
  visibility?(): SourceVisibility
  /** The records that it reads; left out where its rows are no records. */
  readonly records?: SourceRecords
  /** Releases all resources. Safe at any time, and twice. */
  close(): Promise<void>
}
