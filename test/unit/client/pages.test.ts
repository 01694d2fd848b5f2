// Listings end on has_more alone, and never go on for ever.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EMPTY_PAGES_MAX, eachPage } from '../../../src/client/pages.ts'
import { always, clientOf, record, startWire } from './wire.ts'

const page = (cursor: string | null, data: unknown[] = ['x']) => ({
  data,
  pagination: { has_more: cursor !== null, next_cursor: cursor },
})

async function countOf(pages: AsyncIterable<unknown>): Promise<number> {
  let count = 0
  for await (const _ of pages) count++
  return count
}

test('short and empty pages do not end a listing; has_more does, whatever the cursor says', async () => {
  const sizes = [3, 0, 0, 1, ...Array.from({ length: EMPTY_PAGES_MAX - 1 }, () => 0), 2]
  let read = 0
  const pages = eachPage(async () => {
    const data = Array.from({ length: sizes[read]! })
    read += 1
    const more = read < sizes.length
    return { data, pagination: { has_more: more, next_cursor: `c${read}` } }
  })
  expect(await countOf(pages)).toBe(sizes.length)
})

test('ten empty pages in a row are an error, although the cursor moves', async () => {
  let read = 0
  const pages = eachPage(async () => page(`c${++read}`, []))
  await expect(countOf(pages)).rejects.toMatchObject({ kind: 'distrusted', disposition: 'halt' })
  expect(read).toBe(EMPTY_PAGES_MAX)
})

test('a circle of cursors of any length is found, after any number of pages', async () => {
  const lengths = fc.tuple(fc.nat(40), fc.integer({ min: 1, max: 40 }))
  await fc.assert(
    fc.asyncProperty(lengths, async ([before, circle]) => {
      let read = 0
      const pages = eachPage(async () => {
        const position = read < before ? read : before + ((read - before) % circle)
        read += 1
        return page(`c${position}`)
      })
      await expect(countOf(pages)).rejects.toThrow('a cursor came back')
      expect(read).toBeLessThanOrEqual(4 * (before + circle) + 4)
    }),
  )
})

test('recordPages sends the query with each cursor, unchanged', async () => {
  const wire = await startWire(
    always(
      { body: { data: [record('a')], pagination: { has_more: true, next_cursor: 'c 1' } } },
      { body: { data: [record('b')], pagination: { has_more: false } } },
    ),
  )
  const query = { limit: 1, search: 'x' }
  const ids: string[] = []
  for await (const { data } of clientOf(wire.url).recordPages('t', query)) {
    ids.push(...data.map(({ id }) => id))
  }
  expect(ids).toEqual(['a', 'b'])
  const bodies = wire.seen.map((seen) => JSON.parse(seen.body))
  expect(bodies).toEqual([query, { ...query, cursor: 'c 1' }])
})

test('a page that says has_more without a cursor is not believed', async () => {
  const body = { data: [], pagination: { has_more: true, next_cursor: null } }
  const wire = await startWire(always({ body }))
  await expect(countOf(clientOf(wire.url).recordPages('t'))).rejects.toMatchObject({
    kind: 'distrusted',
    block: 'contract',
  })
})
