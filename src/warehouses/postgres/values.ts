// PostgreSQL's values as cells (docs/warehouses.md, "Values"): all of them arrive as text.

import pg from 'pg'
import type { Json } from '../../core/json.ts'
import { decimalOfNumber } from '../../core/decimal.ts'
import { NOT_FINITE } from '../../core/not-a-cell.ts'
import type { ColumnKind } from '../../core/domain/column-kind.ts'
import type { ColumnOrder } from '../../core/domain/watermark.ts'
import { infiniteCell, instantCell, NoCell, numberCell, type CellOf } from '../cells.ts'

/** A type from the database's catalogue. `element`: the type of an array's elements, 0 if it is not an array. */
export interface PgType {
  readonly oid: number
  readonly element: number
}

const BYTES = 17
const text: CellOf<string> = (value) => value
const finite = (value: string): string => {
  if (/^-?infinity$/i.test(value)) throw infiniteCell()
  return value
}
const exact: CellOf<string> = (value) => {
  if (!/\d/.test(value)) throw new NoCell(NOT_FINITE)
  return value
}

/** By the OIDs of the types, which are fixed. The texts are those of DateStyle ISO and TimeZone UTC. */
const CELLS: Readonly<Record<number, CellOf<string>>> = {
  // bool
  16: (value) => value === 't',
  // float4: its text is the shortest for 32 bits, and therefore also the shortest of that number as 64 bits.
  700: (value) => (/\d/.test(value) ? decimalOfNumber(Number(value)) : exact(value)),
  // float8
  701: (value) => numberCell(Number(value)),
  // numeric
  1700: exact,
  // date
  1082: finite,
  // timestamp
  1114: (value) => instantCell(finite(value)),
  // timestamptz
  1184: (value) => instantCell(finite(value).replace('+00', '')),
}

const NUMBERS: ReadonlySet<number> = new Set([20, 21, 23, 26, 700, 701, 1700])
const TIMES: ReadonlySet<number> = new Set([1082, 1114, 1184])
/** name, text, bpchar, varchar, uuid. */
const TEXTS: ReadonlySet<number> = new Set([19, 25, 1042, 1043, 2950])

/** The order of a type's values, if their cells show it. */
export function orderOf({ oid }: PgType): ColumnOrder | null {
  if (NUMBERS.has(oid)) return 'number'
  if (TIMES.has(oid)) return 'time'
  return TEXTS.has(oid) ? 'text' : null
}

/** The kinds of other types; the others are texts. */
const KINDS: Readonly<Record<number, ColumnKind>> = {
  16: 'boolean',
  1082: 'date',
  1114: 'local_time',
  1184: 'instant',
}

/** What the cells of a type are. */
export function kindOf({ oid, element }: PgType): ColumnKind {
  if (element !== 0) return 'list'
  return NUMBERS.has(oid) ? 'number' : (KINDS[oid] ?? 'text')
}

/** The driver's own array parser; its declared type is wrong. */
const arrays = pg.types.arrayParser as unknown as {
  create(text: string, element: CellOf<string>): { parse(): Json[] }
}

/** What about a type cannot be a cell, in words; undefined if all its values can. */
export function refusedIn({ oid, element }: PgType): string | undefined {
  return oid === BYTES || element === BYTES ? 'bytes (bytea)' : undefined
}

/** How values of a type become cells. An array becomes an array of cells; deeper nesting becomes JSON text. */
export function cellOf({ oid, element }: PgType): CellOf<string> {
  if (element === 0) return CELLS[oid] ?? text
  const cell = CELLS[element] ?? text
  return (value) =>
    arrays
      .create(value, cell)
      .parse()
      .map((one) => (Array.isArray(one) ? JSON.stringify(one) : one))
}
