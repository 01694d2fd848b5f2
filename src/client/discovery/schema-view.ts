// What a JSON Schema of a document says about names: the properties of an object, the items of a list. Promise kept here: every
// node is read once, references lead only into the document, and a circle of them ends.

import { isJsonObject } from '../../core/json.ts'

/** Reads own members only: a document may use names of `Object.prototype`. */
export const ownMember = (node: unknown, name: string): unknown =>
  isJsonObject(node) && Object.hasOwn(node, name) ? node[name] : undefined

export const listMember = (node: unknown, name: string): readonly unknown[] => {
  const value = ownMember(node, name)
  return Array.isArray(value) ? value.slice(0, 50) : []
}

const referencesMax = 20
const stepsMax = 20
const partsMax = 20
const namesMax = 100
const depthMax = 20

/** The node itself, or the target of its `$ref`; undefined if it leads nowhere, in a circle or out of the document. */
export function resolveRef(document: unknown, node: unknown): unknown {
  let found = node
  for (let count = 0; count < referencesMax; count++) {
    const reference = ownMember(found, '$ref')
    if (typeof reference !== 'string') return found
    if (!reference.startsWith('#/') || reference.length > 500) return undefined
    const steps = reference.slice(2).split('/')
    if (steps.length > stepsMax) return undefined
    found = document
    for (const step of steps) found = ownMember(found, unescaped(step))
  }
  return undefined
}

function unescaped(step: string): string {
  const plain = step.replaceAll('~1', '/').replaceAll('~0', '~')
  try {
    return decodeURIComponent(plain)
  } catch {
    return plain
  }
}

/** What a schema says, as far as it says anything. */
export interface SchemaView {
  readonly kind: 'object' | 'list' | undefined
  /** Subschemas by property name. */
  readonly properties: ReadonlyMap<string, unknown>
  readonly items: unknown
}

const NOTHING: SchemaView = { kind: undefined, properties: new Map(), items: undefined }

/** Views of one document's schemas, each made once. */
export function createSchemaViewer(document: unknown): (schema: unknown) => SchemaView {
  const made = new Map<unknown, SchemaView>()
  const view = (schema: unknown, depth: number): SchemaView => {
    const node = resolveRef(document, schema)
    if (!isJsonObject(node) || depth > depthMax) return NOTHING
    const known = made.get(node)
    if (known) return known
    // Until it is made, a circle that comes back here reads nothing.
    made.set(node, NOTHING)
    const parts = ['allOf', 'anyOf', 'oneOf']
      .flatMap((name) => listMember(node, name).slice(0, partsMax))
      .map((part) => view(part, depth + 1))
    const own = ownMember(node, 'properties')
    const properties = new Map(
      [
        ...parts.flatMap((part) => [...part.properties]),
        ...(isJsonObject(own) ? Object.entries(own).slice(0, namesMax) : []),
      ].slice(0, namesMax),
    )
    const items = ownMember(node, 'items') ?? parts.find((part) => part.items !== undefined)?.items
    const told = [ownMember(node, 'type')].flat()
    const isList = told.includes('array') || items !== undefined
    const isObject = told.includes('object') || properties.size > 0
    const kind =
      (isList ? 'list' : isObject ? 'object' : undefined) ??
      parts.find((part) => part.kind !== undefined)?.kind
    const result = { kind, properties, items }
    made.set(node, result)
    return result
  }
  return (schema) => view(schema, 0)
}
