// What a mirror finds on its service: its object types with their properties, and its associations. Every slip of the
// configuration is collected, so that a person mends them all at once.

import { joinWords, suggestWord } from '../../core/suggest.ts'
import type { RecordsClient } from '../../client/index.ts'
import {
  modificationProperty,
  type AssociationWire,
  type ObjectSchema,
  type PropertyWire,
} from '../../contract/index.ts'
import { MirrorInvalid, SyncError, type MappingProblem } from '../../core/errors.ts'
import { formatNumber } from '../../core/format.ts'
import { LISTED_ALWAYS_MAX } from '../../core/mirror.ts'
import type { MirrorSync } from '../../../config/index.ts'

/** Object types that are asked for at the same time. */
const CONCURRENCY = 8

export interface MirroredType {
  readonly schema: ObjectSchema
  /** Property that tells when a record was changed last; null where there is none that the service sorts by. */
  readonly modified: PropertyWire | null
}

export interface MirrorTarget {
  /** In the order of their names. */
  readonly types: readonly MirroredType[]
  /** Those that the configuration names. */
  readonly associations: readonly AssociationWire[]
  /** What a person should know, one line each. */
  readonly warnings: readonly string[]
}

/**
 * Asks the service: three requests, and one for each object type.
 * @throws MirrorInvalid naming every problem at once
 */
export async function readMirrorTarget(
  client: Pick<
    RecordsClient,
    'listObjectTypes' | 'listFieldTypes' | 'listAssociations' | 'readObjectType'
  >,
  { name: sync, mirror }: MirrorSync,
): Promise<MirrorTarget> {
  const problems: MappingProblem[] = []
  const wrong = (message: string, path: readonly string[], at?: 'key') =>
    problems.push({ message, path, ...(at && { at }) })
  const warnings: string[] = []
  const ask = { priority: 'interactive' } as const
  const readable = (await client.listObjectTypes(ask)).map(({ name }) => name).toSorted()
  const fieldTypes = await client.listFieldTypes(ask)
  const definitions = await client.listAssociations(ask)

  const there = (setting: string, names: readonly string[], at?: 'key') =>
    names.filter((name) => {
      if (readable.includes(name)) return true
      wrong(
        `${setting}: there is no object type ${name}, or the key cannot read it${suggestWord(name, readable, 'object types')}`,
        [setting, name],
        at,
      )
      return false
    })
  there('except', mirror.except)
  const names =
    mirror.object_types === 'all'
      ? readable.filter((name) => !mirror.except.includes(name))
      : there('object_types', mirror.object_types).toSorted()
  if (names.length === 0 && problems.length === 0)
    wrong('object_types: the key can read no object type that is mirrored', ['object_types'])

  for (const type of there(
    'modification_property',
    Object.keys(mirror.modification_property),
    'key',
  ))
    if (!names.includes(type))
      wrong(
        `modification_property: ${type} is not mirrored; it is not in object_types`,
        ['modification_property', type],
        'key',
      )
  const associations = mirror.associations.flatMap((name) => {
    const found = definitions.find((one) => one.name === name)
    if (!found)
      wrong(
        `associations: there is no association ${name}, or the key cannot read what it links${suggestWord(
          name,
          definitions.map((one) => one.name),
          'associations',
        )}`,
        ['associations', name],
      )
    else if (!names.includes(found.source))
      wrong(
        `associations: ${name} begins at ${found.source}, which is not mirrored; add it to object_types`,
        ['associations', name],
      )
    else if (!names.includes(found.target))
      warnings.push(`${name} leads to ${found.target}, whose records are not mirrored`)
    return found ?? []
  })

  const sortable = new Set(fieldTypes.filter((type) => type.sortable).map((type) => type.name))
  const types: MirroredType[] = []
  const timeless: string[] = []
  for (let first = 0; first < names.length; first += CONCURRENCY) {
    const schemas = await Promise.all(
      names.slice(first, first + CONCURRENCY).map((name) => client.readObjectType(name, ask)),
    )
    for (const schema of schemas) {
      let modified: PropertyWire | null = null
      try {
        modified = modificationProperty(schema, mirror.modification_property[schema.name])
      } catch (error) {
        if (!(error instanceof SyncError)) throw error
        wrong(error.message, ['modification_property', schema.name])
      }
      if (modified && !sortable.has(modified.field_type)) {
        warnings.push(`${schema.name}: the service does not sort by ${modified.name}`)
        modified = null
      }
      if (!modified) timeless.push(schema.name)
      types.push({ schema, modified })
    }
  }
  if (problems.length > 0) throw new MirrorInvalid(sync, problems)
  if (timeless.length > 0)
    warnings.push(
      `nothing tells when a record of ${joinWords(timeless)} was changed last: up to ${formatNumber(LISTED_ALWAYS_MAX)} records are read whole by every run; above that, changes are found only by the full listing every ${mirror.full_every_hours} h. \`modification_property\` can name what tells it`,
    )
  return { types, associations, warnings }
}
