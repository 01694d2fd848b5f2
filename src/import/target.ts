// The destination of an import as the service describes it, and what makes a mapping onto it hopeless. Every problem is
// collected, so that a person mends them all at once.

import type { FieldTypeWire, ObjectSchema, PropertyWire, Self } from '../contract/index.ts'
import { MappingError, ServiceFailure } from '../core/errors.ts'
import type { ImportConfig, PropertyMapping } from '../core/sync.ts'
import { dateFormatPattern } from './coerce.ts'
import { keyOf } from './key.ts'
import type { ImportDeps } from './ports.ts'

/** What the service says about the destination of an import. */
export interface Target {
  readonly self: Self
  readonly schema: ObjectSchema
  readonly fieldTypes: readonly FieldTypeWire[]
}

/** Asks the service what it accepts: three requests. */
export async function readTarget(
  deps: Pick<ImportDeps, 'client' | 'signal' | 'priority'>,
  objectType: string,
): Promise<Target> {
  const options = { signal: deps.signal, priority: deps.priority }
  const self = await deps.client.readSelf(options)
  const schema = await deps.client.readObjectType(objectType, options).catch((error: unknown) => {
    if (error instanceof ServiceFailure && error.status === 404)
      throw new MappingError(objectType, [
        `object type ${objectType} does not exist, or the key cannot read it`,
      ])
    throw error
  })
  const fieldTypes = await deps.client.listFieldTypes(options)
  return { self, schema, fieldTypes }
}

/** Whether the type takes creates and updates, and the key may write it. */
export function checkType(config: ImportConfig, target: Target, problems: string[]): void {
  const { schema, self } = target
  const missing = (['create', 'update'] as const).filter(
    (operation) => !schema.writable_operations.includes(operation),
  )
  if (missing.length > 0)
    problems.push(
      `object type ${schema.name} does not accept ${missing.join(' and ')} on the public API (it accepts: ${
        schema.writable_operations.join(', ') || 'nothing'
      })`,
    )
  const grant = self.permissions?.find(
    (permission) => permission.entity_type === config.object_type,
  )
  if (grant && !grant.write)
    problems.push(`the key may not write ${config.object_type}: mint one with that grant`)
}

/** Whether the matching property exists, is mapped and is unique. */
export function checkMatching(
  config: ImportConfig,
  target: Target,
  problems: string[],
  warnings: string[],
): void {
  const name = config.matching_property
  const property = target.schema.properties.find((candidate) => candidate.name === name)
  if (!property) {
    problems.push(
      `matching_property ${name} does not exist on ${config.object_type}, or the key cannot read it`,
    )
    return
  }
  const mapping = Object.hasOwn(config.properties, name) ? config.properties[name] : undefined
  if (!mapping) problems.push(`matching_property ${name} is not mapped; add it under properties`)
  else if (
    mapping.column === undefined &&
    keyOf(mapping.value, mapping.type ?? property.field_type) === null
  )
    problems.push(`matching_property ${name} must carry exactly one value; its constant does not`)
  if (!property.is_unique)
    warnings.push(
      `${name} is not unique on ${config.object_type}: a value that two records share is refused as ambiguous_match`,
    )
}

/** What a mapping needs to know of its source. */
export interface SourceShape {
  readonly columns: readonly string[]
  /** Whether its amounts may come as `{amount, unit}`. */
  readonly hasUnits: boolean
}

const DELIMITERS = [';', '\t', '|', ',']
const COLUMNS_SHOWN = 50

/** The columns of a source, and the delimiter where they look as if they were read with a wrong one. */
function whatItHas({ columns }: SourceShape): string {
  const visible = (name: string) =>
    /^[\p{L}\p{N}_.-]+(?: [\p{L}\p{N}_.-]+)*$/u.test(name)
      ? name
      : JSON.stringify(name).replaceAll(/\p{Cf}/gu, escaped)
  const list = columns.slice(0, COLUMNS_SHOWN).map(visible).join(', ')
  const more = columns.length > COLUMNS_SHOWN ? ` and ${columns.length - COLUMNS_SHOWN} more` : ''
  const [only = ''] = columns.length === 1 ? columns : []
  const parts = (delimiter: string) => only.split(delimiter).length
  const [best] = DELIMITERS.toSorted((a, b) => parts(b) - parts(a))
  const hint =
    parts(best!) > 1
      ? `; ${JSON.stringify(best)} looks like the delimiter: write \`delimiter: ${JSON.stringify(best)}\` under \`from\``
      : ''
  return `it has: ${list}${more}${hint}`
}

const escaped = (character: string): string =>
  `\\u${character.codePointAt(0)!.toString(16).padStart(4, '0')}`

/** Whether one property can be written as it is mapped. Returns the property where it exists. */
export function checkProperty(
  name: string,
  mapping: PropertyMapping,
  source: SourceShape,
  target: Target,
  problems: string[],
  warnings: string[],
): PropertyWire | null {
  const property = target.schema.properties.find((candidate) => candidate.name === name)
  if (!property) {
    problems.push(
      `property ${name} does not exist on ${target.schema.name}, or the key cannot read it`,
    )
    return null
  }
  if (property.writability === 'read_only') problems.push(`property ${name} is read-only`)
  if (property.writability === 'create_only' && mapping.column !== undefined)
    warnings.push(`${name} can be set once only: a changed value of an existing record is rejected`)
  for (const column of [mapping.column, mapping.unit_column])
    if (column !== undefined && !source.columns.includes(column))
      problems.push(`column "${column}" (for ${name}) is not in the source; ${whatItHas(source)}`)
  if (mapping.format !== undefined && dateFormatPattern(mapping.format) === null)
    problems.push(
      `format "${mapping.format}" of ${name} must hold YYYY, MM (or M) and DD (or D) once each`,
    )
  const type = mapping.type ?? property.field_type
  const hasUnit = source.hasUnits || mapping.unit || mapping.unit_column
  if (type === 'currency' && mapping.column !== undefined && !hasUnit)
    problems.push(`property ${name} is a currency: give its unit or its unit_column`)
  if (type === 'number' && (mapping.unit ?? mapping.unit_column) !== undefined)
    problems.push(`property ${name} is a number: unit and unit_column are for currencies`)
  if (mapping.split !== undefined && !property.is_multi)
    problems.push(`property ${name} holds one value: split does not apply`)
  return property
}
