// The schema file: what it adds to the system's types, and how one that contradicts itself is refused.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ObjectSchema } from '../../../src/contract/index.ts'
import { readSchemaFile } from '../../../src/service/index.ts'
import { expectProblem, startApi } from './api.ts'
import type { Api } from './api.ts'

const example = fileURLToPath(
  new URL('../../../config/examples/service-schema.json', import.meta.url),
)
let dir: string
let api: Api | undefined
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'records-sync-schema-'))
})
afterEach(async () => {
  await api?.service.close()
  api = undefined
  rmSync(dir, { recursive: true })
})

function file(content: unknown): string {
  const path = join(dir, 'schema.json')
  const isWhole = typeof content === 'string' || Buffer.isBuffer(content)
  writeFileSync(path, isWhole ? content : JSON.stringify(content))
  return path
}

describe('the example', () => {
  beforeEach(async () => {
    api = await startApi({ schema: readSchemaFile(example) })
  })

  it('adds a type with everything that a type has', async () => {
    const { body } = await api!.send('GET', '/objects/subscription/')
    const type = ObjectSchema.parse(body.data)
    expect(type).toMatchObject({
      name: 'subscription',
      label: 'Subscription',
      label_plural: 'Subscriptions',
      is_system: false,
      writable_operations: ['create', 'update', 'delete', 'associate'],
    })
    expect(type.properties.map(({ name }) => name)).toEqual([
      'number',
      'plan',
      'monthly_fee',
      'renews_on',
      'svc_created_at',
      'svc_updated_at',
      'svc_created_by',
      'svc_private',
    ])
    expect(type.properties[1]!.default_value).toBe('basic')
  })

  it('has a new record begin with the default, which null clears', async () => {
    const made = await api!.upsert('subscription', 'number', { number: 'S-1' })
    expect(made.body.data.properties).toMatchObject({ number: 'S-1', plan: 'basic' })
    const cleared = await api!.upsert('subscription', 'number', { number: 'S-1', plan: null })
    expect(cleared.body.data.properties.plan).toBe(null)
    const none = await api!.upsert('subscription', 'number', { number: 'S-2', plan: null })
    expect(none.body.data.properties.plan).toBe(null)
  })

  it('adds a property to a system type, which writes and filters obey', async () => {
    const bad = await api!.upsert('svc_contact', 'svc_external_id', {
      svc_external_id: 'A',
      shirt_size: 'XXL',
    })
    expectProblem(bad, 422, 'request_invalid', 'schema_invalid')
    await api!.upsert('svc_contact', 'svc_external_id', { svc_external_id: 'A', shirt_size: 'M' })
    const found = await api!.query('svc_contact', {
      filter: { property: 'shirt_size', op: 'eq', value: 'M' },
    })
    expect(found.body.data).toHaveLength(1)
  })

  it('adds an association and people, whose keys are capped', async () => {
    const { body } = await api!.send('GET', '/associations/')
    expect(body.data.map(({ name }: { name: string }) => name)).toContain('subscription_company')
    const key = api!.service.mintKey({ userId: 'usr_ben' })
    const self = await api!.send('GET', '/self/', { key })
    expect(self.body.data.permissions).toEqual([
      { entity_type: 'svc_contact', read: true, write: true },
      { entity_type: 'svc_company', read: true, write: false },
    ])
  })
})

describe('a file that is read', () => {
  it('may begin with a byte order mark, as some editors write it', () => {
    const types = [{ name: 'visit', label_plural: 'Visits', properties: [] }]
    const schema = readSchemaFile(file(`\uFEFF${JSON.stringify({ types })}`))
    expect(schema.types.has('visit')).toBe(true)
  })

  it('has several values in every property of choices', () => {
    const svc_contact = [{ name: 'a', field_type: 'multi_select', options: ['b', 'c'] }]
    const { types } = readSchemaFile(file({ properties: { svc_contact } }))
    const property = types.get('svc_contact')!.properties.get('a')!
    expect(property.wire.is_multi).toBe(true)
    expect(property.parse(['c', 'b'])).toEqual(['c', 'b'])
  })
})

describe('a file that is refused', () => {
  const wrong: [string, unknown, RegExp][] = [
    [
      'has a comma too many',
      '{\n  "types": [\n    {},\n  ]\n}',
      /schema\.json: line 4, column 3: well-formed JSON was expected$/,
    ],
    ['is empty', '', /schema\.json: line 1, column 1: well-formed JSON was expected$/],
    ['is not UTF-8', Buffer.from('{"types\xff":[]}', 'latin1'), /json: UTF-8 was expected$/],
    [
      'has a name twice',
      '{"properties": {"svc_contact": [{"name": "a", "field_type": "text"}], "svc_contact": []}}',
      /json: \/properties\/svc_contact: this name stands twice in its object$/,
    ],
    [
      'has half a character',
      '{"users": [{"id": "a", "display_name": "A\\ud83d"}]}',
      /json: \/users\/0\/display_name: half of a surrogate pair is no character$/,
    ],
    [
      'is nested without end',
      `{"properties": {"svc_contact": [{"name": "a", "field_type": "text", "default_value": ${'['.repeat(200_000)}${']'.repeat(200_000)}}]}}`,
      /json: at most 100 levels of lists and objects were expected$/,
    ],
    [
      'is too large',
      ' '.repeat(4 * 1_024 * 1_024 + 1),
      /json: at most 4194304 bytes were expected$/,
    ],
    ['has an unknown member', { tables: [] }, /the file: .*tables/],
    [
      'names a type like the system',
      { types: [{ name: 'svc_x', label_plural: 'X', properties: [] }] },
      /\/types\/0\/name: a name that does not begin with svc_ was expected/,
    ],
    [
      'has a type twice',
      {
        types: [
          { name: 'a', label_plural: 'A', properties: [] },
          { name: 'a', label_plural: 'A', properties: [] },
        ],
      },
      /\/types\/1\/name: another type has this name/,
    ],
    [
      'has an unknown field type',
      { properties: { svc_contact: [{ name: 'a', field_type: 'txt' }] } },
      /\/properties\/svc_contact\/0: field_type: one of text, .* was expected/,
    ],
    [
      'has a choice without options',
      { properties: { svc_contact: [{ name: 'a', field_type: 'select' }] } },
      /\/properties\/svc_contact\/0: options: at least one was expected/,
    ],
    [
      'has options where none belong',
      { properties: { svc_contact: [{ name: 'a', field_type: 'text', options: ['b'] }] } },
      /options: none were expected for text/,
    ],
    [
      'has an option twice',
      { properties: { svc_contact: [{ name: 'a', field_type: 'select', options: ['b', 'b'] }] } },
      /options: a value is there twice/,
    ],
    [
      'has an option that is none',
      { properties: { svc_contact: [{ name: 'a', field_type: 'select', options: ['b', 5] }] } },
      /\/svc_contact\/0\/options\/1: a text, or an object of value, label and optionally description was expected$/,
    ],
    [
      'has choices of one',
      {
        properties: {
          svc_contact: [{ name: 'a', field_type: 'multi_select', options: ['b'], is_multi: false }],
        },
      },
      /\/svc_contact\/0: is_multi: true was expected for multi_select$/,
    ],
    [
      'has a default of another field type',
      { properties: { svc_contact: [{ name: 'a', field_type: 'number', default_value: '1' }] } },
      /default_value: a finite number/,
    ],
    [
      'has one value as the default of several',
      {
        properties: {
          svc_contact: [{ name: 'a', field_type: 'text', is_multi: true, default_value: 'b' }],
        },
      },
      /default_value: a list, each value a text was expected/,
    ],
    [
      'has the same unique value for every record',
      {
        properties: {
          svc_contact: [{ name: 'a', field_type: 'text', is_unique: true, default_value: 'b' }],
        },
      },
      /\/svc_contact\/0: default_value: a unique property cannot have one, because a second record would have the same value$/,
    ],
    [
      'adds a property twice',
      {
        properties: {
          svc_contact: [
            { name: 'a', field_type: 'text' },
            { name: 'a', field_type: 'text' },
          ],
        },
      },
      /\/properties\/svc_contact\/1\/name: another property has this name/,
    ],
    [
      'adds a property to a type that takes none',
      { properties: { svc_risk: [{ name: 'a', field_type: 'text' }] } },
      /\/properties\/svc_risk: a system type that allows custom properties was expected/,
    ],
    [
      'links what is not there',
      {
        associations: [
          {
            name: 'a',
            label: 'A',
            source: 'nobody',
            target: 'svc_contact',
            cardinality: 'one_to_one',
          },
        ],
      },
      /\/associations\/0\/source: the name of an object type was expected/,
    ],
    [
      'has the administrator again',
      { users: [{ id: 'usr_admin', display_name: 'A' }] },
      /\/users\/0\/id: another user has this id/,
    ],
    [
      'permits what is not there',
      {
        users: [
          { id: 'a', display_name: 'A', permissions: { nobody: { read: true, write: true } } },
        ],
      },
      /\/users\/0\/permissions\/nobody: the name of an object type was expected/,
    ],
  ]
  it.each(wrong)('%s', (_name, content, message) => {
    expect(() => readSchemaFile(file(content))).toThrow(message)
  })

  it('names every place, up to ten', () => {
    const properties = Array.from({ length: 13 }, (_, n) => ({ name: `p${n}`, field_type: 'none' }))
    const read = () => readSchemaFile(file({ properties: { svc_contact: properties } }))
    expect(read).toThrow(/\/svc_contact\/0: .*\/svc_contact\/9: .*and 3 more/)
  })

  it('keeps its complaints short, and its pointers right', () => {
    const long = 'k'.repeat(10_000)
    const grant = { read: true, write: true }
    const reading = (more: object, permissions: object) => () =>
      readSchemaFile(file({ ...more, users: [{ id: 'a', display_name: 'A', permissions }] }))
    expect(reading({}, { 'a/b~': {} })).toThrow(/\/users\/0\/permissions\/a~1b~0\/read: /)
    expect(reading({}, { [long]: grant })).toThrow(/^.{100,500}: the name of an object type was/)
    expect(reading({ [long]: 1 }, {})).toThrow(/^.{100,500}$/)
  })

  it('is a folder', () => {
    expect(() => readSchemaFile(dir)).toThrow(/: a regular file was expected$/)
  })

  it('is not there', () => {
    expect(() => readSchemaFile(join(dir, 'none.json'))).toThrow(
      /none\.json: it cannot be read \(ENOENT\)/,
    )
  })
})

describe('a schema that changes while others work', () => {
  it('gains a property and loses it again; records keep the rest', async () => {
    api = await startApi({ seedRecords: 3 })
    const names = async () => {
      const { body } = await api!.send('GET', '/objects/svc_contact/')
      return body.data.properties.map(({ name }: { name: string }) => name) as string[]
    }
    const list = async () => (await api!.send('GET', '/objects/svc_contact/records/')).body.data
    const [before, records] = [await names(), await list()]
    api.service.setFaults({ seed: 1, rate: 1, kinds: ['schema_change'] })
    await api.send('GET', '/field_types/')
    api.service.setFaults(null)
    const [added, ...rest] = (await names()).filter((name) => !before.includes(name))
    expect(rest).toEqual([])
    expect((await list())[0].properties).toEqual({ ...records[0].properties, [added!]: null })
    const id = { svc_external_id: 'seed-1' }
    await api.upsert('svc_contact', 'svc_external_id', { ...id, [added!]: 'here' })
    const filter = { property: added, op: 'eq', value: 'here' }
    expect((await api.query('svc_contact', { filter })).body.data).toHaveLength(1)

    api.service.setFaults({ seed: 1, rate: 1, kinds: ['schema_change'] })
    await api.send('GET', '/field_types/')
    api.service.setFaults(null)
    expect(await names()).toEqual(before)
    expectProblem(
      await api.query('svc_contact', { filter }),
      422,
      'request_invalid',
      'unknown_property',
    )
    const again = await api.upsert('svc_contact', 'svc_external_id', { ...id, svc_score: 5 })
    expect(again.body).toMatchObject({ created: false, data: { properties: { svc_score: 5 } } })
    expect(await list()).toHaveLength(3)
  })

  it('is not rehearsed on a data file', async () => {
    const faults = { seed: 1, rate: 1, kinds: ['schema_change' as const] }
    await expect(startApi({ data: join(dir, 'crm.db'), faults })).rejects.toThrow(
      /no schema_change/,
    )
  })
})
