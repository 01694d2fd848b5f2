// The properties that tell when a record was changed last, and when it was made; and how a span of their time is asked for.
// The prefix of a service's own names is the service's own matter, and so are the names of its field types. Promise kept here: a
// property that people can write, or that cannot be asked for a span of time, is taken only where the configuration names it and
// it can be.

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
const PREFIX = /^[a-z0-9]+_/i
/** What services call a time of the calendar. */
const TIMES: ReadonlySet<string> = new Set(['datetime', 'timestamp', 'instant'])
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
    { type: schema.name },
  )
}

/** The property that tells when a record was made; null where the schema has none that is known by its name. */
export function creationProperty(schema: ObjectSchema): PropertyWire | null {
  return known(schema, CREATION)
}

/** What asks for records whose `property` is in `[from, to)`, to be taken together; null is no bound. */
export function spanFilter(property: string, from: string | null, to: string | null): FilterNode[] {
  return [
    ...(from === null ? [] : [{ property, op: 'gte' as const, value: from }]),
    ...(to === null ? [] : [{ property, op: 'lt' as const, value: to }]),
  ]
}

/** The filter of records that match every one of them; null for all records. No deeper than need be. */
export function allFilter(nodes: readonly FilterNode[]): FilterNode | null {
  const flat = nodes.flatMap((node) => ('$and' in node ? node.$and : [node]))
  return flat.length > 1 ? { $and: flat } : (flat[0] ?? null)
}

/**
 * The likeliest of the names with the service's own prefix, or with none. Where no property has such a name, another prefix
 * will do if only one has it: `order_updated_at` beside `svc_updated_at` is another thing.
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

/** The prefix of the type's name where one of its properties has it too; else the one that most of its properties have. */
function ownPrefix({ name, properties }: ObjectSchema): string | null {
  const prefixes = properties.map((property) => PREFIX.exec(property.name)?.[0] ?? '')
  const ofType = PREFIX.exec(name)?.[0]
  if (ofType !== undefined && prefixes.includes(ofType)) return ofType
  const counts = new Map<string, number>()
  for (const prefix of prefixes) counts.set(prefix, (counts.get(prefix) ?? 0) + 1)
  const [most] = [...counts].toSorted(([, one], [, other]) => other - one)
  return most && most[1] * 2 > properties.length ? most[0] : null
}

/** Why a span of its time cannot be asked for; null where it can. */
function problemOf({ field_type, is_multi, operators }: PropertyWire): string | null {
  if (!TIMES.has(plainName(field_type)))
    return `is of field type ${field_type}; expected a datetime`
  if (is_multi) return 'holds several values; expected one datetime'
  const missing = ['gte', 'lt'].filter((operator) => !operators.includes(operator))
  if (missing.length === 0) return null
  return `cannot be filtered by ${missing.join(' and ')}; expected a datetime that can`
}

/** `date_time`, `DateTime` and `date-time` are one name, and so is `timestamp_tz`. */
const plainName = (fieldType: string): string =>
  fieldType
    .toLowerCase()
    .replaceAll(/[^a-z]/g, '')
    .replace(/(?:utc|tz|z)$/, '')
