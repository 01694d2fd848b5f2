// The object types of an org, and who may use them.

import type { Kind } from './kinds.ts'
import type { Naming } from './habits.ts'

export interface PropertyDef {
  readonly name: string
  readonly kind: Kind
  readonly multi?: boolean
  readonly unique?: boolean
  readonly writability?: 'writable' | 'create_only' | 'read_only'
  readonly options?: readonly string[]
}

export interface TypeDef {
  readonly name: string
  readonly properties: readonly PropertyDef[]
  /** Default: all four. */
  readonly writable?: readonly string[]
  readonly isSystem?: boolean
}

export interface AssociationDef {
  readonly name: string
  readonly source: string
  readonly target: string
  readonly cardinality: 'one_to_one' | 'one_to_many' | 'many_to_one' | 'many_to_many'
}

export interface Key {
  readonly key: string
  readonly org: number
  readonly reach: 'user' | 'org'
  /** By type; a type without an entry is neither seen nor written. Null: everything. */
  grants: Readonly<Record<string, 'read' | 'write'>> | null
  /** Types that the key does not see any more, whatever its grants. */
  readonly hidden: Set<string>
}

export const WRITABLE = ['create', 'update', 'delete', 'associate']

/** What every type has of the service's own. */
export const systemProperties = ({ prefix }: Pick<Naming, 'prefix'>): readonly PropertyDef[] => [
  { name: `${prefix}created_at`, kind: 'datetime', writability: 'read_only' },
  { name: `${prefix}updated_at`, kind: 'datetime', writability: 'read_only' },
]

/** A CRM such as it is delivered. */
export function usualTypes({ prefix }: Pick<Naming, 'prefix'>): readonly TypeDef[] {
  const own = (name: string) => `${prefix}${name}`
  return [
    {
      name: own('contact'),
      isSystem: true,
      properties: [
        { name: own('external_id'), kind: 'text', unique: true },
        { name: own('email'), kind: 'email', multi: true, unique: true },
        { name: own('first_name'), kind: 'text' },
        { name: own('last_name'), kind: 'text' },
        { name: own('score'), kind: 'number' },
        { name: own('visits'), kind: 'integer' },
        { name: own('subscribed'), kind: 'boolean' },
        { name: own('birth_date'), kind: 'date' },
        { name: own('last_seen'), kind: 'datetime' },
        { name: own('revenue'), kind: 'currency' },
        { name: own('stage'), kind: 'select', options: ['new', 'open', 'won', 'lost'] },
        { name: own('tags'), kind: 'select', multi: true, options: ['red', 'green', 'blue'] },
        { name: own('homepage'), kind: 'url' },
        { name: own('source'), kind: 'text', writability: 'create_only' },
        { name: own('extra'), kind: 'json' },
        { name: 'contact_mail', kind: 'email' },
        { name: 'note', kind: 'text' },
      ],
    },
    {
      name: own('company'),
      isSystem: true,
      properties: [
        { name: own('domain'), kind: 'text', unique: true },
        { name: own('name'), kind: 'text' },
        { name: own('employees'), kind: 'number' },
      ],
    },
    {
      name: 'thing',
      properties: [
        { name: 'code', kind: 'text', unique: true },
        { name: 'weight', kind: 'number' },
      ],
    },
    {
      name: own('meeting'),
      isSystem: true,
      writable: ['associate'],
      properties: [{ name: own('title'), kind: 'text' }],
    },
    {
      name: own('file'),
      isSystem: true,
      writable: [],
      properties: [{ name: own('title'), kind: 'text' }],
    },
  ]
}

export const usualAssociations = ({
  prefix,
}: Pick<Naming, 'prefix'>): readonly AssociationDef[] => [
  {
    name: `${prefix}contact_company`,
    source: `${prefix}contact`,
    target: `${prefix}company`,
    cardinality: 'many_to_one',
  },
  {
    name: 'contact_thing',
    source: `${prefix}contact`,
    target: 'thing',
    cardinality: 'many_to_many',
  },
]
