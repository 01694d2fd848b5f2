// The object types and association types that every org begins with (section 5), and one custom type as an example.

import type { AssociationWire, Cardinality, WritableOperation } from '../../contract/index.ts'
import { compileType, type ObjectType, type TypeDefinition } from './object-types.ts'
import type { PropertyDefinition } from './properties.ts'

type Traits = Omit<PropertyDefinition, 'name' | 'field_type'>

const of = (name: string, field_type: string, traits: Traits = {}): PropertyDefinition => ({
  name: `svc_${name}`,
  field_type,
  ...traits,
})
const choice = (name: string, ...options: string[]) => of(name, 'select', { options })

const system = (
  name: string,
  label_plural: string,
  properties: readonly PropertyDefinition[],
  writable_operations?: readonly WritableOperation[],
): TypeDefinition => ({
  name: `svc_${name}`,
  label_plural,
  is_system: true,
  writable_operations,
  properties,
})

const externalId = of('external_id', 'text', {
  is_unique: true,
  description: 'Identifier of the record in the system it comes from.',
})
const source = of('source', 'text', {
  writability: 'create_only',
  description: 'Where the record came from; set once.',
})
const tags = of('tags', 'multi_select', {
  is_multi: true,
  options: ['customer', 'partner', 'press', 'vip', 'newsletter', 'event'],
})
const many = { is_multi: true }
const reachable = [
  of('email', 'email', many),
  of('phone', 'phone', many),
  of('website', 'url'),
  of('notes', 'long_text'),
  of('score', 'number'),
]
const owned = [of('subscribed', 'boolean'), of('owner', 'user'), source]
const conversation = [
  externalId,
  of('title', 'text'),
  of('body', 'long_text'),
  of('participants', 'text', many),
  of('started_at', 'datetime'),
  of('message_count', 'number'),
  of('owner', 'user'),
]
const nothing: WritableOperation[] = []

const DEFINITIONS: readonly TypeDefinition[] = [
  system('contact', 'Contacts', [
    externalId,
    of('first_name', 'text'),
    of('last_name', 'text'),
    of('job_title', 'text'),
    ...reachable,
    of('birthday', 'date'),
    of('last_contacted_at', 'datetime'),
    choice('lifecycle_stage', 'subscriber', 'lead', 'opportunity', 'customer', 'former'),
    tags,
    of('lifetime_value', 'currency'),
    ...owned,
  ]),
  system('company', 'Companies', [
    externalId,
    of('name', 'text'),
    of('domain', 'text', { is_unique: true }),
    ...reachable,
    of('founded_on', 'date'),
    of('last_contacted_at', 'datetime'),
    choice('lifecycle_stage', 'prospect', 'customer', 'former'),
    tags,
    of('annual_revenue', 'currency'),
    ...owned,
  ]),
  system('deal', 'Deals', [
    externalId,
    of('name', 'text'),
    ...reachable,
    of('close_date', 'date'),
    of('last_contacted_at', 'datetime'),
    choice('stage', 'new', 'qualified', 'offer', 'won', 'lost'),
    tags,
    of('deal_value', 'currency'),
    ...owned,
  ]),
  system('note', 'Notes', [
    externalId,
    of('title', 'text'),
    of('body', 'long_text'),
    of('pinned', 'boolean', { default_value: false }),
    of('owner', 'user'),
  ]),
  system('task', 'Tasks', [
    externalId,
    of('title', 'text'),
    of('body', 'long_text'),
    of('status', 'select', { options: ['open', 'waiting', 'done'], default_value: 'open' }),
    choice('priority', 'low', 'normal', 'high'),
    of('due_on', 'date'),
    of('completed_at', 'datetime'),
    of('owner', 'user'),
  ]),
  {
    ...system('linkedin_conversation', 'LinkedIn conversations', conversation),
    label: 'LinkedIn conversation',
  },
  {
    ...system('sms_conversation', 'SMS conversations', [...conversation, of('phone', 'phone')]),
    label: 'SMS conversation',
  },
  system('call', 'Calls', [
    externalId,
    of('title', 'text'),
    choice('direction', 'inbound', 'outbound'),
    of('phone', 'phone'),
    of('started_at', 'datetime'),
    of('duration_seconds', 'number'),
    of('recording_url', 'url'),
    of('notes', 'long_text'),
    of('owner', 'user'),
  ]),
  system(
    'meeting',
    'Meetings',
    [
      of('title', 'text'),
      of('starts_at', 'datetime'),
      of('ends_at', 'datetime'),
      of('location', 'text'),
      of('attendees', 'email', many),
      of('owner', 'user'),
    ],
    ['associate'],
  ),
  system(
    'meeting_notes',
    'Meeting notes',
    [of('title', 'text'), of('body', 'long_text'), of('taken_at', 'datetime')],
    nothing,
  ),
  system(
    'booking',
    'Bookings',
    [
      of('title', 'text'),
      of('email', 'email'),
      of('starts_at', 'datetime'),
      choice('status', 'booked', 'cancelled', 'attended'),
    ],
    nothing,
  ),
  system(
    'email_thread',
    'Email threads',
    [
      of('subject', 'text'),
      of('participants', 'email', many),
      of('last_message_at', 'datetime'),
      of('message_count', 'number'),
    ],
    nothing,
  ),
  system(
    'file',
    'Files',
    [of('name', 'text'), of('media_type', 'text'), of('size_bytes', 'number'), of('url', 'url')],
    nothing,
  ),
  system(
    'web_visit',
    'Web visits',
    [
      of('url', 'url'),
      of('referrer', 'url'),
      of('visited_at', 'datetime'),
      of('seconds', 'number'),
    ],
    nothing,
  ),
  system(
    'web_visitor',
    'Web visitors',
    [of('company_name', 'text'), of('first_seen_at', 'datetime'), of('visit_count', 'number')],
    nothing,
  ),
  system(
    'risk',
    'Risks',
    [of('title', 'text'), choice('level', 'low', 'medium', 'high'), of('found_at', 'datetime')],
    nothing,
  ),
  {
    name: 'project',
    label_plural: 'Projects',
    is_system: false,
    properties: [
      { name: 'code', field_type: 'text', is_unique: true },
      { name: 'name', field_type: 'text' },
      { name: 'budget', field_type: 'currency' },
      { name: 'due_on', field_type: 'date' },
    ],
  },
]

export const SYSTEM_TYPES: ReadonlyMap<string, ObjectType> = new Map(
  DEFINITIONS.map((definition) => [definition.name, compileType(definition)]),
)

const link = (
  source: string,
  target: string,
  cardinality: Cardinality,
  label: string,
  name = `${source}_${target}`,
): AssociationWire => ({
  name: `svc_${name}`,
  label,
  source: `svc_${source}`,
  target: `svc_${target}`,
  cardinality,
  description: '',
})

const activities = ['note', 'task', 'call', 'meeting', 'linkedin_conversation', 'sms_conversation']

/** Association types by name; each goes from its source to its target. */
export const SYSTEM_ASSOCIATIONS: ReadonlyMap<string, AssociationWire> = new Map(
  [
    link('contact', 'company', 'many_to_one', 'Company'),
    link('deal', 'contact', 'many_to_many', 'Contacts'),
    link('deal', 'company', 'many_to_one', 'Company'),
    link('company', 'company', 'many_to_one', 'Parent company', 'company_parent'),
    link('deal', 'note', 'one_to_one', 'Summary', 'deal_summary'),
    ...activities.flatMap((activity) => [
      link(activity, 'contact', 'many_to_many', 'Contacts'),
      link(activity, 'company', 'many_to_many', 'Companies'),
      link(activity, 'deal', 'many_to_many', 'Deals'),
    ]),
  ].map((type) => [type.name, type]),
)
