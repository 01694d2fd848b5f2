// A mapped column: which cell it reads, what counts as empty, and how its cells become values.

import type { PropertyWire } from '../../contract/index.ts'
import type { Json } from '../../core/json.ts'
import type { EmptyPolicy, PropertyMapping } from '../../../config/index.ts'
import type { SourceRow } from '../../sources/source.ts'
import {
  coerceCell,
  coercionFor,
  jsonShapeOf,
  READ_AS,
  sourceCellText,
  type CoercionContext,
  type Coerced,
} from './coerce.ts'
import type { Target } from './target.ts'

export interface Column {
  readonly property: PropertyWire
  readonly name: string
  readonly index: number
  readonly unitIndex: number
  readonly empty: EmptyPolicy
  readonly member: string
  readonly split: string | undefined
  coerce(cell: Json, unit: string | null): Coerced
}

export function compileColumn(
  property: PropertyWire,
  mapping: PropertyMapping & { column: string },
  columns: readonly string[],
  target: Target,
  empty: EmptyPolicy,
): Column {
  const fieldType = target.fieldTypes.find((type) => type.name === property.field_type)
  const valueType = jsonShapeOf(fieldType?.value_type ?? 'string')
  const context: CoercionContext = {
    mapping,
    valueType,
    options: new Map(property.options.map((option) => [option.value, option.label])),
    units: new Set(fieldType?.units ?? []),
  }
  const coercion =
    READ_AS[mapping.type ?? ''] ?? coercionFor(mapping.type ?? property.field_type, valueType)
  return {
    property,
    name: mapping.column,
    index: columns.indexOf(mapping.column),
    unitIndex: mapping.unit_column === undefined ? -1 : columns.indexOf(mapping.unit_column),
    empty: mapping.empty ?? empty,
    member: `${JSON.stringify(property.name)}:`,
    split: mapping.split,
    coerce: (cell, unit) =>
      coerceCell(
        coercion,
        cell,
        unit === null ? context : { ...context, mapping: { ...mapping, unit: unit.trim() } },
      ),
  }
}

/** The values of a multi-value cell. */
export function partsOf(cell: Json, split: string | undefined): readonly Json[] {
  if (Array.isArray(cell)) return cell as readonly Json[]
  if (split === undefined || typeof cell !== 'string' || !cell.includes(split)) return [cell]
  return cell.split(split).filter((part) => !isBlank(part))
}

const BLANK = /^[\s\u200b\u2060\ufeff]*$/

/** White space, and what cannot be seen at all: the zero width space, the word joiner and the byte order mark. */
export const isBlank = (text: string): boolean => BLANK.test(text)

/** True for what looks empty, and for a list of nothing: an import never erases by default. */
export function isEmpty(column: Column, cell: Json): boolean {
  if (cell === null || (typeof cell === 'string' && isBlank(cell))) return true
  if (Array.isArray(cell)) return cell.length === 0
  const { split, property } = column
  return split !== undefined && property.is_multi && partsOf(cell, split).length === 0
}

export function coerceColumn(column: Column, row: SourceRow, cell: Json): Coerced {
  const unitCell = column.unitIndex < 0 ? null : sourceCellText(row.cells[column.unitIndex] ?? '')
  if (!column.property.is_multi) return column.coerce(cell, unitCell)
  const values: Json[] = []
  for (const part of partsOf(cell, column.split)) {
    const coerced = column.coerce(part, unitCell)
    if (!coerced.ok) return coerced
    values.push(coerced.value)
  }
  return { ok: true, value: values }
}
