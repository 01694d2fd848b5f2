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
import { LISTED_ALWAYS_MAX } from '../../core/domain/mirror.ts'
import type { MirrorConfig, MirrorSync } from '../../../config/index.ts'

/** Object types that are requested concurrently. */
const CONCURRENCY = 8

export interface MirroredType {
  readonly schema: ObjectSchema
  /** Property with the time of the last change; null if there is none that the service sorts by. */
  readonly modified: PropertyWire | null
}

type Client = Pick<
  RecordsClient,
  'listObjectTypes' | 'listFieldTypes' | 'listAssociations' | 'readObjectType'
>

/** What is found out about the configuration. */
interface Findings {
  readonly problems: MappingProblem[]
  readonly warnings: string[]
}

const ask = { priority: 'interactive' } as const

/**
 * Asks the service: three requests, and one for each object type. Returns the types in the order of their names, the associations
 * that the configuration names, and what a person should know, one line each.
 * @throws MirrorInvalid naming every problem at once
 */
export async function readMirrorTarget(client: Client, { name: sync, mirror }: MirrorSync) {
  const findings: Findings = { problems: [], warnings: [] }
  const readable = (await client.listObjectTypes(ask)).map(({ name }) => name).toSorted()
  const fieldTypes = await client.listFieldTypes(ask)
  const definitions = await client.listAssociations(ask)
  const names = mirroredNames(mirror, readable, findings)
  const associations = mirroredAssociations(mirror, { definitions, names }, findings)
  const sortable = new Set(fieldTypes.filter((type) => type.sortable).map((type) => type.name))
  const types: MirroredType[] = []
  for (let first = 0; first < names.length; first += CONCURRENCY) {
    const schemas = await Promise.all(
      names.slice(first, first + CONCURRENCY).map((name) => client.readObjectType(name, ask)),
    )
    for (const schema of schemas)
      types.push({ schema, modified: modifiedBy(mirror, schema, { sortable, ...findings }) })
  }
  const { problems, warnings } = findings
  if (problems.length > 0) throw new MirrorInvalid(sync, problems)
  const timeless = types.filter(({ modified }) => !modified).map(({ schema }) => schema.name)
  if (timeless.length > 0)
    warnings.push(
      `no property has the time of the last change of ${joinWords(timeless)}: up to ${formatNumber(LISTED_ALWAYS_MAX)} records are read whole by every run; above that, changes are found only by the full listing every ${mirror.full_every_hours} h. \`modification_property\` can name one`,
    )
  return { types, associations, warnings }
}

/** The object types that are mirrored, in order. */
function mirroredNames(
  mirror: MirrorConfig,
  readable: readonly string[],
  { problems }: Findings,
): string[] {
  const existing = (setting: string, names: readonly string[], at?: 'key') =>
    names.filter((name) => {
      if (readable.includes(name)) return true
      problems.push({
        message: `${setting}: there is no object type ${name}, or the key cannot read it${suggestWord(name, readable, 'object types')}`,
        path: [setting, name],
        ...(at && { at }),
      })
      return false
    })
  existing('except', mirror.except)
  const names =
    mirror.object_types === 'all'
      ? readable.filter((name) => !mirror.except.includes(name))
      : existing('object_types', mirror.object_types).toSorted()
  if (names.length === 0 && problems.length === 0)
    problems.push({
      message: 'object_types: the key can read no object type that is mirrored',
      path: ['object_types'],
    })
  const named = Object.keys(mirror.modification_property)
  for (const type of existing('modification_property', named, 'key'))
    if (!names.includes(type))
      problems.push({
        message: `modification_property: ${type} is not mirrored; it is not in object_types`,
        path: ['modification_property', type],
        at: 'key',
      })
  return names
}

function mirroredAssociations(
  mirror: MirrorConfig,
  service: { definitions: readonly AssociationWire[]; names: readonly string[] },
  { problems, warnings }: Findings,
): AssociationWire[] {
  const { definitions, names } = service
  return mirror.associations.flatMap((name) => {
    const wrong = (what: string) =>
      problems.push({ message: `associations: ${what}`, path: ['associations', name] })
    const found = definitions.find((one) => one.name === name)
    if (!found) {
      const all = definitions.map((one) => one.name)
      wrong(
        `there is no association ${name}, or the key cannot read what it links${suggestWord(name, all, 'associations')}`,
      )
    } else if (!names.includes(found.source))
      wrong(`${name} begins at ${found.source}, which is not mirrored; add it to object_types`)
    else if (!names.includes(found.target))
      warnings.push(`${name} leads to ${found.target}, whose records are not mirrored`)
    return found ?? []
  })
}

/** The property with the time of the last change, if the service sorts by it. */
function modifiedBy(
  mirror: MirrorConfig,
  schema: ObjectSchema,
  { sortable, problems, warnings }: Findings & { sortable: ReadonlySet<string> },
): PropertyWire | null {
  let modified: PropertyWire | null = null
  try {
    modified = modificationProperty(schema, mirror.modification_property[schema.name])
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    problems.push({ message: error.message, path: ['modification_property', schema.name] })
  }
  if (!modified || sortable.has(modified.field_type)) return modified
  warnings.push(`${schema.name}: the service does not sort by ${modified.name}`)
  return null
}
