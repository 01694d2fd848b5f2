// The schema file: what an org has in addition to the system's types: custom types and properties, associations, and its
// people. Promise kept here: a file that contradicts itself is refused as a whole, with every place that is wrong.

import { z } from 'zod'
import { CARDINALITIES, PREFIX, WRITABILITIES, WRITABLE_OPERATIONS } from '../../contract/index.ts'
import type { AssociationWire } from '../../contract/index.ts'
import { SyncError } from '../../core/errors.ts'
import { readJsonFile } from './json-file.ts'
import { ADMINISTRATOR, USER_ID, type OrgUser } from '../auth/keys.ts'
import { compileType, withChange, type ObjectType } from './object-types.ts'
import { pointerToken } from '../problems.ts'
import { compileProperty, type PropertyDefinition } from './properties.ts'
import { SYSTEM_ASSOCIATIONS, SYSTEM_TYPES } from './system-types.ts'

/** Complaints about one file; characters of one, and of a key in its pointer. */
const shownMax = 10
const shownCharsMax = 300
const keyCharsMax = 100

const customName = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,63}$/, 'a name of a to z, 0 to 9 and _ was expected')
  .refine(
    (name) => !name.startsWith(PREFIX),
    `a name that does not begin with ${PREFIX} was expected`,
  )
const label = z.string().min(1)

const PropertyFile = z.strictObject({
  name: customName,
  field_type: z.string(),
  label: label.optional(),
  writability: z.enum(WRITABILITIES).optional(),
  is_multi: z.boolean().optional(),
  is_unique: z.boolean().optional(),
  options: z
    .array(
      z.union(
        [
          z.string().min(1),
          z.strictObject({ value: z.string().min(1), label, description: z.string().optional() }),
        ],
        'a text, or an object of value, label and optionally description was expected',
      ),
    )
    .optional(),
  default_value: z.json().optional(),
  description: z.string().optional(),
})

const Grant = z.strictObject({ read: z.boolean(), write: z.boolean() })

export const SchemaFile = z.strictObject({
  types: z
    .array(
      z.strictObject({
        name: customName,
        label: label.optional(),
        label_plural: label,
        description: z.string().optional(),
        icon: z.string().optional(),
        writable_operations: z.array(z.enum(WRITABLE_OPERATIONS)).optional(),
        properties: z.array(PropertyFile),
      }),
    )
    .default([]),
  /** By object type: custom properties of a system type. */
  properties: z.record(z.string(), z.array(PropertyFile)).default({}),
  associations: z
    .array(
      z.strictObject({
        name: customName,
        label,
        source: z.string(),
        target: z.string(),
        cardinality: z.enum(CARDINALITIES),
        description: z.string().default(''),
      }),
    )
    .default([]),
  users: z
    .array(
      z.strictObject({
        id: z.string().regex(USER_ID, '1 to 64 letters, digits, - or _ were expected'),
        display_name: z.string().min(1),
        admin: z.boolean().default(false),
        /** By object type; left out: everything. */
        permissions: z.record(z.string(), Grant).optional(),
      }),
    )
    .default([]),
})
export type SchemaFile = z.infer<typeof SchemaFile>

export interface OrgSchema {
  readonly types: ReadonlyMap<string, ObjectType>
  readonly associations: ReadonlyMap<string, AssociationWire>
  readonly users: readonly OrgUser[]
}

/** An org without a schema file. */
export const SYSTEM_SCHEMA: OrgSchema = {
  types: SYSTEM_TYPES,
  associations: SYSTEM_ASSOCIATIONS,
  users: [],
}

/** @throws SyncError `service_schema`: which file, where in it, what was expected */
export function readSchemaFile(path: string): OrgSchema {
  const problems: string[] = []
  const refuse = (said: readonly string[]) => {
    const more = said.length > shownMax ? [`and ${said.length - shownMax} more`] : []
    const lines = [...said.slice(0, shownMax).map((each) => cut(each, shownCharsMax)), ...more]
    return new SyncError('service_schema', `Schema file ${path}: ${lines.join('; ')}`)
  }
  const parsed = SchemaFile.safeParse(readJsonFile(path, (reason) => refuse([reason])))
  if (!parsed.success) {
    throw refuse(parsed.error.issues.map((issue) => `${at(issue.path)}: ${issue.message}`))
  }
  const schema = schemaOf(parsed.data, (place, message) =>
    problems.push(`${at(place)}: ${message}`),
  )
  if (problems.length > 0) throw refuse(problems)
  return schema
}

type Note = (place: readonly (string | number)[], message: string) => void

function schemaOf(file: SchemaFile, note: Note): OrgSchema {
  const types = new Map(SYSTEM_TYPES)
  for (const [index, definition] of file.types.entries()) {
    const place = ['types', index]
    const properties = compiling(definition.properties, [...place, 'properties'], [], note)
    if (types.has(definition.name)) note([...place, 'name'], 'another type has this name')
    else types.set(definition.name, compileType({ ...definition, is_system: false, properties }))
  }
  for (const [name, definitions] of Object.entries(file.properties)) {
    const place = ['properties', name]
    const type = SYSTEM_TYPES.get(name)
    if (!type?.summary.allows_custom_properties) {
      note(place, 'a system type that allows custom properties was expected')
      continue
    }
    const known = [...type.properties.keys()]
    types.set(name, withChange(type, { add: compiling(definitions, place, known, note) }))
  }
  const associations = new Map(SYSTEM_ASSOCIATIONS)
  for (const [index, association] of file.associations.entries()) {
    for (const end of ['source', 'target'] as const) {
      if (!types.has(association[end])) {
        note(['associations', index, end], 'the name of an object type was expected')
      }
    }
    if (associations.has(association.name)) {
      note(['associations', index, 'name'], 'another association has this name')
    }
    associations.set(association.name, association)
  }
  const users = new Map<string, OrgUser>()
  for (const [index, { id, display_name, admin, permissions }] of file.users.entries()) {
    if (users.has(id) || id === ADMINISTRATOR.id) {
      note(['users', index, 'id'], 'another user has this id')
    }
    for (const name of Object.keys(permissions ?? {})) {
      if (types.has(name)) continue
      note(['users', index, 'permissions', name], 'the name of an object type was expected')
    }
    users.set(id, { id, displayName: display_name, admin, permissions: permissions ?? 'all' })
  }
  return { types, associations, users: [...users.values()] }
}

/** The definitions that are valid; problems of the others are noted. */
function compiling(
  definitions: readonly PropertyDefinition[],
  place: readonly (string | number)[],
  known: readonly string[],
  note: Note,
): PropertyDefinition[] {
  const names = new Set(known)
  return definitions.filter((definition, index) => {
    if (names.has(definition.name)) {
      note([...place, index, 'name'], 'another property has this name')
      return false
    }
    names.add(definition.name)
    try {
      compileProperty(definition)
      return true
    } catch (error) {
      note([...place, index], (error as Error).message)
      return false
    }
  })
}

function at(path: readonly PropertyKey[]): string {
  if (path.length === 0) return 'the file'
  return path.map((key) => `/${cut(pointerToken(String(key)), keyCharsMax)}`).join('')
}

function cut(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max - 1)}…` : text
}
