// What a service has, as `describe` shows it: a table of object types, or of the properties of one, and the same as JSON.

import type {
  AssociationWire,
  FieldTypeWire,
  ObjectSchema,
  ObjectSummary,
  PropertyWire,
  Self,
} from '../../contract/index.ts'
import { WRITABLE_OPERATIONS } from '../../contract/index.ts'
import { exampleCell } from '../../corrections/index.ts'
import { outputWidth, safeText, table, wrapped, type Terminal } from '../shared/terminal.ts'

/** What a connection leads to. */
export interface DescribedConnection {
  readonly name: string
  readonly origin: string
  readonly keyFingerprint: string
  readonly self: Self
  /** In the order of their names. */
  readonly types: readonly ObjectSummary[]
}

/** An object type with what it is described by. */
export interface DescribedType {
  readonly schema: ObjectSchema
  /** By name. */
  readonly fieldTypes: ReadonlyMap<string, FieldTypeWire>
  /** Associations that begin or end at it. */
  readonly associations: readonly AssociationWire[]
}

const NAME_CHARS_MAX = 80
/** From this width on, labels have a column of their own. */
const LABELS_WIDTH_MIN = 100
const OPTIONS_SHOWN = 12

const shown = (text: string) => safeText(text, NAME_CHARS_MAX)

function headline({ name, origin, self, keyFingerprint }: DescribedConnection): string {
  return `${name}: ${origin}, org ${self.org_id}, key#${keyFingerprint}, reach ${self.reach}`
}

/** What the key may do with a type; null if the service does not say. */
function grantOf({ self }: DescribedConnection, type: string) {
  const found = self.permissions?.find((permission) => permission.entity_type === type)
  return found === undefined ? null : { read: found.read, write: found.write }
}

const grantText = (grant: { read: boolean; write: boolean } | null): string =>
  grant === null
    ? '–'
    : [grant.read && 'read', grant.write && 'write'].filter(Boolean).join(', ') || 'nothing'

const acceptsText = ({ writable_operations: operations }: ObjectSummary): string =>
  WRITABLE_OPERATIONS.every((operation) => operations.includes(operation))
    ? 'all writes'
    : operations.join(', ') || 'no writes'

export function printObjectTypes(
  terminal: Terminal,
  connection: DescribedConnection,
  hint: string,
): void {
  terminal.out(headline(connection))
  terminal.out(
    table(
      ['object type', 'label', 'accepts', 'your key'],
      connection.types.map((type) => [
        shown(type.name),
        shown(type.label),
        acceptsText(type),
        grantText(grantOf(connection, type.name)),
      ]),
    ),
  )
  terminal.out(`The properties of one: ${hint}`)
}

export const objectTypeToJson = (connection: DescribedConnection) => ({
  connection: connection.name,
  service: connection.origin,
  org_id: connection.self.org_id,
  key_fingerprint: connection.keyFingerprint,
  reach: connection.self.reach,
  object_types: connection.types.map((type) => typeToJson(connection, type)),
})

const typeToJson = (connection: DescribedConnection, type: ObjectSummary) => ({
  name: type.name,
  label: type.label,
  label_plural: type.label_plural,
  description: type.description,
  kinds: type.kinds,
  is_system: type.is_system,
  allows_custom_properties: type.allows_custom_properties,
  writable_operations: type.writable_operations,
  key: grantOf(connection, type.name),
})

/** Whether a record must have it; null if the service does not say, as the specification has no word for it. */
function isRequired(property: PropertyWire): boolean | null {
  const said = property['is_required'] ?? property['required']
  return typeof said === 'boolean' ? said : null
}

const typeText = ({ field_type: type, is_multi: isMulti }: PropertyWire): string =>
  isMulti && !/^multi/i.test(type) ? `list of ${shown(type)}` : shown(type)

const rulesText = (property: PropertyWire): string =>
  [
    property.is_unique && 'unique',
    isRequired(property) === true && 'required',
    property.writability === 'read_only' && 'read-only',
    property.writability === 'create_only' && 'set once',
  ]
    .filter(Boolean)
    .join(', ')

/** What a cell may hold: the options, or an example, or what it is. */
function cellText(property: PropertyWire): string {
  const values = property.options.map(({ value }) => value)
  const more = values.length - OPTIONS_SHOWN
  if (values.length > 0)
    return safeText(
      `${values.slice(0, OPTIONS_SHOWN).join(', ')}${more > 0 ? ` and ${more} more` : ''}`,
      1_000,
    )
  return property.writability === 'read_only' ? '' : exampleOf(property)
}

const exampleOf = (property: PropertyWire): string =>
  exampleCell({
    type: property.field_type,
    options: property.options.map(({ value }) => value),
  })

/** `svc_first_name` and `First name` say the same. */
function isSaidByName({ name, label }: PropertyWire): boolean {
  const letters = (text: string) => text.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '')
  return letters(name).endsWith(letters(label))
}

export function printProperties(
  terminal: Terminal,
  connection: DescribedConnection,
  { schema, associations }: DescribedType,
  width = outputWidth(),
): void {
  terminal.out(headline(connection))
  const grant = grantOf(connection, schema.name)
  const rights = grant === null ? '' : `; your key: ${grantText(grant)}`
  terminal.out(`${shown(schema.name)} (${shown(schema.label)}): ${acceptsText(schema)}${rights}`)
  terminal.out()
  const hasLabels = width >= LABELS_WIDTH_MIN
  const rows = schema.properties.map((property) => {
    const label = shown(property.label)
    const cell = cellText(property)
    const named = hasLabels || isSaidByName(property) ? cell : `“${label}” ${cell}`.trim()
    return [
      shown(property.name),
      ...(hasLabels ? [label] : []),
      typeText(property),
      rulesText(property),
      named,
    ]
  })
  const header = ['property', ...(hasLabels ? ['label'] : []), 'type', 'rules', 'cells such as']
  terminal.out(table(header, rows, width))
  printAssociations(terminal, schema.name, associations, Math.min(width, 100))
}

function printAssociations(
  terminal: Terminal,
  type: string,
  associations: readonly AssociationWire[],
  width: number,
): void {
  if (associations.length === 0) return
  const words = associations.map(({ name, source, target }) =>
    source === type
      ? `${shown(name)} (to ${shown(target)})`
      : `${shown(name)} (from ${shown(source)})`,
  )
  terminal.out()
  for (const line of wrapped(`Associations: ${words.join(', ')}`, 0, width)) terminal.out(line)
}

export const propertiesToJson = (
  connection: DescribedConnection,
  { schema, fieldTypes, associations }: DescribedType,
) => ({
  connection: connection.name,
  service: connection.origin,
  org_id: connection.self.org_id,
  object_type: typeToJson(connection, schema),
  properties: schema.properties.map((property) => ({
    name: property.name,
    label: property.label,
    description: property.description,
    field_type: property.field_type,
    value_type: fieldTypes.get(property.field_type)?.value_type ?? null,
    is_multi: property.is_multi,
    is_unique: property.is_unique,
    required: isRequired(property),
    writability: property.writability,
    options: property.options.map(({ value, label }) => ({ value, label })),
    units: fieldTypes.get(property.field_type)?.units ?? [],
    default_value: property.default_value,
    operators: property.operators,
    example: exampleOf(property),
  })),
  associations: associations.map(({ name, label, source, target, cardinality }) => ({
    name,
    label,
    source,
    target,
    cardinality,
  })),
})
