// The other service itself, through the client: each of its forms is found, each of its habits shows.

import { describe, expect, it, onTestFinished } from 'vitest'
import { RecordsClient } from '../../src/client/index.ts'
import { Num, format, parse, startOtherService } from './index.ts'
import type { OtherServiceOptions } from './index.ts'

async function scene(options: OtherServiceOptions = {}) {
  const service = await startOtherService(options)
  const client = new RecordsClient({ baseUrl: service.url, key: service.key })
  onTestFinished(async () => {
    await client.close()
    await service.close()
  })
  const contact = service.name('contact')
  const id = service.name('external_id')
  return { service, client, contact, id }
}

const plain = (url: string, path: string, key: string, more: RequestInit = {}) =>
  fetch(`${url}/rest/v1${path}`, {
    ...more,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  })

describe.each([
  { prefix: 'acme_', fieldTypes: 'plain', paths: 'plain' },
  { prefix: 'svc_', fieldTypes: 'other', paths: 'other' },
] as const)('$paths paths', (naming) => {
  it('has all operations where its document says', async () => {
    const { service, client, contact, id } = await scene(naming)
    const { org_id } = await client.readSelf()
    expect(org_id).toBe(1)
    const types = await client.listObjectTypes()
    expect(types.map(({ name }) => name)).toContain(contact)
    const schema = await client.readObjectType(contact)
    const mail = schema.properties.find(({ name }) => name === service.name('email'))!
    expect(mail.field_type).toBe(naming.fieldTypes === 'plain' ? 'email' : 'mail_address')
    expect(await client.listFieldTypes()).toHaveLength(11)
    const one = await client.createRecord(contact, { [id]: 'a' })
    expect(one.id).toBe('con_1_1')
    const updated = await client.updateRecord(contact, one.id, { note: 'n' })
    expect(updated.properties['note']).toBe('n')
    expect(await client.upsertRecord(contact, id, { [id]: 'b' })).toMatchObject({ created: true })
    const items = ['b', 'c'].map((text) => ({ properties: { [id]: text, note: 'batch' } }))
    const upserted = await client.batchUpsert(contact, id, { items })
    expect(upserted.data.map(({ status }) => status)).toEqual([200, 201])
    const ids = upserted.data.map(({ record }) => record!.id)
    const batch = await client.batchUpdate(contact, {
      items: ids.map((one) => ({ id: one, properties: { note: 'again' } })),
    })
    expect(batch.summary.succeeded).toBe(2)
    await client.batchCreate(contact, { items: [{ properties: { [id]: 'd' } }] })
    expect((await client.queryRecords(contact, { search: 'AGAIN' })).data).toHaveLength(2)
    expect((await client.listRecords(contact)).data).toHaveLength(4)
    const count = await client.aggregateRecords(contact, {
      aggregations: [{ op: 'count', property: null }],
    })
    expect(count.results[0]!.value).toBe(4)
    const thing = await client.createRecord('thing', { code: 't' })
    await client.associateRecords(contact, one.id, 'contact_thing', thing.id)
    expect((await client.listAssociationEdges(contact, one.id)).data).toMatchObject([
      { target_id: thing.id },
    ])
    expect(await client.listAssociations()).toHaveLength(2)
    await client.batchDelete(contact, { items: ids.map((gone) => ({ id: gone })) })
    await client.deleteRecord(contact, one.id)
    expect(service.count(contact)).toBe(1)
  })
})

describe('habits', () => {
  it('compares texts exactly, unless told otherwise', async () => {
    const { service, client, contact, id } = await scene()
    const put = (text: string) => client.upsertRecord(contact, id, { [id]: text })
    for (const text of ['K1', ' K1', 'k1', '\u00e9', 'e\u0301']) await put(text)
    expect(service.count(contact)).toBe(5)
    service.set({ matching: 'folded' })
    await expect(put('K1')).rejects.toMatchObject({ reason: 'ambiguous_match' })
  })

  it('keeps the digits of numbers', async () => {
    const { service, client, contact } = await scene()
    service.fill(contact, [{ extra: { n: new Num('1e400') } }])
    service.org.put(contact, { [service.name('score')]: new Num('9007199254740993') })
    const text = await (
      await plain(service.url, `/objects/${contact}/records/`, service.key)
    ).text()
    expect(text).toContain('9007199254740993')
    expect(text).toContain('1e400')
    expect(format(parse(text))).toBe(text)
    const exact = await plain(service.url, `/objects/${contact}/records/query/`, service.key, {
      method: 'POST',
      body: `{"filter":{"property":"${service.name('score')}","op":"eq","value":9007199254740992}}`,
    })
    expect(((await exact.json()) as { data: unknown[] }).data).toEqual([])
    const sum = await client.aggregateRecords(contact, {
      aggregations: [{ op: 'sum', property: service.name('score') }],
    })
    expect(sum.results[0]!.value).toBe('9007199254740993')
  })

  it('answers items of batches without records', async () => {
    const { service, client, contact, id } = await scene({ batchItems: '204', batchStatus: 207 })
    const items = [{ properties: { [id]: 'a' } }, { properties: { [id]: 'b', nothing: 1 } }]
    const first = await client.batchUpsert(contact, id, { items })
    expect(first.data).toMatchObject([
      { status: 204 },
      { status: 422, problem: { field: '/data/1/properties/nothing' } },
    ])
    service.set({ batchItems: 'bare' })
    const second = await client.batchUpsert(contact, id, { items })
    expect(second.data[0]).toEqual({ index: 0, status: 200 })
  })

  it('gives short and empty pages, with other cursors each time', async () => {
    const { service, client, contact, id } = await scene({ pages: 'empty', seed: 3 })
    service.fill(
      contact,
      Array.from({ length: 500 }, (_, index) => ({ [id]: `r${index}` })),
    )
    const sizes: number[] = []
    const ids = new Set<string>()
    for await (const page of client.recordPages(contact, {
      sorts: [{ property: id, direction: 'desc' }],
    })) {
      sizes.push(page.data.length)
      for (const record of page.data) ids.add(record.id)
    }
    expect(ids.size).toBe(500)
    expect(sizes).toContain(0)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(100)
    const cursors = await Promise.all(
      [1, 2].map(async () => (await client.listRecords(contact)).pagination.next_cursor),
    )
    expect(cursors[0]).not.toBe(cursors[1])
  })

  it('repeats a page without end', async () => {
    const { service, client, contact } = await scene()
    service.fill(
      contact,
      Array.from({ length: 150 }, () => ({ note: 'x' })),
    )
    service.set({ standsStill: { type: contact, from: 2 } })
    let page = await client.listRecords(contact)
    const first = page.data[0]!.id
    for (let turns = 0; turns < 5; turns++) {
      page = await client.listRecords(contact, { cursor: page.pagination.next_cursor! })
      expect(page.data).toHaveLength(100)
      expect(page.data[0]!.id).toBe(first)
    }
  })

  it('goes back to what it was', async () => {
    const { service, client, contact, id } = await scene()
    const [record] = service.fill(contact, [{ [id]: 'a', note: 'old' }], Date.UTC(2020, 0))
    const then = service.org.snapshot()
    await client.updateRecord(contact, record!.id, { note: 'new' })
    service.fill(contact, [{ [id]: 'b' }])
    service.org.restore(then)
    const { data } = await client.queryRecords(contact, {
      filter: { property: id, op: 'in', value: ['a', 'b'] },
    })
    expect(data.map(({ properties }) => properties)).toEqual([
      {
        [id]: 'a',
        note: 'old',
        acme_created_at: '2020-01-01T00:00:00.000Z',
        acme_updated_at: '2020-01-01T00:00:00.000Z',
      },
    ])
  })

  it('changes what is written as it is told', async () => {
    const { client, contact, id } = await scene({ lowerEmails: true, trim: true, times: 'offset' })
    const { properties } = await client.createRecord(contact, {
      [id]: ' a ',
      acme_email: ['Ada@Example.org'],
      acme_last_seen: '2024-01-01T02:00:00+02:00',
    })
    expect(properties).toMatchObject({
      [id]: 'a',
      acme_email: ['ada@example.org'],
      acme_last_seen: '2024-01-01T00:00:00+00:00',
    })
  })

  it('keeps the orgs of keys apart, and hides types', async () => {
    const { service, client, contact, id } = await scene()
    service.addOrg(2)
    service.addKey('second-key', { org: 2 })
    service.addKey('reader-key', { grants: { [contact]: 'read' } })
    await client.createRecord(contact, { [id]: 'a' })
    const of = (key: string) => new RecordsClient({ baseUrl: service.url, key })
    const [second, reader, wrong] = [of('second-key'), of('reader-key'), of('wrong-key')]
    onTestFinished(async () => {
      await Promise.all([second, reader, wrong].map((one) => one.close()))
    })
    expect(await second.readSelf()).toMatchObject({ org_id: 2 })
    expect((await second.listRecords(contact)).data).toEqual([])
    expect((await reader.listRecords(contact)).data).toHaveLength(1)
    await expect(reader.createRecord(contact, {})).rejects.toMatchObject({
      reason: 'write_forbidden',
    })
    await expect(client.createRecord('acme_file', {})).rejects.toMatchObject({
      reason: 'type_read_only',
    })
    await expect(wrong.readSelf()).rejects.toMatchObject({ status: 401 })
    service.hideType(service.key, contact)
    expect((await client.listObjectTypes()).map(({ name }) => name)).not.toContain(contact)
    service.showType(service.key, contact)
    service.revoke(service.key)
    await expect(client.listRecords(contact)).rejects.toMatchObject({ status: 401 })
  })

  it('refuses each nth request, and tells of its limit as it likes', async () => {
    const { service } = await scene({ refuseEach: 3, headers: 'refusals', perMinute: 600 })
    const answers = []
    for (let turns = 0; turns < 3; turns++)
      answers.push(await plain(service.url, '/self/', service.key))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429])
    expect(answers.map(({ headers }) => headers.get('ratelimit-limit'))).toEqual([
      null,
      null,
      '600',
    ])
    expect(answers[2]!.headers.get('retry-after')).toBe('1')
    service.set({ refuseEach: null, headers: 'limit', perMinute: 3 })
    const more = [await plain(service.url, '/self/', service.key)]
    more.push(await plain(service.url, '/self/', service.key))
    expect(more.map(({ status }) => status)).toEqual([200, 429])
    expect(more[0]!.headers.get('ratelimit-remaining')).toBeNull()
  })

  it('fails as it is told: before or after it carries out', async () => {
    const { service, contact, id } = await scene()
    const create = (text: string) =>
      plain(service.url, `/objects/${contact}/records/`, service.key, {
        method: 'POST',
        body: JSON.stringify({ data: { properties: { [id]: text } } }),
        redirect: 'manual',
      }).then(
        (answer) =>
          answer.text().then(
            () => answer.status,
            () => 'torn',
          ),
        () => 'dropped',
      )
    const outcomes: Record<string, [unknown, number]> = {}
    for (const kind of [
      'drop_before',
      'drop_after',
      'torn',
      '500',
      '500_after',
      '503',
      '302',
      '502',
      '429',
    ] as const) {
      const before = service.count(contact)
      service.set({ faults: [{ rate: 1, kinds: [kind], on: 'writes', times: 1 }] })
      outcomes[kind] = [await create(kind), service.count(contact) - before]
    }
    expect(outcomes).toEqual({
      drop_before: ['dropped', 0],
      drop_after: ['dropped', 1],
      torn: ['torn', 1],
      '500': [500, 0],
      '500_after': [500, 1],
      '503': [503, 0],
      '302': [302, 0],
      '502': [502, 0],
      '429': [429, 0],
    })
    expect(await create('last')).toBe(201)
  })

  it('fails items, some of them after it has carried them out', async () => {
    const { service, client, contact, id } = await scene({
      itemFaults: { rate: 0.5, applied: 0.5, status: 500 },
    })
    const items = Array.from({ length: 50 }, (_, index) => ({ properties: { [id]: `i${index}` } }))
    const { data, summary } = await client.batchUpsert(contact, id, { items })
    expect(summary.failed).toBeGreaterThan(10)
    expect(data.filter(({ status }) => status === 500)).toHaveLength(summary.failed)
    expect(service.count(contact)).toBeGreaterThan(summary.succeeded)
    expect(service.count(contact)).toBeLessThan(50)
  })

  it('answers when the test says so', async () => {
    const { service, client, contact, id } = await scene()
    const hold = service.hold(({ operation }) => operation === 'createRecord')
    const created = client.createRecord(contact, { [id]: 'a' })
    await hold.arrived
    expect(service.count(contact)).toBe(0)
    hold.open()
    await created
    expect(service.count(contact)).toBe(1)
    expect(service.asked('createRecord')).toBe(1)
  })
})
