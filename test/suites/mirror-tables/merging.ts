// Merges: which of two rows stays, what is counted, and that rows and position change together or not at all.

import { describe, expect, it } from 'vitest'
import { errorOf } from '../warehouse.suite.ts'
import {
  at,
  column,
  contact,
  contacts,
  listColumn,
  NOTHING,
  sceneOf,
  type OpenPlace,
} from './scene.ts'

type Read = readonly [version: string | null, seenAt: string]

/** A row that is there, one that comes, and whether it gives way. */
const MEETINGS: readonly (readonly [there: Read, comes: Read, givesWay: boolean])[] = [
  [[at(1), at(5)], [at(2), at(6)], true],
  [[at(1), at(5)], [at(2), at(5)], true],
  [[at(1), at(5)], [at(2), at(4)], true],
  [[at(1), at(5)], [at(1), at(6)], true],
  [[at(1), at(5)], [at(1), at(5)], false],
  [[at(1), at(5)], [at(1), at(4)], false],
  // The service went back in time: it was asked later, so this is what it holds.
  [[at(1), at(5)], [at(0), at(6)], true],
  [[at(1), at(5)], [at(0), at(5)], false],
  [[at(1), at(5)], [at(0), at(4)], false],
  [[null, at(5)], [at(1), at(6)], true],
  [[null, at(5)], [at(1), at(4)], false],
  [[null, at(5)], [null, at(6)], true],
  [[null, at(5)], [null, at(5)], false],
  [[null, at(5)], [null, at(4)], false],
  [[at(1), at(5)], [null, at(6)], true],
  [[at(1), at(5)], [null, at(4)], false],
  // As texts these would be in another order.
  [['2026-01-01T00:00:01.5Z', at(5)], ['2026-01-01T00:00:01Z', at(5)], false],
  [['2026-01-01T00:00:01Z', at(5)], ['2026-01-01T00:00:01.000001Z', at(4)], true],
  [[at(1), '2026-01-01T00:00:01.5Z'], [at(1), '2026-01-01T00:00:01Z'], false],
  [[null, '2026-01-01T00:00:01Z'], [null, '2026-01-01T00:00:01.000001Z'], true],
]

export function mergingTests(place: OpenPlace): void {
  describe('merges', () => {
    it('find a new table empty, and a stream that was never written without a position', async () => {
      const scene = await sceneOf(place)
      expect(await scene.position(contacts)).toBe(null)
      expect(await scene.tables.count(contacts)).toEqual({ rows: 0, misfits: 0 })
      expect(await scene.tables.ids(contacts, { after: null, limit: 10 })).toEqual([])
    })

    it('write what a row holds, and who wrote it when', async () => {
      const scene = await sceneOf(place)
      const row = contact('1', 'Zoë', { version: at(1), born: at(0), misfits: '{"x":{"y":[1]}}' })
      const counts = await scene.merge(contacts, [[at(2), [row, contact('2', null)]]], { run: 7 })
      expect(counts).toEqual({ ...NOTHING, inserted: 2 })
      const common = { firstSeen: at(2), lastSeen: at(2), deleted: null, run: 7 }
      expect(await scene.rows(contacts)).toEqual([
        {
          ...common,
          id: '1',
          version: at(1),
          misfits: '{"x":{"y":[1]}}',
          cells: ['Zoë', null, at(0)],
        },
        { ...common, id: '2', version: null, misfits: null, cells: [null, null, null] },
      ])
    })

    it('keep the higher version, then what was seen later', async () => {
      const scene = await sceneOf(place)
      for (const [turn, content] of ['old', 'new'].entries()) {
        const pages = MEETINGS.map((meeting, index) => {
          const [version, seenAt] = meeting[turn as 0 | 1]
          return [seenAt, [contact(`case ${index}`, content, { version })]] as const
        })
        const replaced = MEETINGS.filter(([, , givesWay]) => givesWay).length
        const reverted = 1
        expect(await scene.merge(contacts, pages)).toEqual(
          turn === 0
            ? { ...NOTHING, inserted: MEETINGS.length }
            : { ...NOTHING, changed: replaced, older: MEETINGS.length - replaced, reverted },
        )
      }
      const names = await scene.names(contacts)
      const found = MEETINGS.map(([there, comes], index) => [
        there,
        comes,
        names[`case ${index}`] === 'new',
      ])
      expect(found).toEqual(MEETINGS)
    })

    it('take one row of an id from a batch, whatever the order of its pages', async () => {
      const scene = await sceneOf(place)
      const versions = (['1', '2', '3'] as const).map(
        (id, index) =>
          [at(9 - index), [contact(`v${id}`, `version ${index}`, { version: at(index) })]] as const,
      )
      const of = (id: string, version: string | null) =>
        [8, 4, 6].map(
          (minute) => [at(minute), [contact(id, `seen ${minute}`, { version })]] as const,
        )
      const same = versions.map(
        ([seenAt, [row]]) => [seenAt, [{ ...row!, id: 'versions' }]] as const,
      )
      const pages = [...same, ...of('equal', at(1)), ...of('unknown', null)]
      for (const turned of [pages, pages.toReversed()]) {
        const stream = { ...contacts, name: `s${turned === pages}`, table: `t${turned === pages}` }
        await scene.make(stream)
        const { inserted, ...others } = await scene.merge(stream, turned)
        expect([inserted, others]).toEqual([3, { changed: 0, unchanged: 0, older: 0, reverted: 0 }])
        expect(await scene.names(stream)).toEqual({
          versions: 'version 2',
          equal: 'seen 8',
          unknown: 'seen 8',
        })
      }
    })

    it('take one row of an id from one page that has it twice', async () => {
      const scene = await sceneOf(place)
      const page = [
        contact('a', 'new', { version: at(2) }),
        contact('a', 'old', { version: at(1) }),
        contact('b', 'same'),
        contact('b', 'same'),
      ]
      expect(await scene.merge(contacts, [[at(3), page]])).toEqual({ ...NOTHING, inserted: 2 })
      expect(await scene.names(contacts)).toEqual({ a: 'new', b: 'same' })
    })

    it('count what they did, by ids', async () => {
      const scene = await sceneOf(place)
      await scene.merge(contacts, [
        [
          at(5),
          [
            contact('same', 'x', { version: at(1), misfits: '{"a":1}' }),
            contact('other', 'x', { version: at(1) }),
            contact('back in time', 'x', { version: at(4) }),
            contact('to null', 'x'),
            contact('from null', null),
            contact('misfit', 'x', { misfits: '{"a":1}' }),
            contact('fits now', 'x', { misfits: '{"a":1}' }),
            contact('untouched', 'x'),
          ],
        ],
      ])
      const counts = await scene.merge(
        contacts,
        [
          [
            at(6),
            [
              contact('same', 'x', { version: at(1), misfits: '{"a":1}' }),
              contact('other', 'y', { version: at(1) }),
              contact('back in time', 'y', { version: at(3) }),
              contact('to null', null),
              contact('from null', 'x'),
              contact('misfit', 'x', { misfits: '{"a":2}' }),
              contact('fits now', 'x'),
              contact('inserted', 'x'),
            ],
          ],
        ],
        { run: 2 },
      )
      expect(counts).toEqual({ inserted: 1, changed: 6, unchanged: 1, older: 0, reverted: 1 })
      const rows = await scene.rows(contacts)
      const found = Object.fromEntries(
        rows.map(({ id, cells, misfits, lastSeen }) => [id, [cells[0], misfits, lastSeen]]),
      )
      expect(found).toEqual({
        // Seen again: a deletion of what was not seen leaves it alone.
        same: ['x', '{"a":1}', at(6)],
        other: ['y', null, at(6)],
        'back in time': ['y', null, at(6)],
        'to null': [null, null, at(6)],
        'from null': ['x', null, at(6)],
        misfit: ['x', '{"a":2}', at(6)],
        'fits now': ['x', null, at(6)],
        inserted: ['x', null, at(6)],
        untouched: ['x', null, at(5)],
      })
      const runs = Object.fromEntries(rows.map(({ id, run }) => [id, run]))
      expect([runs['other'], runs['inserted'], runs['back in time'], runs['untouched']]).toEqual([
        2, 2, 2, 1,
      ])
    })

    it('note the version of what did not change: what is between is older from then on', async () => {
      const scene = await sceneOf(place)
      await scene.merge(contacts, [[at(5), [contact('1', 'x', { version: at(1) })]]])
      const same = await scene.merge(contacts, [[at(6), [contact('1', 'x', { version: at(3) })]]])
      expect(same.changed + same.unchanged).toBe(1)
      const late = await scene.merge(contacts, [[at(6), [contact('1', 'y', { version: at(2) })]]])
      expect(late).toEqual({ ...NOTHING, older: 1 })
      expect(await scene.names(contacts)).toEqual({ '1': 'x' })
    })

    it('take what was asked for later as it is, and nothing that was asked for before it', async () => {
      const scene = await sceneOf(place)
      const put = (minute: number, version: number) =>
        scene.merge(contacts, [
          [at(minute), [contact('1', `version ${version}`, { version: at(version) })]],
        ])
      await put(5, 3)
      // A service that was put back from a backup.
      expect(await put(6, 1)).toEqual({ ...NOTHING, changed: 1, reverted: 1 })
      expect(await put(4, 1)).toEqual({ ...NOTHING, older: 1 })
      expect(await put(4, 0)).toEqual({ ...NOTHING, older: 1 })
      expect(await scene.names(contacts)).toEqual({ '1': 'version 1' })
      const [row] = await scene.rows(contacts)
      expect([row!.version, row!.lastSeen]).toEqual([at(1), at(6)])
    })

    it('bring a row back that is older than before', async () => {
      const scene = await sceneOf(place)
      await scene.merge(contacts, [[at(5), [contact('1', 'x', { version: at(3) })]]])
      const { fence } = await scene.tables.claim(contacts.name)
      const deletion = { before: at(6), how: 'soft', at: at(6) } as const
      await scene.tables.delete(contacts, fence, 'deleted', deletion)
      const back = await scene.merge(contacts, [[at(7), [contact('1', 'x', { version: at(1) })]]])
      expect(back).toEqual({ ...NOTHING, changed: 1, reverted: 1 })
      expect(await scene.names(contacts)).toEqual({ '1': 'x' })
    })

    it('note when a row was seen last, whichever of its versions a batch keeps', async () => {
      const scene = await sceneOf(place)
      const pages = [
        [at(6), [contact('1', 'newer', { version: at(2) })]],
        [at(7), [contact('1', 'older', { version: at(1) })]],
      ] as const
      await scene.merge(contacts, pages)
      const [row] = await scene.rows(contacts)
      expect([row!.cells[0], row!.firstSeen, row!.lastSeen]).toEqual(['newer', at(7), at(7)])
    })

    it('store every id that the tables say they hold', async () => {
      const scene = await sceneOf(place)
      const ids = ['é 😀', 'a\0b', 'half \ud800', '"', "'"].filter((id) => scene.tables.holdsId(id))
      expect(ids).toEqual(expect.arrayContaining(['é 😀', '"', "'"]))
      expect(ids).not.toContain('half \ud800')
      await scene.merge(contacts, [[at(1), ids.map((id) => contact(id, 'x'))]])
      const found = await scene.tables.ids(contacts, { after: null, limit: 10 })
      expect(found.toSorted()).toEqual(ids.toSorted())
    })

    it('keep the time of the first sight, and of the last', async () => {
      const scene = await sceneOf(place)
      for (const [minute, name] of [
        [1, 'x'],
        [2, 'x'],
        [3, 'y'],
      ] as const)
        await scene.merge(contacts, [[at(minute), [contact('1', name)]]])
      const [row] = await scene.rows(contacts)
      expect([row!.firstSeen, row!.lastSeen]).toEqual([at(1), at(3)])
    })

    it('bring a row back after a deletion, and not by a page from before it', async () => {
      const scene = await sceneOf(place)
      const both = [contact('soft', 'x'), contact('hard', 'x')]
      await scene.merge(contacts, [[at(5), both]])
      for (const how of ['soft', 'hard'] as const) {
        const { fence } = await scene.tables.claim(contacts.name)
        const deletion = { before: at(6), ids: [how], how, at: at(6) }
        expect(await scene.tables.delete(contacts, fence, 'deleted', deletion)).toBe(1)
      }
      const late = await scene.merge(contacts, [[at(4), [contact('soft', 'late')]]])
      expect(late).toEqual({ ...NOTHING, older: 1 })
      expect((await scene.rows(contacts)).map(({ id, deleted }) => [id, deleted])).toEqual([
        ['soft', at(6)],
      ])
      // Neither does one that was asked for before it was deleted.
      const between = '2026-01-01T00:05:30Z'
      await scene.merge(contacts, [[between, [contact('soft', 'between')]]])
      expect((await scene.rows(contacts)).map(({ deleted }) => deleted)).toEqual([at(6)])
      expect(await scene.tables.count(contacts)).toEqual({ rows: 0, misfits: 0 })
      await scene.merge(contacts, [[at(6), [contact('soft', 'x')]]])
      // It is as it was, and was deleted: that is a change.
      expect(await scene.merge(contacts, [[at(7), both]])).toEqual({
        ...NOTHING,
        inserted: 1,
        changed: 1,
      })
      const rows = await scene.rows(contacts)
      expect(rows.map(({ id, deleted, firstSeen }) => [id, deleted, firstSeen])).toEqual([
        ['hard', null, at(7)],
        ['soft', null, at(5)],
      ])
    })

    it('give the same table for two batches in either order, and for a late page of a zombie', async () => {
      const scene = await sceneOf(place)
      const first = [contact('a', 'old', { version: at(1) }), contact('b', 'b1')]
      const second = [contact('a', 'new', { version: at(2) }), contact('b', 'b2')]
      for (const turned of [false, true]) {
        const stream = { ...contacts, name: `s${turned}`, table: `t${turned}` }
        await scene.make(stream)
        const pages = [[at(3), first] as const, [at(4), second] as const]
        for (const page of turned ? pages.toReversed() : pages) await scene.merge(stream, [page])
        expect(await scene.names(stream)).toEqual({ a: 'new', b: 'b2' })
        const zombie = await scene.merge(stream, [[at(3), first]])
        expect(zombie).toEqual({ ...NOTHING, older: 2 })
        expect(await scene.names(stream)).toEqual({ a: 'new', b: 'b2' })
      }
    })

    it('change nothing a second time', async () => {
      const scene = await sceneOf(place)
      const page = [contact('a', 'x', { version: at(1) }), contact('b', 'y')]
      await scene.merge(contacts, [[at(3), page]])
      const before = await scene.rows(contacts)
      const { inserted, changed, unchanged, older } = await scene.merge(contacts, [[at(3), page]])
      expect([inserted, changed, unchanged + older]).toEqual([0, 0, 2])
      expect(await scene.rows(contacts)).toEqual(before)
    })

    it('store the position with the rows, and without any', async () => {
      const scene = await sceneOf(place)
      const strange = `{"it's":"\\"at\\" \\\\ 😀\\n${'x'.repeat(100_000)}"}`
      await scene.merge(contacts, [[at(1), [contact('1', 'x')]]], { position: strange })
      expect(await scene.position(contacts)).toBe(strange)
      expect(await scene.merge(contacts, [], { position: 'empty' })).toEqual(NOTHING)
      expect(await scene.position(contacts)).toBe('empty')
      expect(await scene.merge(contacts, [[at(2), []]], { position: 'page' })).toEqual(NOTHING)
      expect(await scene.position(contacts)).toBe('page')
      expect(await scene.names(contacts)).toEqual({ '1': 'x' })
    })

    it('that fail change neither rows nor position', async () => {
      const scene = await sceneOf(place)
      await scene.merge(contacts, [[at(1), [contact('1', 'x')]]], { position: 'before' })
      const { fence } = await scene.tables.claim(contacts.name)
      const batch = await scene.tables.batch(contacts)
      await batch.add([contact('1', 'y'), contact('2', 'y', { born: at(0) })], at(2))
      await scene.place.alter(`ALTER TABLE ${scene.sql(contacts)} DROP COLUMN "born"`)
      await expect(batch.merge({ run: 2, fence, position: 'after' })).rejects.toThrow()
      await batch.drop()
      const rows = await scene.ask(`SELECT "_id", "name" FROM ${scene.sql(contacts)}`)
      expect(rows).toEqual([['1', 'x']])
      expect(await scene.position(contacts)).toBe('before')
    })

    it('refuse cells that do not fit the columns', async () => {
      const stream = {
        name: 's',
        table: 's',
        columns: [column('amount', 'decimal'), column('day', 'date'), listColumn('tags', 'text')],
      }
      const scene = await sceneOf(place, [stream])
      const fitting = ['1', '2026-01-31', ['a']] as const
      for (const cells of [
        fitting.slice(0, 2),
        [...fitting, 'more'],
        ['twelve', ...fitting.slice(1)],
        ['1', 'soon', ['a']],
        ['1', '2026-01-31', 'a'],
        [['1'], '2026-01-31', ['a']],
        [true, '2026-01-31', ['a']],
      ]) {
        const batch = await scene.tables.batch(stream)
        const row = { id: '1', version: null, cells, misfits: null }
        const error = await errorOf(batch.add([row], at(1)))
        expect({ cells, code: error.code }).toEqual({ cells, code: 'row_unfit' })
        for (const value of ['twelve', 'soon']) expect(error.message).not.toContain(value)
        await batch.drop()
      }
      expect(await scene.tables.count(stream)).toEqual({ rows: 0, misfits: 0 })
      const row = { id: '1', version: null, cells: fitting, misfits: null }
      expect(await scene.merge(stream, [[at(1), [row]]])).toEqual({ ...NOTHING, inserted: 1 })
    })
  })

  describe('batches', () => {
    it('are filled at the same time, and merged one after the other', async () => {
      const scene = await sceneOf(place)
      const other = { ...contacts, name: 'svc_company', table: 'svc_company' }
      await scene.make(other)
      const streams = [contacts, contacts, other]
      const batches = await Promise.all(streams.map((stream) => scene.tables.batch(stream)))
      for (const minute of [1, 2, 3])
        await Promise.all(
          batches.map((batch, index) =>
            batch.add([contact(`${index} ${minute}`, 'x')], at(minute)),
          ),
        )
      expect(batches.map(({ rows }) => rows)).toEqual([3, 3, 3])
      for (const [index, batch] of batches.entries()) {
        const { fence } = await scene.tables.claim(streams[index]!.name)
        const counts = await batch.merge({ run: 1, fence, position: `${index}` })
        expect(counts).toEqual({ ...NOTHING, inserted: 3 })
      }
      const ids = async (stream: typeof contacts) => Object.keys(await scene.names(stream))
      expect(await ids(contacts)).toEqual(['0 1', '0 2', '0 3', '1 1', '1 2', '1 3'])
      expect(await ids(other)).toEqual(['2 1', '2 2', '2 3'])
      expect(await scene.position(other)).toBe('2')
    })

    it('of several streams are merged at the same time', async () => {
      const streams = ['a', 'b', 'c'].map((name) => ({ ...contacts, name, table: name }))
      const scene = await sceneOf(place, streams)
      await Promise.all(
        streams.map(async (stream) => {
          for (const minute of [1, 2, 3])
            await scene.merge(stream, [[at(minute), [contact(`${minute}`, stream.name)]]], {
              position: `${stream.name} ${minute}`,
            })
        }),
      )
      for (const stream of streams) {
        const { name } = stream
        expect(await scene.names(stream)).toEqual({ '1': name, '2': name, '3': name })
        expect(await scene.position(stream)).toBe(`${name} 3`)
      }
    })

    it('that are dropped, before or after their merge, leave nothing', async () => {
      const scene = await sceneOf(place)
      const dropped = await scene.tables.batch(contacts)
      await dropped.add([contact('1', 'x')], at(1))
      await dropped.drop()
      await dropped.drop()
      const { fence } = await scene.tables.claim(contacts.name)
      const merged = await scene.tables.batch(contacts)
      await merged.add([contact('2', 'x')], at(1))
      await merged.merge({ run: 1, fence, position: 'p' })
      await merged.drop()
      expect(await scene.names(contacts)).toEqual({ '2': 'x' })
    })

    it('that were not merged are forgotten when the tables are closed, twice', async () => {
      const scene = await sceneOf(place)
      const tables = await scene.another()
      const batch = await tables.batch(contacts)
      await batch.add([contact('1', 'x')], at(1))
      await Promise.all([tables.close(), tables.close()])
      await tables.close()
      expect(await scene.names(contacts)).toEqual({})
      expect(await scene.merge(contacts, [[at(1), [contact('2', 'x')]]])).toEqual({
        ...NOTHING,
        inserted: 1,
      })
    })

    it('hold 10,000 rows whose pages overlap; whoever counts sees all of them or none', async () => {
      const scene = await sceneOf(place)
      const total = 10_000
      const ids = Array.from({ length: total }, (_, index) => `record ${index}`)
      for (const [turn, minute] of [1, 2].entries()) {
        const { fence } = await scene.tables.claim(contacts.name)
        const batch = await scene.tables.batch(contacts)
        const pages = Array.from({ length: total / 100 }, (_, page) =>
          ids
            .slice(page * 100, page * 100 + 100)
            .map((id, index) => contact(id, `${minute} ${page * 100 + index}`)),
        )
        await Promise.all(pages.map((page) => batch.add(page, at(minute))))
        expect(batch.rows).toBe(total)
        const before = turn * total
        let isMerged = false
        const merging = batch
          .merge({ run: 1, fence, position: `${minute}` })
          .finally(() => (isMerged = true))
        const seen = new Set<number>()
        while (!isMerged) seen.add((await scene.tables.count(contacts)).rows)
        const counts = await merging
        expect(counts).toEqual(
          turn === 0 ? { ...NOTHING, inserted: total } : { ...NOTHING, changed: total },
        )
        expect([...seen].filter((rows) => rows !== before && rows !== total)).toEqual([])
        const names = await scene.names(contacts)
        const wrong = ids.filter((id, index) => names[id] !== `${minute} ${index}`)
        expect([Object.keys(names).length, wrong]).toEqual([total, []])
      }
    })
  })
}
