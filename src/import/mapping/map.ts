// A mapping is compiled once against the object type's schema, so that a hopeless one stops here, before the first row;
// then it turns each row into an item. Promise kept here: a row either maps whole or is invalid with place and reason.

import { hash as digestOf } from 'node:crypto'
import type { PropertyWire } from '../../contract/index.ts'
import { MappingError, type MappingProblem } from '../../core/errors.ts'
import { canonicalJson, writeJson, type Json } from '../../core/json.ts'
import { OPTIONS_KEPT_MAX, REPORT_VALUE_CHARS_MAX } from '../../core/limits.ts'
import type { EmptyPolicy, ImportConfig, PropertyMapping } from '../../../config/index.ts'
import type { CellError, RunSchema, StagedItem } from '../../ledger/ledger.ts'
import type { SourceRow } from '../../sources/source.ts'
import {
  coerceCell,
  coercionFor,
  jsonShapeOf,
  sourceCellText,
  type Coerced,
  type CoercionContext,
} from './coerce.ts'
import { itemKey, normaliseValue } from './key.ts'
import { typeOfProperty } from './types.ts'
import {
  checkMatchingProperty,
  checkProperty,
  checkTargetType,
  suggestNames,
  type Target,
} from './target.ts'

/** Reason of a row with another number of cells than its source has columns. */
const ROW_RAGGED = 'row_ragged'

/** A compiled mapping. */
export interface MappingPlan {
  /** What the service says of the mapped properties. */
  readonly schema: RunSchema
  /** What a person should know before a write, one line each. */
  readonly warnings: readonly string[]
  /** The item of a row. */
  map(row: SourceRow): StagedItem
  /** How many cells so far would clear a property. */
  cleared(): number
}

interface Column {
  readonly property: PropertyWire
  readonly name: string
  readonly index: number
  readonly unitIndex: number
  readonly empty: EmptyPolicy
  readonly member: string
  readonly split: string | undefined
  coerce(cell: Json, unit: string | null): Coerced
}

/** What a cell comes to. */
interface Cell {
  readonly value?: Json
  readonly clears?: boolean
  readonly wrong?: CellError
}

const cut = (text: string): string =>
  text.length > REPORT_VALUE_CHARS_MAX ? `${text.slice(0, REPORT_VALUE_CHARS_MAX)}…` : text

/** SHA-256 of `text`, the first 128 bits, in hex. */
export const textHash = (text: string): string => digestOf('sha256', text, 'hex').slice(0, 32)

function compileColumn(
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
  const coercion = coercionFor(mapping.type ?? property.field_type, valueType)
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
function partsOf(cell: Json, split: string | undefined): readonly Json[] {
  if (Array.isArray(cell)) return cell as readonly Json[]
  if (split === undefined || typeof cell !== 'string') return [cell]
  return cell.split(split).filter((part) => !isBlank(part))
}

/** White space, and what nobody can see at all: the zero width space, the word joiner and the byte order mark. */
const isBlank = (text: string): boolean => /^[\s\u200b\u2060\ufeff]*$/.test(text)

/** True for what looks empty, and for a list of nothing: an import never erases by default. */
function isEmpty(column: Column, cell: Json): boolean {
  if (cell === null || (typeof cell === 'string' && isBlank(cell))) return true
  if (Array.isArray(cell)) return cell.length === 0
  return column.property.is_multi && partsOf(cell, column.split).length === 0
}

function coerceColumn(column: Column, row: SourceRow, cell: Json): Coerced {
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

/**
 * Compiles a mapping.
 * @throws MappingError naming every problem at once
 */
export function compileMapping(
  sync: string,
  config: ImportConfig,
  target: Target,
  sourceColumns: readonly string[],
  /** Whether the service takes capitals and small letters of the matching property for the same. */
  folds = false,
): MappingPlan {
  const problems: MappingProblem[] = []
  const warnings: string[] = []
  const source = { columns: sourceColumns, hasUnits: 'records' in config.from }
  checkTargetType(config, target, problems)
  checkMatchingProperty(config, target, problems, warnings)
  const columns: Column[] = []
  const constants: { property: PropertyWire; member: string; value: Json }[] = []
  // In the order of names, so that equal rows have equal payloads however the mapping is written.
  for (const name of Object.keys(config.properties).toSorted()) {
    const mapping = config.properties[name]!
    const property = checkProperty(name, mapping, source, target, problems, warnings)
    if (!property) continue
    if (mapping.column !== undefined)
      columns.push(
        compileColumn(
          property,
          { ...mapping, column: mapping.column },
          sourceColumns,
          target,
          config.empty,
        ),
      )
    else
      constants.push({
        property,
        member: JSON.stringify(name) + ':' + canonicalJson(mapping.value ?? null),
        value: mapping.value ?? null,
      })
  }
  suggestNames(config, source, target, problems)
  if (problems.length > 0) throw new MappingError(sync, problems)

  const constantMembers = constants.map((constant) => constant.member)
  const matching = target.schema.properties.find(
    (property) => property.name === config.matching_property,
  )!
  const keyType = typeOfProperty(config, matching.name, matching.field_type)
  const matchingConstant = constants.find((constant) => constant.property === matching)
  let cleared = 0
  /** A cell that clears its property, leaves it out, or has a value; or what is wrong with it. */
  const read = (column: Column, row: SourceRow): Cell => {
    const cell = row.cells[column.index] ?? null
    const { name } = column.property
    const isKey = column.property === matching
    const wrong = (reason: string, detail: string, at = column.index): Cell => ({
      wrong: {
        reason,
        column: sourceColumns[at] ?? column.name,
        field: name,
        value: cut(sourceCellText(row.cells[at] ?? '')),
        detail,
      },
    })
    if (isEmpty(column, cell)) {
      if (isKey) return wrong('key_missing', `${name} must have a value`)
      if (column.empty === 'reject') return wrong('empty', `${name} must not be empty`)
      return column.empty === 'clear' ? { clears: true } : {}
    }
    const coerced = coerceColumn(column, row, cell!)
    if (!coerced.ok) {
      const isOfUnitColumn = coerced.isOfUnit === true && column.unitIndex >= 0
      return wrong(
        coerced.reason,
        `expected ${coerced.expected}`,
        isOfUnitColumn ? column.unitIndex : column.index,
      )
    }
    if (isKey && itemKey(coerced.value, keyType, folds) === null)
      return wrong('key_not_single', `${name} must carry exactly one value`)
    return { value: coerced.value }
  }

  const map = (row: SourceRow): StagedItem => {
    const raw = writeJson(row.cells)
    const of = row.of === undefined ? {} : { of: row.of }
    const place = { ordinal: row.ordinal, line: row.line, ...of, raw }
    // Cells of such a row may stand under wrong columns: none of them is read, and the key neither.
    if (row.cells.length !== sourceColumns.length)
      return { ...place, valid: false, key: null, ...raggedRow(row, sourceColumns.length) }
    const members = [...constantMembers]
    const wrong: CellError[] = []
    let key = matchingConstant ? itemKey(matchingConstant.value, keyType, folds) : null
    let rawKey: string | null = null
    let clears = 0
    // All that is wrong with a row is told at once, so that it is mended at once.
    for (const column of columns) {
      const cell = read(column, row)
      if (cell.wrong) wrong.push(cell.wrong)
      if (cell.clears) {
        members.push(`${column.member}null`)
        clears++
      }
      if (cell.value === undefined) continue
      let sent = cell.value
      if (column.property === matching) {
        key = itemKey(sent, keyType, folds)
        // What is one key for us is one value on the wire.
        if (keyType !== 'number') sent = normaliseValue(sent)
        const [before] = [cell.value].flat()
        if (typeof before === 'string' && before !== [sent].flat()[0]) rawKey = before
      }
      members.push(column.member + writeJson(sent))
    }
    const [first, ...more] = wrong
    if (first) return { ...place, valid: false, key, ...first, ...(more.length > 0 && { more }) }
    cleared += clears
    const payload = `{"properties":{${members.join(',')}}}`
    const loose = rawKey === null ? {} : { rawKey }
    return { ...place, valid: true, key: key!, payload, hash: textHash(payload), ...loose }
  }
  const mapped = target.schema.properties.filter(({ name }) =>
    Object.hasOwn(config.properties, name),
  )
  return { schema: schemaOf(config, mapped, folds), warnings, map, cleared: () => cleared }
}

/** What is wrong with a row of another length than the header. */
const raggedRow = ({ cells }: SourceRow, expected: number): CellError => {
  const found = cells.length === 1 ? '1 cell' : `${cells.length} cells`
  const surplus = cells.slice(expected).map((cell) => sourceCellText(cell ?? ''))
  return {
    reason: ROW_RAGGED,
    column: null,
    field: null,
    value: surplus.length === 0 ? null : cut(surplus.map(quoted).join(',')),
    detail: `the row has ${found}; expected ${expected}, as in the header`,
  }
}

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`

const schemaOf = (
  config: ImportConfig,
  properties: readonly PropertyWire[],
  folds: boolean,
): RunSchema =>
  Object.fromEntries(
    properties.map(({ name, field_type, is_multi: isMulti, options }) => [
      name,
      {
        type: typeOfProperty(config, name, field_type),
        isMulti,
        options: options.slice(0, OPTIONS_KEPT_MAX).map(({ value }) => value),
        ...(name === config.matching_property && { folds }),
      },
    ]),
  )
