import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CURSOR_LIFETIME_MS, RecordPage } from '../../../src/contract/index.ts'
import type { RecordRepresentation } from '../../../src/contract/index.ts'
import { expectProblem, manualClock, startApi } from './api.ts'
import type { Api } from './api.ts'
import { runs } from '../../runs.ts'

const clock = manualClock()
let api: Api
beforeAll(async () => {
  api = await startApi({ seedRecords: 250, clock })
})
afterAll(() => api.service.close())

const type = 'svc_contact'
const records = `/objects/${type}/records/`
const idsOf = (page: { data: RecordRepresentation[] }) => page.data.map(({ id }) => id)

/** Follows `next_cursor` to the end, at most 200 pages. */
async function pagesOf(each: Api, of: string, body: object, between?: () => Promise<unknown>) {
  const found: RecordRepresentation[] = []
  let cursor: string | null | undefined
  for (let count = 0; count < 200; count += 1) {
    const answer = await each.query(of, cursor ? { cursor } : body)
    expect(answer.status).toBe(200)
    const page = RecordPage.parse(answer.body)
    found.push(...page.data)
    if (!page.pagination.has_more) return found
    cursor = page.pagination.next_cursor
    await between?.()
  }
  throw new Error('The listing has no end')
}

describe('a listing', () => {
  it('comes in pages of 100, in creation order, and ends', async () => {
    const all = [...api.service.records(type)]
    const first = (await api.send('GET', records)).body
    expect(first.data).toEqual(all.slice(0, 100))
    const path = `${records}?cursor=${first.pagination.next_cursor}`
    const second = (await api.send('GET', path)).body
    expect(second.data).toEqual(all.slice(100, 200))
    expect((await api.send('GET', path)).body.data).toEqual(second.data)
    const third = await api.send('GET', `${records}?cursor=${second.pagination.next_cursor}`)
    expect(third.body.data).toEqual(all.slice(200))
    expect(third.body.pagination).toEqual({ has_more: false, next_cursor: null })
  })

  it('ends with a full page where the records do', async () => {
    const all = await pagesOf(api, type, { limit: 50 })
    expect(all).toEqual([...api.service.records(type)])
    const last = await api.query(type, { limit: 100, search: 'hugo' })
    expect(last.body.pagination.has_more).toBe(false)
  })

  it('returns the chosen properties, on later pages too', async () => {
    const first = (await api.send('GET', `${records}?properties=svc_score, svc_first_name`)).body
    const second = (await api.send('GET', `${records}?cursor=${first.pagination.next_cursor}`)).body
    for (const page of [first, second]) {
      expect(Object.keys(page.data[0].properties)).toEqual(['svc_score', 'svc_first_name'])
    }
    const unknown = await api.send('GET', `${records}?properties=nope`)
    expectProblem(unknown, 422, 'request_invalid', 'unknown_property')
    const query = await api.query(type, { properties: ['svc_score', 'nope'] })
    expectProblem(query, 422, 'request_invalid', 'unknown_property')
    expect(query.body.field).toBe('/properties/1')
    expectProblem(await api.send('GET', `${records}?cursor=a&cursor=b`), 400, 'request_invalid')
  })
})

describe('a query', () => {
  it.each([
    ['an unknown key', { sort: [] }, ''],
    ['limit 0', { limit: 0 }, '/limit'],
    ['limit 101', { limit: 101 }, '/limit'],
    [
      'two sorts',
      { sorts: [1, 2].map(() => ({ property: 'svc_score', direction: 'asc' })) },
      '/sorts',
    ],
    ['a direction', { sorts: [{ property: 'svc_score', direction: 'up' }] }, '/sorts/0/direction'],
    ['a long search', { search: 'x'.repeat(201) }, '/search'],
    ['a number as cursor', { cursor: 7 }, '/cursor'],
  ])('is refused: %s', async (name, body, field) => {
    const answer = await api.query(type, body)
    // Section 7: what is malformed is 400, what has the right shape and is wrong is 422.
    const isMalformed = /key|direction|number/.test(name)
    expectProblem(answer, isMalformed ? 400 : 422, 'request_invalid')
    expect(answer.body.field).toBe(field)
  })

  it('takes null for what is left out', async () => {
    const body = { cursor: null, filter: null, search: null, properties: null }
    expect((await api.query(type, body)).body.data).toHaveLength(100)
  })

  it('sorts by one property, ties by creation, and backwards exactly so', async () => {
    const sorts = (property: string, direction = 'asc') => ({
      limit: 30,
      sorts: [{ property, direction }],
    })
    for (const property of [
      'svc_score',
      'svc_lifecycle_stage',
      'svc_lifetime_value',
      'svc_birthday',
    ]) {
      const up = await pagesOf(api, type, sorts(property))
      const down = await pagesOf(api, type, sorts(property, 'desc'))
      expect(down).toEqual(up.toReversed())
      const rank = ({ properties }: RecordRepresentation) => {
        const value = properties[property] as number | string | { amount: string } | null
        if (value === null) return 0
        return typeof value === 'object' ? Number(value.amount) : value
      }
      const expected = [...api.service.records(type)].toSorted((a, b) =>
        // Records are in the order of creation, and stay so where they are equal.
        rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : 0,
      )
      expect(idsOf({ data: up })).toEqual(idsOf({ data: expected }))
    }
  })

  it('sorts what was written since it last sorted', async () => {
    const sorts = [{ property: 'svc_birthday', direction: 'asc' }]
    const own = await startApi({ clock })
    const sorted = async () => idsOf((await own.query(type, { sorts })).body)
    const write = (svc_external_id: string, svc_birthday: string) =>
      own.upsert(type, 'svc_external_id', { svc_external_id, svc_birthday })
    try {
      const old = (await write('old', '2000-01-01')).body.data.id
      expect(await sorted()).toEqual([old])
      const older = (await write('older', '1999-01-01')).body.data.id
      expect(await sorted()).toEqual([older, old])
      await write('older', '2001-01-01')
      expect(await sorted()).toEqual([old, older])
      await own.send('DELETE', `${records}${old}/`)
      expect(await sorted()).toEqual([older])
    } finally {
      await own.service.close()
    }
  })

  it.each(['svc_email', 'svc_notes', 'svc_tags'])('cannot sort by %s', async (property) => {
    const answer = await api.query(type, { sorts: [{ property, direction: 'asc' }] })
    expectProblem(answer, 422, 'request_invalid', 'unsupported_sort')
    const unknown = await api.query(type, { sorts: [{ property: 'nope', direction: 'asc' }] })
    expectProblem(unknown, 422, 'request_invalid', 'unknown_property')
  })

  it('searches all words in all texts, and combines with the filter', async () => {
    const hits = await pagesOf(api, type, { search: ' HUGO example.com' })
    const expected = [...api.service.records(type)].filter(
      ({ properties }) => properties['svc_first_name'] === 'Hugo',
    )
    expect(expected.length).toBeGreaterThan(1)
    expect(hits).toEqual(expected)
    const filter = {
      property: 'svc_external_id',
      op: 'eq',
      value: expected[1]!.properties['svc_external_id'],
    }
    expect((await api.query(type, { search: 'hugo', filter })).body.data).toEqual([expected[1]])
    expect(
      (await api.query(type, { search: 'bianchi', filter: { ...filter, value: 'seed-0' } })).body
        .data,
    ).toEqual([])
  })
})

describe('a cursor', () => {
  const body = { limit: 10, filter: { property: 'svc_score', op: 'gte', value: 0 } }
  const first = async () => (await api.query(type, body)).body.pagination.next_cursor as string
  const refused = async (answer: ReturnType<Api['query']>) =>
    expectProblem(await answer, 400, 'request_invalid', 'cursor_invalid')

  it('carries its query; the same query beside it is fine, another is not', async () => {
    const cursor = await first()
    const alone = (await api.query(type, { cursor })).body
    expect(alone.data).toHaveLength(10)
    expect((await api.query(type, { ...body, cursor })).body.data).toEqual(alone.data)
    expect((await api.query(type, { cursor, limit: 3 })).body.data).toEqual(alone.data.slice(0, 3))
    await refused(api.query(type, { ...body, cursor, search: 'x' }))
    await refused(api.query(type, { cursor, filter: { ...body.filter, value: 1 } }))
    await refused(api.query(type, { cursor, sorts: [{ property: 'svc_score', direction: 'asc' }] }))
    await refused(api.query(type, { cursor, properties: ['svc_score'] }))
  })

  it('is refused where it was altered, made up, or belongs to another type, key or service', async () => {
    const cursor = await first()
    const bytes = Buffer.from(cursor, 'base64url')
    const flipped = (at: number) => {
      const other = Buffer.from(bytes)
      other[at]! ^= 1
      return other.toString('base64url')
    }
    for (const each of [
      '',
      'x',
      cursor.slice(0, 16),
      cursor.slice(0, -1),
      cursor.slice(1),
      `${cursor}A`,
      `${cursor}.x`,
      `${cursor}=`,
      `${cursor} `,
      ` ${cursor}`,
      `${cursor.slice(0, 20)}.${cursor.slice(20)}`,
      bytes.toString('hex'),
      `${cursor}${cursor}`,
      [...cursor].toReversed().join(''),
      Buffer.from('{"scope":[],"expiresMs":9e15,"state":{}}').toString('base64url'),
      // Nonce, text and tag.
      ...[
        0,
        11,
        12,
        13,
        bytes.length >> 1,
        bytes.length - 17,
        bytes.length - 16,
        bytes.length - 1,
      ].map(flipped),
    ]) {
      await refused(api.query(type, { cursor: each }))
    }
    await refused(api.query('svc_deal', { cursor }))
    const key = api.service.mintKey()
    await refused(api.send('POST', `${records}query/`, { key, body: { cursor } }))
    await refused(api.send('GET', `${records}?cursor=nonsense`))
    await refused(api.send('GET', `${records}?cursor=`))
  })

  it('lives for 24 hours', async () => {
    const cursor = await first()
    clock.nowMs += CURSOR_LIFETIME_MS - 1
    expect((await api.query(type, { cursor })).status).toBe(200)
    clock.nowMs += 1
    await refused(api.query(type, { cursor }))
  })
})

describe('paging while others write', () => {
  it('shows every record that stays exactly once, in order', async () => {
    const step = fc.record({ kind: fc.constantFrom('create', 'delete', 'touch'), at: fc.nat(60) })
    const sorts = fc.constantFrom(
      [],
      [{ property: 'svc_score', direction: 'asc' }],
      [{ property: 'svc_score', direction: 'desc' }],
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 40 }),
        sorts,
        fc.integer({ min: 1, max: 9 }),
        async (steps, sort, limit) => {
          const busy = await startApi({ clock })
          const ahead = [...steps]
          try {
            const scores = Array.from({ length: 30 }, (_, index) => ({
              svc_external_id: `id-${index}`,
              svc_score: index % 3 === 0 ? null : index % 4,
            }))
            await busy.batch(type, 'svc_external_id', scores)
            const before = new Set(idsOf({ data: [...busy.service.records(type)] }))
            const write = async () => {
              for (const { kind, at } of ahead.splice(0, 3)) {
                const live = idsOf({ data: [...busy.service.records(type)] })
                const path = `${records}${live[at % live.length]}/`
                if (kind === 'delete') await busy.send('DELETE', path)
                else {
                  const properties =
                    kind === 'create' ? { svc_score: at % 5 } : { svc_job_title: `t${at}` }
                  await busy.send(
                    kind === 'create' ? 'POST' : 'PATCH',
                    kind === 'create' ? records : path,
                    { body: { data: { properties } } },
                  )
                }
              }
            }
            const found = idsOf({ data: await pagesOf(busy, type, { limit, sorts: sort }, write) })
            expect(new Set(found).size).toBe(found.length)
            const stayed = [...busy.service.records(type)].filter(({ id }) => before.has(id))
            for (const { id } of stayed) expect(found).toContain(id)
            const after = idsOf({ data: await pagesOf(busy, type, { limit: 100, sorts: sort }) })
            const places = found.filter((id) => after.includes(id)).map((id) => after.indexOf(id))
            expect(places).toEqual(places.toSorted((a, b) => a - b))
          } finally {
            await busy.service.close()
          }
        },
      ),
      { numRuns: runs(25) },
    )
  })

  it('goes on after most records before it were deleted', async () => {
    const big = await startApi({ seedRecords: 2_400, clock })
    try {
      const all = idsOf({ data: [...big.service.records(type)] })
      const { cursor, ids } = await big.query(type, {}).then(({ body }) => ({
        cursor: body.pagination.next_cursor,
        ids: idsOf(body),
      }))
      expect(ids).toEqual(all.slice(0, 100))
      for (const id of all.slice(0, 1_250)) await big.send('DELETE', `${records}${id}/`)
      const next = await big.query(type, { cursor })
      expect(idsOf(next.body)).toEqual(all.slice(1_250, 1_350))
    } finally {
      await big.service.close()
    }
  })
})
