// What a driver states about its database, so that one code keeps the catalogue and reads the tables of a mirror in both: the
// dialect of its SQL, and what only its own system tables know.

import type { OWN_COLUMNS } from '../../core/domain/mirror.ts'
import type {
  ColumnType,
  MirrorColumn,
  MirrorStream,
  StreamChange,
  TableIdentity,
} from '../mirror-tables.ts'
import type { ValueMatch, WrittenRow } from '../stored-rows.ts'

/** The location of a mirror: the name of its schema, and the text for messages. */
export interface SchemaPlace {
  readonly place: string
  readonly schema: string
}

/** An expression of a value, and the type of the value. */
export interface TypedExpression {
  readonly expression: string
  readonly type: ColumnType
}

export interface MirrorDialect {
  /** Types of the columns that every table has, by their names in the database's system tables. */
  readonly ownTypes: Readonly<Record<(typeof OWN_COLUMNS)[number], string>>
  /** Declaration of `_id`. */
  readonly idColumn: string
  /** The type of a column, by its name in the database's system tables. */
  columnType(type: ColumnType): string
  table(schema: string, table: string): string
  /** A text that is compared by its bytes, whatever collation a person gave its column. */
  byBytes(expression: string): string
  /** Expressions that give the texts of values, and what reads these from their part of a row. */
  written(values: readonly TypedExpression[]): {
    readonly expressions: readonly string[]
    read(row: readonly unknown[]): WrittenRow[]
  }
  /** What makes two names of tables, or of columns, the same. */
  fold(name: string): string
}

/** A statement in the making. It puts values into its text, or keeps them as parameters. */
export interface MirrorStatement {
  text(value: string): string
  instant(value: string): string
  /** The condition that an expression of a text is one of the values. */
  among(expression: string, values: readonly string[]): string
  /** The condition that a column has a value. */
  matches(column: MirrorColumn, match: ValueMatch): string
  ask(sql: string): Promise<readonly (readonly unknown[])[]>
  /** Returns the number of rows that were written. */
  write(sql: string): Promise<number>
}

/** A table, or something else that has its name. */
export interface TableFound {
  readonly name: string
  /** False for what a mirror cannot write, such as a view; it has no columns here. */
  readonly isTable: boolean
  /** Types by column. */
  readonly columns: ReadonlyMap<string, string>
  /** Whether the database finds rows by `_id` as it must; a database may not need an index for that. */
  readonly hasKey: boolean
  /** The number of columns that it ever had. */
  readonly columnsMade: number
}

/** A mirror's schema, for the time of one call. */
export interface MirrorSession extends SchemaPlace {
  readonly dialect: MirrorDialect
  statement(): MirrorStatement
  /** Names of the tables in the schema. @throws SyncError if the database cannot hold a mirror */
  lockSchema(): Promise<readonly string[]>
  /** Creates the schema if it is missing, and the tables of the catalogue. */
  createCatalogue(): Promise<void>
  /** Lets no other process change the catalogue until the end of the transaction. */
  lockCatalogue(): Promise<void>
  /** What tells a table, and its columns of these names, from others that have the same names. */
  identityOf(table: string, columns: readonly string[]): Promise<TableIdentity>
  /** Names of the columns of a table; none if it does not exist. */
  columnNames(table: string): Promise<readonly string[]>
  /** What exists under these names; what has the same name only after `fold` may be among it. */
  tablesNamed(names: readonly string[]): Promise<readonly TableFound[]>
  /** @throws SyncError `warehouse_columns` if a table cannot have so many columns */
  checkRoom(change: StreamChange, columnsMade: number): void
  /** @throws SyncError `warehouse_altered` if people made statements on these tables do something else */
  checkTables(tables: readonly string[]): Promise<void>
  addColumns(table: string, declarations: readonly string[]): Promise<void>
  /** The condition that a row has one of the ids. */
  withIds(statement: MirrorStatement, table: string, ids: readonly string[]): Promise<string>
  /** @throws SyncError `warehouse_altered` if a deletion left rows that its condition still finds */
  checkDeleted(stream: MirrorStream, where: (statement: MirrorStatement) => string): Promise<void>
}

/** An identifier, whatever characters it contains. */
export const quoteIdentifier = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** `decimal`, `text[]`: the name of a type in the catalogue. */
export const typeText = ({ holds, list }: ColumnType): string => (list ? `${holds}[]` : holds)

export function parseTypeText(text: string): ColumnType {
  const list = text.endsWith('[]')
  return { holds: (list ? text.slice(0, -2) : text) as ColumnType['holds'], list }
}
