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

/** Types by their numbers, which are the same in every database: how the server prints them depends on its settings. */
export const TYPE_NAMES: Readonly<Record<string, string>> = {
  16: 'boolean',
  20: 'bigint',
  25: 'text',
  114: 'json',
  1000: 'boolean[]',
  1009: 'text[]',
  1082: 'date',
  1182: 'date[]',
  1184: 'timestamp with time zone',
  1185: 'timestamp with time zone[]',
  1231: 'numeric[]',
  1700: 'numeric',
  3802: 'jsonb',
  3807: 'jsonb[]',
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
