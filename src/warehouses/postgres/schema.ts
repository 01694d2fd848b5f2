// Where the schema of a mirror is, and what its tables are called in SQL.

import { quoteIdentifier } from './sql.ts'

/** Where a mirror is: the name of its schema, and of the place for messages. */
export interface SchemaPlace {
  readonly place: string
  readonly schema: string
}

export const tableIn = ({ schema }: SchemaPlace, table: string): string =>
  `${quoteIdentifier(schema)}.${quoteIdentifier(table)}`
