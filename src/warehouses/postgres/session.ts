// A mirror's schema in a PostgreSQL database, over one connection. Values are parameters of their statement.

import { SyncError } from '../../core/errors.ts'
import type { ColumnType, MirrorStream, StreamChange, TableIdentity } from '../mirror-tables.ts'
import {
  quoteIdentifier,
  type MirrorSession,
  type SchemaPlace,
  type MirrorDialect,
  type MirrorStatement,
  type TableFound,
} from '../mirror/session.ts'
import type { WrittenRow } from '../stored-rows.ts'
import { checkRowsDeleted } from './check-stored.ts'
import type { Lease } from './connections.ts'
import { columnText, columnType, tableIn, TYPE_NAMES } from './sql.ts'
import { checkTableHooks } from './table-hooks.ts'
import { POSTGRES_MIN } from '../../postgres/version.ts'

/** PostgreSQL's own limit. Dropped columns count. */
const COLUMNS_MAX = 1_600
const INSTANT: ColumnType = { holds: 'instant', list: false }

const byBytes = (expression: string): string => `${expression} COLLATE "C"`

const DIALECT: MirrorDialect = {
  ownTypes: {
    _id: 'text',
    _version: columnType(INSTANT),
    _first_seen_at: columnType(INSTANT),
    _last_seen_at: columnType(INSTANT),
    _deleted_at: columnType(INSTANT),
    _run: 'bigint',
    _misfits: 'json',
  },
  // In the order of bytes, in which ids are requested. Without its index every row of a merge would read the whole table.
  idColumn: '"_id" text COLLATE "C" PRIMARY KEY',
  columnType,
  table: tableIn,
  byBytes,
  written: (values) => ({
    expressions: values.map(({ expression, type }) => byBytes(columnText(expression, type))),
    read: (row) =>
      (row as readonly (string | null)[]).map((text, index) =>
        text !== null && values[index]!.type.list ? (JSON.parse(text) as WrittenRow) : text,
      ),
  }),
  fold: (name) => name,
}

export class PostgresSession implements MirrorSession {
  readonly place: string
  readonly schema: string
  readonly dialect = DIALECT
  readonly #lease: Lease

  constructor(lease: Lease, { place, schema }: SchemaPlace) {
    this.#lease = lease
    this.place = place
    this.schema = schema
  }

  statement(): MirrorStatement {
    return postgresStatement(this.#lease)
  }

  async lockSchema(): Promise<string[]> {
    const refuse = (code: string, sentence: string) =>
      new SyncError(`warehouse_${code}`, `The warehouse ${this.place} ${sentence}`)
    await this.#lease.ask('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [
      `records-sync mirror ${this.schema}`,
    ])
    const { rows: settings } = await this.#lease.ask(
      `SELECT current_setting('server_version_num')::integer / 10000, current_setting('server_encoding')`,
    )
    const [version, encoding] = settings[0]!
    if (Number(version) < POSTGRES_MIN)
      throw refuse('engine', `is PostgreSQL ${version}; ${POSTGRES_MIN} or newer is needed`)
    if (encoding !== 'UTF8')
      throw refuse(
        'encoding',
        `has the encoding ${encoding}; create a database with ENCODING 'UTF8'`,
      )
    const { rows } = await this.#lease.ask(
      'SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = $1 ORDER BY tablename',
      [this.schema],
    )
    return rows.map(([name]) => name!)
  }

  async createCatalogue(): Promise<void> {
    const table = (name: string) => tableIn(this.schema, name)
    const { rows } = await this.#lease.ask(
      'SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1',
      [this.schema],
    )
    // Checked first, because creating what exists already needs a permission that the owner of the schema may lack.
    if (rows.length === 0) await this.#lease.ask(`CREATE SCHEMA ${quoteIdentifier(this.schema)}`)
    await this.#lease.ask(
      `CREATE TABLE ${table('_records_sync_mirror')} (owner text PRIMARY KEY, version integer NOT NULL, project text,
         sync text);
       CREATE TABLE ${table('_records_sync_streams')} (name text PRIMARY KEY, table_name text NOT NULL UNIQUE,
         fence bigint NOT NULL DEFAULT 0, position text);
       CREATE TABLE ${table('_records_sync_columns')} (stream text NOT NULL, column_name text NOT NULL, property text NOT NULL,
         part text NOT NULL, field_type text NOT NULL, type text NOT NULL, live boolean NOT NULL,
         ordinal integer NOT NULL, PRIMARY KEY (stream, column_name));`,
    )
  }

  async lockCatalogue(): Promise<void> {
    await this.#lease.ask(`SELECT FROM ${tableIn(this.schema, '_records_sync_mirror')} FOR UPDATE`)
  }

  async identityOf(table: string, names: readonly string[]): Promise<TableIdentity> {
    const { rows } = await this.#lease.ask(
      `SELECT c.oid, a.attname, a.attnum
       FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
       JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
       WHERE n.nspname = $1 AND c.relname = $2 AND a.attname = ANY ($3::text[])`,
      [this.schema, table, names],
    )
    const columns = Object.fromEntries(rows.map(([, name, number]) => [name!, Number(number)]))
    return { id: rows[0]?.[0] ?? '', columns }
  }

  async columnNames(table: string): Promise<string[]> {
    const [found] = await this.tablesNamed([table])
    return [...(found?.columns.keys() ?? [])]
  }

  async tablesNamed(names: readonly string[]): Promise<TableFound[]> {
    const { rows } = await this.#lease.ask(
      `SELECT c.relname, c.relkind IN ('r', 'p'), c.relnatts, a.attname,
         CASE WHEN a.atttypmod = -1 THEN a.atttypid END, pg_catalog.format_type(a.atttypid, a.atttypmod),
         EXISTS (SELECT FROM pg_catalog.pg_index AS i WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid
           AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum AND i.indpred IS NULL)
       FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
       LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
       WHERE n.nspname = $1 AND c.relname = ANY ($2::text[])`,
      [this.schema, names],
    )
    const found = new Map<string, TableFound & { columns: Map<string, string>; hasKey: boolean }>()
    for (const [name, kind, made, column, plain, printed, isUnique] of rows) {
      const isTable = kind === 't'
      const one = found.get(name!) ?? {
        name: name!,
        isTable,
        columns: new Map<string, string>(),
        hasKey: false,
        columnsMade: Number(made),
      }
      found.set(one.name, one)
      if (column === null || !isTable) continue
      one.columns.set(column!, TYPE_NAMES[plain ?? ''] ?? printed!)
      if (column === '_id' && isUnique === 't') one.hasKey = true
    }
    return [...found.values()]
  }

  checkRoom({ name, table, add }: StreamChange, columnsMade: number): void {
    if (columnsMade + add.length <= COLUMNS_MAX) return
    const properties = new Set(add.map(({ property }) => property)).size
    throw new SyncError(
      'warehouse_columns',
      `The warehouse ${this.place} cannot hold ${name}: ${this.schema}.${table} has ${columnsMade} columns and ${properties} properties ask for ${add.length} more; a table of PostgreSQL has at most ${COLUMNS_MAX}, those that were dropped included. Leave the object type out by \`except\`, or mirror it into DuckDB`,
      { stream: name, properties, columns: columnsMade + add.length },
    )
  }

  async checkTables(tables: readonly string[]): Promise<void> {
    await checkTableHooks(this.#lease, this, tables)
  }

  async addColumns(table: string, declarations: readonly string[]): Promise<void> {
    await this.#lease.ask(
      `ALTER TABLE ${tableIn(this.schema, table)} ${declarations.map((one) => `ADD COLUMN ${one}`).join()}`,
    )
  }

  async withIds(
    statement: MirrorStatement,
    _table: string,
    ids: readonly string[],
  ): Promise<string> {
    return statement.among('"_id"', ids)
  }

  async checkDeleted(
    stream: MirrorStream,
    whereOf: (statement: MirrorStatement) => string,
  ): Promise<void> {
    await checkRowsDeleted(this.#lease, this, stream, async () => {
      const count = this.statement()
      const table = tableIn(this.schema, stream.table)
      const [row] = await count.ask(`SELECT count(*) FROM ${table} WHERE ${whereOf(count)}`)
      return Number(row![0])
    })
  }
}

function postgresStatement(lease: Lease): MirrorStatement {
  const values: (string | readonly string[])[] = []
  const place = (value: string | readonly string[]): string => `$${values.push(value)}`
  return {
    text: place,
    instant: (value) => `${place(value)}::timestamptz`,
    among: (expression, some) => `${expression} = ANY (${place(some)}::text[])`,
    matches({ name, type }, match) {
      const column = quoteIdentifier(name)
      if (match.by === 'null') return `${column} IS NULL`
      const value = place(match.text)
      return match.by === 'value'
        ? `${column} = ${value}::${columnType(type)}`
        : `${byBytes(columnText(column, type))} = ${value}`
    },
    ask: async (sql) => (await lease.ask(sql, values)).rows,
    write: async (sql) => (await lease.ask(sql, values)).count,
  }
}
