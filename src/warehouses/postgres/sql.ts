// Names and types of a mirror's columns in SQL.

import type { ColumnType } from '../mirror-tables.ts'
import { quoteIdentifier } from '../mirror/session.ts'

export const tableIn = (schema: string, table: string): string =>
  `${quoteIdentifier(schema)}.${quoteIdentifier(table)}`

const TYPES: Readonly<Record<ColumnType['holds'], string>> = {
  text: 'text',
  decimal: 'numeric',
  boolean: 'boolean',
  date: 'date',
  instant: 'timestamp with time zone',
  json: 'jsonb',
}

/** The type, by its name in the database's catalogue. */
export function columnType({ holds, list }: ColumnType): string {
  return `${TYPES[holds]}${list ? '[]' : ''}`
}

/** The text of a column's value, or a JSON array of the texts of a list's items; the time zone of the session is UTC. */
export function columnText(value: string, { holds, list }: ColumnType): string {
  const many = list ? '[]' : ''
  const text = `${value}${holds === 'instant' ? `::timestamp${many}` : ''}::text${many}`
  return list ? `to_json(${text})::text` : text
}
