// A mapping is compiled once against the object type's schema, so that a hopeless one stops here, before the first row;
// then it turns each row into an item. Promise kept here: a row either maps whole or is invalid with place and reason.

import { hash as digestOf } from 'node:crypto'
import type { PropertyWire } from '../../contract/index.ts'
import { MappingError, type MappingProblem } from '../../core/errors.ts'
import { writesRecords } from '../../core/domain/import-modes.ts'
import { canonicalJson, writeJson, type Json } from '../../core/json.ts'
import { isNotACell } from '../../core/not-a-cell.ts'
import { OPTIONS_KEPT_MAX } from '../../core/limits.ts'
import type { ColumnKind } from '../../core/domain/column-kind.ts'
import { mappedColumns } from '../../core/domain/mapped-columns.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type { CellError, RunSchema, StagedItem } from '../../ledger/ledger.ts'
import { sourceOf } from '../../sources/index.ts'
import type { SourceRow } from '../../sources/source.ts'
import { sourceCellText, type Coerced } from './coerce.ts'
import { checkLinks } from './link-target.ts'
import { compileLinks, type LinksOfRow } from './map-links.ts'
import { checkOutputs, checkPhone, compileSteps } from './check-transformation.ts'
import { coerceColumn, compileColumn, isEmpty, type Column } from './columns.ts'
import { itemKey, normaliseValue } from './key.ts'
import { deletionReader } from './delete-when.ts'
import { cut, NOT_A_CELL, rowFault, totalsRow } from './row-faults.ts'
import { RowNotes } from './row-notes.ts'
import {
  checkCleared,
  checkDeleteWhen,
  checkMatchingProperty,
  checkProperty,
  checkTargetType,
  suggestNames,
  type Target,
} from './target.ts'
import { loadTools, NO_TOOLS, type MappingTools } from './tools.ts'
import { typeOfProperty } from './types.ts'

/** A compiled mapping. */
export interface MappingPlan {
  /** What the service says of the mapped properties. */
  readonly schema: RunSchema
  /** What a person should know before a write, one line each. */
  readonly warnings: readonly string[]
  /** The item of a row. */
  map(row: SourceRow): StagedItem
  /** What the record of a row is linked to; none of a row that does not map. Null if the import has no links. */
  readonly links: LinksOfRow | null
  /** How many cells so far would clear a property. */
  cleared(): number
  /** What a person should know of the rows so far, one line each. */
  notes(): readonly string[]
}

/** A property that has the same value in every row. */
interface Constant {
  readonly property: PropertyWire
  readonly member: string
  readonly value: Json
}

/** SHA-256 of `text`, the first 128 bits, in hex. */
export const textHash = (text: string): string => digestOf('sha256', text, 'hex').slice(0, 32)

/** What a mapping is compiled with, besides its configuration. */
interface MappingOptions {
  /** Whether the service takes capitals and small letters of the matching property for the same. */
  readonly folds?: boolean
  /** The same of what finds the targets of links, by `targetKeyName`. */
  readonly linkFolds?: ReadonlyMap<string, boolean>
  /** What the cells of each column are, where the source says so. */
  readonly kinds?: readonly ColumnKind[] | undefined
  /** What its transformations need (`loadMapping`). */
  readonly tools?: MappingTools
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
  { folds = false, linkFolds = new Map(), tools = NO_TOOLS, kinds }: MappingOptions = {},
): MappingPlan {
  const problems: MappingProblem[] = [...tools.problems]
  const warnings: string[] = []
  const { hasUnits } = sourceOf(config.from)
  const source = { columns: sourceColumns, kinds, hasUnits, isWritten: writesRecords(config.mode) }
  checkTargetType(config, target, problems)
  checkMatchingProperty(config, target, problems, warnings)
  const columns: Column[] = []
  const constants: Constant[] = []
  // In the order of names, so that equal rows have equal payloads however the mapping is written.
  for (const name of Object.keys(config.properties).toSorted()) {
    const mapping = config.properties[name]!
    const property = checkProperty(name, mapping, source, target, problems, warnings)
    if (!property) continue
    const { value = null } = mapping
    if (mappedColumns(mapping).length > 0)
      columns.push(columnOf(property, config, { target, tools, sourceColumns, problems }))
    else
      constants.push({
        property,
        member: JSON.stringify(name) + ':' + canonicalJson(value),
        value,
      })
  }
  checkCleared(config, source, target, problems)
  checkDeleteWhen(config, source, problems)
  const { links = null, schema } = target
  if (links) checkLinks(config, schema, links, sourceColumns, { problems, warnings })
  suggestNames(config, source, target, problems)
  if (problems.length > 0) throw new MappingError(sync, problems)
  const rows = new RowMapper(config, target, { sourceColumns, columns, constants, folds })
  return {
    schema: schemaOf(config, target, folds),
    warnings,
    map: (row) => rows.map(row),
    links: links && compileLinks(config, { ...target, links }, sourceColumns, linkFolds),
    cleared: () => rows.cleared,
    notes: () => rows.notes,
  }
}

/** Compiles the same with what its transformations need: files of `map`, the engines of patterns and telephone numbers. */
export const loadMapping = async (
  sync: string,
  config: ImportConfig,
  target: Target,
  sourceColumns: readonly string[],
  folding: Omit<MappingOptions, 'tools'> = {},
): Promise<MappingPlan> =>
  compileMapping(sync, config, target, sourceColumns, {
    ...folding,
    tools: await loadTools(config),
  })

/** Adds to `problems` what is wrong with the transformations. */
function columnOf(
  property: PropertyWire,
  config: ImportConfig,
  {
    target,
    tools,
    sourceColumns,
    problems,
  }: {
    readonly target: Target
    readonly tools: MappingTools
    readonly sourceColumns: readonly string[]
    readonly problems: MappingProblem[]
  },
): Column {
  const { name } = property
  const mapping = config.properties[name]!
  const wrong = (message: string, ...setting: readonly string[]) =>
    void problems.push({ message, path: ['properties', name, ...setting] })
  checkPhone(name, mapping.type ?? property.field_type, mapping, tools, wrong)
  const steps = compileSteps(name, mapping, tools, wrong)
  const { phones } = tools
  const { empty } = config
  const column = compileColumn(property, mapping, sourceColumns, {
    ...steps,
    phones,
    target,
    empty,
    isOfTexts: 'csv' in config.from,
  })
  checkOutputs(column, mapping, steps.map, wrong)
  return column
}

class RowMapper {
  readonly #sourceColumns: readonly string[]
  readonly #columns: readonly Column[]
  readonly #constantMembers: readonly string[]
  readonly #matching: PropertyWire
  readonly #keyOf: (value: Json) => string | null
  readonly #isKeyNumber: boolean
  readonly #constantKey: string | null
  readonly #asksDeletion: ((row: SourceRow) => boolean) | null
  #cleared = 0
  readonly #notes = new RowNotes()

  constructor(
    config: ImportConfig,
    { schema }: Target,
    compiled: {
      sourceColumns: readonly string[]
      columns: readonly Column[]
      constants: readonly Constant[]
      folds: boolean
    },
  ) {
    const { sourceColumns, columns, constants, folds } = compiled
    this.#sourceColumns = sourceColumns
    this.#columns = columns
    this.#constantMembers = constants.map(({ member }) => member)
    this.#matching = schema.properties.find(({ name }) => name === config.matching_property)!
    const keyType = typeOfProperty(config, this.#matching.name, this.#matching.field_type)
    this.#keyOf = (value) => itemKey(value, keyType, folds)
    this.#isKeyNumber = keyType === 'number'
    const constant = constants.find(({ property }) => property === this.#matching)
    this.#constantKey = constant ? this.#keyOf(constant.value) : null
    this.#asksDeletion = deletionReader(config, sourceColumns)
  }

  get cleared(): number {
    return this.#cleared
  }

  get notes(): readonly string[] {
    return this.#notes.texts()
  }

  map(row: SourceRow): StagedItem {
    const { cells } = row
    const texts = cells.map(cellJson)
    const raw = `[${texts.join(',')}]`
    const fault = rowFault(row, this.#sourceColumns.length)
    if (fault !== null) return this.#invalid(row, raw, null, [fault])
    if (this.#asksDeletion?.(row)) return this.#withdrawn(row, raw)
    const members = [...this.#constantMembers]
    const wrong: CellError[] = []
    let key = this.#constantKey
    let rawKey: string | null = null
    let clears = 0
    // A row reports all of its errors at once, so that a person mends them at once.
    for (const column of this.#columns) {
      let cell = cells[column.index] ?? null
      if (isNotACell(cell)) {
        wrong.push(this.#cellError(column, row, NOT_A_CELL))
        continue
      }
      if (column.change !== null) {
        const changed = column.change(cells)
        if (!changed.ok) {
          wrong.push(this.#cellError(column, row, changed))
          continue
        }
        cell = changed.value
      }
      if (isEmpty(column, cell)) {
        const error = this.#emptyError(column, row)
        if (error !== null) wrong.push(error)
        else if (column.empty === 'clear') {
          members.push(`${column.member}null`)
          clears++
        }
        continue
      }
      const coerced = coerceColumn(column, row, cell!)
      if (!coerced.ok) {
        wrong.push(this.#cellError(column, row, coerced))
        continue
      }
      this.#notes.see(column, cell!, coerced.isCut)
      let sent = coerced.value
      if (column.property === this.#matching) {
        const found = this.#keyOf(sent)
        if (found === null) {
          wrong.push(this.#keyError(column, row))
          continue
        }
        if (this.#notes.seeKey(found, this.#matching.name))
          return this.#invalid(row, raw, null, [totalsRow(column.name, sent)])
        key = found
        // What is one key for us is one value on the wire.
        if (!this.#isKeyNumber) sent = normaliseValue(sent)
        rawKey = otherForm(single(coerced.value), single(sent))
      }
      const isAsRead = column.change === null && sent === cell
      members.push(column.member + (isAsRead ? texts[column.index]! : writeJson(sent)))
    }
    if (wrong.length > 0) return this.#invalid(row, raw, key, wrong)
    this.#cleared += clears
    return this.#valid(row, { raw, key: key!, rawKey }, `{"properties":{${members.join(',')}}}`)
  }

  #valid(
    row: SourceRow,
    { raw, key, rawKey }: { raw: string; key: string; rawKey: string | null },
    payload: string,
  ): StagedItem {
    const { ordinal, line } = row
    const item = { ordinal, line, raw, valid: true, key, payload, hash: textHash(payload) } as const
    // Seldom: to spread such an object takes longer than to map the row.
    if (row.of === undefined && rawKey === null) return item
    return { ...item, ...ofRow(row), ...(rawKey !== null && { rawKey }) }
  }

  /** Of the cells of a row that asks for the deletion of its record only the key is read. */
  #withdrawn(row: SourceRow, raw: string): StagedItem {
    const column = this.#columns.find(({ property }) => property === this.#matching)
    const error = (found: CellError) => this.#invalid(row, raw, null, [found])
    let key = this.#constantKey
    if (column) {
      const cell = row.cells[column.index] ?? null
      if (isEmpty(column, cell)) return error(this.#emptyError(column, row)!)
      const coerced = coerceColumn(column, row, cell!)
      if (!coerced.ok) return error(this.#cellError(column, row, coerced))
      key = this.#keyOf(coerced.value)
      if (key === null) return error(this.#keyError(column, row))
    }
    const { ordinal, line } = row
    const nothing = { payload: '', hash: '', withdrawn: true } as const
    return { ordinal, line, ...ofRow(row), raw, valid: true, key: key!, ...nothing }
  }

  #invalid(
    row: SourceRow,
    raw: string,
    key: string | null,
    [first, ...more]: readonly CellError[],
  ): StagedItem {
    const { ordinal, line } = row
    const place = { ordinal, line, ...ofRow(row), raw }
    return { ...place, valid: false, key, ...first!, ...(more.length > 0 && { more }) }
  }

  /** What is wrong with an empty cell; null if nothing is. */
  #emptyError(column: Column, row: SourceRow): CellError | null {
    const { name } = column.property
    if (column.property === this.#matching)
      return this.#error(column, row, 'key_missing', `${name} must have a value`)
    if (column.empty !== 'reject') return null
    return this.#error(column, row, 'empty', `${name} must not be empty`)
  }

  #cellError(column: Column, row: SourceRow, refused: Refused): CellError {
    const isOfUnitColumn = refused.isOfUnit === true && column.unitIndex >= 0
    const at = isOfUnitColumn ? column.unitIndex : column.index
    return this.#error(column, row, refused.reason, `expected ${refused.expected}`, at)
  }

  #keyError(column: Column, row: SourceRow): CellError {
    const { name } = column.property
    const way =
      column.split === undefined
        ? ''
        : `; instead of \`split\`, \`pattern: '^(?<first>.*?)(?:${column.split}.*)?$'\` of its mapping takes the first`
    return this.#error(column, row, 'key_not_single', `${name} must carry exactly one value${way}`)
  }

  #error(
    column: Column,
    row: SourceRow,
    reason: string,
    detail: string,
    at = column.index,
  ): CellError {
    return {
      reason,
      column: this.#sourceColumns[at] ?? column.name,
      field: column.property.name,
      value: cut(sourceCellText(row.cells[at] ?? '')),
      detail,
    }
  }
}

type Refused = Extract<Coerced, { readonly ok: false }>

/** A cell as JSON. */
const cellJson = (cell: Json): string => writeJson(cell ?? null)

const ofRow = ({ of }: SourceRow) => (of === undefined ? {} : { of })

/** The first value of a list; else the value itself. */
const single = (value: Json): Json | undefined =>
  Array.isArray(value) ? (value[0] as Json | undefined) : value

/** A key as the source has it, where it is sent otherwise. */
const otherForm = (raw: Json | undefined, sent: Json | undefined): string | null =>
  typeof raw === 'string' && raw !== sent ? raw : null

/** Whether `missing_rows` writes the property. */
const isCleared = ({ missing_rows: missing }: ImportConfig, name: string): boolean =>
  typeof missing === 'object' && Object.hasOwn(missing.clear, name)

/** What a run keeps of the properties that it writes. */
const schemaOf = (config: ImportConfig, { schema }: Target, folds: boolean): RunSchema =>
  Object.fromEntries(
    schema.properties
      .filter(({ name }) => Object.hasOwn(config.properties, name) || isCleared(config, name))
      .map(({ name, field_type, is_multi: isMulti, is_unique: isUnique, options }) => [
        name,
        {
          type: typeOfProperty(config, name, field_type),
          isMulti,
          options: options.slice(0, OPTIONS_KEPT_MAX).map(({ value }) => value),
          ...(name === config.matching_property && { folds, isUnique }),
        },
      ]),
  )
