// Which property tells when a record was changed last, and when it was made.

import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { RecordsClient } from '../../../src/client/index.ts'
import {
  allFilter,
  creationProperty,
  modificationProperty,
  spanFilter,
  type FilterNode,
  type ObjectSchema,
  type PropertyWire,
} from '../../../src/contract/index.ts'
import { SyncError } from '../../../src/core/errors.ts'
import { startService } from '../../../src/service/index.ts'

const property = (name: string, change: Partial<PropertyWire> = {}): PropertyWire => ({
  name,
  label: name,
  field_type: 'datetime',
  writability: 'read_only',
  operators: ['eq', 'gt', 'gte', 'lt', 'lte'],
  is_multi: false,
  is_unique: false,
  options: [],
  description: '',
  default_value: null,
  ...change,
})
const schema = (...properties: readonly PropertyWire[]): ObjectSchema => ({
  name: 'svc_contact',
  label: 'Contact',
  label_plural: 'Contacts',
  kinds: [],
  is_system: true,
  allows_custom_properties: true,
  writable_operations: [],
  description: '',
  icon: '',
  properties: [...properties],
})
const nameOf = (found: PropertyWire | null) => found?.name ?? null
const refusal = (of: ObjectSchema, configured: string) => {
  try {
    modificationProperty(of, configured)
  } catch (error) {
    if (error instanceof SyncError && error.code === 'mirror_property') return error.message
  }
  throw new Error('expected a SyncError mirror_property')
}

test('the service has both on every type', async () => {
  const service = await startService()
  onTestFinished(() => service.close())
  const client = new RecordsClient({ baseUrl: service.url, key: service.key })
  onTestFinished(() => client.close())
  for (const { name } of await client.listObjectTypes()) {
    const type = await client.readObjectType(name)
    expect(nameOf(modificationProperty(type))).toBe('svc_updated_at')
    expect(nameOf(creationProperty(type))).toBe('svc_created_at')
  }
})

test.each([
  'updated_at',
  'svc_modified_at',
  'hs_last_modified_at',
  'sys_last_modified_date',
  'modified_date',
  'svc_updated',
  'hs_modified',
])('%s is known by its name', (name) => {
  expect(nameOf(modificationProperty(schema(property('a'), property(name))))).toBe(name)
  expect(creationProperty(schema(property(name)))).toBeNull()
})

test.each(['created_at', 'svc_created_date', 'hs_create_date', 'sys_created'])(
  '%s tells the creation',
  (name) => {
    expect(nameOf(creationProperty(schema(property('a'), property(name))))).toBe(name)
    expect(modificationProperty(schema(property(name)))).toBeNull()
  },
)

test('of several the likeliest is taken, whatever their order', () => {
  const names = ['hs_modified', 'svc_updated_at', 'sys_modified_date', 'updated']
  fc.assert(
    fc.property(fc.shuffledSubarray(names, { minLength: names.length }), (order) => {
      const found = modificationProperty(schema(...order.map((name) => property(name))))
      expect(nameOf(found)).toBe('svc_updated_at')
    }),
  )
})

test.each([
  ['of another field type', { field_type: 'date' }],
  ['that people write', { writability: 'writable' }],
  ['that is set once by people', { writability: 'create_only' }],
  ['without gte', { operators: ['eq', 'lt'] }],
  ['without lt', { operators: ['eq', 'gte'] }],
  ['that holds several', { is_multi: true }],
] as const)('one %s is left alone, and the next one taken', (_, change) => {
  const bad = property('svc_updated_at', change as Partial<PropertyWire>)
  expect(modificationProperty(schema(bad))).toBeNull()
  expect(nameOf(modificationProperty(schema(bad, property('svc_modified'))))).toBe('svc_modified')
})

test.each(['acme_updated_at', 'x9_modified', 'last_updated_at', 'ACME_updated_at'])(
  '%s is known by any prefix',
  (name) => {
    expect(nameOf(modificationProperty(schema(property('a'), property(name))))).toBe(name)
  },
)

test("the service's own prefix goes before others, and no other is guessed among several", () => {
  const acme = (...names: string[]) => ({
    ...schema(...names.map((name) => property(name))),
    name: 'acme_contact',
  })
  expect(nameOf(modificationProperty(acme('order_updated_at', 'acme_name', 'acme_modified')))).toBe(
    'acme_modified',
  )
  const bare = { ...acme('order_updated_at', 'acme_updated_at', 'acme_name'), name: 'contact' }
  expect(nameOf(modificationProperty(bare))).toBe('acme_updated_at')
  expect(modificationProperty(acme('order_updated_at', 'visit_updated_at'))).toBeNull()
  expect(nameOf(creationProperty(acme('acme_created_at', 'order_created_at')))).toBe(
    'acme_created_at',
  )
})

test.each(['timestamp', 'date_time', 'DateTime', 'timestamptz'])(
  'a field type may be called %s',
  (field_type) => {
    const found = modificationProperty(schema(property('acme_updated_at', { field_type })))
    expect(nameOf(found)).toBe('acme_updated_at')
  },
)

test.each(['svc_svc_updated_at', 'updated_at_2', 'updated_svc_at'])('%s is not known', (name) => {
  expect(modificationProperty(schema(property(name)))).toBeNull()
})

test('the configured one goes before the known, and people may write it', () => {
  const touched = property('touched', { writability: 'writable' })
  const type = schema(property('svc_updated_at'), touched)
  expect(nameOf(modificationProperty(type, 'touched'))).toBe('touched')
})

test('a configured one that cannot be is told why, and which could', () => {
  const type = schema(
    property('svc_updated_at'),
    property('touched', { writability: 'writable' }),
    property('day', { field_type: 'date' }),
    property('both', { is_multi: true }),
    property('blind', { operators: ['eq'] }),
  )
  const could = 'these would do: svc_updated_at, touched'
  const at = 'modification_property of svc_contact:'
  expect(refusal(type, 'none')).toBe(
    `${at} none does not exist there, or the key cannot read it; expected a datetime; ${could}`,
  )
  expect(refusal(type, 'day')).toBe(
    `${at} day is of field type date; expected a datetime; ${could}`,
  )
  expect(refusal(type, 'both')).toBe(
    `${at} both holds several values; expected one datetime; ${could}`,
  )
  expect(refusal(type, 'blind')).toBe(
    `${at} blind cannot be filtered by gte and lt; expected a datetime that can; ${could}`,
  )
  expect(refusal(schema(property('day', { field_type: 'date' })), 'day')).toContain(
    '; no property of that type would do',
  )
  const many = schema(...Array.from({ length: 25 }, (_, index) => property(`p${index}`)))
  expect(refusal(many, 'none')).toMatch(/p19 and 5 more$/)
})

test('a span of time is asked for with what else is asked for, no deeper than that', () => {
  const leaf: FilterNode = { property: 'a', op: 'eq', value: 1 }
  const [from, to] = spanFilter('t', '2026-01-01T00:00:00.000Z', '2026-02-01T00:00:00.000Z')
  expect(allFilter([from!, to!])).toEqual({
    $and: [
      { property: 't', op: 'gte', value: '2026-01-01T00:00:00.000Z' },
      { property: 't', op: 'lt', value: '2026-02-01T00:00:00.000Z' },
    ],
  })
  expect(spanFilter('t', null, null)).toEqual([])
  expect(allFilter([])).toBeNull()
  expect(allFilter([leaf])).toEqual(leaf)
  expect(allFilter([{ $and: [leaf, { $or: [leaf, leaf] }] }, to!])).toEqual({
    $and: [leaf, { $or: [leaf, leaf] }, to],
  })
  expect(allFilter([{ $or: [leaf, leaf] }, from!])).toEqual({ $and: [{ $or: [leaf, leaf] }, from] })
})
