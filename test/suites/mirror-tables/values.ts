// Every type of column, with the values at its ends: exactly what was written is what the database has, and what it can
// calculate with.

import { describe, expect, it } from 'vitest'
import { canonicalJson, parseJson } from '../../../src/core/json.ts'
import type {
  ColumnType,
  MirrorCell,
  MirrorRow,
  MirrorStream,
  MirrorValue,
} from '../../../src/warehouses/mirror-tables.ts'
import { at, column, listColumn, NOTHING, sceneOf, type OpenPlace } from './scene.ts'

export const VALUES: Readonly<Record<ColumnType['holds'], readonly MirrorValue[]>> = {
  text: [
    '',
    ' ',
    ' a ',
    'NULL',
    'null',
    '\\N',
    '\\',
    '\\\\',
    '\\.',
    '"',
    '""',
    "'",
    ',',
    ';',
    '{}',
    '{',
    '}',
    '{NULL}',
    '[]',
    '[a, b]',
    'a,b',
    '\t',
    'tab\tbed',
    'two\nlines',
    '\r',
    'old\r\nlines',
    '\u0001',
    '\u0007\b\f\v\u001F\u007F',
    '\u2028',
    '\uFEFFmark',
    'Zoë',
    'Zoe\u0308',
    '😀 👩‍👩‍👧',
    '\uFFFD',
    'x'.repeat(100_000),
    `${'"\\,{}\n\t'.repeat(1_000)}`,
  ],
  decimal: [
    '0',
    '1',
    '-1',
    '12.5',
    '0.1',
    '-0.000000001',
    '0.000000001',
    '9007199254740993',
    '99999999999999999999999999999',
    '99999999999999999999999999999.999999999',
    '-99999999999999999999999999999.999999999',
    '12345678901234567890123456789.123456789',
  ],
  boolean: [true, false],
  date: ['0001-01-01', '0099-12-31', '1582-10-10', '1970-01-01', '2024-02-29', '9999-12-31'],
  instant: [
    '0001-01-01T00:00:00Z',
    '0001-01-01T00:00:00.000001Z',
    '1582-10-10T12:00:00Z',
    '1883-11-18T12:03:58Z',
    '1969-12-31T23:59:59.999999Z',
    '1970-01-01T00:00:00Z',
    '2026-01-31T08:15:00.5Z',
    '2026-03-29T02:30:00Z',
    '2026-01-31T08:15:00.123456Z',
    '9999-12-31T23:59:59.999999Z',
  ],
  json: [
    'null',
    'true',
    '0',
    '-12.5',
    '""',
    '"it\'s \\"quoted\\", \\\\ and\\nlong"',
    '"null"',
    '[]',
    '{}',
    '[1,[2,[3,[null]]]]',
    '{"a":{"b":[1,{"c":null,"d":"\\t"}]},"é😀":"x","":{"\\"":1}}',
    '9007199254740993',
    '-1e+400',
    '[1.00000000000000000000001,1.5e-400,"9007199254740993"]',
    '{"n":12345678901234567890123.5,"o":0.1}',
    `[${'[1],'.repeat(5_000)}1]`,
    `{"long":"${'x'.repeat(100_000)}"}`,
  ],
}
const HOLDS = Object.keys(VALUES) as ColumnType['holds'][]

export const everything: MirrorStream = {
  name: 'everything',
  table: 'everything',
  columns: [
    ...HOLDS.map((holds) => column(`one ${holds}`, holds)),
    ...HOLDS.map((holds) => listColumn(`many ${holds}`, holds)),
  ],
}

export const rowOf = (id: string, cells: readonly MirrorCell[]): MirrorRow => ({
  id,
  version: null,
  cells,
  misfits: null,
})

/** Each value alone, and in lists: alone, with all of its kind, and none. */
export function everyRow(): MirrorRow[] {
  const length = Math.max(...HOLDS.map((holds) => VALUES[holds].length))
  const none = everything.columns.map(() => null)
  const each = Array.from({ length }, (_, index) => {
    const values = HOLDS.map((holds) => VALUES[holds][index] ?? null)
    return [...values, ...values.map((value) => (value === null ? null : [value]))]
  })
  const nulls = HOLDS.map(() => null)
  return [
    ...each,
    none,
    [...nulls, ...HOLDS.map((holds) => VALUES[holds])],
    [...nulls, ...HOLDS.map(() => [])],
    [...nulls, ...HOLDS.map((holds) => VALUES[holds].toReversed())],
    [...nulls, ...HOLDS.map((holds) => [VALUES[holds][0]!, VALUES[holds][0]!])],
  ].map((cells, index) => rowOf(`row ${String(index).padStart(3, '0')}`, cells))
}

/** What was written, in the form in which it is read. */
export function expected(cell: MirrorCell, { holds }: ColumnType): MirrorCell {
  const one = (value: MirrorValue): MirrorValue =>
    holds === 'json' ? canonicalJson(parseJson(String(value))) : value
  if (cell === null) return null
  return typeof cell === 'object' ? cell.map(one) : one(cell)
}

export function valueTests(place: OpenPlace): void {
  describe('values', () => {
    it('of every type, at their ends, alone and in lists, are stored exactly', async () => {
      const scene = await sceneOf(place, [everything])
      const rows = everyRow()
      const total = rows.length
      expect(await scene.merge(everything, [[at(1), rows]])).toEqual({
        ...NOTHING,
        inserted: total,
      })
      const stored = await scene.rows(everything)
      expect(stored.map(({ id }) => id)).toEqual(rows.map(({ id }) => id))
      for (const [index, { id, cells }] of stored.entries())
        for (const [part, { name, type }] of everything.columns.entries())
          expect({ id, name, cell: cells[part] }).toEqual({
            id,
            name,
            cell: expected(rows[index]!.cells[part]!, type),
          })
      // Written again they are the same; each of them differs from null, and from an empty list.
      expect(await scene.merge(everything, [[at(2), rows]])).toEqual({
        ...NOTHING,
        unchanged: total,
      })
      const emptied = rows.map(({ id, cells }) =>
        rowOf(
          id,
          cells.map((cell) => (cell === null ? null : typeof cell === 'object' ? [] : null)),
        ),
      )
      const wasEmpty = rows.filter(({ cells }) =>
        cells.every((cell) => cell === null || (typeof cell === 'object' && cell.length === 0)),
      )
      expect(await scene.merge(everything, [[at(3), emptied]])).toEqual({
        ...NOTHING,
        changed: total - wasEmpty.length,
        unchanged: wasEmpty.length,
      })
    })

    it('that differ in little are a change, in every column', async () => {
      const pairs: Readonly<Record<ColumnType['holds'], readonly [MirrorValue, MirrorValue]>> = {
        text: ['Zoë', 'Zoe\u0308'],
        decimal: ['9007199254740993', '9007199254740993.000000001'],
        boolean: [true, false],
        date: ['9999-12-30', '9999-12-31'],
        instant: ['9999-12-31T23:59:59.999998Z', '9999-12-31T23:59:59.999999Z'],
        json: ['{"a":[1,2]}', '{"a":[2,1]}'],
      }
      const scene = await sceneOf(place, [everything])
      const steps: readonly ((holds: ColumnType['holds']) => [MirrorCell, MirrorCell])[] = [
        (holds) => [pairs[holds][0], [pairs[holds][0], pairs[holds][1]]],
        (holds) => [pairs[holds][1], [pairs[holds][1], pairs[holds][0]]],
        (holds) => [null, [pairs[holds][1]]],
        (holds) => [pairs[holds][1], null],
        (holds) => [pairs[holds][0], []],
      ]
      for (const [index, step] of steps.entries()) {
        const rows = everything.columns.map(({ name, type }) =>
          rowOf(
            name,
            everything.columns.map((other) =>
              other.name === name ? step(type.holds)[type.list ? 1 : 0] : null,
            ),
          ),
        )
        const total = rows.length
        expect(await scene.merge(everything, [[at(index), rows]])).toEqual(
          index === 0 ? { ...NOTHING, inserted: total } : { ...NOTHING, changed: total },
        )
      }
    })

    it('can be calculated with, as what they are', async () => {
      const scene = await sceneOf(place, [everything])
      const rows = ['1', '2'].map((id) => {
        const [day, json] = [`2026-02-0${id}`, `{"a":"${id}"}`]
        const single = ['a', `${id}.100000001`, true, day, at(Number(id)), json]
        return rowOf(id, [...single, [id, 'b'], [id], [true], [day], [at(1)], [json]])
      })
      await scene.merge(everything, [[at(3), rows]])
      const { instant } = scene.place.types
      const [row] = await scene.ask(
        `SELECT CAST(SUM("one decimal") AS text), CAST(COUNT(CASE WHEN "one boolean" THEN 1 END) AS text),
                CAST(MAX("one date") - MIN("one date") AS text), MIN("one json" ->> 'a'),
                CAST(COUNT(CASE WHEN "one instant" > CAST('2026-01-01T02:01:00+02:00' AS ${instant}) THEN 1 END) AS text)
         FROM ${scene.sql(everything)}`,
      )
      expect([Number(row![0]), ...row!.slice(1)]).toEqual([3.200000002, '2', '1', '1', '1'])
      const items = await scene.ask(
        `SELECT item FROM (SELECT unnest("many text") AS item FROM ${scene.sql(everything)}) AS items ORDER BY item`,
      )
      expect(items).toEqual([['1'], ['2'], ['b'], ['b']])
      const sum = await scene.ask(
        `SELECT CAST(SUM(item) AS text) FROM (SELECT unnest("many decimal") AS item FROM ${scene.sql(everything)}) AS items`,
      )
      expect(Number(sum[0]![0])).toBe(3)
    })

    it('of ids are whatever a service calls a record', async () => {
      const scene = await sceneOf(place, [everything])
      const none = everything.columns.map(() => null)
      const ids = VALUES.text.map(String).filter((text) => text.length < 1_000)
      const rows = ids.map((id) => rowOf(id, none))
      const total = rows.length
      expect(await scene.merge(everything, [[at(1), rows]])).toEqual({
        ...NOTHING,
        inserted: total,
      })
      expect(await scene.merge(everything, [[at(2), rows]])).toEqual({
        ...NOTHING,
        unchanged: total,
      })
      const found = await scene.tables.ids(everything, { after: null, limit: 1_000 })
      expect([...found].toSorted()).toEqual(ids.toSorted())
    })
  })
}
