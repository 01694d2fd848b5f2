// `describe` against the real service, and against one with other paths: object types, and the properties of one.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, afterAll, expect, onTestFinished, test } from 'vitest'
import type { FieldTypeWire, ObjectSchema, PropertyWire } from '../../../src/contract/index.ts'
import {
  describe as describeCommand,
  type DescribeOptions,
} from '../../../src/cli/commands/describe.ts'
import { printProperties, type DescribedConnection } from '../../../src/cli/views/object-types.ts'
import { startService, type RunningService } from '../../../src/service/index.ts'
import { fixture, startVariant } from '../client/variant-service.ts'
import { said, type Said } from './said.ts'

let service: RunningService
beforeAll(async () => {
  service = await startService({ limitPerMinute: 6_000 })
})
afterAll(() => service.close())

/** A project with these connections, by name: the address of each. */
function project(urls: Readonly<Record<string, string>>, key = service.key): string {
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-describe-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  writeFileSync(join(dir, 'key'), key, { mode: 0o600 })
  const config = join(dir, 'records-sync.yaml')
  const connections = Object.entries(urls)
    .map(([name, url]) => `  ${name}: { service: "${url}", key: { file: ./key } }\n`)
    .join('')
  writeFileSync(config, `connections:\n${connections}syncs: {}\n`)
  return config
}

const described = (config: string, names: readonly string[] = [], json = false) =>
  said(config, (context) => describeCommand(context, names[0], names[1]), json)

test('object types, with what they accept and what the key may do', async () => {
  const { code, out, err } = await described(project({ crm: service.url }))
  expect({ code, err }).toEqual({ code: 0, err: [] })
  expect(out[0]).toMatch(/^crm: http:\/\/127\.0\.0\.1:\d+, org \d+, key#[0-9a-f]{12}, reach org$/)
  const line = (type: string) => out.find((one) => one.startsWith(`${type} `))!.split(/ {2,}/)
  expect(line('svc_contact')).toEqual(['svc_contact', 'Contact', 'all writes', 'read, write'])
  expect(line('svc_meeting')).toEqual(['svc_meeting', 'Meeting', 'associate', 'read, write'])
  expect(line('svc_file')).toEqual(['svc_file', 'File', 'no writes', 'read, write'])
  expect(out.at(-1)).toMatch(/^The properties of one: records-sync -c .* describe crm TYPE$/)
})

test('properties, with type, rules and an example of a cell', async () => {
  const config = project({ crm: service.url })
  const { code, out, err } = await described(config, ['crm', 'svc_contact'])
  expect({ code, err }).toEqual({ code: 0, err: [] })
  expect(out[1]).toBe('svc_contact (Contact): all writes; your key: read, write')
  const line = (name: string) => out.find((one) => one.startsWith(`${name} `))
  expect(out.slice(3, 5).map((one) => one.split(/ {2,}/))).toEqual([
    ['property', 'label', 'type', 'rules', 'cells such as'],
    expect.any(Array),
  ])
  expect(line('svc_external_id')).toMatch(/ External id +text +unique +a text$/i)
  expect(line('svc_email')).toMatch(/ list of email +name@example\.com$/)
  expect(line('svc_source')).toMatch(/ text +set once +a text$/)
  expect(line('svc_birthday')).toMatch(/ date +2026-01-31$/)
  expect(line('svc_lifecycle_stage')).toMatch(
    / select +subscriber, lead, opportunity, customer, former$/,
  )
  expect(line('svc_created_at')).toMatch(/ datetime +read-only$/)
  const links = out.slice(out.findIndex((one) => one.startsWith('Associations: '))).join(' ')
  expect(links).toContain('svc_contact_company (to svc_company)')
  expect(links).toContain('svc_deal_contact (from svc_deal)')
})

test('JSON has all that the service says of them', async () => {
  const config = project({ crm: service.url })
  const types = await described(config, ['crm'], true)
  const { connections } = JSON.parse(types.out.join('\n')) as {
    connections: { connection: string; object_types: { name: string }[] }[]
  }
  expect(connections.map(({ connection }) => connection)).toEqual(['crm'])
  expect(connections[0]!.object_types.find(({ name }) => name === 'svc_contact')).toMatchObject({
    label: 'Contact',
    writable_operations: ['create', 'update', 'delete', 'associate'],
    key: { read: true, write: true },
  })
  const one = await described(config, ['crm', 'svc_contact'], true)
  const type = JSON.parse(one.out.join('\n')) as { properties: { name: string }[] }
  expect(type).toMatchObject({ connection: 'crm', object_type: { name: 'svc_contact' } })
  const property = (name: string) => type.properties.find((found) => found.name === name)
  expect(property('svc_lifecycle_stage')).toMatchObject({
    field_type: 'select',
    value_type: 'string',
    is_multi: false,
    is_unique: false,
    required: null,
    writability: 'writable',
    options: expect.arrayContaining([{ value: 'lead', label: expect.any(String) }]),
    example: 'subscriber',
  })
  expect(property('svc_lifetime_value')).toMatchObject({
    units: expect.arrayContaining(['EUR']),
    example: '1234.50',
  })
})

test('names that are not there: what was probably meant', async () => {
  const config = project({ crm: service.url, other: 'http://127.0.0.1:9' })
  const connection = await described(config, ['crn'])
  expect(connection.code).toBe(2)
  expect(connection.err.join()).toContain(
    'there is no connection "crn"; did you mean `crm`?; there is: crm, other',
  )
  const type = await described(config, ['crm', 'svc_contacts'])
  expect(type.code).toBe(2)
  expect(type.err.join()).toContain('TYPE: crm has no object type "svc_contacts"')
  expect(type.err.join()).toContain('did you mean `svc_contact`?')
  const none = await described(config, ['crm', 'zzz'])
  expect(none.err.join()).toContain('object types: `project`, `svc_booking`')
})

test('a name alone that is nearly that of the only connection is taken for it', async () => {
  const { code, err } = await described(project({ crm: service.url }), ['crmm'])
  expect(code).toBe(2)
  expect(err.join()).toContain('did you mean the connection `crm`?')
})

test('of one connection alone, a type needs no connection; of several, one that is away does not hide the others', async () => {
  const alone = await described(project({ crm: service.url }), ['svc_company'])
  expect([alone.code, alone.out[1]]).toEqual([
    0,
    'svc_company (Company): all writes; your key: read, write',
  ])
  const both = await described(project({ away: 'http://127.0.0.1:9', crm: service.url }))
  expect(both.code).toBe(3)
  expect(both.err.join()).toMatch(/^connection away: .*connection refused by 127\.0\.0\.1:9/)
  expect(both.out.some((line) => line.startsWith('svc_contact '))).toBe(true)
})

test.each([
  ['below-type', '/crm/v3', '/me', '/schemas', '/field-types', '/associations'],
  // Without a list of associations.
  ['generated', '/api/rest/v1', '/self', '/objects', '/field_types', null],
] as const)(
  'a service with other paths is described by its document: %s',
  async (name, base, self, types, fieldTypes, associations) => {
    const variant = await startVariant({
      document: fixture(name),
      prefix: 'acme_',
      rules: {
        [`GET ${base}${self}`]: () => ['GET /self/'],
        [`GET ${base}${types}`]: () => ['GET /objects/'],
        [`GET ${base}${types}/*`]: ({ params: [type] }) => [`GET /objects/${type}/`],
        [`GET ${base}${fieldTypes}`]: () => ['GET /field_types/'],
        ...(associations && { [`GET ${base}${associations}`]: () => ['GET /associations/'] }),
      },
    })
    const config = project({ crm: variant.url }, variant.service.key)
    const { code, out, err } = await described(config, ['crm', 'acme_contact'])
    expect({ code, err }).toEqual({ code: 0, err: [] })
    expect(out.some((line) => line.startsWith('acme_email '))).toBe(true)
    expect(out.some((line) => line.startsWith('Associations: '))).toBe(associations !== null)
  },
)

test('80 columns: a label that says more than the name stands with the example, and control characters nowhere', () => {
  const out: string[] = []
  const property = (name: string, label: string, more: Partial<PropertyWire> = {}) => ({
    name,
    label,
    field_type: 'text',
    writability: 'writable' as const,
    operators: [],
    is_multi: false,
    is_unique: false,
    options: [],
    description: '',
    default_value: null,
    ...more,
  })
  const schema: ObjectSchema = {
    name: 'person',
    label: 'Person',
    label_plural: 'People',
    kinds: [],
    is_system: false,
    allows_custom_properties: true,
    writable_operations: ['create', 'update'],
    description: '',
    icon: '',
    properties: [
      property('first_name', 'First name'),
      property('x17', 'Customer\u001b[31m number', { is_unique: true, is_required: true }),
    ],
  }
  const connection: DescribedConnection = {
    name: 'crm',
    origin: 'http://h',
    keyFingerprint: '0',
    self: { org_id: 1, reach: 'org' },
    types: [],
  }
  printProperties(
    {
      out: (line = '') => void out.push(...line.split('\n')),
      err: () => {},
      live: () => {},
      endLive: () => {},
      style: (_, text) => text,
    },
    connection,
    { schema, fieldTypes: new Map<string, FieldTypeWire>(), associations: [] },
    80,
  )
  expect(out).toEqual([
    'crm: http://h, org 1, key#0, reach org',
    'person (Person): create, update',
    '',
    'property    type  rules             cells such as',
    '──────────  ────  ────────────────  ─────────────────────────────',
    'first_name  text                    a text',
    'x17         text  unique, required  “Customer [31m number” a text',
  ])
})

test('a service of the command line needs no configuration', async () => {
  const config = project({})
  const dir = config.slice(0, -'records-sync.yaml'.length)
  rmSync(config)
  const place = { service: `${service.url}/rest/v1/`, key: `file:${dir}key` }
  const at = (type?: string, more?: string, options: DescribeOptions = place, json = false) =>
    said(config, (context) => describeCommand(context, type, more, options), json)
  const types = await at()
  expect({ code: types.code, err: types.err }).toEqual({ code: 0, err: [] })
  expect(types.out[0]).toMatch(/^service: http:\/\/127\.0\.0\.1:\d+, org \d+/)
  const one = await at('svc_company')
  expect(one.out.some((line) => line.startsWith('svc_domain '))).toBe(true)
  const json = await at('svc_company', undefined, place, true)
  expect(JSON.parse(json.out.join(''))).toMatchObject({ service: service.url })
  const refused: [Promise<Said>, string][] = [
    [at('svc_compani'), 'did you mean `svc_company`?'],
    [at('svc_company', 'svc_deal'), 'expected one name at most'],
    [at(undefined, undefined, { key: 'file:x' }), 'expected --service as well'],
    [at(undefined, undefined, { ...place, key: service.key }), 'expected file:PATH'],
    [at(undefined, undefined, { ...place, service: 'http://127.0.0.1:9' }), 'connection refused'],
  ]
  for (const [answer, words] of refused) {
    const { code, out, err } = await answer
    expect(code).toBeGreaterThan(1)
    expect([...out, ...err].join(' ')).toContain(words)
    expect([...out, ...err].join(' ')).not.toContain(service.key)
  }
})
