// Whether rows map, by what the service said of the properties when a run was staged: for rows that a person corrects, before they are
// sent. Promise kept here: what is not known is not refused.

import { WRITABLE_OPERATIONS, type PropertyWire } from '../../contract/index.ts'
import type { Json } from '../../core/json.ts'
import { MappingError } from '../../core/errors.ts'
import { OPTIONS_KEPT_MAX } from '../../core/limits.ts'
import type { ImportSync } from '../../../config/index.ts'
import type { CellError, PropertyFacts, RunSchema } from '../../ledger/ledger.ts'
import { loadMapping } from './map.ts'

/** What is wrong with the cells of a row; empty if it maps. */
export type CheckRow = (cells: readonly Json[]) => readonly CellError[]

/** Null if the mapping does not fit what is known, or needs what is not here: then the run finds out. */
export async function mappingChecker(
  { name: sync, import: config }: Pick<ImportSync, 'name' | 'import'>,
  schema: RunSchema,
  columns: readonly string[],
): Promise<CheckRow | null> {
  const isKnown = (name: string) => {
    const facts = schema[name]
    // Of a long list only the first options are kept.
    return facts !== undefined && facts.options.length < OPTIONS_KEPT_MAX
  }
  if (!isKnown(config.matching_property)) return null
  const properties = Object.fromEntries(
    Object.entries(config.properties).filter(([name]) => isKnown(name)),
  )
  const { links: _links, missing_rows: _missing, ...rest } = config
  const target = targetOf(config.object_type, schema, Object.keys(properties))
  try {
    const plan = await loadMapping(sync, { ...rest, properties }, target, columns)
    return (cells) => {
      const item = plan.map({ ordinal: 1, line: 1, cells })
      if (item.valid) return []
      const {
        reason,
        column,
        field,
        value,
        detail,
        more = [],
      } = item as CellError & {
        readonly more?: readonly CellError[]
      }
      return [{ reason, column, field, value, detail }, ...more]
    }
  } catch (error) {
    if (error instanceof MappingError) return null
    throw error
  }
}

function targetOf(type: string, schema: RunSchema, names: readonly string[]) {
  return {
    self: { org_id: 0, reach: 'org' as const },
    schema: {
      name: type,
      label: type,
      label_plural: type,
      kinds: [],
      is_system: false,
      allows_custom_properties: true,
      writable_operations: [...WRITABLE_OPERATIONS],
      description: '',
      icon: '',
      properties: names.map((name) => propertyOf(name, schema[name]!)),
    },
    fieldTypes: [],
  }
}

const propertyOf = (
  name: string,
  { type, isMulti, options, isUnique = true }: PropertyFacts,
): PropertyWire => ({
  name,
  label: name,
  field_type: type,
  writability: 'writable',
  operators: [],
  is_multi: isMulti,
  is_unique: isUnique,
  options: options.map((value) => ({ value, label: value, description: '' })),
  description: '',
  default_value: null,
})
