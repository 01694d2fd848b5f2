// One statement for many rows: the driver's cost for a call is higher than SQLite's for a row.

import { encodeStoredText } from '../core/stored-text.ts'
import type { SqliteDatabase, SqliteRow, Value } from './database.ts'

/** Rows of one statement; the batches of an import have as many. */
const ROWS_MAX = 50

/** Values that belong to no row: `?1` and so on, which the first row has all of, or those behind the rows. */
interface Shared {
  readonly before?: readonly Value[]
  readonly behind?: readonly Value[]
}

/** Runs for all `rows`, at most 50 at a time. */
type ForRows<Result> = (
  db: SqliteDatabase,
  rows: readonly (readonly Value[])[],
  shared?: Shared,
) => Result

export interface BulkStatement {
  readonly run: ForRows<{ changes: number }>
  readonly all: ForRows<readonly SqliteRow[]>
}

/**
 * A statement that takes rows of values.
 * @param row the placeholders of a row, such as `(?1, ?, 'planned')`
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
  function* parts(...[db, rows, shared = {}]: Parameters<ForRows<unknown>>) {
    const { before = [], behind = [] } = shared
    for (let first = 0; first < rows.length; first += ROWS_MAX) {
      const some = rows.slice(first, first + ROWS_MAX)
      const values = [...before]
      for (const one of some) values.push(...one)
      values.push(...behind)
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

/** Texts as one value, a list in JSON, which `->>` takes apart. Each comes back as if it had been a value of its own. */
export const textsValue = (texts: readonly (string | null)[]): string =>
  JSON.stringify(texts.map((text) => text && wellFormed(encodeStoredText(text))))

/** As the driver writes a text; the compiler's library does not have it yet. */
const wellFormed = (text: string): string =>
  (text as string & { toWellFormed(): string }).toWellFormed()
