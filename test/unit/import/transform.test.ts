// What a mapping changes before a cell is read: each step, its order, what an empty cell means, and what is refused.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import type { ImportConfig, PropertyMapping } from '../../../config/index.ts'
import type { PropertyWire } from '../../../src/contract/index.ts'
import { MappingError } from '../../../src/core/errors.ts'
import type { Json } from '../../../src/core/json.ts'
import { compileMapping, loadMapping } from '../../../src/import/mapping/map.ts'
import { MATCHED_CHARS_MAX, PATTERN_STEPS_MAX } from '../../../src/import/mapping/patterns.ts'
import type { Target } from '../../../src/import/mapping/target.ts'
import { titleCase } from '../../../src/import/mapping/title-case.ts'
import { isBlank } from '../../../src/core/look.ts'
import { trimmed } from '../../../src/import/mapping/cell-parts.ts'

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

const target: Target = {
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
  fieldTypes: [],
}

const COLUMNS = ['id', 'a', 'b', 'unit']

const importOf = (properties: Record<string, PropertyMapping>): ImportConfig => ({
  from: { csv: '/contacts.csv' },
  to: 'crm',
  object_type: 'svc_contact',
  matching_property: 'id',
  mode: 'upsert',
  empty: 'omit',
  verify: 'none',
  properties: { id: { column: 'id' }, ...properties },
})

const planOf = (name: string, mapping: PropertyMapping) =>
  loadMapping('contacts', importOf({ [name]: mapping }), target, COLUMNS)

/** What a row with these cells sends for the property, or the reason why it is set aside. */
async function resultOf(
  name: string,
  mapping: PropertyMapping,
  a: Json,
  b: Json = '',
): Promise<unknown> {
  const plan = await planOf(name, mapping)
  const item = plan.map({ ordinal: 1, line: 2, cells: ['C-1', a, b, 'EUR'] })
  if (!item.valid) return `${item.reason} in ${item.column}`
  return (JSON.parse(item.payload) as { properties: Record<string, unknown> }).properties[name]
}

async function problemsOf(name: string, mapping: PropertyMapping): Promise<string[]> {
  try {
    await planOf(name, mapping)
    return []
  } catch (error) {
    if (!(error instanceof MappingError)) throw error
    return error.found.map(({ path, message }) => `${path.slice(2).join('.')}: ${message}`)
  }
}

describe('steps', () => {
  it.each<[string, PropertyMapping, Json, Json, unknown]>([
    ['columns, with a space', { columns: ['a', 'b'] }, ' Ada ', 'Lovelace', 'Ada Lovelace'],
    ['columns, without empty cells', { columns: ['a', 'b'], join: ', ' }, ' ', 'Love', 'Love'],
    ['columns that are all empty', { columns: ['a', 'b'] }, ' ', '', undefined],
    ['columns and trim: false', { columns: ['a', 'b'], join: '', trim: false }, 'A ', ' B', 'A  B'],
    ['columns of numbers', { columns: ['a', 'b'], join: '-' }, 1, 2, '1-2'],
    ['a plain column as it is', { column: 'a' }, ' x ', '', ' x '],
    ['trim', { column: 'a', trim: true }, '\u200b x\u00a0', '', 'x'],
    ['case: lower', { column: 'a', case: 'lower' }, ' ÄDA ', '', 'äda'],
    ['case: upper', { column: 'a', case: 'upper' }, 'straße', '', 'STRASSE'],
    ['case: title', { column: 'a', case: 'title' }, "ANNA-LENA o'NEIL", '', "Anna-Lena O'neil"],
    ['case: title, a last sigma', { column: 'a', case: 'title' }, 'ΟΔΟΣ ΑΣ', '', 'Οδος Ας'],
    ['case: title, İ', { column: 'a', case: 'title' }, 'İZMİR', '', 'İzmi\u0307r'],
    ['case and trim: false', { column: 'a', case: 'lower', trim: false }, ' A', '', ' a'],
    ['map', { column: 'a', map: { DE: 'Germany' } }, ' DE', '', 'Germany'],
    ['map to nothing', { column: 'a', map: { 'n/a': null } }, 'n/a', '', undefined],
    ['map of a number', { column: 'a', map: { '7': 'seven' } }, 7, '', 'seven'],
    ['map, another form of Unicode', { column: 'a', map: { é: 'e' } }, 'e\u0301', '', 'e'],
    ['map without the cell', { column: 'a', map: { DE: 'x' } }, 'de', '', 'not_in_map in a'],
    ['map, else keep', { column: 'a', map: { DE: 'x' }, else: 'keep' }, 'de', '', 'de'],
    ['map, else empty', { column: 'a', map: { DE: 'x' }, else: 'empty' }, 'de', '', undefined],
    ['case before map', { column: 'a', case: 'lower', map: { de: 'x' } }, 'DE', '', 'x'],
    ['prefix and suffix', { column: 'a', prefix: '<', suffix: '>' }, ' x ', '', '<x>'],
    ['no prefix of an empty cell', { column: 'a', prefix: '<' }, ' ', '', undefined],
    ['default', { column: 'a', default: 'none' }, ' ', '', 'none'],
    ['default without a prefix', { column: 'a', prefix: '<', default: 'none' }, '', '', 'none'],
    ['default leaves others as they are', { column: 'a', default: 'none' }, ' x ', '', ' x '],
    ['a pattern that only tests', { column: 'a', pattern: '^\\d{5}$' }, '12345', '', '12345'],
    ['a group', { column: 'a', pattern: '(?<zip>\\d{5}) ' }, 'x 12345 Ulm', '', '12345'],
    ['a group of nothing', { column: 'a', pattern: '(?<zip>\\d*) ' }, 'x Ulm', '', undefined],
    ['no match', { column: 'a', pattern: '^\\d+$' }, 'x', '', 'pattern_not_matched in a'],
    ['no match, keep', { column: 'a', pattern: '^\\d+$', else: 'keep' }, 'x', '', 'x'],
    [
      'no match, else empty, default',
      { column: 'a', pattern: '^\\d+$', else: 'empty', default: '0' },
      'x',
      '',
      '0',
    ],
    [
      'several groups',
      { column: 'a', pattern: '^(?<last>[^,]+), (?<first>.+)$', template: '{first} {last}' },
      'Lovelace, Ada',
      '',
      'Ada Lovelace',
    ],
    [
      'pattern, then case, then map, then affixes',
      {
        column: 'a',
        pattern: '^country: (?<code>..)$',
        case: 'lower',
        map: { de: 'Germany' },
        prefix: '[',
        suffix: ']',
      },
      ' country: DE ',
      '',
      '[Germany]',
    ],
    [
      'a list and a mapping are no text',
      { column: 'a', case: 'lower' },
      { a: 1 },
      '',
      'not_a_text in a',
    ],
    ['a list of two', { column: 'a', case: 'lower' }, ['A', 'B'], '', 'not_single in a'],
    ['a list of one', { column: 'a', case: 'lower' }, ['A'], '', 'a'],
  ])('%s', async (_, mapping, a, b, expected) => {
    expect(await resultOf('text', mapping, a, b)).toEqual(expected)
  })

  it('changes each value of a list alone, and leaves out what becomes empty', async () => {
    const map = { a: 'Alpha', b: null }
    const mapping = { column: 'a', split: ';', map, case: 'lower', else: 'keep' } as const
    expect(await resultOf('tags', mapping, 'A; b ;c')).toEqual(['Alpha', 'c'])
    expect(await resultOf('tags', mapping, 'B')).toBeUndefined()
    expect(await resultOf('tags', { ...mapping, default: 'x;y' }, 'B')).toEqual(['x', 'y'])
    expect(await resultOf('tags', mapping, ['A', 'C'])).toEqual(['Alpha', 'c'])
    const joined = { columns: ['a', 'b'], join: ';', split: ';' }
    expect(await resultOf('tags', joined, 'x;y', 'z')).toEqual(['x', 'y', 'z'])
  })

  it('reads by type what comes out', async () => {
    const euros = { columns: ['a', 'b'], join: '.', unit: 'EUR' }
    expect(await resultOf('value', euros, '12', '75')).toEqual({ amount: '12.75', unit: 'EUR' })
    expect(await resultOf('number', { column: 'a', suffix: '000' }, '12')).toBe('12000')
    expect(await resultOf('number', { column: 'a', decimal: ',', trim: true }, 1.5)).toBe('1.5')
    expect(await resultOf('flag', { column: 'a', map: { J: 'true', N: 'false' } }, 'J')).toBe(true)
    expect(await resultOf('number', { column: 'a', default: '0' }, '')).toBe('0')
    expect(await resultOf('value', { column: 'a', unit_column: 'unit', default: '1' }, '')).toEqual(
      {
        amount: '1',
        unit: 'EUR',
      },
    )
  })

  it('an empty cell is what `empty` says where there is no default', async () => {
    const clear = { column: 'a', map: { x: null }, empty: 'clear' } as const
    expect(await resultOf('text', clear, 'x')).toBeNull()
    expect(await resultOf('text', { ...clear, empty: 'reject' }, 'x')).toBe('empty in a')
  })

  it('is the key too, and a key that becomes empty is missing', async () => {
    const config = importOf({
      id: { columns: ['a', 'b'], join: '/', map: { '1/2': 'one' }, else: 'empty' },
    })
    const plan = await loadMapping('contacts', config, target, COLUMNS)
    const keyOf = (a: string, b: string) => {
      const item = plan.map({ ordinal: 1, line: 2, cells: ['C-1', a, b, ''] })
      return item.valid ? item.key : item.reason
    }
    expect([keyOf('1', '2'), keyOf('1', '3')]).toEqual(['one', 'key_missing'])
  })

  it('shows a person the cells as they are in the file', async () => {
    const plan = await planOf('text', { column: 'a', case: 'lower', map: { x: 'y' } })
    const item = plan.map({ ordinal: 1, line: 7, cells: ['C-1', ' Zz ', '', ''] })
    expect(item).toMatchObject({ valid: false, line: 7, column: 'a', value: ' Zz ', field: 'text' })
  })
})

describe('telephone numbers', () => {
  it.each([
    ['DE', '030 1234567', '+49301234567'],
    ['DE', ' +49 (0)30/123 45-67 ', '+49301234567'],
    ['DE', '0043 1 234567', '+431234567'],
    ['AT', '+49 30 1234567', '+49301234567'],
    ['international', '+49 30 1234567', '+49301234567'],
    ['international', '030 1234567', 'not_a_phone in a'],
    ['DE', '12', 'not_a_phone in a'],
    ['DE', 'Tel: 030 1234567', 'not_a_phone in a'],
    ['DE', '030 1234567 or 030 7654321', 'not_a_phone in a'],
    // An extension has no place in E.164, and is not cut off.
    ['DE', '030 1234567 ext. 12', 'not_a_phone in a'],
    ['DE', '0'.repeat(200), 'not_a_phone in a'],
    ['DE', ' ', undefined],
  ])('%s: %s is %s', async (phone, cell, expected) => {
    expect(await resultOf('phone', { column: 'a', phone }, cell)).toEqual(expected)
  })

  it('reads each number of a list, after the other steps', async () => {
    const mapping = { column: 'a', split: ',', phone: 'DE', prefix: '030 ' }
    expect(await resultOf('mobiles', mapping, '1234567, 7654321')).toEqual([
      '+49301234567',
      '+49307654321',
    ])
  })

  it('refuses a country without numbers, and a property of another type', async () => {
    expect(await problemsOf('phone', { column: 'a', phone: 'DX' })).toEqual([
      expect.stringMatching(/^phone: phone DX of phone is no country with telephone numbers; /),
    ])
    expect(await problemsOf('number', { column: 'a', phone: 'DE' })).toEqual([
      'phone: property number is read as number: phone is for the types phone, text, long_text',
    ])
  })
})

describe('what is wrong with a mapping', () => {
  it.each<[PropertyMapping, string]>([
    [
      { column: 'a', pattern: '(' },
      'pattern: pattern of text: it cannot be read (missing closing )',
    ],
    [{ column: 'a', pattern: '(?=x)' }, 'expected the syntax of RE2, which has no look-ahead'],
    [{ column: 'a', pattern: '(x)' }, 'it has a group without a name; write `(?<name>…)`'],
    [{ column: 'a', pattern: '(?<a>x)(?<b>y)' }, 'such as `{a} {b}`'],
    [{ column: 'a', pattern: '(?:[a-z]{1,50} ?){1,20}' }, `expected at most ${PATTERN_STEPS_MAX}`],
    [
      { column: 'a', pattern: '(?<a>x)', template: '{b}' },
      'template: template of text: it has {b}, and `pattern` has the groups a',
    ],
    [{ column: 'a', pattern: 'x', template: 'y' }, '`pattern` has no named groups'],
    [
      { column: 'a', case: 'lower', map: { DE: 'x' } },
      'map.DE: `DE` in map of text is never met: `case: lower` changes cells before they are looked up; write `de`',
    ],
    [{ column: 'a', map: { ' x': 'y', 'x\u200b': 'z' } }, 'two forms that look the same'],
    [
      { column: 'a', map: { é: 'x', 'e\u0301': 'y' } },
      'is there twice, in two forms that look the same',
    ],
    [{ columns: ['a', 'c'] }, 'columns: column "c" (for text) is not in the source'],
  ])('%j', async (mapping, expected) => {
    const problems = await problemsOf('text', mapping)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain(expected)
  })

  it('what `map` and `default` send is tried before the first row', async () => {
    expect(await problemsOf('stage', { column: 'a', map: { W: 'won', L: 'lots' } })).toEqual([
      'map.L: what `L` becomes in map of stage: expected one of won, lost',
    ])
    expect(await problemsOf('number', { column: 'a', default: 'none' })).toEqual([
      expect.stringMatching(/^default: default of number: expected a plain decimal number/),
    ])
    const five = Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((key) => [key, 'x']))
    const problems = await problemsOf('stage', { column: 'a', map: five })
    expect(problems).toHaveLength(4)
    expect(problems[3]).toBe('map: map of stage: 2 more entries cannot be sent either')
  })

  it('a mapping whose needs were not loaded is a mistake of the program', () => {
    for (const mapping of [{ pattern: 'x' }, { map: '/no/file.csv' }, { phone: 'DE' }])
      expect(() =>
        compileMapping(
          'contacts',
          importOf({ text: { column: 'a', ...mapping } }),
          target,
          COLUMNS,
        ),
      ).toThrow('expected loadMapping')
  })
})

describe('a map in a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'records-sync-map-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const fileWith = (content: string): string => {
    const file = join(mkdtempSync(join(folder, 'f-')), 'map.csv')
    writeFileSync(file, content)
    return file
  }
  it('is read like the source', async () => {
    const map = fileWith('code,name\nDE,Germany\nAT,"Austria, Europe"\nXX,\n')
    const mapping = { column: 'a', map }
    expect(await resultOf('text', mapping, 'AT')).toBe('Austria, Europe')
    expect(await resultOf('text', mapping, 'XX')).toBeUndefined()
    expect(await resultOf('text', mapping, 'FR')).toBe('not_in_map in a')
    const config = importOf({ text: { column: 'a', map: fileWith('c;n\nDE;Germany\n') } })
    const semicolons = { ...config, from: { csv: '/contacts.csv', delimiter: ';' } }
    const plan = await loadMapping('contacts', semicolons, target, COLUMNS)
    const item = plan.map({ ordinal: 1, line: 2, cells: ['C-1', 'DE', '', ''] })
    expect(item.valid && item.payload).toContain('"text":"Germany"')
  })

  it.each([
    ['', 'the file is empty'],
    ['a\nx\n', 'the file has 1 column; expected two'],
    ['a,b,c\nx,y,z\n', 'the file has 3 columns; expected two'],
    ['a,b\n', 'the file has no rows'],
    ['a,b\nx,1\ny,2\nx,3\n', 'map.csv:4:1: the first cell is that of line 2 too'],
    ['a,b\n ,1\n', 'map.csv:2:1: the first cell is empty'],
    ['a,b\nx\n', 'map.csv:2'],
  ])('%j is refused', async (content, expected) => {
    const problems = await problemsOf('text', { column: 'a', map: fileWith(content) })
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(/^map: /)
    expect(problems[0]).toContain(expected)
  })

  it('names the entry that cannot be sent, and none of its cells', async () => {
    const problems = await problemsOf('stage', {
      column: 'a',
      map: fileWith('a,b\nW,won\nL,lots\n'),
    })
    expect(problems).toEqual([
      'map: entry 2 of the file of map of stage: expected one of won, lost',
    ])
  })
})

describe('patterns end', () => {
  it.each([
    '^(?<v>(?:a+)+)$',
    '(?:a|a)*b',
    '(?<v>(?:.*)(?:.*)(?:.*)(?:.*)(?:.*)x)$',
    '(?<v>(?:a?){60}a{60})$',
  ])('%s, on a text that takes a back-tracking engine for ever', async (pattern) => {
    const plan = await planOf('text', { column: 'a', pattern })
    const cell = `${'a'.repeat(MATCHED_CHARS_MAX - 1)}!`
    for (let row = 0; row < 5; row++)
      expect(plan.map({ ordinal: 1, line: 2, cells: ['C-1', cell, '', ''] }).valid).toBe(false)
  })

  it('a longer cell does not match', async () => {
    const mapping = { column: 'a', pattern: 'a' }
    expect(await resultOf('text', mapping, 'a'.repeat(MATCHED_CHARS_MAX))).toHaveLength(10_000)
    expect(await resultOf('text', mapping, 'a'.repeat(MATCHED_CHARS_MAX + 1))).toBe(
      'pattern_not_matched in a',
    )
  })
})

describe('for every cell', () => {
  const text = fc.string({ unit: 'binary' })
  const cases = fc.constantFrom('lower', 'upper', 'title', undefined)
  const mappings: fc.Arbitrary<PropertyMapping> = fc.record(
    {
      column: fc.constant('a'),
      case: cases.filter((one) => one !== undefined),
      trim: fc.boolean(),
      map: fc.dictionary(fc.constantFrom('x', 'y', 'é', '12'), fc.constantFrom('x', 'z', null), {
        minKeys: 1,
        noNullPrototype: true,
      }),
      else: fc.constantFrom('reject', 'keep', 'empty'),
      prefix: fc.constantFrom('(', ' '),
      suffix: fc.constant(')'),
      default: fc.constant('none'),
    },
    { requiredKeys: ['column'], noNullPrototype: true },
  )

  it('the same cell becomes the same value, whatever came before it, and the row is kept as it was', async () => {
    await fc.assert(
      fc.asyncProperty(
        mappings,
        fc.array(fc.oneof(text, fc.constantFrom('x', ' Y ', '', '12'))),
        async (mapping, cells) => {
          const problems = await problemsOf('text', mapping)
          if (problems.length > 0) return
          const plan = await planOf('text', mapping)
          for (const cell of cells) {
            const row = { ordinal: 1, line: 2, cells: ['C-1', cell, '', ''] }
            const fresh = (await planOf('text', mapping)).map(row)
            expect(plan.map(row)).toEqual(fresh)
            expect(JSON.parse(fresh.raw)).toEqual(JSON.parse(JSON.stringify(row.cells)))
            if (!fresh.valid) expect(fresh.reason).toBe('not_in_map')
            else if (isBlank(cell) && mapping.default !== undefined)
              expect(JSON.parse(fresh.payload)).toHaveProperty('properties.text', 'none')
            else if (isBlank(cell)) expect(fresh.payload).not.toContain('"text"')
          }
        },
      ),
      { numRuns: 60 },
    )
  })

  it('trim takes all that cannot be seen, and nothing else', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(' ', '\u200b', '\ufeff', '\t', 'a', 'é')), (letters) => {
        const found = trimmed(letters.join(''))
        expect(trimmed(found)).toBe(found)
        expect(found === '' || !(isBlank(found[0]!) || isBlank(found.at(-1)!))).toBe(true)
        expect(letters.join('')).toContain(found)
      }),
    )
  })

  it('title twice is title once', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."aZßéÉŉǆ-' ’1fﬁΣς") }), (cell) => {
        expect(titleCase(titleCase(cell))).toBe(titleCase(cell))
      }),
    )
  })
})
