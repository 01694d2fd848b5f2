// Where the schema of a mirror is, and what its tables are called in SQL.

import { FILE, type Ask } from './attached.ts'
import { named, quoted } from './sql.ts'

/** Where a mirror is: the name of its schema, and of the place for messages. */
export interface Home {
  readonly place: string
  readonly schema: string
}

export const tableIn = (schema: string, table: string): string =>
  `${FILE}.${named(schema)}.${named(table)}`

/** Names of the columns of a table. */
export async function columnsOf(ask: Ask, schema: string, table: string): Promise<string[]> {
  const rows = await ask(
    `SELECT column_name FROM duckdb_columns()
     WHERE database_name = '${FILE}' AND lower(schema_name) = lower(${quoted(schema)}) AND table_name = ${quoted(table)}`,
  )
  return rows.map(([name]) => name as string)
}
