// A ledger as a move sees it: tables of cells, read in pages and written with how far they have come. The drivers read tables and
// columns from the database, so a migration needs nothing here.

import type { StatementRunner } from '../statements/engine.ts'
import type { Transaction, TransactionRunner } from '../statements/transaction.ts'

/** Instants are ISO 8601, and JSON is a text: both engines give the same cells of the same row. */
export type MovedCell = string | number | null

export interface MovedTable {
  readonly name: string
  /** In the order of their names. */
  readonly columns: readonly string[]
  /** The statement that inserts rows of `given`, whose columns are `c0`, `c1` and so on. */
  readonly insert: string
}

/** Rows of a table in the order of its key. */
export interface MovedPage {
  readonly rows: readonly (readonly MovedCell[])[]
  /** The key of the last row; null if no row is behind it. */
  readonly next: string | null
}

/** How far a move has come, in `moves` of the ledger that it fills. */
export interface MovePosition {
  readonly part: number
  readonly after: string | null
}

/** A row of `moves`. */
export interface MoveNote {
  readonly id: string
  readonly way: 'to' | 'from'
  /** The other ledger. */
  readonly place: string
  readonly state: 'open' | 'done'
  readonly position: MovePosition | null
}

export interface MoveStore extends Pick<StatementRunner, 'all' | 'one' | 'run'>, TransactionRunner {
  readonly place: string
  /** All tables that a move takes along, in the order of their names. */
  tables(): Promise<readonly MovedTable[]>
  /** Of a table that `tables` gave. @param where a condition on its columns */
  page(table: string, where: string, after: string | null): Promise<MovedPage>
  /** From its commit on no process writes to these tables, whatever it has open. `sentence` is what it is told. */
  fence(tables: readonly string[], sentence: string): Transaction<void>
  unfence(tables: readonly string[]): Transaction<void>
  /** Numbers that the database gives go on behind those that are there. */
  restartNumbers(): Promise<void>
  close(): Promise<void>
}

/** Tables that a move leaves: those of moves, of the schema, and of what is learned again in a minute. */
export const LEFT_TABLES: readonly string[] = ['moves', 'quota', 'quota_keys', 'schema_version']
