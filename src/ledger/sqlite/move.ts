// A ledger's SQLite file as a move sees it.

import { realpathSync } from 'node:fs'
import { LEDGER_CHARS_MAX, LEDGER_ROWS_MAX } from '../../core/limits.ts'
import {
  LEFT_TABLES,
  type MovedCell,
  type MovedPage,
  type MovedTable,
  type MoveStore,
} from '../move/store.ts'
import { write } from '../statements/transaction.ts'
import { openLedgerDatabase, type SqliteDatabase, type SqliteRow } from './database.ts'
import { statementRunner } from './dialect.ts'
import { sqliteTransactions } from './transactions.ts'

interface SqliteTable extends MovedTable {
  readonly key: readonly string[]
}

const quoted = (name: string) => `"${name}"`

function tableOf(db: SqliteDatabase, name: string): SqliteTable {
  const found = db.sql('SELECT name, pk FROM pragma_table_info(?) ORDER BY name').all(name)
  const columns = found.map((row) => String(row['name']))
  const key = found
    .filter((row) => Number(row['pk']) > 0)
    .toSorted((one, other) => Number(one['pk']) - Number(other['pk']))
    .map((row) => String(row['name']))
  return {
    name,
    columns,
    key,
    insert: `INSERT INTO ${name} (${columns.map(quoted).join(', ')}) SELECT ${columns.map((_, at) => `c${at}`).join(', ')} FROM given`,
  }
}

const OPERATIONS = ['INSERT', 'UPDATE', 'DELETE'] as const
const trigger = (table: string, operation: string) => `moved_${table}_${operation.toLowerCase()}`

/** @param setUp see `openLedgerDatabase` */
export function openSqliteMove(path: string, setUp: 'never' | 'new'): MoveStore {
  const db = openLedgerDatabase(path, { setUp, isMoved: true })
  const runner = statementRunner(db)
  const known = new Map<string, SqliteTable>()
  return {
    // By one name, however it was named.
    place: realpathSync(db.path),
    all: runner.all,
    one: runner.one,
    run: runner.run,
    ...sqliteTransactions(db),
    async tables() {
      return db
        .sql(
          `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`,
        )
        .all()
        .map((row) => String(row['name']))
        .filter((name) => !LEFT_TABLES.includes(name))
        .map((name) => {
          const table = tableOf(db, name)
          known.set(name, table)
          return table
        })
    },
    async page(table, where, after) {
      return pageOf(db, known.get(table)!, where, after)
    },
    *fence(tables, sentence) {
      for (const table of tables)
        for (const operation of OPERATIONS)
          yield* write(
            `CREATE TRIGGER ${trigger(table, operation)} BEFORE ${operation} ON ${table} BEGIN
               SELECT RAISE(ABORT, 'records-sync: ${sentence.replaceAll("'", "''")}'); END`,
          )
    },
    *unfence(tables) {
      for (const table of tables)
        for (const operation of OPERATIONS)
          yield* write(`DROP TRIGGER IF EXISTS ${trigger(table, operation)}`)
    },
    // Numbers follow the greatest that was inserted.
    async restartNumbers() {},
    async close() {
      db.close()
    },
  }
}

function pageOf(
  db: SqliteDatabase,
  { name, columns, key }: SqliteTable,
  where: string,
  after: string | null,
): MovedPage {
  const keys = key.map(quoted).join(', ')
  const last = after === null ? [] : (JSON.parse(after) as MovedCell[])
  const behind = after === null ? '' : ` AND (${keys}) > (${last.map(() => '?').join(', ')})`
  const order = key.length === 0 ? '' : ` ORDER BY ${keys}`
  const { rows } = db
    .sql(
      `SELECT ${columns.map(quoted).join(', ')} FROM ${name} WHERE ${where}${behind}${order} LIMIT ${LEDGER_ROWS_MAX}`,
    )
    .upTo(LEDGER_CHARS_MAX, ...last)
  const end = rows.at(-1)
  const isWhole = end === undefined || key.length === 0
  return {
    rows: rows.map((row) => columns.map((column) => row[column] as MovedCell)),
    next: isWhole ? null : JSON.stringify(key.map((column) => (end as SqliteRow)[column])),
  }
}
