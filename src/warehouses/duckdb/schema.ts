// The location of a mirror's schema, and the SQL names of its tables.

import { FILE, type Ask } from './attached.ts'
import { quoteIdentifier, quoteLiteral } from './sql.ts'

/** The location of a mirror: the name of its schema, and the text for messages. */
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
