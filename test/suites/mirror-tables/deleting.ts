// Deletions: exactly the rows that are meant, and the position with them.

import { describe, expect, it } from 'vitest'
import type { Deletion } from '../../../src/warehouses/mirror-tables.ts'
import { at, column, contact, contacts, sceneOf, type OpenPlace, type Scene } from './scene.ts'

/** Deletes under a fence of its own. */
async function remove(scene: Scene, deletion: Partial<Deletion>, position = 'deleted') {
  const { fence } = await scene.tables.claim(contacts.name)
  return await scene.tables.delete(contacts, fence, position, {
    before: at(5),
    how: 'soft',
    at: at(9),
    ...deletion,
  })
}

async function deleted(scene: Scene): Promise<string[]> {
  const rows = await scene.rows(contacts, 'WHERE "_deleted_at" IS NOT NULL')
  return rows.map(({ id }) => id)
}

export function deletingTests(place: OpenPlace): void {
  describe('deletions', () => {
    it('mark what was last seen before a time, once, and store the position', async () => {
      const scene = await sceneOf(place)
      for (const minute of [4, 5, 6])
        await scene.merge(contacts, [[at(minute), [contact(`seen ${minute}`, 'x')]]])
      await scene.merge(contacts, [['2026-01-01T00:04:59.999999Z', [contact('just', 'x')]]])
      expect(await remove(scene, {})).toBe(2)
      expect(await scene.position(contacts)).toBe('deleted')
      const marked = { deleted: at(9), cells: ['x', null, null] }
      expect(await scene.rows(contacts, 'WHERE "_deleted_at" IS NOT NULL')).toMatchObject([
        { ...marked, id: 'just' },
        { ...marked, id: 'seen 4', firstSeen: at(4), lastSeen: at(4) },
      ])
      // What is marked is not there any more: it keeps its time.
      expect(await remove(scene, { before: at(6), at: at(10) })).toBe(1)
      const rows = await scene.rows(contacts)
      expect(rows.map(({ id, deleted }) => [id, deleted])).toEqual([
        ['just', at(9)],
        ['seen 4', at(9)],
        ['seen 5', at(10)],
        ['seen 6', null],
      ])
      expect(await scene.tables.count(contacts)).toEqual({ rows: 1, misfits: 0 })
    })

    it('remove rows that are there where they are hard', async () => {
      const scene = await sceneOf(place)
      await scene.merge(contacts, [[at(1), ['a', 'b', 'c'].map((id) => contact(id, id))]])
      await remove(scene, { ids: ['a'] })
      expect(await remove(scene, { ids: ['a', 'b'], how: 'hard' })).toBe(1)
      expect((await scene.rows(contacts)).map(({ id }) => id)).toEqual(['a', 'c'])
      expect(await remove(scene, { how: 'hard' })).toBe(1)
      expect((await scene.rows(contacts)).map(({ id }) => id)).toEqual(['a'])
    })

    it('take ids byte by byte, and spare those that were seen since', async () => {
      const scene = await sceneOf(place)
      const ids = ["it's", '"', '\\', 'é', 'É', '😀', ' a', 'a', 'A', '%', 'null', '']
      await scene.merge(contacts, [[at(1), ids.map((id) => contact(id, 'x'))]])
      await scene.merge(contacts, [[at(5), [contact('null', 'x')]]])
      const asked = ["it's", '"', '\\', 'é', '😀', ' a', 'null', '', 'unknown', '']
      expect(await remove(scene, { ids: asked })).toBe(7)
      expect(await deleted(scene)).toEqual(['', ' a', '"', "it's", '\\', 'é', '😀'].toSorted())
    })

    it('take nothing for an empty list of ids, or of owners', async () => {
      const scene = await sceneOf(place)
      await scene.merge(contacts, [[at(1), [contact('1', 'x', { owner: 'o' })]]])
      expect(await remove(scene, { ids: [] }, 'no ids')).toBe(0)
      expect(await remove(scene, { owners: { column: 'owner', values: [] } })).toBe(0)
      expect(await remove(scene, { ids: [], how: 'hard' })).toBe(0)
      expect(await deleted(scene)).toEqual([])
      expect(await scene.position(contacts)).toBe('deleted')
    })

    it('take rows by their owner', async () => {
      const scene = await sceneOf(place)
      const owned = [
        ['1', 'a'],
        ['2', 'b'],
        ['3', "it's"],
        ['4', 'c'],
        ['5', null],
      ] as const
      await scene.merge(contacts, [
        [at(1), owned.map(([id, owner]) => contact(id, 'x', { owner }))],
        [at(6), [contact('6', 'x', { owner: 'a' })]],
      ])
      const owners = { column: 'owner', values: ['a', "it's", 'unknown'] }
      expect(await remove(scene, { owners })).toBe(2)
      expect(await deleted(scene)).toEqual(['1', '3'])
      const all = { column: 'owner', values: ['a', 'b', "it's"] }
      expect(await remove(scene, { owners: all, how: 'hard', before: at(7) })).toBe(2)
      expect((await scene.rows(contacts)).map(({ id }) => id)).toEqual(['1', '3', '4', '5'])
    })

    it('take rows that are among ids or belong to an owner', async () => {
      const scene = await sceneOf(place)
      const rows = ['1', '2', '3', '4'].map((id) => contact(id, 'x', { owner: `o${id}` }))
      await scene.merge(contacts, [[at(1), rows]])
      const owners = { column: 'owner', values: ['o2', 'o3'] }
      expect(await remove(scene, { ids: ['1', '2'], owners })).toBe(3)
      expect(await deleted(scene)).toEqual(['1', '2', '3'])
    })

    it('take 10,000 ids, and 10,000 owners', async () => {
      const scene = await sceneOf(place)
      const numbers = Array.from({ length: 10_000 }, (_, index) => `${index}`)
      const rows = numbers.map((id) => contact(id, 'x', { owner: `o${id}` }))
      await scene.merge(contacts, [[at(1), [...rows, contact('left', 'x', { owner: 'o' })]]])
      const even = numbers.map((id) => (Number(id) % 2 === 0 ? id : `no ${id}`))
      expect(await remove(scene, { ids: even })).toBe(5_000)
      const values = numbers.map((id) => `o${id}`)
      expect(await remove(scene, { owners: { column: 'owner', values }, how: 'hard' })).toBe(5_000)
      expect(await scene.tables.ids(contacts, { after: null, limit: 9 })).toEqual(['left'])
    })

    it('that fail change neither rows nor position', async () => {
      const scene = await sceneOf(place)
      await scene.merge(contacts, [[at(1), [contact('1', 'x')]]], { position: 'before' })
      const broken = { ...contacts, columns: [column('gone', 'text')] }
      const { fence } = await scene.tables.claim(contacts.name)
      const owners = { column: 'gone', values: ['a'] }
      const deletion = { before: at(5), owners, how: 'hard', at: at(9) } as const
      const work = scene.tables.delete(broken, fence, 'after', deletion)
      await expect(work).rejects.toThrow()
      expect(await scene.names(contacts)).toEqual({ '1': 'x' })
      expect(await scene.position(contacts)).toBe('before')
    })
  })
}
