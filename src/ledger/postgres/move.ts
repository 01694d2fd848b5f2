// A ledger's PostgreSQL schema as a move sees it: its types, keys and numbers are those of the catalogue.

import { LEDGER_CHARS_MAX, LEDGER_ROWS_MAX } from '../../core/limits.ts'
import { MOVED_STATE } from '../../postgres/failures.ts'
import {
  LEFT_TABLES,
  type MovedCell,
  type MovedPage,
  type MovedTable,
  type MoveStore,
} from '../move/store.ts'
import { write } from '../statements/transaction.ts'
import type { Connection } from './connection.ts'
import { openPostgresDatabase } from './database.ts'
import type { PostgresDatabase, PostgresRow } from './session.ts'
import { subject } from './subject.ts'
import { postgresTransactions } from './transactions.ts'

interface PostgresTable extends MovedTable {
  /** What gives the cells of a row, in the order of the columns. */
  readonly cells: readonly string[]
  readonly isNumber: readonly boolean[]
  /** The expressions of its key, and their types. */
  readonly key: readonly { readonly text: string; readonly type: string }[]
}

const literal = (text: string) => `'${text.replaceAll("'", "''")}'`

const NUMBERS = new Set(['smallint', 'integer', 'bigint', 'double precision'])
const TIME = 'timestamp with time zone'

const cellOf = (column: string, type: string) =>
  type === TIME
    ? `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
    : `${column}::text`

const COLUMNS = `SELECT attname AS name, format_type(atttypid, NULL) AS type FROM pg_attribute
  WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attname COLLATE "C"`

/** Of the primary key, or else of the unique index of all rows. */
const KEY = `SELECT pg_get_indexdef(indexrelid, attnum, true) AS text, format_type(atttypid, NULL) AS type
  FROM (SELECT indexrelid FROM pg_index WHERE indrelid = $1::regclass AND indisunique AND indpred IS NULL
    ORDER BY indisprimary DESC, indexrelid LIMIT 1) AS key
  JOIN pg_attribute ON attrelid = indexrelid ORDER BY attnum`

async function tableOf(db: PostgresDatabase, name: string): Promise<PostgresTable> {
  const found = await db.all(COLUMNS, [name])
  const types = found.map((row) => String(row['type']))
  const columns = found.map((row) => String(row['name']))
  const quoted = columns.map((column) => `"${column}"`)
  return {
    name,
    columns,
    cells: quoted.map((column, at) => `${cellOf(column, types[at]!)} AS c${at}`),
    isNumber: types.map((type) => NUMBERS.has(type)),
    key: (await db.all(KEY, [name])).map((row) => ({
      text: String(row['text']),
      type: String(row['type']),
    })),
    insert: `INSERT INTO ${name} (${quoted.join(', ')}) OVERRIDING SYSTEM VALUE
      SELECT ${types.map((type, at) => `c${at}::${type}`).join(', ')} FROM given`,
  }
}

/** @param setUp see `openPostgresDatabase` */
export async function openPostgresMove(
  connection: Connection,
  setUp: 'never' | 'new',
): Promise<MoveStore> {
  const db = await openPostgresDatabase(connection, subject, { setUp })
  const known = new Map<string, PostgresTable>()
  return {
    place: db.place,
    all: db.all,
    one: db.one,
    run: db.run,
    ...postgresTransactions(db),
    async tables() {
      const found = await db.all(
        `SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename COLLATE "C"`,
      )
      const names = found.map((row) => String(row['name']))
      for (const name of names)
        if (!LEFT_TABLES.includes(name)) known.set(name, await tableOf(db, name))
      return [...known.values()]
    },
    page: (table, where, after) => pageOf(db, known.get(table)!, where, after),
    *fence(tables, sentence) {
      yield* write(
        `CREATE FUNCTION ledger_moved() RETURNS trigger LANGUAGE plpgsql AS ${literal(
          `BEGIN RAISE EXCEPTION USING ERRCODE = '${MOVED_STATE}', MESSAGE = ${literal(sentence)}; END`,
        )}`,
      )
      for (const table of tables)
        yield* write(
          `CREATE TRIGGER ledger_moved BEFORE INSERT OR UPDATE OR DELETE ON ${table}
             FOR EACH STATEMENT EXECUTE FUNCTION ledger_moved()`,
        )
    },
    *unfence(tables) {
      for (const table of tables) yield* write(`DROP TRIGGER IF EXISTS ledger_moved ON ${table}`)
      yield* write('DROP FUNCTION IF EXISTS ledger_moved()')
    },
    async restartNumbers() {
      const numbers = await db.all(
        `SELECT table_name::text AS name, column_name::text AS number FROM information_schema.columns
         WHERE table_schema = current_schema() AND is_identity = 'YES'`,
      )
      for (const { name, number } of numbers)
        await db.one(
          `SELECT setval(pg_get_serial_sequence('${String(name)}', '${String(number)}'),
             (SELECT greatest(max("${String(number)}"), 0) + 1 FROM ${String(name)}), false)`,
        )
    },
    close: () => db.close(),
  }
}

/** The server knows how long a row is before it gives it. */
async function pageOf(
  db: PostgresDatabase,
  { name, cells, isNumber, key }: PostgresTable,
  where: string,
  after: string | null,
): Promise<MovedPage> {
  const keys = key.map(({ text }) => text).join(', ')
  const last = after === null ? [] : (JSON.parse(after) as string[])
  const behind =
    after === null
      ? ''
      : ` AND (${keys}) > (${key.map(({ type }, at) => `$${at + 1}::text::${type}`).join(', ')})`
  const order = keys === '' ? '' : ` ORDER BY ${keys}`
  const places = key.map(({ text }, at) => `, (${text})::text AS k${at}`).join('')
  const rows = await db.all(
    `SELECT * FROM (SELECT page.*, sum(size) OVER (ORDER BY place ROWS UNBOUNDED PRECEDING) AS chars
       FROM (SELECT ${cells.join(', ')}${places}, octet_length(${name}::text) AS size, row_number() OVER (${order.slice(1)}) AS place
         FROM ${name} WHERE ${where}${behind}${order} LIMIT ${LEDGER_ROWS_MAX}) AS page) AS bounded
     WHERE chars - size < ${LEDGER_CHARS_MAX} ORDER BY place`,
    last,
  )
  const end = rows.at(-1)
  const isWhole = end === undefined || key.length === 0
  const cell = (value: unknown, at: number): MovedCell =>
    value === null ? null : isNumber[at] ? Number(value) : String(value)
  return {
    rows: rows.map((row: PostgresRow) => isNumber.map((_, at) => cell(row[`c${at}`], at))),
    next: isWhole ? null : JSON.stringify(key.map((_, at) => end[`k${at}`])),
  }
}
