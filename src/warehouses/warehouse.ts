// The interface of a warehouse: a database that answers queries. Promise kept here: reading changes nothing in it, and no message
// of its driver, which may quote values, gets out.

import type { Json } from '../core/json.ts'
import type { ColumnKind } from '../core/domain/column-kind.ts'
import type { ColumnOrder } from '../core/domain/watermark.ts'

export interface WarehouseOptions {
  /** How long to wait for a file that another process holds, or for a connection. Default 30,000 ms. */
  readonly waitMs?: number
  readonly signal?: AbortSignal | undefined
}

export interface ReadOptions {
  /** Ends the query, also while its rows are read. */
  readonly signal?: AbortSignal | undefined
  /** Rows that are wanted at most: at least this many come, if they exist. */
  readonly rowsMax?: number
}

/** An open warehouse; one reading at a time. */
export interface Warehouse {
  /** Name in the configuration, and address, for messages. */
  readonly place: string
  /**
   * Runs one query, a SELECT, in a transaction that may only read. Rows are made as `chunks` asks for them: memory does not grow
   * with their number.
   * @throws SyncError `query_refused` with the warehouse's code and the place in the query, `query_column` for a column whose
   *   values cannot be cells; Blocked if the warehouse is unavailable
   */
  read(query: string, options?: ReadOptions): Promise<Reading>
  /** Ends the reading. Safe at any time, and twice. */
  close(): Promise<void>
}

/** The answer of a query. */
export interface Reading {
  /** The query's own names: some may be empty, or the same. */
  readonly columns: readonly string[]
  /** How the warehouse orders the values of each column; null if that is not known. */
  readonly orders: readonly (ColumnOrder | null)[]
  /** What the cells of each column are. */
  readonly kinds: readonly ColumnKind[]
  /**
   * The rows in the query's order, in chunks of at most `rowsMax`, as cells:
   * - whole numbers, decimals and floating-point numbers: plain decimal text, exact or shortest;
   * - booleans: true or false; NULL: null;
   * - dates `YYYY-MM-DD`, times `HH:MM:SS[.ffffff]`, timestamps `YYYY-MM-DDTHH:MM:SS[.ffffff]Z`, always in UTC;
   * - lists: an array of cells; structs, maps and what is nested in lists: JSON text;
   * - everything else: the text that the warehouse gives.
   * - a value that is no number or no time (NaN, infinity): a text of `core/not-a-cell.ts`.
   * @throws SyncError as `read`
   */
  chunks(rowsMax: number): AsyncIterable<readonly (readonly Json[])[]>
}

/**
 * Tables of texts for one query, in bounded memory, which no file and no network can be read from. Nothing of them is left after
 * `close`.
 */
export interface TextTables {
  /** Makes an empty table. @param columns names that differ in more than capitals */
  create(table: string, columns: readonly TextColumn[]): Promise<void>
  /** Adds rows to it: a cell for each column. */
  fill(table: string, rows: AsyncIterable<readonly (readonly (string | bigint)[])[]>): Promise<void>
  /**
   * Prepares a query, also before the tables have rows: they are read by `chunks`. Rows are in the order of ORDER BY, which must end
   * with `line`; without it they are ordered by `line`, then by all other columns.
   * @param line a column that the answer must have @throws SyncError `query_refused`, `query_column`, `query_line`, `query_order`
   */
  read(query: string, line: string, signal?: AbortSignal): Promise<Reading>
  close(): Promise<void>
}

export interface TextColumn {
  readonly name: string
  /** Whether it holds whole numbers. Default: texts. */
  readonly isWhole?: boolean
}
