// The destination of an import as the service describes it, and what makes a mapping onto it hopeless. Every problem is
// collected, so that a person mends them all at once.

import type { FieldTypeWire, ObjectSchema, PropertyWire, Self } from '../../contract/index.ts'
import { isNotFound, MappingError, type MappingProblem } from '../../core/errors.ts'
import {
  modeEntry,
  modeOfOperation,
  operationOfMode,
  writesRecords,
} from '../../core/domain/import-modes.ts'
import { joinSome } from '../../core/format.ts'
import { isJsonObject, ownValue } from '../../core/json.ts'
import { seenText, spelled } from '../../core/look.ts'
import { joinWords, nearestWord, suggestWord } from '../../core/suggest.ts'
import type { ImportConfig, ImportSync, PropertyMapping } from '../../../config/index.ts'
import { mappedColumns, sharing } from '../../core/domain/mapped-columns.ts'
import type { ColumnKind } from '../../core/domain/column-kind.ts'
import { COERCIONS, readWithoutType } from './coerce.ts'
import { readLinkTarget, type LinkDefinitions } from './link-target.ts'
import { itemKey } from './key.ts'
import { withoutEffect } from './setting-effects.ts'
import type { ImportClient, ImportDeps } from '../ports.ts'
import { isUnit } from './units.ts'

/** What the service says about the destination of an import. */
export interface Target {
  readonly self: Self
  readonly schema: ObjectSchema
  readonly fieldTypes: readonly FieldTypeWire[]
  /** That the service has no operation for the mode of the import, and what it has; null if it has one. */
  readonly lacking?: Awaited<ReturnType<ImportClient['lackingWrite']>>
  /** What it lacks for the removals of the import; empty if nothing. */
  readonly lackingRemovals?: readonly LackingRemoval[]
  /** What it says of the links of the import; null or left out: it has none, or they are not looked at. */
  readonly links?: LinkDefinitions | null
}

/** An operation of a removal that the service does not have. */
interface LackingRemoval {
  readonly setting: 'missing_rows' | 'delete_when'
  readonly operations: string
}

/** What the settings of an import do to records whose rows are gone. */
export const removalActions = ({
  missing_rows: missing = 'ignore',
  delete_when: when,
}: Pick<ImportConfig, 'missing_rows' | 'delete_when'>) => [
  ...(missing === 'ignore'
    ? []
    : [
        {
          setting: 'missing_rows',
          action: missing === 'delete' ? 'delete' : 'clear',
        } as const,
      ]),
  ...(when === undefined ? [] : [{ setting: 'delete_when', action: 'delete' } as const]),
]

/** Asks the service what it accepts: three requests, and those of its links. @throws MappingError if there is no such object type */
export async function readTarget(
  deps: Pick<ImportDeps, 'client' | 'signal' | 'priority'>,
  { name: sync, import: config }: Pick<ImportSync, 'name' | 'import'>,
): Promise<Target> {
  const options = { signal: deps.signal, priority: deps.priority }
  const { object_type: objectType, mode } = config
  const self = await deps.client.readSelf(options)
  const schema = await deps.client
    .readObjectType(objectType, options)
    .catch(async (error: unknown) => {
      if (!isNotFound(error)) throw error
      const readable = (await deps.client.listObjectTypes(options)).map(({ name }) => name)
      throw new MappingError(sync, [
        {
          message: `object type ${objectType} does not exist, or the key cannot read it${suggestWord(objectType, readable.toSorted(), 'object types')}`,
          path: ['object_type'],
        },
      ])
    })
  const fieldTypes = await deps.client.listFieldTypes(options)
  const lacking = writesRecords(mode) ? await deps.client.lackingWrite(operationOfMode(mode)) : null
  const links = await readLinkTarget(deps, config, schema)
  const lackingRemovals: LackingRemoval[] = []
  for (const { setting, action } of removalActions(config)) {
    const operations = await deps.client.lackingRemoval(action)
    if (operations !== null) lackingRemovals.push({ setting, operations })
  }
  return { self, schema, fieldTypes, lacking, lackingRemovals, ...(links && { links }) }
}

/** Whether the type takes creates and updates, and the key may write it. */
export function checkTargetType(
  config: ImportConfig,
  target: Target,
  problems: MappingProblem[],
): void {
  const { schema, self } = target
  const missing = modeEntry(config.mode).needs.filter(
    (operation) => !schema.writable_operations.includes(operation),
  )
  const wrong = (message: string) => problems.push({ message, path: ['object_type'] })
  if (target.lacking) {
    const { lacks, offers } = target.lacking
    const modes = offers.map((operation) => `\`${modeOfOperation(operation)}\``)
    problems.push({
      message: `mode ${config.mode} needs ${lacks.replace(' and ', ' or ')}, and the document of the service has neither; what it has is enough for: ${
        modes.length === 0 ? 'no mode' : `mode ${modes.join(', ')}`
      }`,
      path: ['mode'],
    })
  }
  if (missing.length > 0)
    wrong(
      `object type ${schema.name} does not accept ${missing.join(' and ')} on the public API (it accepts: ${
        schema.writable_operations.join(', ') || 'nothing'
      })`,
    )
  for (const { setting, operations } of target.lackingRemovals ?? [])
    problems.push({
      message: `${setting} needs ${operations}, and the document of the service has neither; remove ${setting}`,
      path: [setting],
    })
  for (const { setting, action } of removalActions(config)) {
    const operation = action === 'delete' ? 'delete' : 'update'
    if (schema.writable_operations.includes(operation) || missing.includes(operation as never))
      continue
    problems.push({
      message: `${setting} needs ${operation}, which object type ${schema.name} does not accept on the public API (it accepts: ${
        schema.writable_operations.join(', ') || 'nothing'
      })`,
      path: [setting],
    })
  }
  const grant = self.permissions?.find(
    (permission) => permission.entity_type === config.object_type,
  )
  if (grant && !grant.write)
    wrong(`the key may not write ${config.object_type}: mint one with that grant`)
}

/** `; did you mean …?` if a word is near; the list of valid names is given once. */
const near = (name: string, names: readonly string[]): string => {
  const same = names.filter((one) => seenText(one) === seenText(name))
  if (same.length > 1)
    return `; it has ${same.length} that look the same: ${joinWords(same.map(spelled))}`
  const found = nearestWord(name, names)
  return found === undefined ? '' : `; did you mean \`${visible(found)}\`?`
}

/** The columns that share the name, else one with a name that is near. */
function sharedName(name: string, columns: readonly string[]): string {
  const shared = sharing(name, columns).map((column) => `\`${column}\``)
  return shared.length === 0
    ? near(name, columns)
    : `: ${shared.length} columns have this name; write ${joinSome(shared, COLUMNS_SHOWN)}`
}

const namesOf = ({ schema }: Target): string[] =>
  schema.properties.map(({ name }) => name).toSorted()

/** Whether the matching property exists, is mapped and is unique. */
export function checkMatchingProperty(
  config: ImportConfig,
  target: Target,
  problems: MappingProblem[],
  warnings: string[],
): void {
  const name = config.matching_property
  const wrong = (message: string) => void problems.push({ message, path: ['matching_property'] })
  const property = target.schema.properties.find((candidate) => candidate.name === name)
  if (!property)
    return wrong(
      `matching_property ${name} does not exist on ${config.object_type}, or the key cannot read it${near(name, namesOf(target))}`,
    )
  const mapping = ownValue(config.properties, name)
  if (!mapping) wrong(`matching_property ${name} is not mapped; add it under properties`)
  else if (
    mappedColumns(mapping).length === 0 &&
    itemKey(mapping.value, mapping.type ?? property.field_type) === null
  )
    wrong(`matching_property ${name} must carry exactly one value; its constant does not`)
  if (!property.is_unique)
    warnings.push(
      `${name} is not unique on ${config.object_type}: ${
        config.mode === 'link'
          ? 'a row whose value two records share is not linked (ambiguous_match)'
          : config.mode === 'create'
            ? 'the service does not refuse a second record with a value, so a row whose answer is lost may stay in doubt'
            : 'a value that two records share is refused as ambiguous_match'
      }`,
    )
}

/** Whether records can get the values of `missing_rows: clear`. Returns the properties that exist. */
export function checkCleared(
  config: ImportConfig,
  source: SourceShape,
  target: Target,
  problems: MappingProblem[],
): void {
  const { missing_rows: missing } = config
  if (typeof missing !== 'object') return
  for (const [name, value] of Object.entries(missing.clear)) {
    const found: MappingProblem[] = []
    const property = checkProperty(name, { value }, source, target, found, [])
    if (property?.writability === 'create_only')
      found.push({ message: `property ${name} can be set once only`, path: ['properties', name] })
    for (const { message, path } of found)
      problems.push({ message, path: ['missing_rows', 'clear', ...path.slice(1, 2)] })
  }
}

/** Whether the source has the column of `delete_when`. */
export function checkDeleteWhen(
  { delete_when: when }: ImportConfig,
  { columns }: SourceShape,
  problems: MappingProblem[],
): void {
  if (when === undefined || columns.includes(when.column)) return
  problems.push({
    message: `column "${when.column}" (of delete_when) is not in the source${near(when.column, columns)}`,
    path: ['delete_when', 'column'],
  })
}

/** What a mapping needs to know of its source. */
export interface SourceShape {
  readonly columns: readonly string[]
  /** Whether its amounts may come as `{amount, unit}`. */
  readonly hasUnits: boolean
  /** Whether its rows become records; otherwise their records are looked up. */
  readonly isWritten: boolean
  /** What the cells of each column are, where the source says so. */
  readonly kinds?: readonly ColumnKind[] | undefined
}

const DELIMITERS = [';', '\t', '|', ',']
const COLUMNS_SHOWN = 50

/** The name of a column; quoted if it has more than letters, digits and single spaces. */
const visible = (name: string): string =>
  /^[\p{L}\p{N}_.-]+(?: [\p{L}\p{N}_.-]+)*$/u.test(name) ? name : spelled(JSON.stringify(name))

/**
 * The columns of a source, and the delimiter if it seems to be the wrong one: another one cuts the only column, or finds columns that
 * the mapping names.
 */
function whatItHas({ columns }: SourceShape, { from, properties }: ImportConfig): string {
  // What a query makes has no delimiter.
  const isQuery = 'csv' in from && from.sql !== undefined
  const given = ('csv' in from ? from.delimiter : undefined) ?? ','
  const header = columns.join(given)
  const missing = Object.values(properties)
    .flatMap((mapping) => [...mappedColumns(mapping), mapping.unit_column])
    .filter((name) => name !== undefined && !columns.includes(name))
  const score = (delimiter: string) => {
    const parts = header.split(delimiter)
    if (delimiter === given) return 0
    return columns.length === 1
      ? parts.length - 1
      : parts.filter((part) => missing.includes(part)).length
  }
  const [best] = DELIMITERS.toSorted((a, b) => score(b) - score(a))
  const hint =
    !isQuery && score(best!) > 0
      ? `; ${JSON.stringify(best)} looks like the delimiter: write \`delimiter: ${JSON.stringify(best)}\` under \`from\``
      : ''
  return `it has: ${joinSome(columns.map(visible), COLUMNS_SHOWN)}${hint}`
}

/** Names each unit of a mapping that amounts cannot have, and the setting that it is in. */
function checkUnits(
  { unit, value }: PropertyMapping,
  units: ReadonlySet<string>,
  wrong: (unit: string, setting: 'unit' | 'value') => void,
): void {
  if (unit !== undefined && !isUnit(unit, units)) wrong(unit, 'unit')
  for (const amount of [value].flat())
    if (
      isJsonObject(amount) &&
      typeof amount['unit'] === 'string' &&
      !isUnit(amount['unit'], units)
    )
      wrong(amount['unit'], 'value')
}

/** Settings that name columns of the source. */
const COLUMN_SETTINGS = ['column', 'columns', 'unit_column'] as const

/** Whether one property can be written as it is mapped. Returns the property if it exists. */
export function checkProperty(
  name: string,
  mapping: PropertyMapping,
  source: SourceShape,
  target: Target,
  problems: MappingProblem[],
  warnings: string[],
): PropertyWire | null {
  const wrong = (message: string, ...setting: readonly string[]) =>
    problems.push({ message, path: ['properties', name, ...setting] })
  const property = target.schema.properties.find((candidate) => candidate.name === name)
  if (!property)
    wrong(
      `property ${name} does not exist on ${target.schema.name}, or the key cannot read it${near(name, namesOf(target))}`,
    )
  const hasColumn = mappedColumns(mapping).length > 0
  for (const setting of COLUMN_SETTINGS)
    for (const column of [mapping[setting] ?? []].flat())
      if (!source.columns.includes(column))
        wrong(
          `column "${column}" (for ${name}) is not in the source${sharedName(column, source.columns)}`,
          setting,
        )
  if (!property) return null
  const fieldType = target.fieldTypes.find((one) => one.name === property.field_type)
  const { value_type: valueType = 'string' } = fieldType ?? {}
  const typed = { fieldType: property.field_type, valueType }
  const kindOf = (column: string) => source.kinds?.[source.columns.indexOf(column)]
  for (const { setting, message } of withoutEffect(name, mapping, typed, kindOf))
    wrong(message, setting)
  if (!source.isWritten) return property
  if (property.writability === 'read_only') wrong(`property ${name} is read-only`)
  if (property.writability === 'create_only' && hasColumn)
    warnings.push(
      `${name} can be set once only: a changed value of an existing record is rejected, and an undo cannot give the value of before back`,
    )
  const type = mapping.type ?? property.field_type
  const units = new Set(fieldType?.units)
  const hasUnit = source.hasUnits || mapping.unit || mapping.unit_column
  const { epoch } = mapping
  if (epoch !== undefined && type !== (epoch === 'spreadsheet' ? 'date' : 'datetime'))
    wrong(
      `property ${name} is read as ${type}: epoch ${epoch} is for ${epoch === 'spreadsheet' ? 'date' : 'datetime'}`,
      'epoch',
    )
  if (type === 'currency' && hasColumn && !hasUnit)
    wrong(`property ${name} is a currency: give its unit or its unit_column`)
  if (type === 'currency')
    checkUnits(mapping, units, (unit, setting) => {
      const found =
        units.size === 0
          ? 'a currency code of ISO 4217'
          : `one that the service takes${suggestWord(unit, [...units].toSorted(), 'units')}`
      wrong(`unit ${unit} of ${name} is not ${found}`, setting)
    })
  if (mapping.split !== undefined && !property.is_multi)
    wrong(`property ${name} holds one value: split does not apply`, 'split')
  const isTyped = !hasColumn || mapping.type !== undefined
  const read = isTyped ? null : readWithoutType(property.field_type, valueType)
  if (read !== null)
    warnings.push(
      `${name} has the field type ${property.field_type}, which is not known here: its cells are read as ${read}; if they are something else, give its mapping a type: ${Object.keys(COERCIONS).join(', ')}`,
    )
  return property
}

/** Adds the lists of valid names once, after all problems. */
export function suggestNames(
  config: ImportConfig,
  source: SourceShape,
  target: Target,
  problems: MappingProblem[],
): void {
  const add = (isAbout: (problem: MappingProblem) => boolean, words: string) => {
    const index = problems.findLastIndex(isAbout)
    const found = problems[index]
    if (found) problems[index] = { ...found, message: `${found.message}; ${words}` }
  }
  const names = namesOf(target)
  const isUnknown = (name: string | undefined) => name !== undefined && !names.includes(name)
  add(
    ({ path: [setting, name, ...rest] }) =>
      (setting === 'matching_property' || setting === 'properties') &&
      rest.length === 0 &&
      isUnknown(setting === 'matching_property' ? config.matching_property : name),
    `${target.schema.name} has: ${joinWords(names)}`,
  )
  add(
    ({ path: [setting, name, part] }) =>
      COLUMN_SETTINGS.some((one) => one === part) ||
      (setting === 'delete_when' && name === 'column'),
    whatItHas(source, config),
  )
}
