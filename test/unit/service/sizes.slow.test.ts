// How large values, records, bodies and answers may be: what is larger is refused with the limit, and nothing of it is stored; what was
// stored before there were limits stays readable, page by page.

import { connect, type Socket } from 'node:net'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  BATCH_ANSWER_BYTES_MAX,
  PAGE_BYTES_MAX,
  PARTS_MAX,
  RECORD_CHARS_MAX,
  TEXT_CHARS_MAX,
  UNREAD_BYTES_MAX,
  VALUES_MAX,
  VIOLATIONS_MAX,
} from '../../../src/service/limits/sizes.ts'
import { untilHung } from '../../hang.ts'
import { expectProblem, startApi } from './api.ts'
import type { Answer, Api } from './api.ts'

const contact = 'svc_contact'
const records = `/objects/${contact}/records/`

let api: Api
afterEach(() => api.service.close())
const start = async (options: Parameters<typeof startApi>[0] = {}) => {
  api = await startApi(options)
}

const text = (chars: number, of = 'x') => of.repeat(chars)
const list = (count: number) => Array.from({ length: count }, (_, at) => `p${at}@example.com`)
const stored = () => api.service.records(contact)

describe('a value', () => {
  const tooMany = `at most ${VALUES_MAX} values, got`
  const tooLong = `at most ${TEXT_CHARS_MAX} characters in a text, got`
  const cases: [string, object, string, string][] = [
    ['a text', { svc_first_name: text(TEXT_CHARS_MAX + 1) }, 'svc_first_name', tooLong],
    ['a text of two', { svc_last_name: text(TEXT_CHARS_MAX * 2) }, 'svc_last_name', tooLong],
    ['a long text', { svc_notes: text(TEXT_CHARS_MAX + 1, 'ä') }, 'svc_notes', tooLong],
    ['a text that is set once', { svc_source: text(TEXT_CHARS_MAX + 1) }, 'svc_source', tooLong],
    ['a unique text', { svc_external_id: text(TEXT_CHARS_MAX + 1) }, 'svc_external_id', tooLong],
    [
      'characters beyond 16 bits',
      { svc_notes: text(TEXT_CHARS_MAX / 2 + 1, '😀') },
      'svc_notes',
      tooLong,
    ],
    ['a URL', { svc_website: `https://a.example/${text(TEXT_CHARS_MAX)}` }, 'svc_website', tooLong],
    ['spaces', { svc_job_title: text(TEXT_CHARS_MAX + 1, ' ') }, 'svc_job_title', tooLong],
    ['line breaks', { svc_notes: text(TEXT_CHARS_MAX + 1, '\n') }, 'svc_notes', tooLong],
    [
      'an e-mail address in a list',
      { svc_email: [`${text(TEXT_CHARS_MAX)}@example.com`] },
      'svc_email',
      tooLong,
    ],
    [
      'the last of a list',
      { svc_phone: ['+1 555', text(TEXT_CHARS_MAX + 1, '1')] },
      'svc_phone',
      tooLong,
    ],
    ['a choice', { svc_lifecycle_stage: text(TEXT_CHARS_MAX + 1) }, 'svc_lifecycle_stage', tooLong],
    ['a user', { svc_owner: text(TEXT_CHARS_MAX + 1) }, 'svc_owner', tooLong],
    ['a date', { svc_birthday: text(TEXT_CHARS_MAX + 1, '0') }, 'svc_birthday', tooLong],
    ['a list of addresses', { svc_email: list(VALUES_MAX + 1) }, 'svc_email', tooMany],
    ['a list of many', { svc_email: list(50_000) }, 'svc_email', tooMany],
    [
      'a list of one value, repeated',
      { svc_tags: Array(VALUES_MAX + 1).fill('vip') },
      'svc_tags',
      tooMany,
    ],
    ['a list of nothing', { svc_tags: Array(VALUES_MAX + 1).fill(null) }, 'svc_tags', tooMany],
    ['a list of lists', { svc_phone: Array(VALUES_MAX + 1).fill([]) }, 'svc_phone', tooMany],
    [
      'a list where there is one value',
      { svc_score: Array(VALUES_MAX + 1).fill(1) },
      'svc_score',
      tooMany,
    ],
    ['phone numbers', { svc_phone: Array(VALUES_MAX + 1).fill('+1 555') }, 'svc_phone', tooMany],
    [
      'the larger of two',
      { svc_score: 1, svc_notes: text(TEXT_CHARS_MAX + 1) },
      'svc_notes',
      tooLong,
    ],
  ]

  it.each(cases)('that is too large is refused: %s', async (_, properties, name, expected) => {
    await start()
    const id = (await api.create(contact, {})).body.data.id as string
    const before = structuredClone(stored())
    const answers: Answer[] = [
      await api.create(contact, properties),
      await api.update(contact, id, properties),
      await api.upsert(contact, 'svc_external_id', { svc_external_id: 'a', ...properties }),
    ]
    for (const answer of answers) {
      expectProblem(answer, 422, 'request_invalid', 'schema_invalid')
      expect(answer.body.field).toBe(`/data/properties/${name}`)
      expect(answer.body.detail).toMatch(`${name}: expected ${expected}`)
      expect(answer.text.length).toBeLessThan(2_000)
    }
    const batch = await api.batch(contact, 'svc_external_id', [
      { svc_external_id: 'b', ...properties },
    ])
    expect(batch.body.data[0].problem.field).toBe(`/data/0/properties/${name}`)
    expect(stored()).toEqual(before)
  })

  it.each([
    ['the longest text', { svc_notes: text(TEXT_CHARS_MAX) }],
    [
      'two of them',
      { svc_notes: text(TEXT_CHARS_MAX), svc_first_name: text(TEXT_CHARS_MAX - 100) },
    ],
    ['the longest list', { svc_email: list(VALUES_MAX) }],
    ['an empty list, and nothing', { svc_email: [], svc_notes: null }],
  ])('that is just within is taken: %s', async (_, properties) => {
    await start()
    expect((await api.create(contact, properties)).status).toBe(201)
  })
})

const full = { svc_notes: text(TEXT_CHARS_MAX), svc_job_title: text(TEXT_CHARS_MAX - 100) }

describe('a record', () => {
  it('is refused above its size in one write, and in one after the other', async () => {
    await start()
    const whole = { ...full, svc_first_name: text(101) }
    const created = await api.create(contact, whole)
    expectProblem(created, 422, 'request_invalid', 'schema_invalid')
    expect(created.body.detail).toContain(`expected at most ${RECORD_CHARS_MAX} characters`)
    expect(created.body.field).toBe('/data/properties/svc_notes')

    const id = (await api.create(contact, full)).body.data.id as string
    const grown = await api.update(contact, id, { svc_first_name: text(101) })
    expectProblem(grown, 422, 'request_invalid', 'schema_invalid')
    expect(grown.body.field).toBe('/data/properties/svc_first_name')
    expect((await api.update(contact, id, { svc_notes: 'a' })).status).toBe(200)
    expect((await api.update(contact, id, { svc_first_name: text(101) })).status).toBe(200)
  })
})

/** Walks a listing; the ids in their order, and the bytes of the largest page. */
async function walk(next: (cursor: string | null) => Promise<Answer>) {
  const ids: string[] = []
  let most = 0
  let pages = 0
  for (let cursor: string | null = null; ;) {
    const answer = await next(cursor)
    expect(answer.status).toBe(200)
    most = Math.max(most, Buffer.byteLength(answer.text))
    pages += 1
    ids.push(...answer.body.data.map(({ id }: { id: string }) => id))
    expect(answer.body.data.length).toBeGreaterThan(0)
    cursor = answer.body.pagination.next_cursor
    expect(cursor !== null).toBe(answer.body.pagination.has_more)
    if (cursor === null) return { ids, most, pages }
  }
}
const list_ = (cursor: string | null) =>
  api.send('GET', records + (cursor === null ? '' : `?cursor=${encodeURIComponent(cursor)}`))
const query = (body: object) => (cursor: string | null) =>
  api.query(contact, cursor === null ? body : { cursor })

describe('a page', () => {
  it('ends after some MiB, whatever is listed, and the pages together have each record once', async () => {
    await start()
    const ids: string[] = []
    for (let at = 0; at < 40; at += 1) {
      const { body } = await api.create(contact, {
        svc_first_name: `n${at % 7}`,
        svc_notes: text(400_000, at % 2 ? 'x' : 'ä'),
      })
      ids.push(body.data.id)
    }
    const walks = [
      list_,
      query({}),
      query({ limit: 30 }),
      query({ sorts: [{ property: 'svc_first_name', direction: 'desc' }] }),
      query({ filter: { property: 'svc_first_name', op: 'starts_with', value: 'n' } }),
      query({ search: 'n' }),
      query({ properties: ['svc_notes', 'svc_notes', 'svc_first_name'] }),
    ]
    for (const next of walks) {
      const { ids: found, most, pages } = await walk(next)
      expect(found.toSorted()).toEqual(ids.toSorted())
      expect(most).toBeLessThan(PAGE_BYTES_MAX + 2_000)
      expect(pages).toBeGreaterThan(3)
    }
    const small = await walk(query({ properties: ['svc_first_name'] }))
    expect(small).toMatchObject({ ids, pages: 1 })
  })

  it('of groups that are too large names a limit that is not', async () => {
    await start()
    for (let at = 0; at < 20; at += 1)
      await api.create(contact, { svc_notes: `${at}${text(500_000)}`, svc_job_title: `${at}` })
    const groups = (body: object) =>
      api.send('POST', `${records}aggregate/`, {
        body: {
          aggregations: [{ op: 'count' }],
          group_by: ['svc_notes', 'svc_job_title'],
          ...body,
        },
      })
    const refused = await groups({})
    expectProblem(refused, 422, 'request_invalid')
    expect(refused.body).toMatchObject({
      field: '/limit',
      detail: expect.stringMatching(/ask for 8 or fewer$/),
    })
    const found: unknown[] = []
    for (let offset = 0; offset < 20; offset += 8) {
      const { body, status } = await groups({ limit: 8, offset })
      expect(status).toBe(200)
      found.push(...body.data.results)
      expect(body.data).toMatchObject({ total_groups: 20, has_more: offset < 16 })
    }
    expect(found).toHaveLength(20)
  })
})

describe('the answer to a batch', () => {
  it('ends after some MiB: the other items are not stored, and are when they are sent again', async () => {
    await start()
    const ids: string[] = []
    for (let at = 0; at < 50; at += 1)
      ids.push((await api.create(contact, { svc_notes: text(TEXT_CHARS_MAX - 10) })).body.data.id)
    let left = ids
    let rounds = 0
    while (left.length > 0 && rounds < 50) {
      rounds += 1
      const answer = await api.send('POST', `${records}batch/update/`, {
        body: { data: left.map((id) => ({ id, properties: { svc_score: 7 } })) },
      })
      expect(answer.status).toBe(200)
      expect(Buffer.byteLength(answer.text)).toBeLessThan(BATCH_ANSWER_BYTES_MAX + 1_100_000)
      const results = answer.body.data as { status: number; problem?: { detail: string } }[]
      const done = results.filter(({ status }) => status === 200).length
      expect(done).toBeGreaterThan(0)
      expect(answer.body.summary).toEqual({
        total: left.length,
        succeeded: done,
        failed: left.length - done,
      })
      for (const { status, problem } of results.slice(done))
        expect([status, problem!.detail]).toEqual([
          503,
          expect.stringContaining('this item was not stored'),
        ])
      left = left.slice(done)
      const scored = stored().filter(({ properties }) => properties['svc_score'] === 7)
      expect(scored).toHaveLength(50 - left.length)
    }
    expect(rounds).toBe(6)
  })
})

it('records from before there were limits are read page by page, and may shrink', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'records-sync-sizes-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const data = join(folder, 'crm.db')
  await start({ data })
  for (let at = 0; at < 6; at += 1) await api.create(contact, { svc_first_name: `n${at}` })
  await api.service.close()
  const file = new DatabaseSync(data)
  const large = {
    svc_notes: text(9_000_000),
    svc_job_title: text(5_000_000),
    svc_email: list(5_000),
  }
  for (const { place, properties } of file.prepare('SELECT place, properties FROM records').all())
    file
      .prepare('UPDATE records SET properties = ? WHERE place = ?')
      .run(JSON.stringify({ ...JSON.parse(String(properties)), ...large }), Number(place))
  file.close()

  await start({ data })
  for (const next of [
    list_,
    query({}),
    query({ sorts: [{ property: 'svc_first_name', direction: 'asc' }] }),
  ])
    expect(await walk(next)).toMatchObject({ ids: stored().map(({ id }) => id), pages: 6 })
  const { id } = stored()[0]!
  expect((await api.send('GET', `${records}${id}/`)).status).toBe(200)
  expect((await api.update(contact, id, { svc_score: 1 })).status).toBe(200)
  expect((await api.update(contact, id, { svc_job_title: text(500_000) })).status).toBe(200)
  expectProblem(
    await api.update(contact, id, { svc_last_name: 'longer' }),
    422,
    'request_invalid',
    'schema_invalid',
  )
  expect((await api.update(contact, id, { svc_notes: null, svc_last_name: 'longer' })).status).toBe(
    200,
  )
})

it('answers that nobody reads are bounded for an org; another one is answered, and so is this one later', async () => {
  await start()
  for (let at = 0; at < 10; at += 1) await api.create(contact, { svc_notes: text(TEXT_CHARS_MAX) })
  const other = 4_711
  api.service.addOrg(other)
  const otherKey = api.service.mintKey({ orgId: other })
  const { port } = new URL(api.service.url)
  const sockets: Socket[] = []
  onTestFinished(() => sockets.forEach((socket) => void socket.destroy()))
  const ask = () => {
    const socket = connect(Number(port), '127.0.0.1')
    socket.pause()
    socket.write(
      `GET /rest/v1${records} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.service.key}\r\n\r\n`.repeat(
        5,
      ),
    )
    sockets.push(socket)
  }
  for (let at = 0; at < 40; at += 1) ask()
  const status = async (key?: string) =>
    (await api.send('GET', '/self/', key === undefined ? {} : { key })).status
  await vi.waitFor(async () => expect(await status()).toBe(503), untilHung)
  const refused = await api.query(contact, { limit: 1 })
  expectProblem(refused, 503, 'service_unavailable')
  expect(refused.headers.get('retry-after')).toBe('1')
  expect(refused.body.detail).toContain(`${UNREAD_BYTES_MAX / 1_024 / 1_024} MiB`)
  expect(await status(otherKey)).toBe(200)
  for (const socket of sockets) socket.destroy()
  await vi.waitFor(async () => expect(await status()).toBe(200), untilHung)
  expect((await walk(list_)).ids).toHaveLength(10)
})

describe('a body', () => {
  const send = (body: string) => api.send('POST', records, { body })
  const members = (count: number, value = '1') =>
    `{"data":{"properties":{${Array.from({ length: count }, (_, at) => `"a${at}":${value}`).join()}}}}`

  it.each([
    ['unknown properties', members(250_000)],
    ['unknown properties with texts', members(PARTS_MAX, '"x,y"')],
    ['members at the top', `{${Array.from({ length: 300_000 }, (_, at) => `"a${at}":1`).join()}}`],
    [
      'values of a list',
      `{"data":{"properties":{"svc_email":[${Array(200_000).fill('"a@b.c"').join()}]}}}`,
    ],
    ['empty texts', `{"data":{"properties":{"svc_tags":[${Array(500_000).fill('""').join()}]}}}`],
    ['numbers', `[${Array(1_500_000).fill('1').join()}]`],
    ['lists', `[${Array(500_000).fill('[]').join()}]`],
    ['objects', `{"data":[${Array(500_000).fill('{}').join()}]}`],
    ['nested lists', `[${Array(200_000).fill('[1,2]').join()}]`],
    ['names that are the same', `{${Array(200_000).fill('"a":1').join()}}`],
  ])('of too many parts is refused before it is parsed: %s', async (_, body) => {
    await start()
    const answer = await send(body)
    expectProblem(answer, 422, 'request_invalid')
    expect(answer.body.detail).toMatch(
      /^The body has \d+ members and list items; at most 100000 were expected$/,
    )
  })

  it.each([
    [
      'commas and colons of texts',
      `{"data":{"properties":{"svc_notes":"${text(300_000, ',:')}"}}}`,
      201,
    ],
    ['quotes in texts', `{"data":{"properties":{"svc_notes":"${text(150_000, '\\",')}"}}}`, 201],
  ])('is counted without what stands in texts: %s', async (_, body, status) => {
    await start()
    expect((await send(body)).status).toBe(status)
  })

  it('lists at most so many violations, and the first is the first', async () => {
    await start()
    const answer = await send(members(50_000))
    expectProblem(answer, 422, 'request_invalid', 'schema_invalid')
    expect(answer.body.errors).toHaveLength(VIOLATIONS_MAX)
    expect(answer.body.field).toBe('/data/properties/a0')
    const two = await send(members(2))
    expect(two.body.errors).toHaveLength(2)
    const batch = await api.batch(
      contact,
      'svc_external_id',
      Array(3).fill({ svc_external_id: 'a', ...JSON.parse(members(1_000)).data.properties }),
    )
    for (const { problem } of batch.body.data) expect(problem.errors).toHaveLength(VIOLATIONS_MAX)
  })
})
