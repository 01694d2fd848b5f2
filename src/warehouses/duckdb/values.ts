// DuckDB's values as cells (docs/warehouses.md, "Values").

import {
  DuckDBTimestampValue,
  DuckDBTypeId,
  type DuckDBArrayValue,
  type DuckDBDateValue,
  type DuckDBListValue,
  type DuckDBMapValue,
  type DuckDBStructValue,
  type DuckDBTimestampTZValue,
  type DuckDBType,
  type DuckDBUnionValue,
  type DuckDBValue,
} from '@duckdb/node-api'
import { decimalOfNumber } from '../../core/decimal.ts'
import type { ColumnKind } from '../../core/domain/column-kind.ts'
import type { ColumnOrder } from '../../core/domain/watermark.ts'
import { infiniteCell, instantCell, numberCell, type CellOf } from '../cells.ts'

type Cell = CellOf<DuckDBValue>

const text: Cell = (value) => String(value)
const TIMES: ReadonlySet<DuckDBTypeId> = new Set([
  DuckDBTypeId.TIMESTAMP,
  DuckDBTypeId.TIMESTAMP_S,
  DuckDBTypeId.TIMESTAMP_MS,
  DuckDBTypeId.TIMESTAMP_NS,
])
const REFUSED: Readonly<Partial<Record<DuckDBTypeId, string>>> = {
  [DuckDBTypeId.BLOB]: 'bytes (BLOB)',
  [DuckDBTypeId.GEOMETRY]: 'GEOMETRY',
  [DuckDBTypeId.VARIANT]: 'VARIANT',
}
const NUMERIC: ReadonlySet<DuckDBTypeId> = new Set([
  DuckDBTypeId.TINYINT,
  DuckDBTypeId.SMALLINT,
  DuckDBTypeId.INTEGER,
  DuckDBTypeId.BIGINT,
  DuckDBTypeId.HUGEINT,
  DuckDBTypeId.UTINYINT,
  DuckDBTypeId.USMALLINT,
  DuckDBTypeId.UINTEGER,
  DuckDBTypeId.UBIGINT,
  DuckDBTypeId.UHUGEINT,
  DuckDBTypeId.BIGNUM,
  DuckDBTypeId.FLOAT,
  DuckDBTypeId.DOUBLE,
  DuckDBTypeId.DECIMAL,
])

/** What about a type cannot be a cell, in words; undefined if all its values can. */
export function refusedIn(type: DuckDBType): string | undefined {
  switch (type.typeId) {
    case DuckDBTypeId.LIST:
    case DuckDBTypeId.ARRAY:
      return refusedIn(type.valueType)
    case DuckDBTypeId.STRUCT:
      return type.entryTypes.map(refusedIn).find((one) => one !== undefined)
    case DuckDBTypeId.MAP:
      return refusedIn(type.keyType) ?? refusedIn(type.valueType)
    case DuckDBTypeId.UNION:
      return type.memberTypes.map(refusedIn).find((one) => one !== undefined)
    default:
      return REFUSED[type.typeId]
  }
}

/** The order of a type's values, if their cells show it. */
export function orderOf({ typeId, alias }: DuckDBType): ColumnOrder | null {
  if (NUMERIC.has(typeId)) return 'number'
  if (TIMES.has(typeId)) return 'time'
  if (typeId === DuckDBTypeId.DATE || typeId === DuckDBTypeId.TIMESTAMP_TZ) return 'time'
  if (typeId === DuckDBTypeId.UUID) return 'text'
  return typeId === DuckDBTypeId.VARCHAR && alias !== 'JSON' ? 'text' : null
}

/** The kinds of other types; the others are texts. */
const KINDS: Readonly<Partial<Record<DuckDBTypeId, ColumnKind>>> = {
  [DuckDBTypeId.BOOLEAN]: 'boolean',
  [DuckDBTypeId.DATE]: 'date',
  [DuckDBTypeId.TIMESTAMP_TZ]: 'instant',
  [DuckDBTypeId.LIST]: 'list',
  [DuckDBTypeId.ARRAY]: 'list',
}

/** What the cells of a type are. */
export function kindOf({ typeId }: DuckDBType): ColumnKind {
  if (NUMERIC.has(typeId)) return 'number'
  return TIMES.has(typeId) ? 'local_time' : (KINDS[typeId] ?? 'text')
}

/** The shortest decimal of this 32-bit number: the driver widens it to a double, with digits that it never had. */
function floatCell(value: number): string {
  if (!Number.isFinite(value)) return numberCell(value)
  for (let digits = 1; ; digits++) {
    const shorter = Number(value.toPrecision(digits))
    // Nine digits distinguish any two of them.
    if (Math.fround(shorter) === value || digits === 9) return decimalOfNumber(shorter)
  }
}

const finite = (value: DuckDBValue, write: () => string): string => {
  if (!(value as DuckDBDateValue | DuckDBTimestampValue).isFinite) throw infiniteCell()
  return write()
}

/** How values of a type become cells. A list becomes an array of cells; deeper nesting becomes JSON text. */
export function cellOf(type: DuckDBType): Cell {
  if (TIMES.has(type.typeId)) return (value) => finite(value, () => instantCell(String(value)))
  switch (type.typeId) {
    case DuckDBTypeId.BOOLEAN:
      return (value) => value as boolean
    case DuckDBTypeId.FLOAT:
      return (value) => floatCell(value as number)
    case DuckDBTypeId.DOUBLE:
      return (value) => numberCell(value as number)
    case DuckDBTypeId.DATE:
      return (value) => finite(value, () => String(value))
    case DuckDBTypeId.TIMESTAMP_TZ:
      // Its own text is in the time zone of the process.
      return (value) => {
        const utc = new DuckDBTimestampValue((value as DuckDBTimestampTZValue).micros)
        return finite(utc, () => instantCell(String(utc)))
      }
    case DuckDBTypeId.LIST:
    case DuckDBTypeId.ARRAY: {
      const { valueType } = type
      const item = isNested(valueType) ? jsonOf(valueType) : cellOf(valueType)
      return (value) =>
        (value as DuckDBListValue | DuckDBArrayValue).items.map((one) =>
          one === null ? null : item(one),
        )
    }
    case DuckDBTypeId.STRUCT:
    case DuckDBTypeId.MAP:
      return jsonOf(type)
    case DuckDBTypeId.UNION:
      return (value) => {
        const { tag, value: held } = value as DuckDBUnionValue
        return held === null ? null : cellOf(type.memberTypeForTag(tag))(held)
      }
    default:
      return text
  }
}

function isNested({ typeId }: DuckDBType): boolean {
  return [DuckDBTypeId.LIST, DuckDBTypeId.ARRAY, DuckDBTypeId.STRUCT, DuckDBTypeId.MAP].includes(
    typeId,
  )
}

/** The JSON text of a value: numbers with all their digits, times as texts. */
function jsonOf(type: DuckDBType): (value: DuckDBValue) => string {
  const orNull = (of: DuckDBType) => {
    const write = jsonOf(of)
    return (value: DuckDBValue) => (value === null ? 'null' : write(value))
  }
  switch (type.typeId) {
    case DuckDBTypeId.LIST:
    case DuckDBTypeId.ARRAY: {
      const item = orNull(type.valueType)
      return (value) => `[${(value as DuckDBListValue).items.map(item).join(',')}]`
    }
    case DuckDBTypeId.STRUCT: {
      const items = type.entryTypes.map(orNull)
      return (value) => {
        const { entries } = value as DuckDBStructValue
        const members = type.entryNames.map(
          (name, index) => `${JSON.stringify(name)}:${items[index]!(entries[name]!)}`,
        )
        return `{${members.join(',')}}`
      }
    }
    case DuckDBTypeId.MAP: {
      const key = cellOf(type.keyType)
      const item = orNull(type.valueType)
      const name = (value: DuckDBValue) => {
        const cell = key(value)
        return JSON.stringify(typeof cell === 'string' ? cell : JSON.stringify(cell))
      }
      return (value) =>
        `{${(value as DuckDBMapValue).entries
          .map((entry) => `${name(entry.key)}:${item(entry.value)}`)
          .join(',')}}`
    }
    default: {
      const cell = cellOf(type)
      const isJson = type.alias === 'JSON' || NUMERIC.has(type.typeId)
      return (value) => {
        const held = cell(value)
        return isJson ? String(held) : JSON.stringify(held)
      }
    }
  }
}
