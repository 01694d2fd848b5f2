// The properties with the time of a record's last change, and of its creation; and the filter for a span of that time.
// Each service chooses the prefix of its own names, and the names of its field types. Promise kept here: a property that people
// can write is used only if the configuration names it; a property that cannot be filtered by a span of time is never used.

import { SyncError } from '../core/errors.ts'
import type { FilterNode, ObjectSchema, PropertyWire } from './schemas/index.ts'

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
const PREFIX = /^[a-z0-9]+_/i
/** Names that services give to a field type for a point in time. */
const TIMES: ReadonlySet<string> = new Set(['datetime', 'timestamp', 'instant'])
const NAMES_SHOWN_MAX = 20

/**
 * The property with the time of a record's last change; null if the schema has none that is known by its name.
 * @param configured name of the property, if the configuration gives it
 * @throws SyncError `mirror_property` if the configured one cannot be used: why, and which could
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
    { type: schema.name },
  )
}

/** Of property names, those that may be of the time of a record's last change. */
export const modificationNames = (names: readonly string[]): readonly string[] =>
  names.filter((name) => MODIFICATION.includes(name.replace(PREFIX, '')))

/** The property with the time of a record's creation; null if the schema has none that is known by its name. */
export function creationProperty(schema: ObjectSchema): PropertyWire | null {
  return known(schema, CREATION)
}

/** Filters for records whose `property` is in `[from, to)`, to be combined by and; null is no bound. */
export function spanFilter(property: string, from: string | null, to: string | null): FilterNode[] {
  return [
    ...(from === null ? [] : [{ property, op: 'gte' as const, value: from }]),
    ...(to === null ? [] : [{ property, op: 'lt' as const, value: to }]),
  ]
}

/** The filter for records that match all of `nodes`; null for all records. No deeper than needed. */
export function allFilter(nodes: readonly FilterNode[]): FilterNode | null {
  const flat = nodes.flatMap((node) => ('$and' in node ? node.$and : [node]))
  return flat.length > 1 ? { $and: flat } : (flat[0] ?? null)
}

/**
 * The likeliest of the names with the service's own prefix, or with none. If no property has such a name, another prefix
 * will do if only one property has it: `order_updated_at` next to `svc_updated_at` means something else.
 */
function known(schema: ObjectSchema, names: readonly string[]): PropertyWire | null {
  const able = schema.properties.filter(
    (property) => property.writability === 'read_only' && problemOf(property) === null,
  )
  const own = ownPrefix(schema)
  for (const prefix of ['svc_', own, 'hs_', 'sys_', ''])
    for (const name of prefix === null ? [] : names) {
      const found = able.find((property) => property.name === `${prefix}${name}`)
      if (found) return found
    }
  for (const name of names) {
    const found = able.filter((property) => property.name.replace(PREFIX, '') === name)
    if (found.length > 0) return found.length === 1 ? found[0]! : null
  }
  return null
}

/** The prefix of the type's name if one of its properties has it too; else the one that most of its properties have. */
function ownPrefix({ name, properties }: ObjectSchema): string | null {
  const prefixes = properties.map((property) => PREFIX.exec(property.name)?.[0] ?? '')
  const ofType = PREFIX.exec(name)?.[0]
  if (ofType !== undefined && prefixes.includes(ofType)) return ofType
  const counts = new Map<string, number>()
  for (const prefix of prefixes) counts.set(prefix, (counts.get(prefix) ?? 0) + 1)
  const [most] = [...counts].toSorted(([, one], [, other]) => other - one)
  return most && most[1] * 2 > properties.length ? most[0] : null
}

/** Why the property cannot be filtered by a span of time; null if it can. */
function problemOf({ field_type, is_multi, operators }: PropertyWire): string | null {
  if (!TIMES.has(plainName(field_type)))
    return `is of field type ${field_type}; expected a datetime`
  if (is_multi) return 'holds several values; expected one datetime'
  const missing = ['gte', 'lt'].filter((operator) => !operators.includes(operator))
  if (missing.length === 0) return null
  return `cannot be filtered by ${missing.join(' and ')}; expected a datetime that can`
}

/** `date_time`, `DateTime` and `date-time` are the same name; `timestamp_tz` loses its ending. */
const plainName = (fieldType: string): string =>
  fieldType
    .toLowerCase()
    .replaceAll(/[^a-z]/g, '')
    .replace(/(?:utc|tz|z)$/, '')
