// The tables of one mirror in a warehouse: a schema of their own, written by merges. Promises kept here: what a merge, or a
// deletion, changes and the position that says so change in one transaction; a row never gives way to an older version of itself
// that was asked for earlier; whoever was overtaken (fences) changes nothing; a reader sees whole merges only.

import type { Holder } from '../core/mirror.ts'

/** What a column holds: exact decimals; dates; instants in UTC; JSON texts. With `list`: any number of them, in order. */
export interface ColumnType {
  readonly holds: 'text' | 'decimal' | 'boolean' | 'date' | 'instant' | 'json'
  readonly list: boolean
}

/** A column that holds a property, or the unit of a currency property. */
export interface MirrorColumn {
  /** Name in the warehouse: at most 63 bytes, unlike the table's others whatever their case, and no `SYSTEM_COLUMNS`. */
  readonly name: string
  readonly property: string
  readonly part: 'value' | 'unit'
  /** Field type of the property when the column was made, such as `number`, or `number[]` of a multi-value property. */
  readonly fieldType: string
  readonly type: ColumnType
  /** Whether it is still written: false once its property is gone, or has a field type that asks for another column. */
  readonly live: boolean
}

/**
 * A table of the mirror: the records of an object type, or what else has ids. Beside `columns` it has these:
 * `_id` text · `_version` instant, null where the record has none · `_first_seen_at`, `_last_seen_at` instants ·
 * `_deleted_at` instant, null for what is there · `_run` whole number · `_misfits` JSON object, null where everything fitted.
 */
export interface MirrorStream {
  /** Such as `svc_contact`; unique in the mirror. */
  readonly name: string
  readonly table: string
  readonly columns: readonly MirrorColumn[]
}

export { DECIMAL, OWN_COLUMNS } from '../core/mirror.ts'

/**
 * One value, in its one form: decimals as canonical text (`-12.5`), dates `YYYY-MM-DD`, instants
 * `YYYY-MM-DDTHH:MM:SS[.ffffff]Z`, JSON as its text. Whoever makes it has checked it against `ColumnType`.
 */
export type MirrorValue = string | boolean
export type MirrorCell = MirrorValue | readonly MirrorValue[] | null

export interface MirrorRow {
  readonly id: string
  /** When the record was changed last, as an instant; null where that is not known. */
  readonly version: string | null
  /** One for each live column of the stream, in their order. */
  readonly cells: readonly MirrorCell[]
  /** JSON object of what did not fit: property to value. */
  readonly misfits: string | null
}

/** A row as the table holds it, in the forms of `MirrorRow`: what a merge of the same row would leave as it is. */
export interface StoredRow extends MirrorRow {
  /** Whether it is marked as deleted. */
  readonly isDeleted: boolean
}

/** What a merge did, in rows; the sum of the first four is the number of different ids in it. */
export interface MergeCounts {
  readonly inserted: number
  /** Had other content, or had been deleted. */
  readonly changed: number
  readonly unchanged: number
  /** Left alone: the answer came late, and what the table has was asked for after it. */
  readonly older: number
  /** Of `changed`: the service tells an older version than before, and was asked for it later. */
  readonly reverted: number
}

/** Of the numbers that a merge answers, in the order of `MergeCounts`. */
export function mergeCounts(row: readonly unknown[]): MergeCounts {
  const [inserted, changed, unchanged, older, reverted] = row.map(Number) as [
    number,
    number,
    number,
    number,
    number,
  ]
  return { inserted, changed, unchanged, older, reverted }
}

/** Rows on their way into a table; held in a place of their own until they are merged, outside of this process's heap. */
export interface MirrorBatch {
  /** Rows added so far. */
  readonly rows: number
  /**
   * Adds the rows of one answer, which was asked for at `seenAt` (instant). Calls may overlap.
   * @throws SyncError `row_unfit` for cells that do not fit the columns: an error of ours
   */
  add(rows: readonly MirrorRow[], seenAt: string): Promise<void>
  /**
   * Merges what was added, one row for each id: the one with the highest version, then the latest `seenAt`. It counts as seen
   * when the latest of them was. A row of the table gives way to one that was seen later, whatever its version, and to one of a
   * higher version. Then the batch is used up.
   * @throws FenceLost; Blocked where the warehouse is locked, away or full. The batch can be merged again after that.
   */
  merge(into: {
    readonly run: number
    readonly fence: number
    readonly position: string
  }): Promise<MergeCounts>
  /** Forgets what was not merged. Safe at any time, and twice. */
  drop(): Promise<void>
}

/** A share of a table's rows that are there: with an instant column (by its name) in `[from, to)`; null is no bound. */
export interface InstantRange {
  readonly column: string
  readonly from: string | null
  readonly to: string | null
}

/** A value that `groups` gave of a column (its name), which holds no lists and no JSON. */
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

/** Rows to mark or remove: they are there, were last seen before `before`, and are among `ids` or belong to `owners`. */
export interface Deletion {
  readonly before: string
  /** At most 10,000. Default: whatever their id. */
  readonly ids?: readonly string[]
  readonly owners?: Owners
  /** `soft` sets `_deleted_at` to `at`; `hard` removes the row. */
  readonly how: 'soft' | 'hard'
  readonly at: string
}

/** New tables, new columns and columns that are not written any more; nothing is ever dropped. */
export interface StreamChange {
  readonly name: string
  readonly table: string
  readonly add: readonly MirrorColumn[]
  /** Names of columns that stop being live, or become live again. */
  readonly retire: readonly string[]
  readonly revive: readonly string[]
}

/** The drivers implement this; `test/contract/mirror-tables.suite.ts` holds for each of them. Closed when idle by themselves. */
export interface MirrorTables {
  /** Name of the warehouse in the configuration, where it is, and the schema, for messages. */
  readonly place: string
  /** Whether the database can hold such an id. A batch takes no other. */
  holdsId(id: string): boolean
  /**
   * Makes the schema where it is missing, and notes whose records it mirrors (such as `https://… org 7`) and for which project and
   * sync. A schema without a project, or without a sync, becomes that of the first one that asks.
   * @param sync default: any of the project's
   * @throws SyncError `warehouse_other_mirror` where it holds those of somebody else, or tables that no mirror made;
   *   `warehouse_other_project` where another project fills it, `warehouse_other_sync` where another sync does
   */
  own(owner: string, project: string, sync?: string | null): Promise<void>
  /** Whose records the schema mirrors and for which project, as `own` noted it; null where no mirror made it. */
  holder(): Promise<Holder | null>
  /** Makes the schema of the project `from` that of another one, or the same, and of whichever sync asks next. False where it is not `from`'s. */
  takeOver(from: string, to: string): Promise<boolean>
  /**
   * The streams there are, or those of them that `of` names; live columns first in the order in which they were made.
   * @throws SyncError `warehouse_altered` where a table of theirs, or a column, is missing or has another type: which, and
   *   what to do
   */
  streams(of?: readonly string[]): Promise<readonly MirrorStream[]>
  /** Names of all streams, whatever became of their tables, in their order. */
  streamNames(): Promise<readonly string[]>
  /** Names of the tables of all streams, whatever became of them. */
  tableNames(): Promise<readonly string[]>
  /** In one transaction. @throws SyncError `warehouse_altered` where a name is taken by somebody else's table or column */
  change(changes: readonly StreamChange[]): Promise<void>
  /** Takes a stream over: whoever held it before can change nothing more. A stream that was never written has no position. */
  claim(stream: string): Promise<{ readonly fence: number; readonly position: string | null }>
  /** The position of a stream, which nobody is taken over for; null where it was never written. */
  position(stream: string): Promise<string | null>
  /** Stores a position alone. @throws FenceLost */
  move(stream: string, fence: number, position: string): Promise<void>
  /** Makes room for rows. Its columns are those of `stream` as given. */
  batch(stream: MirrorStream): Promise<MirrorBatch>
  /** Deletes and stores the position. Returns the number of rows. @throws FenceLost */
  delete(stream: MirrorStream, fence: number, position: string, deletion: Deletion): Promise<number>
  /** Rows that are there. `misfits`: those of them that have some. */
  count(
    stream: MirrorStream,
    within?: InstantRange,
  ): Promise<{ readonly rows: number; readonly misfits: number }>
  /**
   * Rows that are there, by their values of some columns (names; at least one), in no order. Values are as `rows` gives them, and
   * as different as their JSON texts: whatever collation a person gave a column, case, accents and spaces tell them apart.
   */
  groups(
    stream: MirrorStream,
    columns: readonly string[],
    within?: InstantRange,
  ): Promise<readonly RowGroup[]>
  /** Ids of rows that are there, in the order of their bytes, above `after`. */
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
   * The rows of at most 1,000 ids, deleted ones too, in no order; cells of the live columns of `stream` as given. A value that
   * a person put there and that has no form (a decimal of too many digits, an infinite date) is a text that no record has.
   */
  rows(stream: MirrorStream, ids: readonly string[]): Promise<readonly StoredRow[]>
  /** Ends what is going on; what was not merged is forgotten. Safe twice. */
  close(): Promise<void>
}
