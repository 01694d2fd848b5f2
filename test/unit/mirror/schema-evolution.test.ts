// Tables that follow their object type: every mode, and any history of a schema.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ObjectSchema, PropertyWire } from '../../../src/contract/index.ts'
import type { SchemaChanges } from '../../../config/index.ts'
import { evolveSchema } from '../../../src/mirror/schema-evolution.ts'
import { columnFieldType } from '../../../src/mirror/columns.ts'
import type { MirrorStream } from '../../../src/warehouses/mirror-tables.ts'
import { property } from './property.ts'

const schema = (...properties: readonly PropertyWire[]): ObjectSchema => ({
  name: 'svc_deal',
  label: 'Deal',
  label_plural: 'Deals',
  kinds: [],
  is_system: false,
  allows_custom_properties: true,
  writable_operations: [],
  description: '',
  icon: '',
  properties: [...properties],
})

const follow = (
  stream: MirrorStream | undefined,
  properties: readonly PropertyWire[],
  mode: SchemaChanges = 'evolve',
) => {
  const evolution = evolveSchema('svc_deal', stream, schema(...properties), mode, [])
  const { omitted, found: _found, ...evolved } = evolution
  expect(omitted).toEqual([])
  return evolved
}

const made = (...properties: readonly PropertyWire[]) => follow(undefined, properties).stream

/** `name (type)`, with `-` before a column that is retired. */
const columnsOf = ({ columns }: MirrorStream) =>
  columns.map(({ name, fieldType, live }) => `${live ? '' : '-'}${name} (${fieldType})`)

const MODES = ['evolve', 'freeze', 'ignore'] as const
const name = property('svc_name', 'text')
const score = property('svc_score', 'number')
const price = property('svc_price', 'currency')
const tags = property('svc_tags', 'select', true)

describe('what it finds', () => {
  const text = property('svc_score', 'text')
  const table = made(name, score, price)
  const without = follow(table, [name]).stream
  const found = (from: MirrorStream, mode: SchemaChanges, ...properties: readonly PropertyWire[]) =>
    evolveSchema('svc_deal', from, schema(...properties), mode, []).found.map(
      ({ property: of, kind, before, now, handling, columns }) =>
        [of, kind, before, now, handling, ...columns].join(' '),
    )

  it('is nothing where the table is new, or as its type', () => {
    expect(evolveSchema('svc_deal', undefined, schema(name), 'evolve', []).found).toEqual([])
    for (const mode of MODES) expect(found(table, mode, price, score, name)).toEqual([])
  })

  it.each([
    ['evolve', 'column_added svc_tags'],
    ['ignore', 'left_out'],
    ['freeze', 'frozen'],
  ] as const)('of a new property with %s', (mode, handling) => {
    expect(found(table, mode, name, score, price, tags)).toEqual([
      `svc_tags added  select[] ${handling}`,
    ])
  })

  it.each([
    ['evolve', 'column_added svc_score__text'],
    ['ignore', 'misfits svc_score'],
    ['freeze', 'frozen svc_score'],
  ] as const)('of another type with %s', (mode, handling) => {
    expect(found(table, mode, name, text, price)).toEqual([
      `svc_score retyped number text ${handling}`,
    ])
  })

  it('of a type that was there before: its column is written again', () => {
    const other = follow(table, [name, text, price]).stream
    expect(found(other, 'evolve', name, score, price)).toEqual([
      'svc_score retyped text number column_revived svc_score',
    ])
  })

  it.each([
    ['evolve', 'column_kept'],
    ['ignore', 'column_kept'],
    ['freeze', 'frozen'],
  ] as const)('of a property that goes with %s', (mode, handling) => {
    expect(found(table, mode, name, score)).toEqual([
      `svc_price removed currency  ${handling} svc_price svc_price_unit`,
    ])
  })

  it.each([
    ['evolve', 'column_revived svc_price svc_price_unit'],
    ['ignore', 'column_revived svc_price svc_price_unit'],
    ['freeze', 'frozen'],
  ] as const)('of a property that is back with %s', (mode, handling) => {
    expect(found(without, mode, name, price)).toEqual([`svc_price back  currency ${handling}`])
  })
})

describe('the first time', () => {
  it.each(MODES)('makes table and columns, with %s too', (mode) => {
    const { change, stream, backfill, frozen } = follow(undefined, [name, price, tags], mode)
    expect(stream).toEqual({
      name: 'svc_deal',
      table: 'svc_deal',
      columns: [
        {
          name: 'svc_name',
          property: 'svc_name',
          part: 'value',
          fieldType: 'text',
          type: { holds: 'text', list: false },
          live: true,
        },
        {
          name: 'svc_price',
          property: 'svc_price',
          part: 'value',
          fieldType: 'currency',
          type: { holds: 'decimal', list: false },
          live: true,
        },
        {
          name: 'svc_price_unit',
          property: 'svc_price',
          part: 'unit',
          fieldType: 'currency',
          type: { holds: 'text', list: false },
          live: true,
        },
        {
          name: 'svc_tags',
          property: 'svc_tags',
          part: 'value',
          fieldType: 'select[]',
          type: { holds: 'text', list: true },
          live: true,
        },
      ],
    })
    expect(change).toEqual({
      name: 'svc_deal',
      table: 'svc_deal',
      add: stream.columns,
      retire: [],
      revive: [],
    })
    expect([backfill, frozen]).toEqual([[], []])
  })

  it('gives every column a name of its own, and properties before units', () => {
    const stream = made(
      price,
      property('svc_price_unit', 'select'),
      property('SVC_PRICE', 'text'),
      property('_id', 'text'),
      property('_RUN', 'text'),
      property('ctid', 'text'),
      name,
      name,
    )
    const names = stream.columns.map((column) => column.name)
    expect(names).toEqual([
      'svc_price',
      expect.stringMatching(/^svc_price_unit_[0-9a-f]{8}$/),
      'svc_price_unit',
      expect.stringMatching(/^SVC_PRICE_[0-9a-f]{8}$/),
      expect.stringMatching(/^_id_[0-9a-f]{8}$/),
      expect.stringMatching(/^_RUN_[0-9a-f]{8}$/),
      expect.stringMatching(/^ctid_[0-9a-f]{8}$/),
      'svc_name',
    ])
  })

  it('gives the table a name that is free', () => {
    const { stream, change } = evolveSchema(
      'svc_deal',
      undefined,
      schema(),
      'evolve',
      new Set(['Svc_Deal']),
    )
    expect(stream.table).toMatch(/^svc_deal_[0-9a-f]{8}$/)
    expect(change?.table).toBe(stream.table)
  })
})

describe('a schema that stays as it is', () => {
  it.each(MODES)('changes nothing, with %s', (mode) => {
    const stream = made(name, price, tags)
    // The order of a schema says nothing.
    expect(follow(stream, [tags, price, name], mode)).toEqual({
      change: null,
      stream,
      backfill: [],
      frozen: [],
    })
  })
})

describe('a new property', () => {
  const stream = made(name)

  it('gets a column', () => {
    const { change, stream: after, backfill } = follow(stream, [score, name])
    expect(columnsOf(after)).toEqual(['svc_name (text)', 'svc_score (number)'])
    expect(change).toMatchObject({ table: 'svc_deal', retire: [], revive: [] })
    expect(change!.add).toEqual(after.columns.slice(1))
    expect(backfill).toEqual(['svc_score'])
  })

  it('is left out with ignore, and refused with freeze', () => {
    const nothing = { change: null, stream, backfill: [] }
    expect(follow(stream, [name, score], 'ignore')).toEqual({ ...nothing, frozen: [] })
    expect(follow(stream, [name, score, tags], 'freeze')).toEqual({
      ...nothing,
      frozen: ['new property svc_score (number)', 'new property svc_tags (select[])'],
    })
  })
})

describe('a property that is gone', () => {
  const stream = made(name, price, score)

  it.each(['evolve', 'ignore'] as const)('keeps its columns, retired, with %s', (mode) => {
    const { change, stream: after, backfill } = follow(stream, [score, name], mode)
    expect(change).toMatchObject({ add: [], retire: ['svc_price', 'svc_price_unit'], revive: [] })
    expect(columnsOf(after)).toEqual([
      'svc_name (text)',
      'svc_score (number)',
      '-svc_price (currency)',
      '-svc_price_unit (currency)',
    ])
    expect(backfill).toEqual([])
    // Once.
    expect(follow(after, [score, name], mode).change).toBe(null)
  })

  it.each(['evolve', 'ignore'] as const)('gets its columns back, with %s', (mode) => {
    const gone = follow(stream, [score, name]).stream
    const { change, stream: after, backfill } = follow(gone, [name, price, score], mode)
    const revive = ['svc_price', 'svc_price_unit']
    expect(change).toMatchObject({ add: [], retire: [], revive })
    expect(after.columns.every(({ live }) => live)).toBe(true)
    expect(backfill).toEqual(['svc_price'])
  })

  it('is refused with freeze, and so is its return', () => {
    expect(follow(stream, [score, name], 'freeze')).toEqual({
      change: null,
      stream,
      backfill: [],
      frozen: ['property svc_price is gone'],
    })
    const gone = follow(stream, [score, name]).stream
    expect(follow(gone, [name, price, score], 'freeze').frozen).toEqual([
      'property svc_price (currency) is back',
    ])
  })

  it('that comes back with another type gets another column', () => {
    const gone = follow(stream, [name, price]).stream
    const text = property('svc_score', 'text')
    expect(follow(gone, [name, price, text], 'ignore').change).toBe(null)
    const { change, stream: after } = follow(gone, [name, price, text])
    expect(change).toMatchObject({ retire: [], revive: [] })
    expect(columnsOf(after)).toEqual([
      'svc_name (text)',
      'svc_price (currency)',
      'svc_price_unit (currency)',
      'svc_score__text (text)',
      '-svc_score (number)',
    ])
  })
})

describe('a property of another type', () => {
  const stream = made(name, score)
  const text = property('svc_score', 'text')

  it('gets a column beside the old one, and its old one back', () => {
    const first = follow(stream, [name, text])
    expect(first.change).toMatchObject({ retire: ['svc_score'], revive: [] })
    expect(columnsOf(first.stream)).toEqual([
      'svc_name (text)',
      'svc_score__text (text)',
      '-svc_score (number)',
    ])
    expect(first.backfill).toEqual(['svc_score'])
    const back = follow(first.stream, [name, score])
    expect(back.change).toMatchObject({
      add: [],
      retire: ['svc_score__text'],
      revive: ['svc_score'],
    })
    expect(columnsOf(back.stream)).toEqual([
      'svc_name (text)',
      'svc_score (number)',
      '-svc_score__text (text)',
    ])
    expect(back.backfill).toEqual(['svc_score'])
  })

  it('is one too where it has many values now, or an amount', () => {
    const many = follow(stream, [name, property('svc_score', 'select', true)]).stream
    expect(columnsOf(many)).toContain('svc_score__select_list (select[])')
    const amount = follow(many, [name, property('svc_score', 'currency')]).stream
    expect(columnsOf(amount)).toEqual([
      'svc_name (text)',
      'svc_score__currency (currency)',
      'svc_score__currency_unit (currency)',
      '-svc_score__select_list (select[])',
      '-svc_score (number)',
    ])
  })

  it('goes on in its column with ignore, and is refused with freeze', () => {
    const nothing = { change: null, stream, backfill: [] }
    expect(follow(stream, [name, text], 'ignore')).toEqual({ ...nothing, frozen: [] })
    expect(follow(stream, [name, text], 'freeze')).toEqual({
      ...nothing,
      frozen: ['property svc_score is text instead of number'],
    })
  })
})

it('2,000 properties get names of their own, once', () => {
  const many = Array.from({ length: 2_000 }, (_, index) => property(`svc_p${index}`, 'currency'))
  const stream = made(...many)
  expect(new Set(stream.columns.map((column) => column.name)).size).toBe(4_000)
  expect(follow(stream, many).change).toBe(null)
})

describe('any history of a schema', () => {
  const types = ['text', 'number', 'currency', 'geo point', 'constructor']
  const drawn = fc
    .uniqueArray(
      fc.tuple(
        fc.constantFrom('a', 'A', 'b', 'a_unit', 'a__text', '__proto__', 'x'.repeat(70)),
        fc.constantFrom(...types),
        fc.boolean(),
      ),
      { selector: ([one]) => one },
    )
    .map((properties) => properties.map((one) => property(...one)))

  it('loses no column, and ends with one place for each property', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(drawn, fc.constantFrom(...MODES)), { minLength: 1 }),
        (steps) => {
          let stream: MirrorStream | undefined
          for (const [properties, mode] of steps) {
            const before: MirrorStream | undefined = stream
            const { change, stream: after, frozen, backfill } = follow(before, properties, mode)
            stream = after
            const names = after.columns.map((column) => column.name.toLowerCase())
            expect(new Set(names).size).toBe(names.length)
            for (const { live: _, ...column } of before?.columns ?? [])
              expect(after.columns).toContainEqual(expect.objectContaining(column))
            // Live columns first.
            const lives = after.columns.map(({ live }) => live)
            expect(lives).toEqual(lives.toSorted((a, b) => Number(b) - Number(a)))
            const live = after.columns.filter((column) => column.live)
            // The change is what makes the one of the other.
            const was = new Set(
              before?.columns.filter((column) => column.live).map((one) => one.name),
            )
            for (const one of change?.retire ?? []) expect(was.delete(one)).toBe(true)
            for (const one of [
              ...(change?.add.map((column) => column.name) ?? []),
              ...(change?.revive ?? []),
            ])
              was.add(one)
            expect(live.map((column) => column.name).toSorted()).toEqual([...was].toSorted())
            if (mode === 'freeze' && before) {
              expect([change, after, backfill]).toEqual([null, before, []])
              expect(frozen.length > 0).toBe(follow(before, properties).change !== null)
            } else expect(frozen).toEqual([])
            if (mode !== 'evolve' && before) continue
            const places = new Map(live.map((column) => [column.property, column.fieldType]))
            expect([...places].toSorted()).toEqual(
              properties.map((one) => [one.name, columnFieldType(one)]).toSorted(),
            )
            expect(follow(after, properties, 'freeze').frozen).toEqual([])
          }
        },
      ),
    )
  })
})
