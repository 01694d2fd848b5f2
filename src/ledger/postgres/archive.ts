// A page of an export.

import type { ExportName } from '../roles/archive.ts'
import type { PostgresDatabase } from './session.ts'

/** How a column of a type is exported: as text or number. */
const exported = (type: string, column: string): string => {
  switch (type) {
    case 'timestamp with time zone':
      return `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
    case 'json':
      return `${column}::text`
    case 'bigint':
      return `${column}::double precision`
    default:
      return column
  }
}

/** All columns of the table or view, whatever release added them. */
async function columnsOf(db: PostgresDatabase, name: ExportName): Promise<string> {
  const columns = await db.all(
    `SELECT attname AS name, format_type(atttypid, NULL) AS type FROM pg_attribute
     WHERE attrelid = (quote_ident(current_schema()) || '.' || $1)::regclass AND attnum > 0 AND NOT attisdropped
     ORDER BY attnum`,
    [name],
  )
  return columns
    .map((column) => {
      const quoted = `"${String(column['name'])}"`
      return `${exported(String(column['type']), `page.${quoted}`)} AS ${quoted}`
    })
    .join(', ')
}

export function exportSelects(db: PostgresDatabase) {
  const selects = new Map<ExportName, string>()
  // In the order of an index: that of the keys is by their hash.
  const inOrder = (key: string, value: string) =>
    key === 'key' ? `hashtextextended(${value}, 0)` : value
  return async (name: ExportName, keys: readonly string[]): Promise<string> => {
    const known = selects.get(name)
    if (known !== undefined) return known
    const order = keys.map((key) => inOrder(key, `page.${key}`)).join(', ')
    const after = keys.map((key, at) => inOrder(key, `$${at + 2}`)).join(', ')
    const select = `SELECT ${await columnsOf(db, name)} FROM ${name} AS page
      WHERE (${order}) > (${after}) ORDER BY ${order} LIMIT $1`
    selects.set(name, select)
    return select
  }
}
