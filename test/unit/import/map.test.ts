// A mapping is compiled once against the schema, and names all that is wrong with it at once; then each row maps whole or
// is invalid with its place and reason.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { FieldTypeWire, PropertyWire, WritableOperation } from '../../../src/contract/index.ts'
import { MappingError } from '../../../src/core/errors.ts'
import type { Json } from '../../../src/core/json.ts'
import { REPORT_VALUE_CHARS_MAX } from '../../../src/core/limits.ts'
import type { ImportConfig, PropertyMapping } from '../../../config/index.ts'
import { compileMapping, textHash } from '../../../src/import/mapping/map.ts'
import type { Target } from '../../../src/import/mapping/target.ts'

const property = (
  name: string,
  field_type: string,
  more: Partial<PropertyWire> = {},
): PropertyWire => ({
  name,
  label: name,
  field_type,
  writability: 'writable',
  operators: [],
  is_multi: false,
  is_unique: false,
  options: [],
  description: '',
  default_value: null,
  ...more,
})
const fieldType = (name: string, value_type: string, units: string[] = []): FieldTypeWire => ({
  name,
  label: name,
  value_type,
  operators: [],
  aggregations: [],
  sortable: false,
  units,
  description: '',
})

const properties = [
  property('svc_external_id', 'text', { is_unique: true }),
  property('svc_name', 'text'),
  property('svc_email', 'email', { is_multi: true }),
  property('svc_age', 'number'),
  property('svc_value', 'currency'),
  property('svc_born', 'date'),
  property('svc_stage', 'select', {
    options: [{ value: 'won', label: 'Closed won', description: '' }],
  }),
  property('svc_created_at', 'datetime', { writability: 'read_only' }),
  property('svc_owner', 'user', { writability: 'create_only' }),
  property('constructor', 'text'),
  property('__proto__', 'text'),
]

function target(
  more: { operations?: WritableOperation[]; permissions?: Target['self']['permissions'] } = {},
): Target {
  return {
    self: {
      org_id: 1,
      reach: 'org',
      ...(more.permissions ? { permissions: more.permissions } : {}),
    },
    schema: {
      name: 'svc_contact',
      label: 'Contact',
      label_plural: 'Contacts',
      kinds: [],
      is_system: true,
      allows_custom_properties: true,
      writable_operations: more.operations ?? ['create', 'update', 'delete'],
      description: '',
      icon: '',
      properties,
    },
    fieldTypes: [fieldType('text', 'string'), fieldType('currency', 'object', ['EUR', 'USD'])],
  }
}

type Mappings = Record<string, PropertyMapping>
function config(mappings: Mappings, more: Partial<ImportConfig> = {}): ImportConfig {
  return {
    from: { csv: '/contacts.csv' },
    to: 'crm',
    object_type: 'svc_contact',
    matching_property: 'svc_external_id',
    mode: 'upsert',
    empty: 'omit',
    verify: 'none',
    properties: mappings,
    ...more,
  }
}

const id = { svc_external_id: { column: 'id' } }
const compile = (mappings: Mappings, columns: string[], more: Partial<ImportConfig> = {}) =>
  compileMapping('contacts', config(mappings, more), target(), columns)

/** Maps one row whose cells are the values of `row`, in the order of its keys. */
function mapRow(mappings: Mappings, row: Record<string, Json>, more: Partial<ImportConfig> = {}) {
  const plan = compile(mappings, Object.keys(row), more)
  return { item: plan.map({ ordinal: 3, line: 4, cells: Object.values(row) }), plan }
}
function sentOf(mappings: Mappings, row: Record<string, Json>, more: Partial<ImportConfig> = {}) {
  const { item } = mapRow(mappings, row, more)
  if (!item.valid) throw new Error(`invalid: ${item.reason} ${item.detail}`)
  return (JSON.parse(item.payload) as { properties: unknown }).properties
}

function problemsOf(work: () => unknown): readonly string[] {
  try {
    work()
  } catch (error) {
    if (error instanceof MappingError) return error.problems
    throw error
  }
  return []
}

describe('compileMapping', () => {
  it('names every problem of a hopeless mapping at once', () => {
    const hopeless: Mappings = {
      svc_nothing: { column: 'id' },
      svc_created_at: { column: 'id' },
      svc_name: { column: 'nme', split: ';' },
      svc_value: { column: 'amount' },
      svc_born: { column: 'id' },
    }
    const permissions = [
      { entity_type: 'svc_company', read: true, write: true },
      { entity_type: 'svc_contact', read: true, write: false },
    ]
    const work = () =>
      compileMapping(
        'contacts',
        config(hopeless),
        target({ operations: ['delete'], permissions }),
        ['id', 'amount'],
      )
    expect(problemsOf(work)).toEqual([
      'object type svc_contact does not accept create and update on the public API (it accepts: delete)',
      'the key may not write svc_contact: mint one with that grant',
      'matching_property svc_external_id is not mapped; add it under properties',
      'property svc_created_at is read-only',
      'column "nme" (for svc_name) is not in the source; it has: id, amount',
      'property svc_name holds one value: split does not apply',
      'property svc_nothing does not exist on svc_contact, or the key cannot read it; svc_contact has: `__proto__`, `constructor`, `svc_age`, `svc_born`, `svc_created_at`, `svc_email`, `svc_external_id`, `svc_name`, `svc_owner`, `svc_stage`, `svc_value`',
      'property svc_value is a currency: give its unit or its unit_column',
    ])
    expect(work).toThrow(
      /^Mapping of sync "contacts": object type .*; the key may not .*; property svc_value/,
    )
  })

  it.each<[string, Mappings, Partial<ImportConfig>, RegExp]>([
    [
      'a matching property that does not exist',
      id,
      { matching_property: 'svc_nope' },
      /svc_nope does not exist/,
    ],
    ['one that is not mapped', id, { matching_property: 'svc_name' }, /svc_name is not mapped/],
    [
      'one whose name every object inherits',
      id,
      { matching_property: 'constructor' },
      /constructor is not mapped/,
    ],
    ['a constant that cannot be a key', { svc_external_id: { value: null } }, {}, /one value/],
    ['a constant of two values', { svc_external_id: { value: ['a', 'b'] } }, {}, /one value/],
    [
      'a missing unit column',
      { ...id, svc_value: { column: 'id', unit_column: 'cur' } },
      {},
      /column "cur"/,
    ],
    [
      'a currency that the service does not take',
      { ...id, svc_value: { column: 'id', unit: 'EUU' } },
      {},
      /^unit EUU of svc_value is not one that the service takes; did you mean `EUR`\?$/,
    ],
    [
      'a constant in a currency that the service does not take',
      { ...id, svc_value: { value: { amount: '1', unit: 'GBP' } } },
      {},
      /^unit GBP of svc_value is not one that the service takes; units: `EUR`, `USD`$/,
    ],
  ])('refuses %s', (_, mappings, more, message) => {
    const problems = problemsOf(() => compile(mappings, ['id'], more))
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(message)
  })

  describe('where the service lists no units', () => {
    const open = { ...target(), fieldTypes: [fieldType('currency', 'object')] }
    const compiled = (mapping: PropertyMapping) =>
      compileMapping('contacts', config({ ...id, svc_value: mapping }), open, ['id', 'cur'])

    it('refuses a currency that does not exist', () => {
      const problems = problemsOf(() => compiled({ column: 'id', unit: 'EUU' }))
      expect(problems).toEqual(['unit EUU of svc_value is not a currency code of ISO 4217'])
    })

    it.each(['EUR', 'XCG', 'VED', 'XAU'])('takes %s', (unit) => {
      expect(problemsOf(() => compiled({ column: 'id', unit }))).toEqual([])
    })

    it('sets a row aside whose own currency does not exist', () => {
      const plan = compiled({ column: 'id', unit_column: 'cur' })
      const mapped = (unit: string) => plan.map({ ordinal: 1, line: 2, cells: ['7', unit] })
      expect(mapped('EUR')).toMatchObject({ valid: true })
      expect(mapped('EUU')).toMatchObject({ valid: false, reason: 'unit_unknown' })
    })
  })

  it('names what was probably meant for every wrong name, and what there is once', () => {
    const work = () =>
      compileMapping(
        'contacts',
        config(
          {
            svc_external_id: { column: 'idd' },
            svc_nmae: { column: 'Name ' },
            svc_agee: { column: 'id' },
            svc_value: { column: 'id', unit_column: 'curency' },
          },
          { matching_property: 'svc_externl_id' },
        ),
        target(),
        ['id', 'Name', 'currency'],
      )
    const problems = problemsOf(work)
    expect(problems).toHaveLength(6)
    for (const meant of ['svc_external_id', 'id', 'svc_name', 'svc_age', 'currency'])
      expect(problems.filter((one) => one.includes(`; did you mean \`${meant}\`?`))).toHaveLength(1)
    expect(problems.join('\n').match(/svc_contact has: /g)).toHaveLength(1)
    expect(problems.join('\n').match(/it has: id, Name, currency/g)).toHaveLength(1)
  })

  it('says of a field type that is not known by its name what its cells are read as', () => {
    const warningsOf = (valueType: string, mapping: PropertyMapping = { column: 'id' }) => {
      const given = target()
      const { warnings } = compileMapping(
        'contacts',
        config({ ...id, svc_odd: mapping }),
        {
          ...given,
          schema: { ...given.schema, properties: [...properties, property('svc_odd', 'odd')] },
          fieldTypes: [fieldType('odd', valueType)],
        },
        ['id'],
      )
      return warnings.filter((warning) => warning.includes('svc_odd'))
    }
    expect(warningsOf('object')).toEqual([
      'svc_odd has the field type odd, which is not known here: its cells are read as JSON of the shape object; if they are something else, give its mapping a type: text, long_text, email, phone, url, number, currency, boolean, date, datetime, select, multi_select, user',
    ])
    expect(warningsOf('blob')[0]).toContain('read as text (its shape is called blob)')
    for (const known of ['string', 'bool', 'INT', 'double']) expect(warningsOf(known)).toEqual([])
    expect(warningsOf('object', { column: 'id', type: 'text' })).toEqual([])
  })

  it.each([
    ['bool', 'yes', true],
    ['Int', '12', 12],
    ['double', '1.5', 1.5],
    ['dict', '{"a":1}', { a: 1 }],
    ['list', '[1]', [1]],
  ])('reads a value of the shape %s', (shape, text, sent) => {
    const given = target()
    const plan = compileMapping(
      'contacts',
      config({ ...id, svc_odd: { column: 'odd' } }),
      {
        ...given,
        schema: { ...given.schema, properties: [...properties, property('svc_odd', 'odd')] },
        fieldTypes: [fieldType('odd', shape)],
      },
      ['id', 'odd'],
    )
    const item = plan.map({ ordinal: 1, line: 2, cells: ['k', text] })
    expect(item.valid && JSON.parse(item.payload)).toMatchObject({ properties: { svc_odd: sent } })
  })

  it('refuses a type that takes updates only', () => {
    const work = () =>
      compileMapping('contacts', config(id), target({ operations: ['update'] }), ['id'])
    expect(problemsOf(work)).toEqual([
      'object type svc_contact does not accept create on the public API (it accepts: update)',
    ])
  })

  it('takes a key whose grants are not listed, or allow the write', () => {
    const permissions = [{ entity_type: 'svc_contact', read: true, write: true }]
    for (const given of [target(), target({ permissions })])
      expect(problemsOf(() => compileMapping('contacts', config(id), given, ['id']))).toEqual([])
  })

  it('warns of a matching property that is not unique, and of one that can be set once only', () => {
    const mappings = { svc_name: { column: 'id' }, svc_owner: { column: 'id' } }
    const { warnings } = compile(mappings, ['id'], { matching_property: 'svc_name' })
    expect(warnings).toHaveLength(2)
    expect(warnings[0]).toMatch(/^svc_name is not unique .*ambiguous_match$/)
    expect(warnings[1]).toMatch(/^svc_owner can be set once only/)
    expect(compile(id, ['id']).warnings).toEqual([])
  })
})

describe('a row', () => {
  it('becomes an item with key, payload and hash', () => {
    const mappings = {
      ...id,
      svc_age: { column: 'age' },
      svc_value: { column: 'amount', unit: 'EUR' },
    }
    const { item } = mapRow(mappings, { age: '007', amount: '10.50', id: ' A1 ' })
    const payload =
      '{"properties":{"svc_age":"7","svc_external_id":"A1","svc_value":{"amount":"10.5","unit":"EUR"}}}'
    expect(item).toEqual({
      ordinal: 3,
      line: 4,
      raw: '["007","10.50"," A1 "]',
      valid: true,
      key: 'A1',
      rawKey: ' A1 ',
      payload,
      hash: textHash(payload),
    })
  })

  it('tells all that is wrong with it at once, the first column first', () => {
    const { item } = mapRow(
      { ...id, svc_born: { column: 'born' }, svc_age: { column: 'age' } },
      { id: ' ', born: 'x', age: 'old' },
    )
    expect(item).toMatchObject({ valid: false, key: null })
    const errors = item.valid ? [] : [item, ...(item.more ?? [])]
    expect(errors.map(({ column, reason }) => [column, reason])).toEqual([
      ['age', 'not_a_number'],
      ['born', 'not_a_date'],
      ['id', 'key_missing'],
    ])
  })

  it('of a number has no unit', () => {
    expect(() =>
      compile({ ...id, svc_age: { column: 'age', unit: 'EUR' } }, ['id', 'age']),
    ).toThrow(/unit of svc_age has no effect: the property is read as number/)
  })

  it('that does not map is invalid, with column, property, value and reason', () => {
    const { item } = mapRow(
      { ...id, svc_born: { column: 'born' } },
      { id: 'A1', born: '2024-02-30' },
    )
    expect(item).toEqual({
      ordinal: 3,
      line: 4,
      raw: '["A1","2024-02-30"]',
      valid: false,
      key: 'A1',
      reason: 'not_a_date',
      column: 'born',
      field: 'svc_born',
      value: '2024-02-30',
      detail: 'expected a day of the calendar as YYYY-MM-DD',
    })
  })

  it('knows its key wherever the fault is, if the row has one', () => {
    for (const property of ['svc_born', 'svc_value']) {
      const unit = property === 'svc_value' ? { unit: 'EUR' } : {}
      const mapping = { ...id, [property]: { column: 'v', ...unit } }
      for (const [cell, key] of [
        [' A1 ', 'A1'],
        ['', null],
      ] as const) {
        const { item } = mapRow(mapping, { id: cell, v: 'x' })
        expect(item).toMatchObject({ valid: false, key })
      }
    }
  })

  it('shows the start of a long value only', () => {
    const { item } = mapRow(
      { ...id, svc_age: { column: 'age' } },
      { id: 'A1', age: 'x'.repeat(5_000) },
    )
    expect(!item.valid && item.value).toBe(`${'x'.repeat(REPORT_VALUE_CHARS_MAX)}…`)
    expect(item.raw).toHaveLength(5_000 + '["A1",""]'.length)
  })

  it('takes the unit of an amount from its column', () => {
    const mappings = { ...id, svc_value: { column: 'v', unit_column: 'cur' } }
    expect(sentOf(mappings, { id: 'A1', v: '5', cur: ' USD ' })).toMatchObject({
      svc_value: { amount: '5', unit: 'USD' },
    })
    expect(mapRow(mappings, { id: 'A1', v: '5', cur: '' }).item).toMatchObject({
      reason: 'unit_missing',
      column: 'cur',
      value: '',
    })
    expect(mapRow(mappings, { id: 'A1', v: '5', cur: 'GBP' }).item).toMatchObject({
      reason: 'unit_unknown',
      column: 'cur',
      field: 'svc_value',
      value: 'GBP',
      detail: 'expected one of the units EUR, USD',
    })
  })

  it.each(['eur', 'EUU', 'Euro '])('says which unit %s is meant to be', (cur) => {
    const mappings = { ...id, svc_value: { column: 'v', unit_column: 'cur' } }
    expect(mapRow(mappings, { id: 'A1', v: '5', cur }).item).toMatchObject({
      reason: 'unit_unknown',
      column: 'cur',
      value: cur,
      detail: 'expected one of the units EUR, USD; did you mean `EUR`?',
    })
  })

  it('blames the amount where amount and unit are wrong', () => {
    const mappings = { ...id, svc_value: { column: 'v', unit_column: 'cur' } }
    expect(mapRow(mappings, { id: 'A1', v: 'five', cur: 'EUU' }).item).toMatchObject({
      reason: 'not_an_amount',
      column: 'v',
      value: 'five',
    })
  })

  it('takes a label for its option', () => {
    expect(
      sentOf({ ...id, svc_stage: { column: 's' } }, { id: 'A1', s: 'Closed won' }),
    ).toMatchObject({
      svc_stage: 'won',
    })
  })

  it('carries constants as they are', () => {
    const mappings = { ...id, svc_name: { value: 'From import' }, svc_email: { value: ['a@b.de'] } }
    expect(sentOf(mappings, { id: 'A1' })).toEqual({
      svc_email: ['a@b.de'],
      svc_external_id: 'A1',
      svc_name: 'From import',
    })
  })

  it('takes a constant as its key', () => {
    expect(mapRow({ svc_external_id: { value: ' X ' } }, { id: '' }).item).toMatchObject({
      key: 'X',
    })
  })

  it('has properties and columns named as what objects inherit', () => {
    const mappings = JSON.parse(
      '{"__proto__":{"column":"__proto__"},"constructor":{"column":"id"}}',
    ) as Mappings
    const plan = compileMapping('contacts', config({ ...mappings, ...id }), target(), [
      'id',
      '__proto__',
    ])
    // Spreading keeps an own `__proto__` member.
    expect(Object.hasOwn({ ...mappings, ...id }, '__proto__')).toBe(true)
    const item = plan.map({ ordinal: 1, line: 2, cells: ['A1', 'x'] })
    expect(item).toMatchObject({
      valid: true,
      payload: '{"properties":{"__proto__":"x","constructor":"A1","svc_external_id":"A1"}}',
    })
    expect(
      problemsOf(() => compile({ ...id, svc_name: { column: '__proto__' } }, ['id'])),
    ).toHaveLength(1)
  })
})

describe('the key', () => {
  it.each(['', ' ', '\t'])('must have a value: %j', (cell) => {
    for (const empty of ['omit', 'clear', 'reject'] as const)
      expect(mapRow(id, { id: cell }, { empty }).item).toMatchObject({
        valid: false,
        reason: 'key_missing',
      })
  })

  const many = { svc_email: { column: 'mail', split: ';' } }
  const byMail = { matching_property: 'svc_email' }
  it('is the one value of a multi-value property', () => {
    expect(mapRow(many, { mail: ' Ada@X.de ; ' }, byMail).item).toMatchObject({
      valid: true,
      key: 'Ada@X.de',
    })
  })

  it('must not be several values, or none', () => {
    expect(mapRow(many, { mail: 'a@x.de;b@x.de' }, byMail).item).toMatchObject({
      valid: false,
      reason: 'key_not_single',
      column: 'mail',
      value: 'a@x.de;b@x.de',
    })
    expect(mapRow(many, { mail: ' ; ' }, byMail).item).toMatchObject({
      valid: false,
      reason: 'key_missing',
    })
  })
})

describe('empty cells', () => {
  const named = { ...id, svc_name: { column: 'name' } }

  it.each(['', ' ', '\t\n', null])('%j is left out by default', (cell) => {
    const { item, plan } = mapRow(named, { id: 'A1', name: cell })
    expect(item).toMatchObject({ valid: true, payload: '{"properties":{"svc_external_id":"A1"}}' })
    expect(plan.cleared()).toBe(0)
  })

  it.each(['', ' ', null])('%j clears the property where the sync says so', (cell) => {
    const { item, plan } = mapRow(named, { id: 'A1', name: cell }, { empty: 'clear' })
    expect(item).toMatchObject({
      payload: '{"properties":{"svc_external_id":"A1","svc_name":null}}',
    })
    expect(plan.cleared()).toBe(1)
  })

  it.each(['', ' ', null])('%j is refused where the sync says so', (cell) => {
    expect(mapRow(named, { id: 'A1', name: cell }, { empty: 'reject' }).item).toMatchObject({
      valid: false,
      reason: 'empty',
      column: 'name',
      field: 'svc_name',
    })
  })

  it('follow the setting of the property before that of the sync', () => {
    const mappings: Mappings = {
      ...id,
      svc_name: { column: 'name', empty: 'omit' },
      svc_age: { column: 'age' },
    }
    const row = { id: 'A1', name: '', age: '' }
    expect(sentOf(mappings, row, { empty: 'clear' })).toEqual({
      svc_external_id: 'A1',
      svc_age: null,
    })
  })

  it.each([';', ' ; ', ';;;'])(
    'a list of nothing, %j, is an empty cell: it erases nothing by default',
    (cell) => {
      const mappings = { ...id, svc_email: { column: 'mail', split: ';' } }
      const row = { id: 'A1', mail: cell }
      expect(sentOf(mappings, row)).toEqual({ svc_external_id: 'A1' })
      expect(sentOf(mappings, row, { empty: 'clear' })).toEqual({
        svc_external_id: 'A1',
        svc_email: null,
      })
      expect(mapRow(mappings, row, { empty: 'reject' }).item).toMatchObject({
        valid: false,
        reason: 'empty',
      })
    },
  )
})

describe('multi-value properties', () => {
  it('are split where the mapping says so, without blank parts', () => {
    const mappings = { ...id, svc_email: { column: 'mail', split: ';' } }
    expect(sentOf(mappings, { id: 'A1', mail: 'a@x.de; b@x.de;; ' })).toMatchObject({
      svc_email: ['a@x.de', 'b@x.de'],
    })
  })

  it('hold one value where the mapping does not split', () => {
    expect(
      sentOf({ ...id, svc_email: { column: 'mail' } }, { id: 'A1', mail: 'a@x.de' }),
    ).toMatchObject({
      svc_email: ['a@x.de'],
    })
  })

  it('are invalid as a whole where one value is', () => {
    const mappings = { ...id, svc_email: { column: 'mail', split: ';' } }
    expect(mapRow(mappings, { id: 'A1', mail: 'a@x.de;b' }).item).toMatchObject({
      valid: false,
      reason: 'not_an_email',
      value: 'a@x.de;b',
    })
  })
})

describe('payload and hash', () => {
  const mappings: [string, PropertyMapping][] = [
    ['svc_external_id', { column: 'id' }],
    ['svc_name', { column: 'name' }],
    ['svc_age', { column: 'age' }],
    ['svc_stage', { value: 'won' }],
    ['svc_value', { column: 'v', unit: 'EUR' }],
  ]
  const cells: [string, string][] = [
    ['id', 'A1'],
    ['name', 'Ada'],
    ['age', '36'],
    ['v', '5'],
  ]
  const shuffled = <Value>(values: Value[]) =>
    fc.shuffledSubarray(values, { minLength: values.length, maxLength: values.length })

  it('do not depend on the order in which the mapping or the source is written', () => {
    const first = mapRow(Object.fromEntries(mappings), Object.fromEntries(cells)).item
    fc.assert(
      fc.property(shuffled(mappings), shuffled(cells), (writtenMappings, writtenCells) => {
        const { item } = mapRow(
          Object.fromEntries(writtenMappings),
          Object.fromEntries(writtenCells),
        )
        expect(item.valid && first.valid && item.payload === first.payload).toBe(true)
        expect(item.valid && first.valid && item.hash === first.hash).toBe(true)
      }),
    )
  })

  it('are equal for equal rows and differ for rows that send something else', () => {
    const plan = compile(Object.fromEntries(mappings.slice(0, 2)), ['id', 'name'])
    const hash = (row: string[], ordinal: number) => {
      const item = plan.map({ ordinal, line: ordinal, cells: row })
      return item.valid ? item.hash : null
    }
    const text = fc.string({ unit: 'grapheme', minLength: 1 }).filter((cell) => cell.trim() !== '')
    fc.assert(
      fc.property(text, text, fc.boolean(), (a, b, same) => {
        expect(hash(['A1', a], 1) === hash(['A1', same ? a : b], 2)).toBe(same || a === b)
      }),
    )
  })

  it('every row is JSON that parses, or invalid: nothing throws', () => {
    const plan = compile(
      { ...id, svc_email: { column: 'mail', split: ';' }, svc_age: { column: 'age' } },
      ['id', 'mail', 'age'],
    )
    const cell = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom<Json>(null, 5, true, [], ['a@x.de']),
    )
    fc.assert(
      fc.property(fc.array(cell, { maxLength: 4 }), (row) => {
        const item = plan.map({ ordinal: 1, line: 1, cells: row })
        expect(JSON.parse(item.raw)).toBeInstanceOf(Array)
        expect(item.valid || item.detail.length > 0).toBe(true)
        if (!item.valid) return
        const sent = JSON.parse(item.payload) as { properties: Record<string, Json> }
        expect(item.key.length).toBeGreaterThan(0)
        expect(item.hash).toMatch(/^[0-9a-f]{32}$/)
        // Nothing erases by default, whatever the cell is.
        expect(Object.values(sent.properties).map(String)).not.toContain('')
      }),
    )
  })
})

describe('a row with other cells than the source has columns', () => {
  const mappings: Mappings = { svc_external_id: { column: 'id' }, svc_name: { column: 'name' } }
  const { plan } = mapRow(mappings, { id: '1', name: 'Ada', note: '' })
  it.each([
    [
      ['7', 'Ada'],
      'the row has 2 cells; expected 3, as in the header; `ragged: pad` under `from` reads such rows',
      null,
    ],
    [
      ['7'],
      'the row has 1 cell; expected 3, as in the header; `ragged: pad` under `from` reads such rows',
      null,
    ],
    [
      ['7', 'Ada', 'x', 'say "so"', ''],
      'the row has 5 cells; expected 3, as in the header',
      '"say ""so""",""',
    ],
  ])('%j is set aside whole, without a key', (cells, detail, value) => {
    const item = plan.map({ ordinal: 5, line: 6, cells })
    expect(item).toEqual({
      ordinal: 5,
      line: 6,
      raw: JSON.stringify(cells),
      valid: false,
      key: null,
      reason: 'row_ragged',
      column: null,
      field: null,
      value,
      detail,
    })
  })
})

describe('a cell that only looks empty', () => {
  const invisible = ['\u200b', '\ufeff', '\u2060', ' \u200b\u00a0\ufeff ']
  it.each(invisible)('%j leaves its property alone, or clears it', (name) => {
    const key = { svc_external_id: { column: 'id' } }
    const row = { id: '1', name }
    expect(sentOf({ ...key, svc_name: { column: 'name' } }, row)).toEqual({ svc_external_id: '1' })
    const cleared = sentOf({ ...key, svc_name: { column: 'name', empty: 'clear' } }, row)
    expect(cleared).toEqual({ svc_external_id: '1', svc_name: null })
    const { item } = mapRow(key, { id: name })
    expect(item).toMatchObject({ valid: false, reason: 'key_missing' })
  })
  it('stays as it is where there is anything beside', () => {
    const mappings = { svc_external_id: { column: 'id' }, svc_name: { column: 'name' } }
    expect(sentOf(mappings, { id: '1', name: 'a\u200bb' })).toMatchObject({ svc_name: 'a\u200bb' })
  })
})

describe('a source that was read with a wrong delimiter', () => {
  const mappings: Mappings = { svc_external_id: { column: 'id' } }
  const said = (columns: string[]) =>
    problemsOf(() => compileMapping('contacts', config(mappings), target(), columns)).join()
  it.each([
    ['id;name;e-mail', '";"'],
    ['id\tname', String.raw`"\t"`],
    ['id|name|a;b', '"|"'],
  ])('%j: the message says what to write', (header, delimiter) => {
    expect(said([header])).toContain(
      `${delimiter} looks like the delimiter: write \`delimiter: ${delimiter}\` under \`from\``,
    )
  })
  it('of several columns: one that gives a column that the mapping names', () => {
    expect(said(['id;name;amount', ' net'])).toContain('write `delimiter: ";"` under `from`')
    expect(said(['code;name;amount', ' net'])).not.toContain('looks like')
  })
  it('shows what is around a name, and guesses no delimiter of several columns', () => {
    expect(said([' id ', 'first name', 'i\u200bd', 'a;b'])).toBe(
      'column "id" (for svc_external_id) is not in the source; it has 2 that look the same: ` id `, `i\\u200bd`; it has: " id ", first name, "i\\u200bd", "a;b"',
    )
  })
})
