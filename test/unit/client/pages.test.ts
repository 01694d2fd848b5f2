// Listings end on has_more alone, and never go on for ever.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EMPTY_PAGES_MAX, eachAggregatePage, eachPage } from '../../../src/client/pages.ts'
import type { RecordsClient } from '../../../src/client/index.ts'
import { always, bytesOf, clientOf, failureOf, record, startWire } from './wire.ts'

let records = 0
const page = (cursor: string | null, data: unknown[] = [{ id: `rec_${records++}` }]) => ({
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

test('a listing that stands still on full pages ends, although each has another cursor', async () => {
  const still = Array.from({ length: 100 }, (_, n) => ({ id: `rec_${n}` }))
  // The second goes back and forth between two pages.
  const other = Array.from({ length: 100 }, (_, n) => ({ id: `rec_${n + 100}` }))
  for (const [next, before] of [
    [() => still, 1],
    [(read: number) => (read % 2 === 0 ? still : other), 2],
  ] as const) {
    let read = 0
    const pages = eachPage(async () => page(`c${++read}`, next(read)))
    await expect(countOf(pages)).rejects.toMatchObject({
      kind: 'distrusted',
      block: 'contract',
      message: 'The listing does not end: 10 pages with nothing new in a row',
    })
    expect(read).toBe(EMPTY_PAGES_MAX + before)
  }
  const edge = { association_type: 'a', source_id: 's', target_id: 't', cardinality: 'one_to_one' }
  let read = 0
  const edges = eachPage(async () => page(`c${++read}`, [{ ...edge }]))
  await expect(countOf(edges)).rejects.toThrow('nothing new')
})

test('pages that overlap, and one record a page, are read to the end', async () => {
  let read = 0
  const overlapping = eachPage(async () => {
    const data = [{ id: `rec_${read}` }, { id: `rec_${read + 1}` }]
    return page(++read < 200 ? `c${read}` : null, data)
  })
  expect(await countOf(overlapping)).toBe(200)
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
  for await (const { data } of clientOf(wire.url).recordPages('svc_contact', query)) {
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

const listings: [string, (client: RecordsClient) => AsyncIterable<unknown>][] = [
  ['listRecordPages', (client) => client.listRecordPages('svc_contact')],
  ['recordPages', (client) => client.recordPages('svc_contact')],
  ['associationEdgePages', (client) => client.associationEdgePages('svc_contact', 'rec_1')],
]

test.each(listings)(
  '%s: has_more for ever, with one cursor, ends in an error',
  async (_, pages) => {
    const wire = await startWire(
      always({ body: { data: [], pagination: { has_more: true, next_cursor: 'c' } } }),
    )
    const failure = await failureOf(countOf(pages(clientOf(wire.url))))
    expect(failure).toMatchObject({ kind: 'distrusted', disposition: 'halt', block: 'contract' })
    expect(failure.message).toBe('The listing does not end: a cursor came back')
    expect(wire.seen).toHaveLength(2)
  },
)

test.each(listings)('%s: empty pages for ever end in an error', async (_, pages) => {
  const wire = await startWire((socket, _seen, count) => {
    const pagination = { has_more: true, next_cursor: `c${count}` }
    socket.write(bytesOf({ body: { data: [], pagination } }))
  })
  const failure = await failureOf(countOf(pages(clientOf(wire.url))))
  expect(failure.message).toBe('The listing does not end: 10 empty pages in a row')
  expect(wire.seen).toHaveLength(EMPTY_PAGES_MAX)
})

test('listRecordPages sends its choice with each cursor, from the first one given', async () => {
  const wire = await startWire(
    always(
      { body: page('c/2', [record('a')]) },
      { body: { data: [record('b')], pagination: { has_more: false } } },
    ),
  )
  const choice = { cursor: 'c 1', properties: ['svc_email', 'svc_x'] }
  expect(await countOf(clientOf(wire.url).listRecordPages('svc_contact', choice))).toBe(2)
  const path = 'GET /rest/v1/objects/svc_contact/records/?cursor'
  expect(wire.seen.map((seen) => seen.line)).toEqual([
    `${path}=c+1&properties=svc_email%2Csvc_x HTTP/1.1`,
    `${path}=c%2F2&properties=svc_email%2Csvc_x HTTP/1.1`,
  ])
})

test('each page takes a permit of its own, whatever permit came along', async () => {
  const wire = await startWire(always({ body: page('c', []) }))
  const client = clientOf(wire.url)
  const permit = client.quota.permit()
  const options = { permit, priority: 'mirror' } as const
  for await (const _ of client.associationEdgePages('svc_contact', 'rec_1', options)) break
  expect(client.quota.closed[0]).toBeNull()
  expect(client.quota.asked).toMatchObject([{ priority: 'mirror' }])
})

const groups = (count: number, total: number, more: boolean) => ({
  total_groups: total,
  results: Array.from({ length: count }, (_, value) => ({ group_by: {}, value })),
  has_more: more,
})

test('aggregatePages asks on from the groups that came, by offset, until has_more is false', async () => {
  const wire = await startWire(
    always(
      { body: { data: groups(2, 6, true) } },
      { body: { data: groups(1, 6, true) } },
      { body: { data: groups(1, 6, false) } },
    ),
  )
  const aggregate = {
    aggregations: [{ op: 'count' as const }],
    group_by: ['svc_x'],
    limit: 2,
    offset: 1,
  }
  const pages = clientOf(wire.url).aggregatePages('svc_contact', aggregate)
  expect(await countOf(pages)).toBe(3)
  const bodies = wire.seen.map((seen) => JSON.parse(seen.body))
  expect(bodies).toEqual([1, 3, 4].map((offset) => ({ ...aggregate, offset })))
})

test('an aggregate of any number of groups comes whole; one that does not end is an error', async () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 100 }), { maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(sizes, fc.nat(50), async (lengths, from) => {
      const total = from + lengths.reduce((sum, length) => sum + length, 0)
      const answers = lengths.map((length, index) =>
        groups(length, total, index + 1 < lengths.length),
      )
      const offsets: number[] = []
      let came = from
      const pages = eachAggregatePage(async (offset) => {
        offsets.push(offset)
        return answers[offsets.length - 1] ?? groups(0, total, false)
      }, from)
      for await (const { results } of pages) came += results.length
      expect(came).toBe(total)
      expect(new Set(offsets).size).toBe(offsets.length)
    }),
  )
  // The offset is ignored: the same page comes again and again.
  let read = 0
  const stuck = (count: number) =>
    countOf(eachAggregatePage(async () => (read++, groups(count, 250, true)), 0))
  await expect(stuck(100)).rejects.toThrow('more groups are announced than the total')
  expect(read).toBe(3)
  await expect(stuck(0)).rejects.toMatchObject({ kind: 'distrusted', disposition: 'halt' })
  expect(read).toBe(4)
})
