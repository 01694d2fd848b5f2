// Whose the tables are, what they look like, how they grow; and that what somebody altered by hand is refused before it is
// written to.

import { describe, expect, it } from 'vitest'
import { SyncError } from '../../../src/core/errors.ts'
import {
  OWN_COLUMNS,
  type ColumnType,
  type MirrorColumn,
  type MirrorStream,
} from '../../../src/warehouses/mirror-tables.ts'
import { errorOf } from '../warehouse.suite.ts'
import {
  at,
  column,
  contact,
  contacts,
  listColumn,
  making,
  NOTHING,
  OWNER,
  PROJECT,
  quoted,
  sceneOf,
  type OpenPlace,
  type Scene,
} from './scene.ts'

const HOLDS: readonly ColumnType['holds'][] = [
  'text',
  'decimal',
  'boolean',
  'date',
  'instant',
  'json',
]

const DRIVERS_OWN =
  'id version position seen_at _seen_at fence excluded rowid ordinal _ordinal row_number rn i n t s b source target new old stream misfits run _batch deleted_at rank _rank'.split(
    ' ',
  )

/** A column of every type. */
const everything: MirrorStream = {
  name: 'svc_everything',
  table: 'svc_everything',
  columns: [
    ...HOLDS.map((holds) => column(holds, holds)),
    ...HOLDS.map((holds) => listColumn(`${holds} list`, holds)),
  ],
}

const addition = (add: readonly MirrorColumn[], stream = contacts) => ({
  ...making(stream),
  add,
})

/** The error of `streams()` says that the table was altered, which and where. */
async function altered(scene: Scene, ...words: readonly string[]): Promise<void> {
  const error = await errorOf(scene.tables.streams())
  expect(error.code).toBe('warehouse_altered')
  for (const word of words) expect(error.message).toContain(word)
}

export function changingTests(place: OpenPlace): void {
  describe('an owner', () => {
    it('is noted once, and nobody else gets in', async () => {
      const scene = await sceneOf(place)
      await scene.tables.own(OWNER, PROJECT)
      const other = await scene.another()
      await other.own(OWNER, PROJECT)
      const error = await errorOf(other.own('https://api.example.com org 8', PROJECT))
      expect(error.code).toBe('warehouse_other_mirror')
      expect(error.message).toContain('org 7')
      expect(await other.holder()).toMatchObject({ owner: OWNER, project: PROJECT })
      expect(await (await scene.another('nobodys')).holder()).toBeNull()
      await scene.tables.own(OWNER, PROJECT)
      expect(await scene.tables.streams()).toEqual([contacts])
    })

    it('is one project, until another takes the schema over from it', async () => {
      const scene = await sceneOf(place)
      const theirs = await scene.another()
      const error = await errorOf(theirs.own(OWNER, '00000002'))
      expect(error).toMatchObject({ code: 'warehouse_other_project' })
      expect(error.message).toContain(theirs.place)
      expect(error.message).toContain(`${OWNER}, which the project ${PROJECT} keeps`)
      expect(error.message).toContain('this is the project 00000002')
      expect(error.message).toContain(`records-sync take-over SYNC --from ${PROJECT}`)
      expect(await theirs.holder()).toMatchObject({ owner: OWNER, project: PROJECT })
      // It names whom it takes the schema from, so that only what was looked at is taken.
      expect(await theirs.takeOver('00000003', '00000002')).toBe(false)
      expect(await theirs.holder()).toMatchObject({ owner: OWNER, project: PROJECT })
      expect(await theirs.takeOver(PROJECT, '00000002')).toBe(true)
      await theirs.own(OWNER, '00000002')
      expect(await theirs.streams()).toEqual([contacts])
      const late = await errorOf(scene.tables.own(OWNER, PROJECT))
      expect(late).toMatchObject({ code: 'warehouse_other_project' })
      expect(late.message).toContain('the project 00000002 keeps')
    })

    it.each([0, 1])('is refused where its layout is %i, and left as it is', async (layout) => {
      const scene = await sceneOf(place)
      await scene.merge(contacts, [[at(1), [contact('1', 'x')]]], { position: 'mine' })
      const mirror = '"crm"."_records_sync_mirror"'
      for (const column of ['project', 'sync'])
        await scene.place.alter(`ALTER TABLE ${mirror} DROP COLUMN ${column}`)
      await scene.place.alter(`UPDATE ${mirror} SET version = ${layout}`)
      expect(await scene.tables.holder()).toMatchObject({ owner: OWNER, project: null })
      const refused = await errorOf(scene.tables.own(OWNER, PROJECT))
      expect(refused.code).toBe('warehouse_older')
      expect(refused.message).toContain(
        `has a mirror of layout ${layout}; this release knows 2. It was left as it is; name another \`schema\``,
      )
      expect(await scene.names(contacts)).toEqual({ '1': 'x' })
    })

    it('is one sync of its project, until that one gives the schema up', async () => {
      const scene = await sceneOf(place)
      await scene.tables.own(OWNER, PROJECT, 'crm')
      await scene.tables.own(OWNER, PROJECT, 'crm')
      expect(await scene.tables.holder()).toEqual({ owner: OWNER, project: PROJECT, sync: 'crm' })
      const other = await scene.another()
      const error = await errorOf(other.own(OWNER, PROJECT, 'copy'))
      expect(error).toMatchObject({ code: 'warehouse_other_sync' })
      expect(error.message).toContain(other.place)
      expect(error.message).toContain('the sync "crm" of this project keeps')
      expect(error.message).toContain(`records-sync take-over copy --from ${PROJECT}`)
      // Another project is refused as another project, whatever its sync is called.
      expect((await errorOf(other.own(OWNER, '00000002', 'crm'))).code).toBe(
        'warehouse_other_project',
      )
      expect(await other.takeOver(PROJECT, PROJECT)).toBe(true)
      await other.own(OWNER, PROJECT, 'copy')
      expect((await errorOf(scene.tables.own(OWNER, PROJECT, 'crm'))).code).toBe(
        'warehouse_other_sync',
      )
      expect(await scene.tables.streams()).toEqual([contacts])
    })

    it('is the first sync that comes, where none is noted', async () => {
      const scene = await sceneOf(place)
      expect(await scene.tables.holder()).toEqual({ owner: OWNER, project: PROJECT, sync: null })
      expect(await scene.tables.takeOver(PROJECT, '00000002')).toBe(true)
      expect(await scene.tables.takeOver('00000002', PROJECT)).toBe(true)
      const handles = [await scene.another(), await scene.another()]
      const owned = await Promise.allSettled(
        handles.map((tables, index) => tables.own(OWNER, PROJECT, `sync ${index}'`)),
      )
      expect(owned.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
      const refused = owned.find((result) => result.status === 'rejected')
      expect(refused?.reason).toMatchObject({ code: 'warehouse_other_sync' })
      expect((await scene.tables.holder())?.sync).toMatch(/^sync [01]'$/)
    })

    it('gets one schema of two that ask at the same time', async () => {
      const scene = await sceneOf(place, [])
      const handles = [await scene.another('new'), await scene.another('new')]
      const owned = await Promise.allSettled(
        handles.map((tables, index) => tables.own(`https://api.example.com org ${index}`, PROJECT)),
      )
      expect(owned.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
      const refused = owned.find((result) => result.status === 'rejected')
      expect(refused?.reason).toMatchObject({ code: 'warehouse_other_mirror' })
    })

    it('may find an empty schema, and not one that has tables of others', async () => {
      const scene = await sceneOf(place, [])
      await scene.place.alter('CREATE SCHEMA "empty"')
      const empty = await scene.another('empty')
      await empty.own(OWNER, PROJECT)
      await empty.change([making(contacts)])
      expect(await empty.streams()).toEqual([contacts])
      await scene.place.alter('CREATE SCHEMA "theirs"')
      await scene.place.alter('CREATE TABLE "theirs"."customers" (id integer)')
      const theirs = await scene.another('theirs')
      expect((await errorOf(theirs.own(OWNER, PROJECT))).code).toBe('warehouse_other_mirror')
      expect(await scene.ask('SELECT CAST(id AS text) FROM "theirs"."customers"')).toEqual([])
      const tables = await scene.ask(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'theirs'",
      )
      expect(tables).toEqual([['customers']])
    })

    it('has a schema that says nothing of the next one', async () => {
      const scene = await sceneOf(place)
      const other = await scene.another('other')
      await other.own('https://api.example.com org 8', PROJECT)
      expect(await other.streams()).toEqual([])
      expect(await other.tableNames()).toEqual([])
      expect(await other.streamNames()).toEqual([])
      await other.change([making(contacts)])
      await scene.merge(contacts, [[at(1), [contact('1', 'x')]]], { position: 'mine' })
      expect(await other.count(contacts)).toEqual({ rows: 0, misfits: 0 })
      expect((await other.claim(contacts.name)).position).toBe(null)
      expect(await scene.names(contacts)).toEqual({ '1': 'x' })
    })

    it('is told the place, without a password', async () => {
      const { tables } = await sceneOf(place)
      expect(tables.place).toContain('crm')
      expect(tables.place).not.toContain('password')
    })
  })

  describe('tables', () => {
    it('have the columns of their stream, and their own', async () => {
      const scene = await sceneOf(place, [everything, contacts])
      const streams = await scene.tables.streams()
      expect(streams.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual([contacts, everything])
      for (const stream of streams) {
        const found = await scene.ask(
          `SELECT column_name FROM information_schema.columns
           WHERE table_schema = 'crm' AND table_name = '${stream.table}'`,
        )
        const names = [...OWN_COLUMNS, ...stream.columns.map(({ name }) => name)]
        expect(found.map(([name]) => name).toSorted()).toEqual(names.toSorted())
      }
    })

    it('are read by another process as they were made', async () => {
      const currency = [
        column('price', 'decimal', { property: 'svc_price', fieldType: 'currency' }),
        column('price_unit', 'text', {
          property: 'svc_price',
          part: 'unit',
          fieldType: 'currency',
        }),
      ]
      const stream = { name: 'svc_deal', table: 'Deals', columns: currency }
      const scene = await sceneOf(place, [stream])
      expect(await (await scene.another()).streams()).toEqual([stream])
    })

    it('grow: a new column of a filled table is null, and is written from then on', async () => {
      const scene = await sceneOf(place)
      await scene.merge(contacts, [[at(1), [contact('1', 'x'), contact('2', 'y')]]])
      const added = everything.columns.map((part) => ({ ...part, name: `new ${part.name}` }))
      await scene.tables.change([addition(added)])
      const grown = { ...contacts, columns: [...contacts.columns, ...added] }
      expect(await scene.tables.streams()).toEqual([grown])
      for (const { cells } of await scene.rows(grown))
        expect(cells.slice(3)).toEqual(added.map(() => null))
      const tail = added.map((_, index) => (index === 0 ? 'z' : null))
      const row = { ...contact('1', 'x'), cells: ['x', null, null, ...tail] }
      expect(await scene.merge(grown, [[at(2), [row]]])).toEqual({ ...NOTHING, changed: 1 })
      const [first, second] = await scene.rows(grown)
      expect([first!.cells[3], second!.cells[3]]).toEqual(['z', null])
    })

    it('keep a retired column as it is, and write it again when it is revived', async () => {
      const scene = await sceneOf(place)
      await scene.merge(contacts, [[at(1), [contact('1', 'x', { owner: 'o' })]]])
      const [name, owner, born] = contacts.columns as [MirrorColumn, MirrorColumn, MirrorColumn]
      await scene.tables.change([{ ...addition([]), retire: ['owner'] }])
      const retired = { ...contacts, columns: [name, born, { ...owner, live: false }] }
      expect(await scene.tables.streams()).toEqual([retired])
      const row = (id: string, first: string) => ({ ...contact(id, null), cells: [first, at(0)] })
      const counts = await scene.merge(retired, [[at(2), [row('1', 'y'), row('2', 'y')]]])
      expect(counts).toEqual({ ...NOTHING, inserted: 1, changed: 1 })
      const cells = (await scene.rows(contacts)).map((stored) => stored.cells)
      expect(cells).toEqual([
        ['y', 'o', at(0)],
        ['y', null, at(0)],
      ])
      const beside = column('owner__select', 'text', { property: 'owner', fieldType: 'select' })
      await scene.tables.change([addition([beside])])
      await scene.tables.change([{ ...addition([]), revive: ['owner'], retire: ['owner__select'] }])
      // In the order in which they were made.
      expect(await scene.tables.streams()).toEqual([
        { ...contacts, columns: [name, owner, born, { ...beside, live: false }] },
      ])
      const back = await scene.merge(contacts, [[at(3), [contact('1', 'y', { born: at(0) })]]])
      expect(back).toEqual({ ...NOTHING, changed: 1 })
      expect((await scene.rows(contacts))[0]!.cells).toEqual(['y', null, at(0)])
    })

    it('can all be retired: rows then are ids and times', async () => {
      const scene = await sceneOf(place)
      await scene.tables.change([{ ...addition([]), retire: ['name', 'owner', 'born'] }])
      const [bare] = await scene.tables.streams()
      expect(bare!.columns.map(({ live }) => live)).toEqual([false, false, false])
      const row = { ...contact('1', null), cells: [] }
      expect(await scene.merge(bare!, [[at(1), [row]]])).toEqual({ ...NOTHING, inserted: 1 })
      expect(await scene.merge(bare!, [[at(2), [row]]])).toEqual({ ...NOTHING, unchanged: 1 })
    })

    it('change all together, or none', async () => {
      const scene = await sceneOf(place)
      await scene.place.alter('CREATE TABLE "crm"."taken" (id integer)')
      const good = { ...contacts, name: 'svc_good', table: 'good' }
      const bad = { ...contacts, name: 'svc_bad', table: 'taken' }
      const error = await errorOf(
        scene.tables.change([
          making(good),
          { ...addition([column('more', 'text')]), retire: ['name'] },
          making(bad),
        ]),
      )
      expect(error.code).toBe('warehouse_altered')
      expect(await scene.tables.streams()).toEqual([contacts])
      await scene.make(good)
      expect((await scene.tables.streams()).map(({ name }) => name).toSorted()).toEqual([
        'svc_contact',
        'svc_good',
      ])
    })

    it('name every column that is lost, in a table or in the book of columns', async () => {
      const scene = await sceneOf(place)
      const [one, two] = contacts.columns as [MirrorColumn, MirrorColumn]
      const named = [one, two].map(({ name }) => `crm.svc_contact.${name}`)
      await scene.place.alter(
        `DELETE FROM "crm"."_records_sync_columns" WHERE column_name IN ('${one.name}', '${two.name}')`,
      )
      const error = await errorOf(scene.tables.change([addition([one, two])]))
      expect(error.code).toBe('warehouse_altered')
      for (const word of [...named, 'crm._records_sync_columns are lost'])
        expect(error.message).toContain(word)
    })

    it('name every column that a table lacks', async () => {
      const scene = await sceneOf(place)
      const names = contacts.columns.slice(0, 2).map(({ name }) => name)
      for (const name of names)
        await scene.place.alter(`ALTER TABLE ${scene.sql(contacts)} DROP COLUMN "${name}"`)
      await altered(scene, ...names.map((name) => `crm.svc_contact.${name} is missing`))
    })

    it("do not take somebody else's table, view or column", async () => {
      const scene = await sceneOf(place)
      await scene.place.alter('CREATE TABLE "crm"."my table" (id integer)')
      await scene.place.alter('CREATE VIEW "crm"."my view" AS SELECT 1 AS id')
      for (const table of ['my table', 'my view']) {
        const error = await errorOf(scene.make({ ...contacts, name: 'svc_other', table }))
        expect([table, error.code]).toEqual([table, 'warehouse_altered'])
        expect(error.message).toContain(table)
      }
      await scene.place.alter(`ALTER TABLE ${scene.sql(contacts)} ADD COLUMN "my notes" integer`)
      const error = await errorOf(scene.tables.change([addition([column('my notes', 'text')])]))
      expect(error.code).toBe('warehouse_altered')
      expect(error.message).toContain('my notes')
      // What they added is no business of ours.
      expect(await scene.tables.streams()).toEqual([contacts])
      expect(await scene.merge(contacts, [[at(1), [contact('1', 'x')]]])).toEqual({
        ...NOTHING,
        inserted: 1,
      })
    })

    it('with 300 columns are tables like others', async () => {
      const columns = Array.from({ length: 300 }, (_, index) =>
        column(`svc_property_${index}`, HOLDS[index % 2]!),
      )
      const stream = { name: 'wide', table: 'wide', columns }
      const scene = await sceneOf(place, [stream])
      const rows = Array.from({ length: 20 }, (_, id) => ({
        ...contact(`${id}`, null),
        cells: columns.map((_, index) => (index % 3 === 0 ? null : `${id * 1_000 + index}`)),
      }))
      const total = rows.length
      expect(await scene.merge(stream, [[at(1), rows]])).toEqual({ ...NOTHING, inserted: total })
      expect(await scene.merge(stream, [[at(2), rows]])).toEqual({ ...NOTHING, unchanged: total })
      const last = rows.map((row) => ({ ...row, cells: row.cells.with(299, '7') }))
      expect(await scene.merge(stream, [[at(3), last]])).toEqual({ ...NOTHING, changed: total })
      const byId = new Map(last.map(({ id, cells }) => [id, cells]))
      for (const { id, cells } of await scene.rows(stream)) expect(cells).toEqual(byId.get(id))
    })
  })

  describe('tables that somebody altered by hand', () => {
    const missing = ['owner', '_misfits', '_last_seen_at']
    it.each(missing)('are refused where a column is missing: %s', async (name) => {
      const scene = await sceneOf(place)
      await scene.place.alter(`ALTER TABLE ${scene.sql(contacts)} DROP COLUMN ${quoted(name)}`)
      await altered(scene, 'svc_contact', name)
    })

    it('are refused where a column has another type, whichever it had', async () => {
      const scene = await sceneOf(place, [everything])
      const change = async (name: string, type: string) => {
        const table = scene.sql(everything)
        await scene.place.alter(
          `ALTER TABLE ${table} DROP COLUMN ${quoted(name)}; ALTER TABLE ${table} ADD COLUMN ${quoted(name)} ${type}`,
        )
      }
      const { types } = scene.place
      for (const { name, type } of everything.columns) {
        const others = type.list
          ? [types[type.holds]]
          : HOLDS.filter((holds) => holds !== type.holds).map((holds) => types[holds])
        for (const other of others) {
          await change(name, other)
          await altered(scene, 'svc_everything', name)
        }
        const right = `${types[type.holds]}${type.list ? '[]' : ''}`
        await change(name, right)
        expect(await scene.tables.streams()).toHaveLength(1)
      }
    })

    it('are refused where a table is missing, though it never had a row', async () => {
      const scene = await sceneOf(place, [everything, contacts])
      await scene.place.alter(`DROP TABLE ${scene.sql(everything)}`)
      await altered(scene, 'svc_everything')
    })

    it('are refused where a retired column is missing', async () => {
      const scene = await sceneOf(place)
      await scene.tables.change([{ ...addition([]), retire: ['owner'] }])
      await scene.place.alter(`ALTER TABLE ${scene.sql(contacts)} DROP COLUMN "owner"`)
      await altered(scene, 'svc_contact', 'owner')
    })

    it('are refused to those who ask for them, and to nobody else', async () => {
      const scene = await sceneOf(place, [everything, contacts])
      await scene.place.alter(`DROP TABLE ${scene.sql(everything)}`)
      const { tables } = scene
      expect(await tables.streams(['svc_contact', 'svc_unknown'])).toEqual([contacts])
      expect(await tables.streams([])).toEqual([])
      expect((await errorOf(tables.streams(['svc_everything']))).code).toBe('warehouse_altered')
      // Its name is not free for that.
      expect((await tables.tableNames()).toSorted()).toEqual(['svc_contact', 'svc_everything'])
      expect(await tables.streamNames()).toHaveLength(2)
    })
  })

  describe('names', () => {
    it('may be of any characters, and 63 bytes long', async () => {
      const schema = 'Kunden "Übersicht"; --'
      const odd = [
        'Name',
        'two words',
        'SELECT',
        '"',
        '""',
        "it's",
        'Größe;--',
        '%s $1 ? \\ {}',
        '😀',
        'x'.repeat(63),
        `${'ü'.repeat(31)}x`,
        // Such as drivers use themselves.
        ...DRIVERS_OWN,
      ]
      const streams = ['Größe "X", y', 'SELECT', "it's", `t${'ß'.repeat(31)}`, 'user'].map(
        (table) => ({
          name: `stream ${table}`,
          table,
          columns: odd.map((name) => column(name, 'text', { property: `property ${name}` })),
        }),
      )
      const scene = await sceneOf(place, streams, schema)
      const byName = (a: MirrorStream, b: MirrorStream) => (a.name < b.name ? -1 : 1)
      expect((await scene.tables.streams()).toSorted(byName)).toEqual(streams.toSorted(byName))
      for (const stream of streams) {
        expect(await scene.tables.streams([stream.name])).toEqual([stream])
        const row = { ...contact('1', null), cells: odd.map((name) => `cell of ${name}`) }
        expect(await scene.merge(stream, [[at(1), [row]]])).toEqual({ ...NOTHING, inserted: 1 })
        expect(await scene.merge(stream, [[at(2), [row]]])).toEqual({ ...NOTHING, unchanged: 1 })
        expect((await scene.rows(stream))[0]!.cells).toEqual(row.cells)
        const retired = odd.slice(1)
        await scene.tables.change([{ ...making(stream), add: [], retire: retired }])
        const { fence, position } = await scene.tables.claim(stream.name)
        expect(position).toBe('a position')
        const owners = { column: '"', values: ['cell of "'] }
        const deletion = { before: at(9), owners, how: 'soft', at: at(9) } as const
        expect(await scene.tables.delete(stream, fence, 'p', deletion)).toBe(1)
      }
    })
  })

  describe('a change', () => {
    it('is an error of ours in words of ours', async () => {
      const scene = await sceneOf(place)
      const change = scene.tables.change([addition([column('name', 'decimal')])])
      await expect(change).rejects.toThrow(SyncError)
      expect(await scene.tables.streams()).toEqual([contacts])
    })
  })
}
