// A mapped column: which cell it reads, what counts as empty, and how its cells become values.

import type { PropertyWire } from '../../contract/index.ts'
import type { Json } from '../../core/json.ts'
import { isBlank } from '../../core/look.ts'
import { mappedColumns } from '../../core/domain/mapped-columns.ts'
import type { EmptyPolicy, PropertyMapping } from '../../../config/index.ts'
import type { SourceRow } from '../../sources/source.ts'
import { partsOf } from './cell-parts.ts'
import {
  coerceCell,
  coercionFor,
  jsonShapeOf,
  leavesOut,
  READ_AS,
  sourceCellText,
  type CoercionContext,
  type Coerced,
} from './coerce.ts'
import { phoneCoercion } from './phones.ts'
import type { Target } from './target.ts'
import type { MappingTools } from './tools.ts'
import {
  compileTransformation,
  type Transformation,
  type TransformationParts,
} from './transform.ts'

export interface Column {
  readonly property: PropertyWire
  readonly name: string
  /** Of the first column, if there are several. */
  readonly index: number
  /** What the mapping changes before a cell is read; null: nothing, as in most mappings. */
  readonly change: Transformation | null
  readonly unitIndex: number
  readonly empty: EmptyPolicy
  readonly member: string
  readonly split: string | undefined
  coerce(cell: Json, unit: string | null): Coerced
  /** Whether characters of a cell are left out because nobody sees them. */
  readonly leavesOut: (cell: Json) => boolean
  /** Whether a cell is one telephone number that is sent as it is. */
  readonly isOnePhone: boolean
}

/** What a column is compiled with, next to its mapping. */
type CompilingColumn = Pick<MappingTools, 'phones'> &
  Pick<TransformationParts, 'extract' | 'map'> & {
    readonly target: Target
    /** The import's. */
    readonly empty: EmptyPolicy
    /** Whether people wrote the cells: a year before 1000 is a slip then. */
    readonly isOfTexts?: boolean
  }

export function compileColumn(
  property: PropertyWire,
  mapping: PropertyMapping,
  columns: readonly string[],
  { target, empty, phones, isOfTexts = true, ...steps }: CompilingColumn,
): Column {
  const fieldType = target.fieldTypes.find((type) => type.name === property.field_type)
  const valueType = jsonShapeOf(fieldType?.value_type ?? 'string')
  const context: CoercionContext = {
    mapping,
    valueType,
    options: new Map(property.options.map((option) => [option.value, option.label])),
    units: new Set(fieldType?.units ?? []),
    isOfTexts,
  }
  const coercion =
    phones !== null && mapping.phone !== undefined
      ? phoneCoercion(phones, mapping.phone)
      : (READ_AS[mapping.type ?? ''] ?? coercionFor(mapping.type ?? property.field_type, valueType))
  const names = mappedColumns(mapping)
  const indexes = names.map((name) => columns.indexOf(name))
  return {
    property,
    name: names[0]!,
    index: indexes[0]!,
    change: compileTransformation({ ...steps, mapping, indexes, isMulti: property.is_multi }),
    unitIndex: mapping.unit_column === undefined ? -1 : columns.indexOf(mapping.unit_column),
    empty: mapping.empty ?? empty,
    member: `${JSON.stringify(property.name)}:`,
    split: mapping.split,
    leavesOut: (cell) => leavesOut(coercion, cell),
    isOnePhone:
      (mapping.type ?? property.field_type) === 'phone' &&
      (mapping.phone ?? mapping.split) === undefined,
    coerce: (cell, unit) =>
      coerceCell(
        coercion,
        cell,
        unit === null ? context : { ...context, mapping: { ...mapping, unit: unit.trim() } },
      ),
  }
}

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
  let isCut = false
  for (const part of partsOf(cell, column.split)) {
    const coerced = column.coerce(part, unitCell)
    if (!coerced.ok) return coerced
    isCut ||= coerced.isCut === true
    values.push(coerced.value)
  }
  return { ok: true, value: values, ...(isCut && { isCut }) }
}
