// Each setting of a mapping at each type of property and each kind of column: it applies, or it is refused with its place.

import { describe, expect, it } from 'vitest'
import type { PropertyMapping } from '../../../config/index.ts'
import { KIND_TEXT, type ColumnKind } from '../../../src/core/domain/column-kind.ts'
import { MappingError } from '../../../src/core/errors.ts'
import { loadMapping } from '../../../src/import/mapping/map.ts'
import { contactsTarget, importOf } from './mapping-scene.ts'

const KINDS = Object.keys(KIND_TEXT) as ColumnKind[]
const TEXT_ONLY = ['text'] as const

const placesOf = async (name: string, mapping: PropertyMapping, kind?: ColumnKind) => {
  const config = importOf({ [name]: { column: 'a', ...mapping } })
  try {
    await loadMapping('contacts', config, contactsTarget, ['id', 'a', 'unit'], {
      ...(kind !== undefined && { kinds: ['text', kind, 'text'] }),
    })
    return []
  } catch (error) {
    if (!(error instanceof MappingError)) throw error
    return error.found.map(({ path, message }) => `${path.slice(2).join('.')}: ${message}`)
  }
}

/** A property of each type. */
const PROPERTIES = {
  text: 'text',
  long_text: 'note',
  email: 'email',
  phone: 'phone',
  url: 'url',
  number: 'number',
  currency: 'value',
  boolean: 'flag',
  date: 'day',
  datetime: 'at',
  select: 'stage',
}
const TYPES = Object.keys(PROPERTIES) as (keyof typeof PROPERTIES)[]
const NUMBERS: readonly string[] = ['number', 'currency']

/** Each setting: where it applies. */
const SETTINGS: readonly [PropertyMapping, readonly string[], readonly ColumnKind[]][] = [
  [{ format: 'DD.MM.YYYY' }, ['date', 'datetime'], TEXT_ONLY],
  [{ zone: 'Europe/Berlin' }, ['datetime'], ['text', 'local_time']],
  [{ zone: '+01:00' }, ['datetime'], ['text', 'local_time']],
  [{ decimal: ',' }, NUMBERS, TEXT_ONLY],
  [{ thousands: ' ' }, NUMBERS, TEXT_ONLY],
  [{ symbol: '%' }, NUMBERS, TEXT_ONLY],
  [{ negative: 'trailing' }, NUMBERS, TEXT_ONLY],
  [{ language: 'de' }, ['date', 'datetime'], TEXT_ONLY],
  [{ unit: 'EUR' }, ['currency'], KINDS],
  [{ unit_column: 'unit' }, ['currency'], KINDS],
  [{ true: ['ja'] }, ['boolean'], ['text', 'number']],
  [{ false: ['nein'] }, ['boolean'], ['text', 'number']],
]

describe.each(SETTINGS)('%j', (setting, types, kinds) => {
  const [name] = Object.keys(setting) as [string]
  const needed = (type: string): PropertyMapping =>
    type === 'currency' && !name.startsWith('unit') ? { unit: 'EUR' } : {}

  it.each(TYPES)('of %s', async (type) => {
    const found = await placesOf(PROPERTIES[type], { ...needed(type), ...setting })
    if (types.includes(type)) expect(found).toEqual([])
    else
      expect(found).toContainEqual(
        expect.stringMatching(
          new RegExp(`^${name}: ${name} of .* has no effect: .*is read as ${type}`),
        ),
      )
  })

  it.each(KINDS)('of a column of kind %s', async (kind) => {
    const mapping = { ...needed(types[0]!), ...setting }
    const found = await placesOf(PROPERTIES[types[0] as 'date'], mapping, kind)
    if (kinds.includes(kind)) expect(found).toEqual([])
    else expect(found).toEqual([expect.stringContaining(`${name}: ${name} of`)])
    // What another step makes a text of is read as texts are.
    const changed = await placesOf(
      PROPERTIES[types[0] as 'date'],
      { ...mapping, pattern: '^(?<a>.*)$' },
      kind,
    )
    expect(changed).toEqual([])
  })
})

it.each(['number', 'currency', 'boolean', 'date', 'datetime'] as const)(
  'case of %s changes nothing, unless what it makes is looked up',
  async (type) => {
    const unit = type === 'currency' ? { unit: 'EUR' } : {}
    expect(await placesOf(PROPERTIES[type], { ...unit, case: 'lower' })).toEqual([
      expect.stringContaining('case: case of'),
    ])
  },
)

it('a type of the mapping decides', async () => {
  expect(await placesOf('text', { type: 'date', format: 'DD.MM.YYYY' })).toEqual([])
  expect(await placesOf('text', { type: 'domain', format: 'DD.MM.YYYY' })).toHaveLength(1)
  expect(await placesOf('day', { type: 'text', format: 'DD.MM.YYYY' })).toHaveLength(1)
})

it.each(['number', 'boolean', 'date', 'local_time', 'instant', 'list'] as const)(
  'split says nothing of a column of kind %s',
  async (kind) => {
    expect(await placesOf('tags', { split: ',' })).toEqual([])
    expect(await placesOf('tags', { split: ',' }, kind)).toEqual([
      expect.stringContaining('split: split of tags has no effect'),
    ])
  },
)
