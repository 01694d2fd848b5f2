// Where the schema of a mirror is, and what its tables are called in SQL.

import { FILE, type Ask } from './attached.ts'
import { quoteIdentifier, quoteLiteral } from './sql.ts'

/** Where a mirror is: the name of its schema, and of the place for messages. */
export interface SchemaPlace {
  readonly place: string
  readonly schema: string
}

export const tableIn = (schema: string, table: string): string =>
  `${FILE}.${quoteIdentifier(schema)}.${quoteIdentifier(table)}`

/** Names of the columns of a table. */
export async function tableColumns(ask: Ask, schema: string, table: string): Promise<string[]> {
  const rows = await ask(
    `SELECT column_name FROM duckdb_columns()
     WHERE database_name = '${FILE}' AND lower(schema_name) = lower(${quoteLiteral(schema)}) AND table_name = ${quoteLiteral(table)}`,
  )
  return rows.map(([name]) => name as string)
}
