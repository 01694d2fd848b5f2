// A record of the service against its row of the table. Promise kept here: both are in the one form of a row, so that nothing
// differs only by how it is written: decimals, time zones, the order of keys.

import {
  excerpt,
  type Difference,
  type DifferenceKind,
  type ChangedBy,
} from '../../core/differences.ts'
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

/** What comparing showed; `pending`: the record was changed after what the mirror has read. */
export type RowDifference =
  | { readonly kind: 'equal' | 'pending' }
  | { readonly kind: DifferenceKind; readonly differences: readonly Difference[] }

export interface RowComparison {
  readonly stream: MirrorStream
  /** The property of modification times; null where there is none. */
  readonly modified: string | null
}

interface Field {
  readonly property: string
  readonly columns: readonly MirrorColumn[]
  /** Places of the columns in a row's cells. */
  readonly indexes: readonly number[]
}

/** What comparing gives for one row; `isUnread`: the mirror has not read this version yet. */
export type RowComparer = (
  row: MirrorRow,
  held: StoredRow | undefined,
  isUnread: boolean,
) => RowDifference

export function createRowComparer({ stream, modified }: RowComparison): RowComparer {
  const live = stream.columns.filter((column) => column.live)
  const fields: Field[] = [...columnsByProperty(live)].map(([property, columns]) => ({
    property,
    columns,
    indexes: columns.map((column) => live.indexOf(column)),
  }))
  const base = { stream: stream.name, key: null, ordinal: null }

  const differencesOf = (
    row: MirrorRow,
    held: StoredRow,
    kind: DifferenceKind,
    whose: ChangedBy,
  ) => {
    const ourMisfits = misfitsOf(held.misfits)
    const theirMisfits = misfitsOf(row.misfits)
    const differences: Difference[] = []
    for (const field of fields) {
      const ours = exactText(field, held.cells, ourMisfits)
      const theirs = exactText(field, row.cells, theirMisfits)
      if (ours === theirs) continue
      differences.push({
        ...base,
        recordId: row.id,
        kind,
        field: field.property,
        whose,
        ours: ours === null ? null : excerpt(textOf(field, held.cells, ourMisfits)),
        theirs: theirs === null ? null : excerpt(textOf(field, row.cells, theirMisfits)),
      })
    }
    return differences
  }

  /** The time of modification is told only where nothing else is. */
  const told = (differences: readonly Difference[], other: Difference): readonly Difference[] => {
    const rest = differences.filter(({ field }) => field !== modified)
    if (rest.length > 0) return rest
    return differences.length > 0 ? differences : [other]
  }

  return (row, held, isUnread) => {
    const whole = (kind: DifferenceKind, whose: ChangedBy): Difference => ({
      ...base,
      recordId: row.id,
      kind,
      field: null,
      whose,
      ours: null,
      theirs: null,
    })
    if (held === undefined || held.isDeleted)
      return isUnread
        ? { kind: 'pending' }
        : { kind: 'missing', differences: [whole('missing', 'unknown')] }
    const isKnown = row.version !== null && held.version !== null
    const order = isKnown ? compareInstants(row.version, held.version) : 0
    if (order > 0) {
      if (isUnread) return { kind: 'pending' }
      const differences = differencesOf(row, held, 'stale', 'service')
      return { kind: 'stale', differences: told(differences, whole('stale', 'service')) }
    }
    // Without times of modification nobody can tell who was last.
    const whose = modified === null ? 'unknown' : 'warehouse'
    const differences = differencesOf(row, held, 'different', whose)
    const isSame = order === 0 && row.version === held.version
    if (isSame && differences.length === 0) return { kind: 'equal' }
    return {
      kind: 'different',
      differences: isSame ? differences : told(differences, whole('different', whose)),
    }
  }
}

/** A row whose record is gone. */
export const extraRow = (stream: string, recordId: string): Difference => ({
  stream,
  key: null,
  recordId,
  ordinal: null,
  kind: 'extra',
  field: null,
  whose: 'unknown',
  ours: null,
  theirs: null,
})

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
