// A mirror's schema in a DuckDB file, for the time of one transaction. Values go into the text of a statement as literals.

import type { ColumnType, MirrorColumn, TableIdentity } from '../mirror-tables.ts'
import {
  quoteIdentifier,
  type MirrorSession,
  type SchemaPlace,
  type MirrorDialect,
  type MirrorStatement,
  type TableFound,
} from '../mirror/session.ts'
import type { ValueMatch, WrittenRow } from '../stored-rows.ts'
import type { Ask } from './attached.ts'
import { isTableMissing } from './failures.ts'
import {
  columnText,
  columnType,
  FILE,
  instantExpression,
  quoteLiteral,
  rowsOf,
  tableIn,
  typed,
} from './sql.ts'

const INSTANT: ColumnType = { holds: 'instant', list: false }

const DIALECT: MirrorDialect = {
  ownTypes: {
    _id: 'VARCHAR',
    _version: columnType(INSTANT),
    _first_seen_at: columnType(INSTANT),
    _last_seen_at: columnType(INSTANT),
    _deleted_at: columnType(INSTANT),
    _run: 'BIGINT',
    _misfits: 'JSON',
  },
  // Without an index: DuckDB reads only the ids to find rows.
  idColumn: '"_id" VARCHAR',
  columnType,
  table: tableIn,
  byBytes: (expression) => expression,
  // One JSON text: the driver drops U+FEFF at the beginning of a text.
  written: (values) => ({
    expressions: [
      `json_array(${values.map(({ expression, type }) => columnText(expression, type)).join()})`,
    ],
    read: ([json]) => JSON.parse(json as string) as WrittenRow[],
  }),
  fold: (name) => name.toLowerCase(),
}

export class DuckdbSession implements MirrorSession {
  readonly place: string
  readonly schema: string
  readonly dialect = DIALECT
  readonly ask: Ask

  constructor(ask: Ask, { place, schema }: SchemaPlace) {
    this.ask = ask
    this.place = place
    this.schema = schema
  }

  statement(): MirrorStatement {
    const { ask } = this
    return {
      text: quoteLiteral,
      instant,
      among: (expression, values) => `${expression} IN ${rowsOf(values)}`,
      matches,
      ask,
      write: async (sql) => Number((await ask(sql))[0]![0]),
    }
  }

  /** The file's lock keeps other processes out. */
  async lockSchema(): Promise<string[]> {
    return (await this.tablesNamed([])).map(({ name }) => name)
  }

  async createCatalogue(): Promise<void> {
    const table = (name: string) => tableIn(this.schema, name)
    await this.ask(`CREATE SCHEMA IF NOT EXISTS ${FILE}.${quoteIdentifier(this.schema)}`)
    await this.ask(
      `CREATE TABLE ${table('_records_sync_mirror')} (owner VARCHAR, version INTEGER, project VARCHAR, sync VARCHAR)`,
    )
    await this.ask(
      `CREATE TABLE ${table('_records_sync_streams')} (name VARCHAR, table_name VARCHAR, fence BIGINT, position VARCHAR)`,
    )
    await this.ask(
      `CREATE TABLE ${table('_records_sync_columns')} (stream VARCHAR, column_name VARCHAR, property VARCHAR, part VARCHAR,
         field_type VARCHAR, type VARCHAR, live BOOLEAN, ordinal INTEGER)`,
    )
  }

  async lockCatalogue(): Promise<void> {}

  /** DuckDB numbers tables and columns anew when a file is opened; the order of columns lasts. */
  async identityOf(table: string, names: readonly string[]): Promise<TableIdentity> {
    const ours = new Set(names)
    const there = (await this.columnNames(table)).filter((name) => ours.has(name))
    return { id: '', columns: Object.fromEntries(there.map((name, index) => [name, index])) }
  }

  async columnNames(table: string): Promise<string[]> {
    const columns = await this.#columnsOf(table).catch((error: unknown) => {
      if (isTableMissing(error)) return new Map<string, string>()
      throw error
    })
    return [...columns.keys()]
  }

  async tablesNamed(names: readonly string[]): Promise<TableFound[]> {
    const rows = await this.ask(
      `SELECT table_name, true FROM duckdb_tables() WHERE ${this.#ofSchema}
       UNION ALL SELECT view_name, false FROM duckdb_views() WHERE ${this.#ofSchema} AND NOT internal`,
    )
    const asked = new Set(names)
    const found: TableFound[] = []
    for (const [name, isTable] of rows as [string, boolean][]) {
      const columns =
        isTable && asked.has(name) ? await this.#columnsOf(name) : new Map<string, string>()
      found.push({ name, isTable, columns, hasKey: true, columnsMade: 0 })
    }
    return found
  }

  /** Types by column. Asks for the table alone: the system tables list every column of every table, their own included. */
  async #columnsOf(table: string): Promise<Map<string, string>> {
    const describe = `SELECT column_name, column_type FROM (DESCRIBE ${tableIn(this.schema, table)})`
    return new Map((await this.ask(describe)) as [string, string][])
  }

  get #ofSchema(): string {
    return `database_name = '${FILE}' AND lower(schema_name) = lower(${quoteLiteral(this.schema)})`
  }

  checkRoom(): void {}

  async checkTables(): Promise<void> {}

  async addColumns(table: string, declarations: readonly string[]): Promise<void> {
    for (const declaration of declarations)
      await this.ask(`ALTER TABLE ${tableIn(this.schema, table)} ADD COLUMN ${declaration}`)
  }

  /**
   * Addressed by row position, the other columns are read only near those rows; by a condition on ids, everywhere. A column may
   * have the name of the position.
   */
  async withIds(
    statement: MirrorStatement,
    table: string,
    ids: readonly string[],
  ): Promise<string> {
    const among = statement.among('"_id"', ids)
    const isHidden = (await this.columnNames(table)).some((name) => /^rowid$/i.test(name))
    return isHidden
      ? among
      : `rowid IN (SELECT rowid FROM ${tableIn(this.schema, table)} WHERE ${among})`
  }

  async checkDeleted(): Promise<void> {}
}

const instant = (text: string): string => instantExpression(quoteLiteral(text))

/** Compares bytes, which have no collation. A JSON text can contain any character. */
function matches({ name, type }: MirrorColumn, match: ValueMatch): string {
  const column = quoteIdentifier(name)
  if (match.by === 'null') return `${column} IS NULL`
  const text = `from_json(${quoteLiteral(JSON.stringify(match.text))}, '"VARCHAR"')`
  return match.by === 'value'
    ? `${column} = ${typed(text, type)}`
    : `encode(${columnText(column, type)}) = encode(${text})`
}
