// One statement for many rows: the driver's cost for a call is higher than SQLite's for a row.

import type { SqliteDatabase, SqliteRow, Value } from './database.ts'

/** Rows of one statement; the batches of an import have as many. */
const ROWS_MAX = 50

/** Runs for all `rows`, at most 50 at a time; `others` are the values behind the rows. */
type ForRows<Result> = (
  db: SqliteDatabase,
  rows: readonly (readonly Value[])[],
  others?: readonly Value[],
) => Result

export interface BulkStatement {
  readonly run: ForRows<{ changes: number }>
  readonly all: ForRows<readonly SqliteRow[]>
}

/**
 * A statement that takes rows of values.
 * @param row the placeholders of a row, such as `(?, ?, 'planned')`
 * @param text the statement, of which `values` are the rows, separated by commas
 */
export function bulkStatement(row: string, text: (values: string) => string): BulkStatement {
  const texts = new Map<number, string>()
  const textFor = (rows: number): string => {
    let known = texts.get(rows)
    if (known === undefined) texts.set(rows, (known = text(Array(rows).fill(row).join(', '))))
    return known
  }
  /** The statement and its values, for at most 50 rows at a time. */
  function* parts(...[db, rows, others = []]: Parameters<ForRows<unknown>>) {
    for (let first = 0; first < rows.length; first += ROWS_MAX) {
      const some = rows.slice(first, first + ROWS_MAX)
      const values: Value[] = []
      for (const one of some) values.push(...one)
      values.push(...others)
      yield [db.sql(textFor(some.length)), values] as const
    }
  }
  return {
    run(...given) {
      let changes = 0
      for (const [statement, values] of parts(...given)) changes += statement.run(...values).changes
      return { changes }
    },
    all(...given) {
      const found: SqliteRow[] = []
      for (const [statement, values] of parts(...given)) found.push(...statement.all(...values))
      return found
    },
  }
}
