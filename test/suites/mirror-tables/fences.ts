// Fences: who was overtaken changes nothing more, be it in this process or in another.

import { describe, expect, it } from 'vitest'
import { FenceLost } from '../../../src/core/errors.ts'
import { errorOf } from '../warehouse.suite.ts'
import { at, contact, contacts, NOTHING, sceneOf, type OpenPlace } from './scene.ts'

export function fenceTests(place: OpenPlace): void {
  describe('fences', () => {
    it('let whoever was overtaken neither merge, delete nor move', async () => {
      const scene = await sceneOf(place)
      await scene.merge(contacts, [[at(1), [contact('1', 'x')]]], { position: 'before' })
      const overtaken = await scene.another()
      const { fence, position } = await overtaken.claim(contacts.name)
      expect(position).toBe('before')
      const batch = await overtaken.batch(contacts)
      await batch.add([contact('1', 'y'), contact('2', 'y')], at(2))
      const taken = await scene.tables.claim(contacts.name)
      expect(taken.position).toBe('before')
      const deletion = { before: at(9), how: 'hard', at: at(9) } as const
      for (const work of [
        () => batch.merge({ run: 2, fence, position: 'stale' }),
        () => overtaken.delete(contacts, fence, 'stale', { ...deletion, how: 'soft' }),
        () => overtaken.delete(contacts, fence, 'stale', deletion),
        () => overtaken.delete(contacts, fence, 'stale', { ...deletion, ids: [] }),
        () => overtaken.move(contacts.name, fence, 'stale'),
      ])
        expect(await errorOf(work())).toBeInstanceOf(FenceLost)
      expect(await scene.names(contacts)).toEqual({ '1': 'x' })
      // The one who took over goes on, and the position is still that of before.
      await scene.tables.move(contacts.name, taken.fence, 'moved')
      expect(await scene.position(contacts)).toBe('moved')
    })

    it('are left alone by who only asks for the position', async () => {
      const scene = await sceneOf(place)
      const other = await scene.another()
      expect(await other.position(contacts.name)).toBe(null)
      expect(await other.position('svc_nothing')).toBe(null)
      const { fence } = await scene.tables.claim(contacts.name)
      const batch = await scene.tables.batch(contacts)
      await batch.add([contact('1', 'x')], at(1))
      expect(await other.position(contacts.name)).toBe(null)
      await batch.merge({ run: 1, fence, position: 'merged' })
      expect(await other.position(contacts.name)).toBe('merged')
      await scene.tables.move(contacts.name, fence, "moved's")
      expect(await other.position(contacts.name)).toBe("moved's")
    })

    it('refuse a batch without rows too', async () => {
      const scene = await sceneOf(place)
      const { fence } = await scene.tables.claim(contacts.name)
      const batch = await scene.tables.batch(contacts)
      await scene.tables.claim(contacts.name)
      const error = await errorOf(batch.merge({ run: 1, fence, position: 'stale' }))
      expect(error).toBeInstanceOf(FenceLost)
      expect(await scene.position(contacts)).toBe(null)
    })

    it('that are lost leave the batch: a new claim merges it', async () => {
      const scene = await sceneOf(place)
      const { fence } = await scene.tables.claim(contacts.name)
      const batch = await scene.tables.batch(contacts)
      await batch.add([contact('1', 'x')], at(1))
      const taken = await scene.tables.claim(contacts.name)
      expect(await errorOf(batch.merge({ run: 1, fence, position: 'p' }))).toBeInstanceOf(FenceLost)
      await batch.add([contact('2', 'x')], at(1))
      const counts = await batch.merge({ run: 1, fence: taken.fence, position: 'p' })
      expect(counts).toEqual({ ...NOTHING, inserted: 2 })
      expect(await scene.position(contacts)).toBe('p')
    })

    it('of one stream say nothing of another', async () => {
      const other = { ...contacts, name: 'svc_company', table: 'svc_company' }
      const scene = await sceneOf(place, [contacts, other])
      const { fence } = await scene.tables.claim(contacts.name)
      for (const _ of [1, 2, 3]) await scene.tables.claim(other.name)
      await scene.tables.move(contacts.name, fence, 'mine')
      expect(await scene.position(contacts)).toBe('mine')
      expect(await scene.position(other)).toBe(null)
    })

    it('of many claims at the same time leave one holder', async () => {
      const scene = await sceneOf(place)
      const handles = [scene.tables, await scene.another()]
      const claims = await Promise.all(
        Array.from({ length: 8 }, (_, index) => handles[index % 2]!.claim(contacts.name)),
      )
      const moves = await Promise.allSettled(
        claims.map(({ fence }, index) => handles[index % 2]!.move(contacts.name, fence, 'mine')),
      )
      expect(moves.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    })
  })
}
