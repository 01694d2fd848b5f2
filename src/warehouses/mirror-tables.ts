// The tables of one mirror in a warehouse: a schema of their own, written by merges. Promises kept here: the changes of a merge,
// or of a deletion, and the position that records them are one transaction; a row is never replaced by an older version of itself
// that was asked for earlier; a writer that was overtaken (fences) changes nothing; a reader sees only whole merges.

import type { Holder } from '../core/domain/mirror.ts'

/** What a column holds: exact decimals; dates; instants in UTC; JSON texts. With `list`: any number of them, in order. */
export interface ColumnType {
  readonly holds: 'text' | 'decimal' | 'boolean' | 'date' | 'instant' | 'json'
  readonly list: boolean
}

/** A column for a property, or for the unit of a currency property. */
export interface MirrorColumn {
  /**
   * Name in the warehouse: at most 63 bytes, different from the table's other names in any case, and not one of `SYSTEM_COLUMNS`.
   */
  readonly name: string
  readonly property: string
  readonly part: 'value' | 'unit'
  /** Field type of the property when the column was made, such as `number`, or `number[]` of a multi-value property. */
  readonly fieldType: string
  readonly type: ColumnType
  /** Whether it is still written: false once its property is gone, or has a field type that needs another column. */
  readonly live: boolean
}

/**
 * A table of the mirror: the records of an object type, or anything else with ids. Besides `columns` it has these: `_id` text ·
 * `_version` instant, null if the record has none · `_first_seen_at`, `_last_seen_at` instants · `_deleted_at` instant, null for
 * a present row · `_run` whole number · `_misfits` JSON object, null if everything fitted.
 */
export interface MirrorStream {
  /** A name such as `svc_contact`; unique in the mirror. */
  readonly name: string
  readonly table: string
  readonly columns: readonly MirrorColumn[]
}

export { DECIMAL, OWN_COLUMNS } from '../core/domain/mirror.ts'

/**
 * One value, in its one form: decimals as canonical text (`-12.5`), dates `YYYY-MM-DD`, instants `YYYY-MM-DDTHH:MM:SS[.ffffff]Z`,
 * JSON as its text. A batch refuses every other form (mirror/row-check.ts).
 */
export type MirrorValue = string | boolean
export type MirrorCell = MirrorValue | readonly MirrorValue[] | null

export interface MirrorRow {
  readonly id: string
  /** When the record was last changed, as an instant; null if that is not known. */
  readonly version: string | null
  /** One for each live column of the stream, in their order. */
  readonly cells: readonly MirrorCell[]
  /** JSON object of what did not fit: property to value. */
  readonly misfits: string | null
}

/** A row as the table holds it, in the forms of `MirrorRow`: a merge of the same row would leave it unchanged. */
export interface StoredRow extends MirrorRow {
  /** Whether it is marked as deleted. */
  readonly isDeleted: boolean
}

/** A table that is dropped and made again, or a column of it, has another identity, whatever its name is. */
export interface TableIdentity {
  /** Of the table; empty where the database keeps none. */
  readonly id: string
  /** By the name of a column: its number, which a column that is added changes for no other. */
  readonly columns: Readonly<Record<string, number>>
}

/** The result of a merge, in rows; the sum of the first four is the number of different ids in it. */
export interface MergeCounts {
  readonly inserted: number
  /** Rows that had other content, or had been deleted. */
  readonly changed: number
  readonly unchanged: number
  /** Rows left alone: the answer came late, and the table's row was asked for after it. */
  readonly older: number
  /** Part of `changed`: the service returned an older version than before, and was asked for it later. */
  readonly reverted: number
}

/** From the numbers that a merge returns, in the order of `MergeCounts`. */
export function mergeCounts(row: readonly unknown[]): MergeCounts {
  const [inserted = 0, changed = 0, unchanged = 0, older = 0, reverted = 0] = row.map(Number)
  return { inserted, changed, unchanged, older, reverted }
}

/** Rows on their way into a table; kept separately until they are merged, outside this process's heap. */
export interface MirrorBatch {
  /** Rows added so far. */
  readonly rows: number
  /** Whether it holds so much that it should be merged before more is added. */
  readonly isFull: boolean
  /**
   * Adds the rows of one answer, which was asked for at `seenAt` (instant). Calls may overlap.
   * @throws SyncError `row_unfit` for cells that do not fit the columns: an error of ours
   */
  add(rows: readonly MirrorRow[], seenAt: string): Promise<void>
  /**
   * Merges what was added, one row for each id: the one with the highest version, then the latest `seenAt`. It counts as seen at
   * the latest `seenAt` of that id. It replaces a row of the table if it was seen later, whatever its version, or if its version
   * is higher. Then the batch is used up.
   * @throws FenceLost; Blocked if the warehouse is locked, unavailable or full. The batch can be merged again after that.
   */
  merge(into: {
    readonly run: number
    readonly fence: number
    readonly position: string
  }): Promise<MergeCounts>
  /** Discards what was not merged. Safe at any time, and twice. */
  drop(): Promise<void>
}

/** A part of a table's present rows: those with an instant column (by its name) in `[from, to)`; null is no bound. */
export interface InstantRange {
  readonly column: string
  readonly from: string | null
  readonly to: string | null
}

/** A value that `groups` returned for a column (its name), which holds no lists and no JSON. */
export interface ColumnEquals {
  readonly column: string
  readonly value: MirrorValue | null
}

/** Rows that have the same values, in the form of `StoredRow`. */
export interface RowGroup {
  readonly values: readonly MirrorCell[]
  readonly rows: number
}

/** Rows whose text column of this name has one of the values; at most 10,000. */
export interface Owners {
  readonly column: string
  readonly values: readonly string[]
}

/** One end of a link: a text column (by its name) with ids of another table; `among`: only of rows that have one of its values. */
export interface LinkEnd {
  readonly column: string
  readonly of: MirrorStream
  readonly among: Owners | null
}

/** Rows to mark or remove: they are present, were last seen before `before`, and are among `ids` or belong to `owners`. */
export interface Deletion {
  readonly before: string
  /** At most 10,000. Default: any id. */
  readonly ids?: readonly string[]
  readonly owners?: Owners
  /** `soft` sets `_deleted_at` to `at`; `hard` removes the row. */
  readonly how: 'soft' | 'hard'
  readonly at: string
}

/** New tables, new columns and columns that are no longer written; nothing is ever dropped. */
export interface StreamChange {
  readonly name: string
  readonly table: string
  readonly add: readonly MirrorColumn[]
  /** Names of columns that stop being live, or become live again. */
  readonly retire: readonly string[]
  readonly revive: readonly string[]
}

/**
 * The interface of the drivers; `test/suites/mirror-tables.suite.ts` holds for each of them. They close by themselves when
 * idle.
 */
export interface MirrorTables {
  /** Name of the warehouse in the configuration, its address, and the schema, for messages. */
  readonly place: string
  /** Whether the database can hold such an id. A batch accepts no other. */
  holdsId(id: string): boolean
  /**
   * Creates the schema if it is missing, and records whose records it mirrors (such as `https://… org 7`) and for which project
   * and sync. A schema without a project, or without a sync, becomes that of the first one that asks.
   * @param sync default: any of the project's
   * @throws SyncError `warehouse_other_mirror` if it holds another owner's records, or tables that no mirror made;
   *   `warehouse_other_project` if another project fills it, `warehouse_other_sync` if another sync does
   */
  own(owner: string, project: string, sync?: string | null): Promise<void>
  /** Whose records the schema mirrors and for which project, as `own` recorded it; null if no mirror made it. */
  holder(): Promise<Holder | null>
  /**
   * Transfers the schema from project `from` to another one, or the same, and to the next sync that asks. False if it is not
   * `from`'s.
   */
  takeOver(from: string, to: string): Promise<boolean>
  /**
   * All streams, or those that `of` names; live columns first in the order of their creation.
   * @throws SyncError `warehouse_altered` if a table of theirs, or a column, is missing or has another type: which, and what to
   *   do
   */
  streams(of?: readonly string[]): Promise<readonly MirrorStream[]>
  /** Names of all streams, whatever happened to their tables, in order. */
  streamNames(): Promise<readonly string[]>
  /** Names of the tables of all streams, whatever happened to them. */
  tableNames(): Promise<readonly string[]>
  /** In one transaction. @throws SyncError `warehouse_altered` if a name is taken by a table or column that is not ours */
  change(changes: readonly StreamChange[]): Promise<void>
  /** Takes a stream over: its previous writer can change nothing more. A stream that was never written has no position. */
  claim(stream: string): Promise<{ readonly fence: number; readonly position: string | null }>
  /** The identity of a stream's table now; one query of the database's catalogue. */
  identity(stream: MirrorStream): Promise<TableIdentity>
  /** The position of a stream, without taking it over; null if it was never written. */
  position(stream: string): Promise<string | null>
  /** Stores a position alone. @throws FenceLost */
  move(stream: string, fence: number, position: string): Promise<void>
  /** Makes room for rows. Its columns are those of `stream` as given. */
  batch(stream: MirrorStream): Promise<MirrorBatch>
  /** Deletes rows and stores the position. Returns the number of rows. @throws FenceLost */
  delete(stream: MirrorStream, fence: number, position: string, deletion: Deletion): Promise<number>
  /** The number of present rows. `misfits`: of those that have some. */
  count(
    stream: MirrorStream,
    within?: InstantRange,
  ): Promise<{ readonly rows: number; readonly misfits: number }>
  /** Whether a present row has a value in a column, by its name. */
  hasValues(stream: MirrorStream, column: string): Promise<boolean>
  /**
   * Counts present rows, grouped by their values of some columns (names; at least one), in no order. Values are in the forms of
   * `rows`, and differ if their JSON texts differ: whatever collation a person gave a column, case, accents and spaces
   * distinguish them.
   */
  groups(
    stream: MirrorStream,
    columns: readonly string[],
    within?: InstantRange,
  ): Promise<readonly RowGroup[]>
  /** Ids of present rows, in the order of their bytes, above `after`. */
  ids(
    stream: MirrorStream,
    choice: {
      readonly after: string | null
      readonly limit: number
      /** Only rows last seen before this instant. */
      readonly seenBefore?: string
      /** Only rows of this version or a later one. */
      readonly versionFrom?: string
      readonly within?: InstantRange
      readonly owners?: Owners
      /** Only rows that `groups` counts with these values. */
      readonly equals?: readonly ColumnEquals[]
    },
  ): Promise<readonly string[]>
  /** Ids of the present rows with the highest versions, highest first; `upTo`: only of this version or an earlier one. */
  newestIds(stream: MirrorStream, limit: number, upTo?: string): Promise<readonly string[]>
  /**
   * The different values of a text column of rows that are there and lead to a row that is gone, in the order of their bytes, above
   * `after`: one that was marked as deleted at `deletedFrom` or later (null: ever), or, with `isMissing`, one that the table lacks.
   */
  ownersOfGone(
    stream: MirrorStream,
    column: string,
    choice: {
      readonly after: string | null
      readonly limit: number
      readonly ends: readonly LinkEnd[]
      readonly deletedFrom: string | null
      readonly isMissing: boolean
    },
  ): Promise<readonly string[]>
  /**
   * The rows of at most 1,000 ids, including deleted ones, in no order; cells of the live columns of `stream` as given. A value
   * that a person wrote and that has no valid form (a decimal of too many digits, an infinite date) is a text that no record has.
   */
  rows(stream: MirrorStream, ids: readonly string[]): Promise<readonly StoredRow[]>
  /** Ends running work; discards what was not merged. Safe twice. */
  close(): Promise<void>
}
