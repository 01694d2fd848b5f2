// The object types of an org and their properties, compiled into closures that check a value (sections 2.2, 2.3, 5).
// Promise kept here: what `GET /objects/{object_type}/` says about a property is what a write and a filter obey.

import type {
  ObjectSchema,
  ObjectSummary,
  PropertyWire,
  SelectOption,
  WritableOperation,
} from '../contract/index.ts'
import { FIELD_TYPES } from './field-types.ts'
import type { FieldType, Scalar, Value } from './field-types.ts'

export interface Property {
  readonly name: string
  readonly wire: PropertyWire
  readonly field: FieldType
  readonly expected: string
  /** The stored form of a value that is written: null clears, undefined where it is invalid. */
  readonly parse: (raw: unknown) => Value | undefined
}

export interface ObjectType {
  readonly name: string
  readonly schema: ObjectSchema
  readonly summary: ObjectSummary
  readonly properties: ReadonlyMap<string, Property>
  /** Properties whose values a second record cannot take. */
  readonly unique: readonly Property[]
}

/** Set by the service on every record. */
export const CREATED_AT = 'svc_created_at'
export const UPDATED_AT = 'svc_updated_at'
/** The user whose key created the record. */
export const CREATED_BY = 'svc_created_by'
/** A private record is visible to its creator and to keys of reach org. */
export const PRIVATE = 'svc_private'

type Traits = { multi?: true; unique?: true; options?: readonly string[]; description?: string } & {
  writability?: PropertyWire['writability']
}

function labelOf(name: string): string {
  const words = name.replace(/^svc_/, '').replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

function property(name: string, fieldName: string, traits: Traits = {}): Property {
  const field = FIELD_TYPES.get(fieldName)!
  const options: SelectOption[] = (traits.options ?? []).map((value) => ({
    value,
    label: labelOf(value),
    description: '',
  }))
  const allowed = new Set(traits.options)
  const one: FieldType['parse'] = traits.options
    ? (raw) => (typeof raw === 'string' && allowed.has(raw) ? raw : undefined)
    : field.parse
  const expected = traits.options ? `one of ${traits.options.join(', ')}` : field.expected
  return {
    name,
    field,
    expected: traits.multi ? `a list, each value ${expected}` : expected,
    parse: traits.multi ? (raw) => parseList(raw, one) : (raw) => (raw === null ? null : one(raw)),
    wire: {
      name,
      label: labelOf(name),
      field_type: fieldName,
      writability: traits.writability ?? 'writable',
      operators: field.wire.operators,
      is_multi: traits.multi === true,
      is_unique: traits.unique === true,
      options,
      description: traits.description ?? '',
      default_value: null,
    },
  }
}

/** An empty list is "no value", as null is. */
function parseList(raw: unknown, one: FieldType['parse']): Value | undefined {
  if (raw === null) return null
  if (!Array.isArray(raw)) return undefined
  const values: Scalar[] = []
  for (const item of raw) {
    const value = one(item)
    if (value === undefined) return undefined
    values.push(value)
  }
  return values.length === 0 ? null : values
}

const FULL: WritableOperation[] = ['create', 'update', 'delete', 'associate']

function objectType(
  name: string,
  plural: string,
  own: readonly Property[],
  facts: Partial<Pick<ObjectSummary, 'writable_operations' | 'is_system' | 'icon'>> = {},
): ObjectType {
  const writable_operations = facts.writable_operations ?? FULL
  const list = [
    ...own,
    property(CREATED_AT, 'datetime', { writability: 'read_only' }),
    property(UPDATED_AT, 'datetime', { writability: 'read_only' }),
    property(CREATED_BY, 'user', { writability: 'read_only' }),
    property(
      PRIVATE,
      'boolean',
      writable_operations.includes('update') ? {} : { writability: 'read_only' },
    ),
  ]
  const summary: ObjectSummary = {
    name,
    label: labelOf(name),
    label_plural: plural,
    kinds: [labelOf(name).toLowerCase()],
    is_system: facts.is_system ?? true,
    allows_custom_properties: writable_operations.length === FULL.length,
    writable_operations,
    description: '',
    icon: facts.icon ?? '',
  }
  return {
    name,
    summary,
    schema: { ...summary, properties: list.map((item) => item.wire) },
    properties: new Map(list.map((item) => [item.name, item])),
    unique: list.filter((item) => item.wire.is_unique),
  }
}

const externalId = () =>
  property('svc_external_id', 'text', {
    unique: true,
    description: 'Identifier of the record in the system it comes from.',
  })
const source = () =>
  property('svc_source', 'text', {
    writability: 'create_only',
    description: 'Where the record came from; set once.',
  })
const tags = () =>
  property('svc_tags', 'multi_select', {
    multi: true,
    options: ['customer', 'partner', 'press', 'vip', 'newsletter', 'event'],
  })

/** Every object type of an org, by name. */
export const OBJECT_TYPES: ReadonlyMap<string, ObjectType> = new Map(
  [
    objectType('svc_contact', 'Contacts', [
      externalId(),
      property('svc_first_name', 'text'),
      property('svc_last_name', 'text'),
      property('svc_job_title', 'text'),
      property('svc_email', 'email', { multi: true }),
      property('svc_phone', 'phone', { multi: true }),
      property('svc_website', 'url'),
      property('svc_notes', 'long_text'),
      property('svc_score', 'number'),
      property('svc_birthday', 'date'),
      property('svc_last_contacted_at', 'datetime'),
      property('svc_lifecycle_stage', 'select', {
        options: ['subscriber', 'lead', 'opportunity', 'customer', 'former'],
      }),
      tags(),
      property('svc_lifetime_value', 'currency'),
      property('svc_subscribed', 'boolean'),
      property('svc_owner', 'user'),
      source(),
    ]),
    objectType('svc_company', 'Companies', [
      externalId(),
      property('svc_name', 'text'),
      property('svc_domain', 'text', { unique: true }),
      property('svc_email', 'email', { multi: true }),
      property('svc_phone', 'phone', { multi: true }),
      property('svc_website', 'url'),
      property('svc_notes', 'long_text'),
      property('svc_score', 'number'),
      property('svc_founded_on', 'date'),
      property('svc_last_contacted_at', 'datetime'),
      property('svc_lifecycle_stage', 'select', { options: ['prospect', 'customer', 'former'] }),
      tags(),
      property('svc_annual_revenue', 'currency'),
      property('svc_subscribed', 'boolean'),
      property('svc_owner', 'user'),
      source(),
    ]),
    objectType('svc_deal', 'Deals', [
      externalId(),
      property('svc_name', 'text'),
      property('svc_email', 'email', { multi: true }),
      property('svc_phone', 'phone', { multi: true }),
      property('svc_website', 'url'),
      property('svc_notes', 'long_text'),
      property('svc_score', 'number'),
      property('svc_close_date', 'date'),
      property('svc_last_contacted_at', 'datetime'),
      property('svc_stage', 'select', { options: ['new', 'qualified', 'offer', 'won', 'lost'] }),
      tags(),
      property('svc_deal_value', 'currency'),
      property('svc_subscribed', 'boolean'),
      property('svc_owner', 'user'),
      source(),
    ]),
    objectType('svc_meeting', 'Meetings', [property('svc_title', 'text')], {
      writable_operations: ['associate'],
    }),
    objectType('svc_risk', 'Risks', [property('svc_title', 'text')], { writable_operations: [] }),
    objectType(
      'project',
      'Projects',
      [
        property('code', 'text', { unique: true }),
        property('name', 'text'),
        property('budget', 'currency'),
        property('due_on', 'date'),
      ],
      { is_system: false },
    ),
  ].map((type) => [type.name, type]),
)
