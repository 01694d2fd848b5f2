// Counts and ids, as the mirror asks for them.

import { describe, expect, it } from 'vitest'
import type { Within } from '../../../src/warehouses/mirror-tables.ts'
import { at, contact, contacts, sceneOf, type OpenPlace, type Scene } from './scene.ts'

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

const WITHIN: readonly (readonly [Within, ids: string[], misfits: number])[] = [
  [{ column: 'born', from: at(3), to: at(5) }, ['3', '4'], 1],
  [{ column: 'born', from: null, to: at(2) }, ['0', '1'], 1],
  [{ column: 'born', from: at(8), to: null }, ['8', '9'], 1],
  [{ column: 'born', from: at(5), to: at(5) }, [], 0],
  [{ column: 'born', from: '2026-01-01T00:02:59.999999Z', to: at(4) }, ['3'], 1],
  [{ column: 'born', from: '2026-01-01T00:03:00.000001Z', to: at(5) }, ['4'], 0],
  [{ column: '_last_seen_at', from: null, to: at(5) }, ['0', '1', '2', '3', '4', 'none'], 2],
  [{ column: '_version', from: at(7), to: null }, ['7', '8', '9'], 1],
]

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
  })
}
