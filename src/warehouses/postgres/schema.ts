// The location of a mirror's schema, and the SQL names of its tables.

import { quoteIdentifier } from './sql.ts'

/** The location of a mirror: the name of its schema, and the text for messages. */
export interface SchemaPlace {
  readonly place: string
  readonly schema: string
}

export const tableIn = ({ schema }: SchemaPlace, table: string): string =>
  `${quoteIdentifier(schema)}.${quoteIdentifier(table)}`
