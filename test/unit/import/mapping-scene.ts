// An object type with a property of each field type, and imports into it, for tests of mappings.

import type { PropertyWire } from '../../../src/contract/index.ts'
import type { ImportConfig, PropertyMapping } from '../../../config/index.ts'
import type { Target } from '../../../src/import/mapping/target.ts'

const fieldType = (name: string, value_type: string) => ({
  name,
  label: name,
  value_type,
  operators: [],
  aggregations: [],
  sortable: false,
  units: [],
  description: '',
})

const property = (name: string, field_type: string, more: Partial<PropertyWire> = {}) => ({
  name,
  label: name,
  field_type,
  writability: 'writable' as const,
  operators: [],
  is_multi: false,
  is_unique: false,
  options: [],
  description: '',
  default_value: null,
  ...more,
})

export const contactsTarget: Target = {
  self: { org_id: 1, reach: 'org' },
  schema: {
    name: 'svc_contact',
    label: 'Contact',
    label_plural: 'Contacts',
    kinds: [],
    is_system: true,
    allows_custom_properties: true,
    writable_operations: ['create', 'update', 'delete'],
    description: '',
    icon: '',
    properties: [
      property('id', 'text', { is_unique: true }),
      property('text', 'text'),
      property('note', 'long_text'),
      property('email', 'email'),
      property('url', 'url'),
      property('day', 'date'),
      property('at', 'datetime'),
      property('tags', 'text', { is_multi: true }),
      property('number', 'number'),
      property('phone', 'phone'),
      property('mobiles', 'phone', { is_multi: true }),
      property('value', 'currency'),
      property('flag', 'boolean'),
      property('stage', 'select', {
        options: [
          { value: 'won', label: 'Closed won', description: '' },
          { value: 'lost', label: 'Closed lost', description: '' },
        ],
      }),
    ],
  },
  fieldTypes: [
    fieldType('number', 'number'),
    fieldType('currency', 'object'),
    fieldType('boolean', 'boolean'),
  ],
}

export const importOf = (properties: Record<string, PropertyMapping>): ImportConfig => ({
  from: { csv: '/contacts.csv' },
  to: 'crm',
  object_type: 'svc_contact',
  matching_property: 'id',
  mode: 'upsert',
  empty: 'omit',
  verify: 'none',
  properties: { id: { column: 'id' }, ...properties },
})
