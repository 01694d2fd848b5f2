// Rows as they are read back: what was merged comes back as it was given, and what a person put there by hand comes back as
// something that no record has, or, where it means the same, as the same.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalDecimal } from '../../../src/core/decimal.ts'
import { canonicalJson, isTooDeep, parseJson, type Json } from '../../../src/core/json.ts'
import {
  DECIMAL,
  type ColumnType,
  type StoredRow,
  type MirrorCell,
  type MirrorRow,
  type MirrorStream,
  type MirrorValue,
} from '../../../src/warehouses/mirror-tables.ts'
import {
  at,
  column,
  contact,
  contacts,
  listColumn,
  NOTHING,
  quoted,
  sceneOf,
  SEQUENCES,
  type OpenPlace,
  type Scene,
} from './scene.ts'
import { everything, everyRow, expected, rowOf, VALUES } from './values.ts'

/** Rows by id. */
const byId = (rows: readonly StoredRow[]): Map<string, StoredRow> =>
  new Map(rows.map((row) => [row.id, row]))

const idsOf = (rows: readonly MirrorRow[]): string[] => rows.map(({ id }) => id)

/** A row that is there, as it is read after it was merged. */
const held = ({ columns }: MirrorStream, { cells, misfits, ...row }: MirrorRow): StoredRow => ({
  ...row,
  isDeleted: false,
  cells: cells.map((cell, index) => expected(cell, columns[index]!.type)),
  misfits: misfits === null ? null : canonicalJson(parseJson(misfits)),
})

/** Texts that databases hold. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom(...VALUES.text.map(String)),
)
const hasNul = (json: string): boolean => /\\u0000|\0/.test(json)
/** Canonical texts of JSON. */
const json = fc
  .jsonValue({ stringUnit: 'grapheme', maxDepth: 3 })
  .map((value) => canonicalJson(value as Json))
  .filter((one) => !hasNul(one))
const digits = (of: bigint, length: number): string => String(of).padStart(length, '0')
const decimal = fc
  .tuple(
    fc.bigInt(0n, 10n ** BigInt(DECIMAL.digits) - 1n),
    fc.nat(DECIMAL.digits - 1),
    fc.boolean(),
  )
  .map(([units, dropped, isNegative]) => {
    const all = digits(units / 10n ** BigInt(dropped), DECIMAL.scale + 1)
    const plain = `${all.slice(0, -DECIMAL.scale)}.${all.slice(-DECIMAL.scale)}`
    return canonicalDecimal(isNegative ? `-${plain}` : plain)!
  })
const second = fc.date({
  min: new Date('0001-01-01T00:00:00Z'),
  max: new Date('9999-12-31T23:59:59Z'),
  noInvalidDate: true,
})
const instant = fc.tuple(second, fc.integer({ min: 0, max: 999_999 })).map(([time, micros]) => {
  const fraction = digits(BigInt(micros), 6).replace(/0+$/, '')
  return `${time.toISOString().slice(0, 19)}${fraction === '' ? '' : `.${fraction}`}Z`
})

const ONE: Readonly<Record<ColumnType['holds'], fc.Arbitrary<MirrorValue>>> = {
  text: text.filter((one) => !one.includes('\0')),
  decimal,
  boolean: fc.boolean(),
  date: second.map((time) => time.toISOString().slice(0, 10)),
  instant,
  json,
}

const anyRow = ({ columns }: MirrorStream): fc.Arbitrary<MirrorRow> =>
  fc.record({
    id: fc.string({ unit: 'grapheme' }),
    version: fc.option(instant),
    cells: fc.tuple(
      ...columns.map(({ type: { holds, list } }): fc.Arbitrary<MirrorCell> =>
        fc.option<MirrorCell>(list ? fc.array(ONE[holds], { maxLength: 4 }) : ONE[holds]),
      ),
    ),
    misfits: fc.option(
      fc
        .dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue({ stringUnit: 'grapheme' }))
        .map((value) => canonicalJson(value as Json))
        .filter((one) => !hasNul(one)),
    ),
  })

/** The values of a column `one …` or `many …` that a person sets, in the database's own SQL. */
export type ByHand = readonly (readonly [column: string, value: string])[]

/** Values that no record has. */
export function formless({ place }: Scene): ByHand {
  const isPostgres = place.types.json === 'jsonb'
  const [before, type] = isPostgres ? ['0044-03-15 BC', 'jsonb'] : ['0044-03-15 (BC)', 'JSON']
  return [
    ['one date', "'infinity'"],
    ['one date', "'-infinity'"],
    ['one date', "'10000-01-01'"],
    ['one date', `'${before}'`],
    ['one instant', "'infinity'"],
    ['one instant', "'-infinity'"],
    ['one instant', "'10000-01-01 00:00:00+00'"],
    ['one instant', `'${before}'`],
    ['one instant', "'294246-12-31 23:59:59.999999+00'"],
    ['many text', "ARRAY['a', NULL]"],
    ['many boolean', 'ARRAY[NULL, true]'],
    ['many decimal', 'ARRAY[1, NULL]'],
    ['many date', "ARRAY[DATE '2026-01-31', NULL]"],
    ['many date', "ARRAY[DATE 'infinity']"],
    ['many instant', "ARRAY[TIMESTAMPTZ 'infinity', NULL]"],
    ['many instant', "ARRAY[TIMESTAMPTZ 'infinity']"],
    ['many json', `ARRAY[CAST('1' AS ${type}), NULL]`],
    ...(isPostgres
      ? ([
          ['one decimal', "'NaN'"],
          ['one decimal', "'Infinity'"],
          ['one decimal', "'-Infinity'"],
          ['one decimal', '0.0000000001'],
          ['one decimal', '-100000000000000000000000000000'],
          ['one decimal', '1e100'],
          ['many decimal', "ARRAY[1, CAST('NaN' AS numeric)]"],
          ['many text', "ARRAY[['a', 'b'], ['c', 'd']]"],
          ['many json', `ARRAY[[CAST('1' AS jsonb)]]`],
        ] as const)
      : ([
          ['one instant', "'294247-01-10 04:00:54.775806+00'"],
          ['many instant', "ARRAY[TIMESTAMPTZ '294247-01-10 04:00:54.775806+00']"],
          ['one text', 'chr(0)'],
          ['one json', `'"\\u0000"'`],
          ['one json', "repeat('[', 20000) || repeat(']', 20000)"],
        ] as const)),
  ]
}

/** Other ways to write what `sameRow` holds. */
export const ALIKE: ByHand = [
  ['one decimal', '12.50'],
  ['one boolean', "CAST('t' AS boolean)"],
  ['one instant', "'2026-01-31 10:15:00.500000+02:00'"],
  ['one json', `'{ "b" : [1, 2.50], "a" : "x" }'`],
  ['many decimal', 'ARRAY[1.0, 2.50]'],
  ['many instant', "ARRAY[TIMESTAMPTZ '2026-01-31 10:15:00.5+02']"],
]
const SAME: Readonly<Record<string, MirrorCell>> = {
  'one decimal': '12.5',
  'one boolean': true,
  'one instant': '2026-01-31T08:15:00.5Z',
  'one json': '{"a":"x","b":[1,2.5]}',
  'many decimal': ['1', '2.5'],
  'many instant': ['2026-01-31T08:15:00.5Z'],
}

const ROW: Readonly<Record<ColumnType['holds'], RegExp>> = {
  text: /^[^\0]*$/,
  decimal: /^-?(?:0|[1-9]\d{0,28})(?:\.\d{0,8}[1-9])?$/,
  boolean: /^(?:true|false)$/,
  date: /^\d{4}-\d\d-\d\d$/,
  instant: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{0,5}[1-9])?Z$/,
  json: /^/,
}

/** Whether a record can have it. */
function canBe(cell: MirrorCell, { holds, list }: ColumnType): boolean {
  if (cell === null) return true
  if ((typeof cell === 'object') !== list) return false
  return (typeof cell === 'object' ? cell : [cell]).every((value) => {
    if (!ROW[holds].test(String(value)) || (typeof value === 'boolean') !== (holds === 'boolean'))
      return false
    if (holds !== 'json') return true
    try {
      const json = parseJson(String(value))
      const canonical = canonicalJson(json)
      return canonical === value && !hasNul(canonical) && !isTooDeep(json)
    } catch {
      return false
    }
  })
}

/** One row for each value, which a person then sets; the rows as they are read, in the order of the values. */
export async function changedByHand(
  scene: Scene,
  values: ByHand,
): Promise<(readonly [string, MirrorCell])[]> {
  const cells = everything.columns.map(({ name }) => SAME[name] ?? null)
  const ids = values.map((_, index) => `row ${index}`)
  await scene.merge(everything, [[at(1), ids.map((id) => rowOf(id, cells))]])
  await scene.place.alter(
    values
      .map(
        ([name, value], index) =>
          `UPDATE ${scene.sql(everything)} SET ${quoted(name)} = ${value} WHERE "_id" = 'row ${index}'`,
      )
      .join(';\n'),
  )
  const rows = byId(await scene.tables.rows(everything, ids))
  return values.map(([name, value], index) => {
    const part = everything.columns.findIndex((one) => one.name === name)
    return [`${name}: ${value}`, rows.get(ids[index]!)!.cells[part]!] as const
  })
}

export function holdingTests(place: OpenPlace): void {
  describe('rows', () => {
    it('of every type of column, at their ends, come back as they were merged', async () => {
      const scene = await sceneOf(place, [everything])
      const rows = everyRow()
      await scene.merge(everything, [[at(1), rows]])
      const found = byId(await scene.tables.rows(everything, idsOf(rows)))
      expect(found.size).toBe(rows.length)
      for (const row of rows) expect(found.get(row.id)).toEqual(held(everything, row))
    })

    it('of any values come back as they were merged, and merged again they are the same', async () => {
      const stream = { ...everything, columns: [...everything.columns, listColumn('x', 'text')] }
      const scene = await sceneOf(place, [stream])
      let minute = 0
      const rows = fc.uniqueArray(anyRow(stream), { selector: ({ id }) => id, maxLength: 12 })
      await fc.assert(
        fc.asyncProperty(rows, async (drawn) => {
          const made = drawn.map((row) => ({ ...row, id: `${minute} ${row.id}` }))
          await scene.merge(stream, [[at(++minute), made]])
          const found = byId(await scene.tables.rows(stream, idsOf(made)))
          expect(found).toEqual(byId(made.map((row) => held(stream, row))))
          expect(await scene.merge(stream, [[at(++minute), [...found.values()]]])).toEqual({
            ...NOTHING,
            unchanged: made.length,
          })
        }),
        { numRuns: SEQUENCES },
      )
    })

    it('are those that were asked for and are there, deleted ones too', async () => {
      const scene = await sceneOf(place)
      const version = '2026-01-31T08:15:00.000001Z'
      const misfits = '{"__proto__":1,"a":{"b":[null,"é"],"c":1e+21},"":0.1}'
      const ids = VALUES.text.map(String).filter((id) => id.length < 100)
      const rows = ids.map((id) => contact(id, id, { version, misfits, born: version }))
      await scene.merge(contacts, [[at(1), rows]])
      const { fence } = await scene.tables.claim(contacts.name)
      await scene.tables.delete(contacts, fence, 'p', {
        before: at(99),
        ids: ['NULL', "'"],
        how: 'soft',
        at: at(99),
      })
      const found = byId(await scene.tables.rows(contacts, [...ids, 'not there', 'Zoé', 'null ']))
      const canonical = '{"":0.1,"__proto__":1,"a":{"b":[null,"é"],"c":1e+21}}'
      expect(found).toEqual(
        byId(
          rows.map((row) => ({
            ...row,
            misfits: canonical,
            isDeleted: ['NULL', "'"].includes(row.id),
          })),
        ),
      )
      const twice = await scene.tables.rows(contacts, ['Zoë', 'Zoë', 'not there'])
      expect(twice.map(({ id }) => id)).toEqual(['Zoë'])
      expect(await scene.tables.rows(contacts, ['not there'])).toEqual([])
      expect(await scene.tables.rows(contacts, [])).toEqual([])
    })

    it('have the live columns only, in their order, whatever their names', async () => {
      const wide = { ...contacts, columns: [...contacts.columns, column('RowId', 'decimal')] }
      const scene = await sceneOf(place, [wide])
      const rows = ['1', '2', '3'].map((id) => {
        const cells = ['Ada', 'me', null, id === '3' ? null : '7']
        return { ...contact(id, 'Ada'), cells }
      })
      await scene.merge(wide, [[at(1), rows]])
      const change = { name: wide.name, table: wide.table, add: [], revive: [] }
      await scene.tables.change([{ ...change, retire: ['owner'] }])
      const [stream] = await scene.tables.streams()
      const found = byId(await scene.tables.rows(stream!, ['1', '3']))
      expect([...found.keys()].toSorted()).toEqual(['1', '3'])
      expect(found.get('1')!.cells).toEqual(['Ada', null, '7'])
      expect(found.get('3')!.cells).toEqual(['Ada', null, null])
    })

    it('are a thousand at a time', async () => {
      const scene = await sceneOf(place)
      const rows = Array.from({ length: 1_100 }, (_, index) => contact(`id ${index}`, `${index}`))
      await scene.merge(contacts, [[at(1), rows]])
      const ids = [
        ...idsOf(rows).slice(200),
        ...Array.from({ length: 100 }, (_, one) => `no ${one}`),
      ]
      expect(ids).toHaveLength(1_000)
      const found = byId(await scene.tables.rows(contacts, ids))
      expect(found).toEqual(byId(rows.slice(200).map((row) => held(contacts, row))))
    })

    it('that a person gave a value which no record can have hold something like it', async () => {
      const scene = await sceneOf(place, [everything])
      for (const [how, cell] of await changedByHand(scene, formless(scene))) {
        const { type } = everything.columns.find(({ name }) => how.startsWith(name))!
        expect({ how, cell, canBe: canBe(cell, type) }).toEqual({ how, cell, canBe: false })
      }
      await scene.place.alter(`UPDATE ${scene.sql(everything)} SET "_version" = 'infinity'`)
      const [row] = await scene.tables.rows(everything, ['row 0'])
      expect(row!.version).toBe('infinity')
    })

    it('that a person wrote in another way are the same', async () => {
      const scene = await sceneOf(place, [everything])
      const cells = await changedByHand(scene, ALIKE)
      expect(cells).toEqual(ALIKE.map(([name, value]) => [`${name}: ${value}`, SAME[name]]))
    })
  })
}
