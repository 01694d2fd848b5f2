// Compares a record of the service with its row of the table. Promise kept here: both are in the one form of a row, so that nothing
// differs only in how it is written: decimals, time zones, the order of keys.

import { excerpt, type Difference, type DifferenceKind } from '../../core/domain/differences.ts'
import { canonicalDecimal } from '../../core/decimal.ts'
import { canonicalJson, isJsonObject, parseJson, type JsonObject } from '../../core/json.ts'
import type {
  StoredRow,
  MirrorCell,
  MirrorColumn,
  MirrorRow,
  MirrorStream,
} from '../../warehouses/mirror-tables.ts'
import { columnsByProperty } from '../columns.ts'

/** The result of a comparison; `pending`: the record was changed after what the mirror has read. */
export type RowDifference =
  | { readonly kind: 'equal' | 'pending' }
  | { readonly kind: DifferenceKind; readonly differences: readonly Difference[] }

export interface RowComparison {
  readonly stream: MirrorStream
  /** The property of modification times; null if there is none. */
  readonly modified: string | null
}

interface Field {
  readonly property: string
  readonly columns: readonly MirrorColumn[]
  /** Indexes of the columns among a row's cells. */
  readonly indexes: readonly number[]
}

/** Compares a record, as the row that it would be, with its row; `isUnread`: the mirror has not read this version yet. */
export type RowComparer = (
  row: MirrorRow,
  held: StoredRow | undefined,
  isUnread: boolean,
) => RowDifference

type Found = Pick<Difference, 'kind' | 'whose'>

export function createRowComparer({ stream, modified }: RowComparison): RowComparer {
  const live = stream.columns.filter((column) => column.live)
  const fields: Field[] = [...columnsByProperty(live)].map(([property, columns]) => ({
    property,
    columns,
    indexes: columns.map((column) => live.indexOf(column)),
  }))
  const difference = ({ id }: MirrorRow, found: Found) => ofRecord(stream.name, id, found)
  const fieldDifferences = (row: MirrorRow, held: StoredRow, found: Found): Difference[] =>
    differingFields(fields, row, held).map((field) => ({ ...difference(row, found), ...field }))
  /** The time of modification counts only if nothing else differs; a version alone is a difference of the whole record. */
  const orWhole = (row: MirrorRow, found: Found, differences: readonly Difference[]) => {
    const rest = differences.filter(({ field }) => field !== modified)
    if (rest.length > 0) return rest
    return differences.length > 0 ? differences : [difference(row, found)]
  }
  return (row, held, isUnread) => {
    if (held === undefined || held.isDeleted) {
      const found = { kind: 'missing', whose: 'unknown' } as const
      return isUnread
        ? { kind: 'pending' }
        : { kind: 'missing', differences: [difference(row, found)] }
    }
    const isKnown = row.version !== null && held.version !== null
    const order = isKnown ? compareInstants(row.version, held.version) : 0
    if (order > 0) {
      if (isUnread) return { kind: 'pending' }
      const found = { kind: 'stale', whose: 'service' } as const
      return {
        kind: 'stale',
        differences: orWhole(row, found, fieldDifferences(row, held, found)),
      }
    }
    // Without times of modification nothing shows which side changed last.
    const whose = modified === null ? 'unknown' : 'warehouse'
    const found = { kind: 'different', whose } as const
    const differences = fieldDifferences(row, held, found)
    const isSame = order === 0 && row.version === held.version
    if (isSame && differences.length === 0) return { kind: 'equal' }
    return {
      kind: 'different',
      differences: isSame ? differences : orWhole(row, found, differences),
    }
  }
}

/** The fields whose values differ, with both values. */
function differingFields(
  fields: readonly Field[],
  row: MirrorRow,
  held: StoredRow,
): Pick<Difference, 'field' | 'ours' | 'theirs'>[] {
  const ourMisfits = misfitsOf(held.misfits)
  const theirMisfits = misfitsOf(row.misfits)
  return fields.flatMap((field) => {
    const ours = exactText(field, held.cells, ourMisfits)
    const theirs = exactText(field, row.cells, theirMisfits)
    if (ours === theirs) return []
    return {
      field: field.property,
      ours: ours === null ? null : excerpt(textOf(field, held.cells, ourMisfits)),
      theirs: theirs === null ? null : excerpt(textOf(field, row.cells, theirMisfits)),
    }
  })
}

/** A difference of a whole record. */
const ofRecord = (stream: string, recordId: string, found: Found): Difference => ({
  stream,
  key: null,
  recordId,
  ordinal: null,
  field: null,
  ours: null,
  theirs: null,
  ...found,
})

/** A row whose record is gone. */
export const extraRow = (stream: string, recordId: string): Difference =>
  ofRecord(stream, recordId, { kind: 'extra', whose: 'unknown' })

/** Negative, zero or positive as `a` is earlier than, the same as or later than `b`: to the microsecond. */
export function compareInstants(a: string, b: string): number {
  const left = comparable(a)
  const right = comparable(b)
  return left < right ? -1 : left > right ? 1 : 0
}

/** Of an instant in its one form. */
const comparable = (instant: string): string =>
  `${instant.slice(0, 19)}${instant.slice(20, -1).padEnd(6, '0')}`

function misfitsOf(text: string | null): JsonObject {
  if (text === null) return {}
  try {
    const misfits = parseJson(text)
    return isJsonObject(misfits) ? misfits : {}
  } catch {
    // A person may have written there.
    return {}
  }
}

/** The same for equal values, and only for those; null for no value. */
function exactText(
  { property, indexes }: Field,
  cells: readonly MirrorCell[],
  misfits: JsonObject,
): string | null {
  if (Object.hasOwn(misfits, property)) return `misfit ${canonicalJson(misfits[property]!)}`
  const values = indexes.map((index) => cells[index]!)
  return values.every((value) => value === null) ? null : JSON.stringify(values)
}

/** JSON text of a property's value, much as the service writes it. */
function textOf(
  { property, columns, indexes }: Field,
  cells: readonly MirrorCell[],
  misfits: JsonObject,
): string {
  if (Object.hasOwn(misfits, property)) return canonicalJson(misfits[property]!)
  const [first, second] = indexes.map((index, place) => cellText(columns[place]!, cells[index]!))
  if (second === undefined) return first!
  return `{"amount":${first!},"unit":${second}}`
}

function cellText({ type, fieldType }: MirrorColumn, cell: MirrorCell): string {
  const one = (value: string | boolean | null): string => {
    if (typeof value !== 'string') return JSON.stringify(value)
    if (type.holds === 'json') return value
    const isNumber = type.holds === 'decimal' && fieldType !== 'currency'
    return isNumber && canonicalDecimal(value) === value ? value : JSON.stringify(value)
  }
  return Array.isArray(cell) ? `[${cell.map(one).join(',')}]` : one(cell as string | boolean | null)
}
