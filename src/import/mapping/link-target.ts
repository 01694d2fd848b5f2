// What the service says of the links of an import, and what makes them hopeless. Every problem is collected, so that a person mends
// them all at once.

import type {
  AssociationWire,
  Cardinality,
  ObjectSchema,
  OperationId,
} from '../../contract/index.ts'
import { isNotFound, type MappingProblem } from '../../core/errors.ts'
import { suggestNearest, suggestWord } from '../../core/suggest.ts'
import type { ImportConfig, LinkMapping } from '../../../config/index.ts'
import type { LinkBounds } from '../../ledger/ledger.ts'
import type { ImportDeps } from '../ports.ts'

/** What the service says about the links of an import. */
export interface LinkDefinitions {
  readonly definitions: readonly AssociationWire[]
  /** The object types that they lead to, by name; one that is missing does not exist, or the key cannot read it. */
  readonly types: ReadonlyMap<string, ObjectSchema>
  /** Operations that links need, and that the document of the service does not have. */
  readonly lacking: readonly OperationId[]
}

const NEEDED = ['listAssociations', 'associateRecords'] as const

/** Null for an import without links. Two requests, and one for each further object type. */
export async function readLinkTarget(
  deps: Pick<ImportDeps, 'client' | 'signal' | 'priority'>,
  { links = [] }: Pick<ImportConfig, 'links'>,
  known: ObjectSchema,
): Promise<LinkDefinitions | null> {
  if (links.length === 0) return null
  const { client, signal, priority } = deps
  const options = { signal, priority }
  const lacking = await client.lackingOperations(NEEDED)
  if (lacking.length > 0) return { definitions: [], types: new Map(), lacking }
  const definitions = await client.listAssociations(options)
  const types = new Map([[known.name, known]])
  for (const { to } of links) {
    if (types.has(to)) continue
    const type = await client.readObjectType(to, options).catch((error: unknown) => {
      if (isNotFound(error)) return null
      throw error
    })
    if (type !== null) types.set(to, type)
  }
  return { definitions, types, lacking }
}

/** Whether the links of an import can be made as they are configured. */
export function checkLinks(
  config: ImportConfig,
  schema: ObjectSchema,
  target: LinkDefinitions,
  columns: readonly string[],
  { problems, warnings }: { problems: MappingProblem[]; warnings: string[] },
): void {
  if (target.lacking.length > 0) {
    const lacks = target.lacking.join(' and ')
    problems.push({
      message: `links need ${NEEDED.join(' and ')}, and the document of the service does not have ${lacks}`,
      path: ['links'],
    })
    return
  }
  if (config.mode !== 'link' && !schema.writable_operations.includes('associate'))
    problems.push({
      message: `object type ${schema.name} does not accept associate on the public API (it accepts: ${
        schema.writable_operations.join(', ') || 'nothing'
      })`,
      path: ['links'],
    })
  for (const [index, link] of (config.links ?? []).entries())
    checkLink(link, schema, target, columns, {
      wrong: (setting, message) =>
        problems.push({ message, path: ['links', String(index), setting] }),
      warn: (text) => warnings.push(text),
    })
}

function checkLink(
  link: LinkMapping,
  { name: source }: ObjectSchema,
  { definitions, types }: LinkDefinitions,
  columns: readonly string[],
  {
    wrong,
    warn,
  }: { wrong: (setting: keyof LinkMapping, message: string) => void; warn: (text: string) => void },
): void {
  const { association, to, by, column } = link
  if (!columns.includes(column))
    wrong(
      'column',
      `column "${column}" (for ${association}) is not in the source${suggestNearest(column, columns)}`,
    )
  const definition = definitions.find(({ name }) => name === association)
  const ofSource = definitions.filter((one) => one.source === source).map(({ name }) => name)
  if (!definition)
    wrong(
      'association',
      `association ${association} does not exist, or the key cannot read it${suggestWord(association, ofSource.toSorted(), `associations of ${source}`)}`,
    )
  else if (definition.source !== source)
    wrong(
      'association',
      `association ${association} begins at ${definition.source}, not at ${source}${suggestWord(association, ofSource.toSorted(), `associations of ${source}`)}`,
    )
  else if (definition.target !== to)
    wrong('to', `association ${association} leads to ${definition.target}, not to ${to}`)
  const type = types.get(to)
  if (!type && (!definition || definition.target === to))
    wrong('to', `object type ${to} does not exist, or the key cannot read it`)
  if (!type || by === undefined) return
  const property = type.properties.find(({ name }) => name === by)
  const names = type.properties.map(({ name }) => name)
  if (!property)
    wrong(
      'by',
      `property ${by} does not exist on ${to}, or the key cannot read it${suggestWord(by, names.toSorted(), `properties of ${to}`)}`,
    )
  else if (!property.is_unique)
    warn(
      `${by} is not unique on ${to}: a value of the column ${column} that two records share is refused as ambiguous_target`,
    )
}

/** What the definitions of an import's associations allow. */
export function linkBoundsOf(
  { links = [] }: Pick<ImportConfig, 'links'>,
  definitions: readonly AssociationWire[],
): LinkBounds {
  const named = (...cardinalities: readonly Cardinality[]) =>
    definitions
      .filter(
        ({ name, cardinality }) =>
          cardinalities.includes(cardinality) && links.some((link) => link.association === name),
      )
      .map(({ name }) => name)
  return {
    oneTarget: named('many_to_one', 'one_to_one'),
    oneSource: named('one_to_many', 'one_to_one'),
  }
}
