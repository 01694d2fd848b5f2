// Names, texts and types in DuckDB's SQL.

import { DECIMAL, type ColumnType } from '../mirror-tables.ts'
import { quoteIdentifier } from '../mirror/session.ts'

/** Name of the mirror's file in SQL, while it is attached. */
export const FILE = 'warehouse'

export const tableIn = (schema: string, table: string): string =>
  `${FILE}.${quoteIdentifier(schema)}.${quoteIdentifier(table)}`

/** A text as a literal. */
export const quoteLiteral = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** Texts as rows of one column. */
export const rowsOf = (texts: readonly string[]): string =>
  `(SELECT unnest(from_json(${quoteLiteral(JSON.stringify(texts))}, '["VARCHAR"]')))`

const TYPES: Readonly<Record<ColumnType['holds'], string>> = {
  text: 'VARCHAR',
  decimal: `DECIMAL(${DECIMAL.digits},${DECIMAL.scale})`,
  boolean: 'BOOLEAN',
  date: 'DATE',
  instant: 'TIMESTAMP WITH TIME ZONE',
  json: 'JSON',
}

/** The type, by its name in the database's catalogue. */
export const columnType = ({ holds, list }: ColumnType): string =>
  `${TYPES[holds]}${list ? '[]' : ''}`

/** An expression that parses the text of one value. A wide decimal is parsed in 8 µs, one of 18 digits in 0.05. */
function castOne(text: string, holds: ColumnType['holds']): string {
  switch (holds) {
    case 'text':
      return text
    case 'decimal':
      return `coalesce(try_cast(${text} AS DECIMAL(18, ${DECIMAL.scale}))::${TYPES.decimal}, ${text}::${TYPES.decimal})`
    case 'instant':
      return instantExpression(text)
    default:
      return `${text}::${TYPES[holds]}`
  }
}

/** An expression that parses the text of an instant. The cast to TIMESTAMPTZ asks a calendar, and takes three times as long. */
export const instantExpression = (text: string): string =>
  `make_timestamptz(epoch_us(${text}::TIMESTAMP))`

/** Parses a value of a type from an expression of its text: for a list, a list of texts. */
export function typed(text: string, { holds, list }: ColumnType): string {
  if (!list || holds === 'text') return castOne(text, holds)
  return `list_transform(${text}, lambda x: ${castOne('x', holds)})`
}

/** An expression of the text of one value; for an instant, in UTC. Only infinite instants have no such timestamp. */
const textOfOne = (value: string, holds: ColumnType['holds']): string =>
  holds === 'instant'
    ? `coalesce(make_timestamp(epoch_us(${value}))::VARCHAR, ${value}::VARCHAR)`
    : `${value}::VARCHAR`

/** The text of a column's value, or the texts of a list's items. */
export const columnText = (value: string, { holds, list }: ColumnType): string =>
  list ? `list_transform(${value}, lambda x: ${textOfOne('x', holds)})` : textOfOne(value, holds)
