// Where the schema of a mirror is, and what its tables are called in SQL.

import { quoted } from './names.ts'

/** Where a mirror is: the name of its schema, and of the place for messages. */
export interface Home {
  readonly place: string
  readonly schema: string
}

export const tableIn = ({ schema }: Home, table: string): string =>
  `${quoted(schema)}.${quoted(table)}`
