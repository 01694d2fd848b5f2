// Counts, groups and ids, as the mirror asks for them.

import { describe, expect, it } from 'vitest'
import type {
  ColumnEquals,
  MirrorStream,
  InstantRange,
} from '../../../src/warehouses/mirror-tables.ts'
import { errorOf } from '../warehouse.suite.ts'
import { ALIKE, changedByHand, formless } from './holding.ts'
import {
  at,
  contact,
  contacts,
  sceneOf,
  type MirrorPlace,
  type OpenPlace,
  type Scene,
} from './scene.ts'
import { everything, everyRow } from './values.ts'

const BYTE_ORDER = ['', '10', '9', 'B', 'a', 'a b', 'aa', 'é', 'ｆ', '😀']

/** Rows `0` to `9`, born at that minute; `none` was not born, `deleted` is not there. */
async function bornScene(place: OpenPlace): Promise<Scene> {
  const scene = await sceneOf(place)
  const numbers = Array.from({ length: 10 }, (_, index) => index)
  await scene.merge(contacts, [
    ...numbers.map(
      (minute) =>
        [
          at(minute),
          [
            contact(`${minute}`, 'x', {
              born: at(minute),
              version: at(minute),
              misfits: minute % 3 === 0 ? '{"a":1}' : null,
            }),
          ],
        ] as const,
    ),
    [at(4), [contact('none', 'x'), contact('deleted', 'x', { born: at(4), misfits: '{}' })]],
  ])
  const { fence } = await scene.tables.claim(contacts.name)
  const deletion = { before: at(99), ids: ['deleted'], how: 'soft', at: at(99) } as const
  await scene.tables.delete(contacts, fence, 'p', deletion)
  return scene
}

const WITHIN: readonly (readonly [InstantRange, ids: string[], misfits: number])[] = [
  [{ column: 'born', from: at(3), to: at(5) }, ['3', '4'], 1],
  [{ column: 'born', from: null, to: at(2) }, ['0', '1'], 1],
  [{ column: 'born', from: at(8), to: null }, ['8', '9'], 1],
  [{ column: 'born', from: at(5), to: at(5) }, [], 0],
  [{ column: 'born', from: '2026-01-01T00:02:59.999999Z', to: at(4) }, ['3'], 1],
  [{ column: 'born', from: '2026-01-01T00:03:00.000001Z', to: at(5) }, ['4'], 0],
  [{ column: '_last_seen_at', from: null, to: at(5) }, ['0', '1', '2', '3', '4', 'none'], 2],
  [{ column: '_version', from: at(7), to: null }, ['7', '8', '9'], 1],
]

/** `values: rows`, sorted: the groups of the driver. */
async function groupsOf(
  { tables }: Scene,
  stream: MirrorStream,
  columns: readonly string[],
  within?: InstantRange,
): Promise<string[]> {
  const groups = await tables.groups(stream, columns, within)
  return groups.map(({ values, rows }) => `${JSON.stringify(values)}: ${rows}`).toSorted()
}

/** Ids of all rows that are there, by the JSON text of their values of some columns, as `rows` gives them. */
async function idsByValues(
  { tables }: Scene,
  stream: MirrorStream,
  columns: readonly string[],
): Promise<Map<string, string[]>> {
  const places = columns.map((name) => stream.columns.findIndex((one) => one.name === name))
  const ids = await tables.ids(stream, { after: null, limit: 1_000 })
  const byValues = new Map<string, string[]>()
  for (const { id, cells } of await tables.rows(stream, ids)) {
    const key = JSON.stringify(places.map((one) => cells[one]))
    byValues.set(key, [...(byValues.get(key) ?? []), id].toSorted())
  }
  return byValues
}

/** The groups of columns are those of the rows; and where their values can be asked for, so are their ids. */
async function expectAsRows(
  scene: Scene,
  stream: MirrorStream,
  columns: readonly string[],
): Promise<void> {
  const byValues = await idsByValues(scene, stream, columns)
  const sums = [...byValues].map(([key, ids]) => `${key}: ${ids.length}`)
  expect(await groupsOf(scene, stream, columns)).toEqual(sums.toSorted())
  const types = stream.columns.filter(({ name }) => columns.includes(name)).map(({ type }) => type)
  if (types.some(({ holds, list }) => list || holds === 'json')) return
  for (const [key, expected] of byValues) {
    const values = JSON.parse(key) as ColumnEquals['value'][]
    const equals = columns.map((name, index) => ({ column: name, value: values[index]! }))
    const ids = await scene.tables.ids(stream, { after: null, limit: 1_000, equals })
    expect({ columns, key, ids: ids.toSorted() }).toEqual({ columns, key, ids: expected })
  }
}

/** Makes a column of texts one that takes letters of any case, or with any accent, for the same. */
const collate = ({ types, alter }: MirrorPlace, name: string): Promise<void> =>
  alter(
    types.json === 'jsonb'
      ? `CREATE COLLATION same (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
         ALTER TABLE crm.svc_contact ALTER COLUMN ${name} TYPE text COLLATE same`
      : `ALTER TABLE crm.svc_contact ALTER COLUMN ${name} TYPE VARCHAR COLLATE NOCASE.NOACCENT`,
  )

export function readingTests(place: OpenPlace): void {
  describe('counts', () => {
    it('are of the rows that are there, and those with misfits', async () => {
      const scene = await bornScene(place)
      expect(await scene.tables.count(contacts)).toEqual({ rows: 11, misfits: 4 })
      for (const [within, ids, misfits] of WITHIN) {
        const count = await scene.tables.count(contacts, within)
        expect({ within, count }).toEqual({ within, count: { rows: ids.length, misfits } })
      }
    })

    it('know whether a column has a value in a row that is there', async () => {
      const scene = await bornScene(place)
      expect(await scene.tables.hasValues(contacts, 'born')).toBe(true)
      expect(await scene.tables.hasValues(contacts, 'owner')).toBe(false)
      const { fence } = await scene.tables.claim(contacts.name)
      const ids = Array.from({ length: 10 }, (_, minute) => `${minute}`)
      const deletion = { before: at(99), ids, how: 'soft', at: at(99) } as const
      await scene.tables.delete(contacts, fence, 'p', deletion)
      expect(await scene.tables.hasValues(contacts, 'born')).toBe(false)
    })

    it('of a column with any instant of the calendar', async () => {
      const scene = await sceneOf(place)
      const borns = ['0001-01-01T00:00:00Z', '1969-12-31T23:59:59.999999Z', '9999-12-31T23:59:59Z']
      await scene.merge(contacts, [
        [at(1), borns.map((born, index) => contact(`${index}`, 'x', { born }))],
      ])
      const count = async (from: string | null, to: string | null) =>
        (await scene.tables.count(contacts, { column: 'born', from, to })).rows
      expect(await count('0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z')).toBe(2)
      expect(await count('0001-01-01T00:00:00.000001Z', null)).toBe(2)
      expect(await count(null, '1970-01-01T00:00:00Z')).toBe(2)
      expect(await count(null, null)).toBe(3)
    })
  })

  describe('groups', () => {
    it('are of the rows that are there, by any number of columns; null is a value', async () => {
      const scene = await bornScene(place)
      await scene.merge(contacts, [
        [at(100), [contact('4', null), contact('5', 'x', { owner: 'me' }), contact('6', 'null')]],
      ])
      const groups = (columns: readonly string[], within?: InstantRange) =>
        groupsOf(scene, contacts, columns, within)
      expect(await groups(['name'])).toEqual(['["null"]: 1', '["x"]: 9', '[null]: 1'])
      expect(await groups(['owner', 'name'])).toEqual([
        '["me","x"]: 1',
        '[null,"null"]: 1',
        '[null,"x"]: 8',
        '[null,null]: 1',
      ])
      for (const [within, ids] of WITHIN)
        if (within.column === 'born' && within.to !== at(5))
          expect(await groups(['name'], within)).toEqual([`["x"]: ${ids.length}`])
      const nobody = { column: 'born', from: at(50), to: null }
      expect(await groups(['name'], nobody)).toEqual([])
      const choice = { after: '0', limit: 2, within: { column: 'born', from: null, to: at(4) } }
      const equals = [
        { column: 'name', value: 'x' },
        { column: 'owner', value: null },
      ]
      expect(await scene.tables.ids(contacts, { ...choice, equals })).toEqual(['1', '2'])
      const others = [{ column: 'name', value: 'null' }]
      expect(await scene.tables.ids(contacts, { ...choice, equals: others })).toEqual([])
    })

    it('have the values of the rows, of every type, at their ends and where no record has them', async () => {
      const scene = await sceneOf(place, [everything])
      await changedByHand(scene, [...formless(scene), ...ALIKE])
      await scene.merge(everything, [[at(1), everyRow()]])
      const names = everything.columns.map(({ name }) => name)
      for (const name of names) await expectAsRows(scene, everything, [name])
      await expectAsRows(scene, everything, ['one decimal', 'one boolean', 'one date'])
      await expectAsRows(scene, everything, names.toReversed())
    })

    it('tell texts apart that a collation takes for the same', async () => {
      const scene = await sceneOf(place)
      const texts = ['Ada', 'ada', 'ADA', 'Ada ', ' Ada', 'Adá', 'Ada\u0301', '', ' ', 'null', null]
      const rows = texts.map((text, index) => contact(`${index}`, text, { owner: text }))
      await scene.merge(contacts, [[at(1), rows]])
      await collate(scene.place, 'name')
      const same = `SELECT "_id" FROM ${scene.sql(contacts)} WHERE "name" = 'ADA'`
      expect((await scene.ask(same)).length).toBeGreaterThan(2)
      expect(await groupsOf(scene, contacts, ['name', 'owner'])).toEqual(
        texts.map((text) => `${JSON.stringify([text, text])}: 1`).toSorted(),
      )
      await expectAsRows(scene, contacts, ['name'])
      await expectAsRows(scene, contacts, ['owner', 'name'])
      // One that changed in its case only is written.
      await scene.merge(contacts, [[at(2), [contact('0', 'aDA', { owner: 'Ada' })]]])
      const [first] = await scene.tables.rows(contacts, ['0'])
      expect(first!.cells[0]).toBe('aDA')
    })

    it('of columns that are not there, or with values that have many forms, are refused', async () => {
      const scene = await sceneOf(place, [everything])
      const choice = { after: null, limit: 1 }
      for (const column of ['one json', 'many text', 'nothing']) {
        const equals = [{ column, value: '1' }]
        const error = await errorOf(scene.tables.ids(everything, { ...choice, equals }))
        expect(error.code).toBe('column_unfit')
        expect(error.message).toContain(column)
      }
      const error = await errorOf(scene.tables.groups(everything, ['nothing']))
      expect(error.message).toBe('The stream everything has no column nothing')
    })
  })

  describe('ids', () => {
    it('come in the order of their bytes, page by page', async () => {
      const scene = await sceneOf(place)
      await scene.merge(contacts, [
        [
          at(1),
          ['é', 'a', '😀', '9', 'B', '10', 'ｆ', '', 'aa', 'a b'].map((id) => contact(id, id)),
        ],
      ])
      expect(await scene.tables.ids(contacts, { after: null, limit: 99 })).toEqual(BYTE_ORDER)
      for (const limit of [1, 3, 10]) {
        const found: string[] = []
        for (let after: string | null = null; ;) {
          const page: readonly string[] = await scene.tables.ids(contacts, { after, limit })
          expect(page.length).toBeLessThanOrEqual(limit)
          found.push(...page)
          if (page.length < limit || found.length > BYTE_ORDER.length) break
          after = page.at(-1)!
        }
        expect({ limit, found }).toEqual({ limit, found: BYTE_ORDER })
      }
      // An id need not be there for others to come after it.
      expect(await scene.tables.ids(contacts, { after: 'Z', limit: 2 })).toEqual(['a', 'a b'])
      expect(await scene.tables.ids(contacts, { after: '😀', limit: 2 })).toEqual([])
    })

    it('are of rows that are there, and that a choice leaves', async () => {
      const scene = await bornScene(place)
      const ids = async (choice: object) =>
        await scene.tables.ids(contacts, { after: null, limit: 99, ...choice })
      expect(await ids({})).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'none'])
      expect(await ids({ seenBefore: at(2) })).toEqual(['0', '1'])
      expect(await ids({ seenBefore: at(5), after: '3' })).toEqual(['4', 'none'])
      expect(await ids({ versionFrom: at(8) })).toEqual(['8', '9'])
      expect(await ids({ versionFrom: at(2), seenBefore: at(5), limit: 2 })).toEqual(['2', '3'])
      for (const [within, found] of WITHIN) expect(await ids({ within })).toEqual(found)
      const all = { within: WITHIN[0]![0], versionFrom: at(4), seenBefore: at(9), after: '0' }
      expect(await ids(all)).toEqual(['4'])
    })

    it('of the highest versions are of the rows that are there and have one', async () => {
      const { tables } = await bornScene(place)
      expect(await tables.newestIds(contacts, 3)).toEqual(['9', '8', '7'])
      expect(await tables.newestIds(contacts, 2, at(4))).toEqual(['4', '3'])
      expect(await tables.newestIds(contacts, 100)).toHaveLength(10)
      expect(await tables.newestIds(contacts, 2, '2025-01-01T00:00:00Z')).toEqual([])
    })

    it('of owners with a link to a row that is gone', async () => {
      const others: MirrorStream = { ...contacts, name: 'others', table: 'others' }
      const scene = await sceneOf(place, [contacts, others])
      const ends = ['marked', 'early', 'removed', 'there', "d'Arc"]
      await scene.merge(others, [[at(1), ends.map((id) => contact(id, 'x'))]])
      const { fence } = await scene.tables.claim(others.name)
      const deletion = { before: at(5), how: 'soft' } as const
      const gone = async (id: string, at: string, how: 'soft' | 'hard') =>
        await scene.tables.delete(others, fence, 'p', { ...deletion, ids: [id], at, how })
      await gone('marked', at(6), 'soft')
      await gone('early', at(3), 'soft')
      await gone("d'Arc", at(6), 'soft')
      await gone('removed', at(6), 'hard')
      const links = [
        ['1', 'é', 'marked'],
        ['2', 'a', 'early'],
        ['3', 'B', 'removed'],
        ['4', 'c', 'there'],
        ['5', 'é', 'there'],
        ['6', '😀', "d'Arc"],
        ['7', 'é', "d'Arc"],
        ['8', 'ｆ', 'never'],
        ['9', 'z', 'marked'],
      ] as const
      await scene.merge(contacts, [
        [at(1), links.map(([id, owner, name]) => contact(id, name, { owner }))],
      ])
      const own = await scene.tables.claim(contacts.name)
      const nine = { before: at(5), ids: ['9'], how: 'soft', at: at(6) } as const
      await scene.tables.delete(contacts, own.fence, 'p', nine)
      const all = {
        after: null,
        limit: 99,
        ends: [{ column: 'name', of: others, among: null }],
        deletedFrom: null,
        isMissing: false,
      }
      const owners = (choice: object) =>
        scene.tables.ownersOfGone(contacts, 'owner', { ...all, ...choice })
      expect(await owners({})).toEqual(['a', 'é', '😀'])
      expect(await owners({ deletedFrom: at(6) })).toEqual(['é', '😀'])
      expect(await owners({ deletedFrom: at(7) })).toEqual([])
      expect(await owners({ isMissing: true })).toEqual(['B', 'a', 'é', 'ｆ', '😀'])
      expect(await owners({ isMissing: true, after: 'a', limit: 2 })).toEqual(['é', 'ｆ'])
      const among = { column: 'owner', values: ['a', 'é'] }
      const some = [{ column: 'name', of: others, among }]
      expect(await owners({ ends: some, isMissing: true })).toEqual(['a', 'é'])
      expect(await owners({ ends: [] })).toEqual([])
    })

    it('are of the rows of some owners', async () => {
      const scene = await sceneOf(place)
      const owned = ['ada', 'ben', 'cy', 'ada'].map((owner, index) =>
        contact(`${index}`, 'x', { owner }),
      )
      await scene.merge(
        contacts,
        owned.map((row, index) => [at(index), [row]]),
      )
      const owners = { column: 'owner', values: ['ada', 'cy', "d'Arc"] }
      const choice = { after: null, limit: 99, owners }
      expect(await scene.tables.ids(contacts, choice)).toEqual(['0', '2', '3'])
      expect(await scene.tables.ids(contacts, { ...choice, seenBefore: at(3) })).toEqual(['0', '2'])
      expect(await scene.tables.ids(contacts, { ...choice, after: '0' })).toEqual(['2', '3'])
      const nobody = { ...owners, values: [] }
      expect(await scene.tables.ids(contacts, { ...choice, owners: nobody })).toEqual([])
    })
  })
}
