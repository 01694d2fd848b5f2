// Transactions of every engine, on a SQLite file.

import type { Row } from '../rows/values.ts'
import type { StatementValue } from '../statements/engine.ts'
import type {
  Given,
  TransactionStep,
  StepResult,
  Transaction,
  TransactionRunner,
} from '../statements/transaction.ts'
import type { SqliteDatabase, Value } from './database.ts'
import { sqliteText } from './dialect.ts'

/** Rows of one statement, as in src/sqlite/bulk.ts. */
const ROWS_MAX = 50

const texts = new Map<string, string>()

/** `text` with so many rows as `given`, whose values are behind the `shared` ones. */
function givenText(text: string, { columns }: Given, rows: number, shared: number): string {
  const name = `${rows} ${text}`
  let own = texts.get(name)
  if (own === undefined) {
    const names = Object.keys(columns)
    const lines = Array.from({ length: rows }, (_, row) =>
      names.map((_column, at) => `?${shared + row * names.length + at + 1}`).join(', '),
    )
    own = `WITH given (${names.join(', ')}) AS (VALUES (${lines.join('), (')})) ${sqliteText(text)}`
    texts.set(name, own)
  }
  return own
}

/** Lists are bound as `sqliteDialect.list` gives them. */
const single = (values: readonly StatementValue[]) => values as readonly Value[]

function carryOut(
  db: SqliteDatabase,
  { text, values, given, returns }: TransactionStep,
): StepResult {
  const parts =
    given === null
      ? [[sqliteText(text), single(values)] as const]
      : Array.from({ length: Math.ceil(given.rows.length / ROWS_MAX) }, (_, part) => {
          const rows = given.rows.slice(part * ROWS_MAX, (part + 1) * ROWS_MAX)
          const all = [...single(values)]
          for (const row of rows) all.push(...row)
          return [givenText(text, given, rows.length, values.length), all] as const
        })
  const rows: Row[] = []
  let changes = 0
  for (const [own, all] of parts)
    if (returns) for (const row of db.sql(own).all(...all)) rows.push(row)
    else changes += db.sql(own).run(...all).changes
  return { rows, changes }
}

/** Steps as a part of a transaction that is open. */
export function runSteps<Result>(db: SqliteDatabase, steps: Transaction<Result>): Result {
  let step = steps.next()
  while (!step.done) step = steps.next(carryOut(db, step.value))
  return step.value
}

export const sqliteTransactions = (db: SqliteDatabase): TransactionRunner => ({
  async transact(work) {
    return db.transaction(() => runSteps(db, work()))
  },
})
