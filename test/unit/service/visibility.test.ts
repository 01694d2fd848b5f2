// Who sees and writes what (section 5): private records, reach, grants, and the permissions of a key's creator.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AggregateResponse, RecordPage, Self } from '../../../src/contract/index.ts'
import type { ObjectSummary, RecordRepresentation } from '../../../src/contract/index.ts'
import type { Grants, OrgUser } from '../../../src/service/index.ts'
import { expectProblem, startApi } from './api.ts'
import type { Api, Caller } from './api.ts'

const contact = 'svc_contact'
const read = { read: true, write: false }
const full = { read: true, write: true }
const person = (id: string, permissions: Grants = 'all', admin = false): OrgUser => ({
  id,
  displayName: id.toUpperCase(),
  admin,
  permissions,
})
const users = [
  person('ada'),
  person('ben'),
  person('eve', 'all', true),
  person('kim', { svc_contact: full, svc_company: read, project: { read: false, write: true } }),
]

let api: Api
beforeAll(async () => {
  api = await startApi({ users })
})
afterAll(() => api.service.close())

const keyOf = (userId: string, more: object = {}) => api.service.mintKey({ userId, ...more })
const by = (userId: string, more: object = {}): Caller => api.as(keyOf(userId, more))
const path = (id: string) => `/objects/${contact}/records/${id}/`
let used = 0
const fresh = () => `id-${(used += 1)}`

/** In which ways a caller sees a contact, of all there are. */
async function sights(caller: Caller, { id, properties }: RecordRepresentation) {
  const svc_external_id = properties['svc_external_id']
  const filter = { property: 'svc_external_id', op: 'eq', value: svc_external_id }
  const has = (answer: { body: unknown }) =>
    RecordPage.parse(answer.body).data.some((record) => record.id === id)
  const counted = await caller.send('POST', `/objects/${contact}/records/aggregate/`, {
    body: { aggregations: [{ op: 'count' }], filter },
  })
  return {
    read: (await caller.send('GET', path(id))).status === 200,
    listed: has(await caller.send('GET', `/objects/${contact}/records/`)),
    filtered: has(await caller.query(contact, { filter })),
    sorted: has(
      await caller.query(contact, { sorts: [{ property: 'svc_score', direction: 'desc' }] }),
    ),
    found: has(await caller.query(contact, { search: String(svc_external_id) })),
    counted: AggregateResponse.parse(counted.body).data.results[0]?.value === 1,
  }
}

const seen = { read: true, listed: true, filtered: true, sorted: true, found: true, counted: true }
const unseen = {
  read: false,
  listed: false,
  filtered: false,
  sorted: false,
  found: false,
  counted: false,
}

async function newContact(caller: Caller, properties: object = {}): Promise<RecordRepresentation> {
  const answer = await caller.create(contact, { svc_external_id: fresh(), ...properties })
  expect(answer.status).toBe(201)
  return answer.body.data
}

describe('a private record', () => {
  it('is seen by every key of its creator, and by keys of reach org', async () => {
    const record = await newContact(by('ada'), { svc_private: true })
    expect(record.properties).toMatchObject({ svc_private: true, svc_created_by: 'ada' })
    const org = { reach: 'org' }
    for (const caller of [by('ada'), by('eve', org), api]) {
      expect(await sights(caller, record)).toEqual(seen)
    }
    // An administrator's key of reach user is as short-sighted as any other.
    for (const caller of [by('ben'), by('eve'), by('usr_admin')]) {
      expect(await sights(caller, record)).toEqual(unseen)
    }
  })

  it('is public where svc_private is false or has no value', async () => {
    for (const svc_private of [false, null]) {
      const record = await newContact(by('ada'), { svc_private })
      expect(await sights(by('ben'), record)).toEqual(seen)
    }
    const record = await newContact(by('ada'))
    expect(await sights(by('ben'), record)).toEqual(seen)
  })

  it('is written by whom it is seen, and by nobody else', async () => {
    const { id } = await newContact(by('ada'), { svc_private: true })
    for (const caller of [by('ben'), by('eve')]) {
      expectProblem(await caller.update(contact, id, { svc_score: 1 }), 404, 'not_found')
      expectProblem(await caller.remove(contact, id), 404, 'not_found')
    }
    expect((await api.update(contact, id, { svc_score: 2 })).status).toBe(200)
    expect((await by('ada').update(contact, id, { svc_score: 3 })).status).toBe(200)
    expect((await by('ada').remove(contact, id)).status).toBe(204)
  })

  it('is not published while a public one holds a unique value of it', async () => {
    const svc_external_id = fresh()
    const [ada, ben] = [by('ada'), by('ben')]
    const mine = await ada.create(contact, { svc_external_id, svc_private: true })
    const theirs = await ben.create(contact, { svc_external_id })
    expect([mine.status, theirs.status]).toEqual([201, 201])
    const { id } = mine.body.data
    for (const svc_private of [false, null]) {
      expectProblem(await ada.update(contact, id, { svc_private }), 409, 'conflict')
    }
    expect((await ada.update(contact, id, { svc_private: true })).status).toBe(200)
    const published = await ada.update(contact, id, {
      svc_private: false,
      svc_external_id: fresh(),
    })
    expect(published.status).toBe(200)
  })

  it('is public again when its creator says so, and private again', async () => {
    const ada = by('ada')
    const record = await newContact(ada, { svc_private: true })
    for (const [svc_private, sight] of [
      [false, seen],
      [true, unseen],
      [null, seen],
    ] as const) {
      expect((await ada.update(contact, record.id, { svc_private })).status).toBe(200)
      expect(await sights(by('ben'), record)).toEqual(sight)
      expect(await sights(ada, record)).toEqual(seen)
    }
  })

  it('is made private by its creator alone, and then vanishes for somebody else', async () => {
    const ben = by('ben')
    const record = await newContact(by('ada'))
    const refused = await ben.update(contact, record.id, { svc_private: true })
    expectProblem(refused, 403, 'permission_denied')
    expect(await sights(ben, record)).toEqual(seen)
    expect((await by('ada').update(contact, record.id, { svc_private: true })).status).toBe(200)
    expect(await sights(ben, record)).toEqual(unseen)
    expectProblem(await ben.update(contact, record.id, { svc_private: false }), 404, 'not_found')
    expect(await sights(by('ada'), record)).toEqual(seen)
  })

  it('belongs to the person whose key created it, in every kind of write, whoever changes it', async () => {
    const ada = by('ada')
    const properties = () => ({ svc_external_id: fresh(), svc_private: true })
    const at = `/objects/${contact}/records/batch/create/`
    const body = { data: [{ properties: properties() }] }
    const records: RecordRepresentation[] = [
      (await ada.create(contact, properties())).body.data,
      (await ada.upsert(contact, 'svc_external_id', properties())).body.data,
      (await ada.send('POST', at, { body })).body.data[0].record,
      (await ada.batch(contact, 'svc_external_id', [properties()])).body.data[0].record,
    ]
    for (const record of records) {
      expect(record.properties['svc_created_by']).toBe('ada')
      expect((await api.update(contact, record.id, { svc_score: 1 })).status).toBe(200)
      expect(await sights(ada, record)).toEqual(seen)
      expect(await sights(by('ben'), record)).toEqual(unseen)
    }
    const claimed = await by('ben').create(contact, { svc_created_by: 'ada' })
    expectProblem(claimed, 422, 'request_invalid', 'schema_invalid')
  })

  it('takes no unique value away from those who do not see it, and none from its own person', async () => {
    const [ada, ben] = [by('ada'), by('ben')]
    const svc_external_id = fresh()
    const hidden = await newContact(ada, { svc_external_id, svc_private: true })
    const open = await newContact(ben, { svc_external_id })
    expect(open.id).not.toBe(hidden.id)
    const again = await ben.upsert(contact, 'svc_external_id', { svc_external_id, svc_score: 1 })
    expect([again.status, again.body.data.id]).toEqual([200, open.id])
    // Ada sees both: neither is hers alone, a third is one too many, and equal values are no change.
    const both = await ada.upsert(contact, 'svc_external_id', { svc_external_id })
    expectProblem(both, 409, 'conflict', 'ambiguous_match')
    expectProblem(await ada.create(contact, { svc_external_id }), 409, 'conflict')
    const same = await ada.update(contact, hidden.id, { svc_external_id })
    expect([same.status, same.body.data]).toEqual([200, hidden])
    const other = await ada.update(contact, hidden.id, { svc_external_id, svc_first_name: 'Ada' })
    expect(other.status).toBe(200)
  })
})

describe('reach', () => {
  it('is user where nothing else is said, and org is minted by administrators only', async () => {
    const reachOf = async (caller: Caller) => (await caller.send('GET', '/self/')).body.data.reach
    expect(await reachOf(by('eve'))).toBe('user')
    expect(await reachOf(by('eve', { reach: 'org' }))).toBe('org')
    expect(await reachOf(by('ada', { reach: 'user' }))).toBe('user')
    expect(() => keyOf('ada', { reach: 'org' })).toThrow('only an administrator')
    expect(() => keyOf('nobody')).toThrow('no user nobody')
  })

  it('org widens which records are seen, never which types', async () => {
    const narrow = by('eve', { reach: 'org', grants: { svc_company: read } })
    const record = await newContact(by('ada'), { svc_private: true })
    expectProblem(await narrow.send('GET', path(record.id)), 404, 'not_found')
    expectProblem(await narrow.query(contact, {}), 403, 'permission_denied')
    const company = await by('ada').create('svc_company', { svc_private: true })
    const at = `/objects/svc_company/records/${company.body.data.id}/`
    expect((await narrow.send('GET', at)).status).toBe(200)
    const write = await narrow.update('svc_company', company.body.data.id, {})
    expectProblem(write, 403, 'permission_denied', 'write_forbidden')
  })
})

describe('what a key may do', () => {
  it.each<[string, string, Grants, Record<string, { read: boolean; write: boolean }>]>([
    [
      'its grants',
      'ada',
      { svc_contact: full, svc_deal: read },
      { svc_contact: full, svc_deal: read },
    ],
    ['nothing without a grant', 'ada', {}, {}],
    ['what its creator may, of all', 'kim', 'all', { svc_contact: full, svc_company: read }],
    [
      'what both say',
      'kim',
      { svc_contact: read, svc_company: full, svc_deal: full, project: full },
      { svc_contact: read, svc_company: read },
    ],
    ['no writing without reading', 'ada', { svc_deal: { read: false, write: true } }, {}],
    [
      'nothing by the name of a type that is not there',
      'ada',
      { nope: full, svc_deal: read },
      { svc_deal: read },
    ],
  ])('is %s', async (_name, userId, grants, allowed) => {
    const caller = by(userId, { grants })
    const self = Self.parse((await caller.send('GET', '/self/')).body.data)
    expect(self.permissions).toEqual(
      Object.entries(allowed).map(([entity_type, grant]) => ({ entity_type, ...grant })),
    )
    const listed: ObjectSummary[] = (await caller.send('GET', '/objects/')).body.data
    const readable = Object.keys(allowed).filter((name) => allowed[name]!.read)
    expect(listed.map(({ name }) => name)).toEqual(readable)
    const all: ObjectSummary[] = (await api.send('GET', '/objects/')).body.data
    for (const { name, writable_operations } of all) {
      const isReadable = readable.includes(name)
      expect((await caller.send('GET', `/objects/${name}/`)).status).toBe(isReadable ? 200 : 404)
      expect((await caller.query(name, {})).status).toBe(isReadable ? 200 : 403)
      const expected = !writable_operations.includes('create')
        ? [403, 'type_read_only']
        : isReadable && allowed[name]!.write
          ? [201, undefined]
          : [403, 'write_forbidden']
      const { status, body } = await caller.create(name, {})
      expect([name, status, body.reason]).toEqual([name, ...expected])
    }
  })

  it('is told by self, with the person behind the key', async () => {
    const { body } = await by('kim').send('GET', '/self/')
    expect(body.data).toEqual({
      org_id: api.service.orgId,
      principal: { entity_id: 'kim', entity_type: 'user', display_name: 'KIM' },
      permissions: [
        { entity_type: contact, ...full },
        { entity_type: 'svc_company', ...read },
      ],
      reach: 'user',
    })
  })

  it('counts in another org for its own records only', async () => {
    const orgId = api.service.orgId + 1
    api.service.addOrg(orgId)
    const there = by('ada', { orgId })
    expect((await there.send('GET', '/self/')).body.data.org_id).toBe(orgId)
    const [here, other] = [await newContact(by('ada')), await newContact(there)]
    expect(await sights(there, other)).toEqual(seen)
    expect(await sights(there, here)).toEqual(unseen)
    expect(await sights(by('eve', { reach: 'org' }), other)).toEqual(unseen)
  })
})
