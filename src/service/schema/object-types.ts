// Object types (section 2.2), compiled from their definitions. Every type has the properties that the service itself sets.

import type { ObjectSchema, ObjectSummary, WritableOperation } from '../../contract/index.ts'
import { sha256 } from '../auth/keys.ts'
import { describeValue, refused } from '../problems.ts'
import { compileProperty, defaultLabel } from './properties.ts'
import type { CompiledProperty, PropertyDefinition } from './properties.ts'

export type { CompiledProperty } from './properties.ts'

export interface TypeDefinition {
  readonly name: string
  readonly label?: string | undefined
  readonly label_plural: string
  readonly description?: string | undefined
  readonly icon?: string | undefined
  readonly is_system: boolean
  /** Section 5 rule 6. Default: all four. */
  readonly writable_operations?: readonly WritableOperation[] | undefined
  readonly properties: readonly PropertyDefinition[]
}

export interface ObjectType {
  readonly name: string
  readonly definition: TypeDefinition
  readonly schema: ObjectSchema
  readonly summary: ObjectSummary
  readonly properties: ReadonlyMap<string, CompiledProperty>
  /** A value for each property, in the type's order: null. To be copied. */
  readonly blank: Readonly<Record<string, null>>
  /** Properties of which no two records can have the same value. */
  readonly unique: readonly CompiledProperty[]
}

/** Set by the service on every record. */
export const CREATED_AT = 'svc_created_at'
export const UPDATED_AT = 'svc_updated_at'
/** The user whose key created the record. */
export const CREATED_BY = 'svc_created_by'
/** A private record is visible to its creator and to keys of reach org. */
export const PRIVATE = 'svc_private'

export const FULL: readonly WritableOperation[] = ['create', 'update', 'delete', 'associate']

/** @throws Error if a definition contradicts itself */
export function compileType(definition: TypeDefinition): ObjectType {
  const { name, label, label_plural, description = '', icon = '', is_system } = definition
  const writable_operations = [...(definition.writable_operations ?? FULL)]
  const isWritten = (['create', 'update'] as const).some((each) =>
    writable_operations.includes(each),
  )
  const list = [...definition.properties, ...kept(isWritten)].map(compileProperty)
  const properties = new Map(list.map((item) => [item.name, item]))
  const twice = list.find((item) => properties.get(item.name) !== item)
  if (twice) {
    throw new Error(`${name}: the property ${twice.name} is there twice`)
  }
  const summary: ObjectSummary = {
    name,
    label: label ?? defaultLabel(name),
    label_plural,
    kinds: [defaultLabel(name).toLowerCase()],
    is_system,
    allows_custom_properties: isWritten,
    writable_operations,
    description,
    icon,
  }
  return {
    name,
    definition,
    summary,
    schema: { ...summary, properties: list.map((item) => item.wire) },
    properties,
    // Parsed, because such an object has its properties within itself, and so have its copies.
    blank: JSON.parse(JSON.stringify(Object.fromEntries(list.map(({ name }) => [name, null])))),
    unique: list.filter((item) => item.wire.is_unique),
  }
}

/** A digest of everything that decides which values are valid: types with equal digests accept the same values. */
export function digestOf(types: ReadonlyMap<string, ObjectType>): string {
  const facts = [...types.values()].map(({ name, properties }) => [
    name,
    [...properties.values()].map(({ wire }) => [
      wire.name,
      wire.field_type,
      wire.is_multi,
      wire.options.map(({ value }) => value),
    ]),
  ])
  return sha256(JSON.stringify(facts))
}

/**
 * The type with other properties: some added at the end, some removed. Those that the service sets stay.
 * @throws Error if one that is added exists already
 */
export function withChange(
  { definition }: ObjectType,
  change: { add?: readonly PropertyDefinition[]; remove?: readonly string[] },
): ObjectType {
  const { add = [], remove = [] } = change
  const properties = definition.properties.filter(({ name }) => !remove.includes(name))
  return compileType({ ...definition, properties: [...properties, ...add] })
}

/** @throws Refusal 422 unknown_property; `field` is the pointer to the name, if it came in a body */
export function knownProperty(type: ObjectType, name: string, field?: string): CompiledProperty {
  const property = type.properties.get(name)
  if (property) return property
  throw refused('unknown_property', `${type.name} has no property ${describeValue(name)}`, field)
}

/** The service's own properties of a type whose records people write, or do not write. */
function kept(isWritten: boolean): PropertyDefinition[] {
  return [
    { name: CREATED_AT, field_type: 'datetime', writability: 'read_only' },
    { name: UPDATED_AT, field_type: 'datetime', writability: 'read_only' },
    {
      name: CREATED_BY,
      field_type: 'user',
      writability: 'read_only',
      description: 'The user whose key created the record.',
    },
    {
      name: PRIVATE,
      field_type: 'boolean',
      writability: isWritten ? 'writable' : 'read_only',
      description: 'A private record is visible to its creator and to keys of reach org only.',
    },
  ]
}
