// The properties that tell when a record was changed last, and when it was made; and how a span of their time is asked for.
// Promise kept here: a property that people can write, or that cannot be asked for a span of time, is taken only where the
// configuration names it and it can be.

import { SyncError } from '../core/errors.ts'
import type { FilterNode, ObjectSchema, PropertyWire } from './schemas.ts'

/** Their names without a prefix, the likeliest first. */
const MODIFICATION = [
  'updated_at',
  'modified_at',
  'last_modified_at',
  'last_modified_date',
  'modified_date',
  'updated',
  'modified',
]
const CREATION = ['created_at', 'created_date', 'create_date', 'created']
const PREFIXES = /^(?:svc|hs|sys)_/
const NAMES_SHOWN_MAX = 20

/**
 * The property that tells when a record was changed last; null where the schema has none that is known by its name.
 * @param configured name of the property, where the configuration says it
 * @throws SyncError `mirror_property` where the configured one cannot be: why, and which could
 */
export function modificationProperty(
  schema: ObjectSchema,
  configured?: string,
): PropertyWire | null {
  if (configured === undefined) return known(schema, MODIFICATION)
  const property = schema.properties.find(({ name }) => name === configured)
  const problem = property
    ? problemOf(property)
    : 'does not exist there, or the key cannot read it; expected a datetime'
  if (property && problem === null) return property
  const others = schema.properties.filter((one) => problemOf(one) === null).map(({ name }) => name)
  const more = others.length > NAMES_SHOWN_MAX ? ` and ${others.length - NAMES_SHOWN_MAX} more` : ''
  throw new SyncError(
    'mirror_property',
    `modification_property of ${schema.name}: ${configured} ${problem}; ${
      others.length === 0
        ? 'no property of that type would do'
        : `these would do: ${others.slice(0, NAMES_SHOWN_MAX).join(', ')}${more}`
    }`,
  )
}

/** The property that tells when a record was made; null where the schema has none that is known by its name. */
export function creationProperty(schema: ObjectSchema): PropertyWire | null {
  return known(schema, CREATION)
}

/** What asks for records whose `property` is in `[from, to)`, to be taken together; null is no bound. */
export function spanOf(property: string, from: string | null, to: string | null): FilterNode[] {
  return [
    ...(from === null ? [] : [{ property, op: 'gte' as const, value: from }]),
    ...(to === null ? [] : [{ property, op: 'lt' as const, value: to }]),
  ]
}

/** The filter of records that match every one of them; null for all records. No deeper than need be. */
export function allOf(nodes: readonly FilterNode[]): FilterNode | null {
  const flat = nodes.flatMap((node) => ('$and' in node ? node.$and : [node]))
  return flat.length > 1 ? { $and: flat } : (flat[0] ?? null)
}

function known(schema: ObjectSchema, names: readonly string[]): PropertyWire | null {
  const able = schema.properties.filter(
    (property) => property.writability === 'read_only' && problemOf(property) === null,
  )
  for (const name of names) {
    const found = able.find((property) => property.name.replace(PREFIXES, '') === name)
    if (found) return found
  }
  return null
}

/** Why a span of its time cannot be asked for; null where it can. */
function problemOf({ field_type, is_multi, operators }: PropertyWire): string | null {
  if (field_type !== 'datetime') return `is of field type ${field_type}; expected a datetime`
  if (is_multi) return 'holds several values; expected one datetime'
  const missing = ['gte', 'lt'].filter((operator) => !operators.includes(operator))
  if (missing.length === 0) return null
  return `cannot be filtered by ${missing.join(' and ')}; expected a datetime that can`
}
