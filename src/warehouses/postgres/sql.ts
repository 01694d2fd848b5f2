// Names and types of a mirror's columns in SQL.

import type { ColumnType } from '../mirror-tables.ts'

/** An identifier, whatever characters it contains. */
export const quoteIdentifier = (name: string): string => `"${name.replaceAll('"', '""')}"`

const TYPES: Readonly<Record<ColumnType['holds'], string>> = {
  text: 'text',
  decimal: 'numeric',
  boolean: 'boolean',
  date: 'date',
  instant: 'timestamp with time zone',
  json: 'jsonb',
}

/** The type, by its name in the database's catalogue. */
export function sqlType({ holds, list }: ColumnType): string {
  return `${TYPES[holds]}${list ? '[]' : ''}`
}

/** The text of a column's value, or a JSON array of the texts of a list's items; the time zone of the session is UTC. */
export function columnText(value: string, { holds, list }: ColumnType): string {
  const many = list ? '[]' : ''
  const text = `${value}${holds === 'instant' ? `::timestamp${many}` : ''}::text${many}`
  return list ? `to_json(${text})::text` : text
}

/** `decimal`, `text[]`: the type's name in the mirror's catalogue. */
export const typeText = ({ holds, list }: ColumnType): string => (list ? `${holds}[]` : holds)

export function columnType(text: string): ColumnType {
  const list = text.endsWith('[]')
  return { holds: (list ? text.slice(0, -2) : text) as ColumnType['holds'], list }
}
