// What a key cannot see answers as what is not there: walked over the whole table of operations, so that a new one is in.
// First each operation with ids and types of every invisible kind, byte for byte against those that never were; then two
// worlds that differ only in what a key cannot see, and have to stay the same to it.

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as contract from '../../../src/contract/index.ts'
import { EVERY_OPERATION, OPERATIONS, REQUEST_ID_HEADER } from '../../../src/contract/index.ts'
import type { Operation, OperationId } from '../../../src/contract/index.ts'
import type { AssociationWire, ObjectSummary } from '../../../src/contract/index.ts'
import { expectProblem, manualClock, startApi } from './api.ts'
import type { Answer, Api, Caller } from './api.ts'
import { runs } from '../../runs.ts'

const contact = 'svc_contact'
const company = 'svc_company'
const deal = 'svc_deal'
const project = 'project'
const contactCompany = 'svc_contact_company'
const dealContact = 'svc_deal_contact'

const clock = manualClock()
// Ids of orgs of one length give ids of records of one length.
const orgId = 70_000_001
const foreignOrgId = 70_000_002
let lastOrgId = foreignOrgId
const person = (id: string) => ({
  id,
  displayName: id,
  admin: false,
  permissions: 'all' as const,
})
const readonly = { read: true, write: false }
const full = { read: true, write: true }
const limited = { id: 'kim', displayName: 'Kim', admin: false, permissions: { [contact]: full } }

let api: Api
/** Another user, who sees all types, and somebody of the foreign org. */
let ben: Caller
let foreign: Caller
let types: ObjectSummary[]
beforeAll(async () => {
  api = await startApi({ orgId, clock, users: [person('ada'), person('ben'), limited] })
  api.service.addOrg(foreignOrgId)
  ben = api.as(keyOf('ben'))
  foreign = api.as(keyOf('ada', { orgId: foreignOrgId }))
  types = (await api.send('GET', '/objects/')).body.data
})
afterAll(() => api.service.close())

/** The id of a record that never was, as long as the others. */
const neverId = (org: number) => `rec_${org.toString(36)}_zzzzzzzz`

const names = ['object_type', 'id', 'association_type', 'target_id'] as const
type Names = Record<(typeof names)[number], string>

interface Payload {
  matching: string
  properties: object
  items: { id: string; properties: object }[]
  query: object
  aggregate: object
}

/** How the body of each request schema is made. */
const bodies = new Map<unknown, (payload: Payload, named: Names) => unknown>([
  [contract.RecordBody, ({ properties }) => ({ data: { properties } })],
  [
    contract.BatchWriteBody,
    ({ items }) => ({ data: items.map(({ properties }) => ({ properties })) }),
  ],
  [contract.BatchUpdateBody, ({ items }) => ({ data: items })],
  [contract.BatchDeleteBody, ({ items }) => ({ data: items.map(({ id }) => ({ id })) })],
  [contract.AssociateBody, (_payload, { target_id }) => ({ data: { target_id } })],
  [contract.QueryBody, ({ query }) => query],
  [contract.AggregateBody, ({ aggregate }) => aggregate],
])
const queries = new Map<string, (payload: Payload) => string | undefined>([
  ['matching_property', ({ matching }) => matching],
  ['cursor', () => undefined],
  ['properties', () => undefined],
])

interface Request {
  method: string
  path: string
  body?: unknown
}

/** A request of any operation. Throws for one that this test does not know how to call. */
function requestOf(id: OperationId, named: Names, more: Partial<Payload> = {}): Request {
  const properties = { svc_score: 1 }
  const payload: Payload = {
    matching: 'svc_score',
    properties,
    items: [{ id: named.id, properties }],
    query: {},
    aggregate: { aggregations: [{ op: 'count' }] },
    ...more,
  }
  const { method, path, query, request }: Operation = OPERATIONS[id]
  const known = <Made>(made: Made | undefined, what: string): Made => {
    if (made === undefined) throw new Error(`${id}: say how this test makes its ${what}`)
    return made
  }
  const at = path.replace(/\{(\w+)\}/g, (_all, name) => known(named[name as keyof Names], name))
  const search = new URLSearchParams()
  for (const name of Object.keys(query)) {
    const value = known(queries.get(name), name)(payload)
    if (value !== undefined) search.set(name, value)
  }
  const body = request === null ? {} : { body: known(bodies.get(request), 'body')(payload, named) }
  return { method, path: search.size === 0 ? at : `${at}?${search}`, ...body }
}

/** The operations whose request has one of the names. */
function naming(name: keyof Names): OperationId[] {
  const named = Object.fromEntries(names.map((each) => [each, `<${each}>`])) as Names
  return EVERY_OPERATION.filter((id) => JSON.stringify(requestOf(id, named)).includes(`<${name}>`))
}

const changing = [REQUEST_ID_HEADER.toLowerCase(), 'ratelimit-remaining', 'date']

/** An answer without what differs from request to request; HEAD is asked as well where there is a GET. */
async function wires(caller: Caller, { method, path, body }: Request, asked: string) {
  const methods = method === 'GET' ? [method, 'HEAD'] : [method]
  const found: ReturnType<typeof wireOf>[] = []
  for (const each of methods) {
    const answer = await caller.send(each, path, { body })
    found.push(wireOf(answer, asked))
  }
  return found
}

function wireOf({ status, headers, text }: Answer, asked: string | null) {
  const kept = [...headers].filter(([name]) => !changing.includes(name))
  const plain = text.replaceAll(headers.get(REQUEST_ID_HEADER)!, '<request>')
  return {
    status,
    headers: kept,
    text: asked === null ? plain : plain.replaceAll(asked, '<asked>'),
  }
}

/** Every record of both orgs. */
const everything = () =>
  types.flatMap(({ name }) => [orgId, foreignOrgId].map((id) => api.service.records(name, id)))

const keyOf = (userId: string, more: object = {}) => api.service.mintKey({ userId, ...more })

async function idOf(answer: Promise<Answer>): Promise<string> {
  const { status, body } = await answer
  expect(status).toBe(201)
  return body.data.id
}

describe('a record that a key cannot see', () => {
  const grants = {
    [contact]: full,
    [company]: full,
    [project]: { read: false, write: true },
  }
  /** By why it cannot be seen; each makes one of a type. */
  const invisible: Record<string, (type: string) => Promise<string>> = {
    'is deleted': async (type) => {
      const id = await idOf(ben.create(type, {}))
      await ben.remove(type, id)
      return id
    },
    'belongs to a foreign org': (type) => idOf(foreign.create(type, {})),
    "is another user's and private": (type) => idOf(ben.create(type, { svc_private: true })),
    'is of another type': (type) => idOf(ben.create(type === contact ? company : contact, {})),
    'is of a type that the key may not read': () => idOf(ben.create(project, {})),
  }
  const callers = { 'of a user': 'ada', 'of an administrator, with reach user': 'usr_admin' }
  const places = (['id', 'target_id'] as const).flatMap((place) =>
    naming(place).map((id) => [place, id] as const),
  )

  /** Two new records that everybody sees, and their names in a request. */
  const visible = async (): Promise<Names> => ({
    object_type: contact,
    association_type: contactCompany,
    id: await idOf(ben.create(contact, {})),
    target_id: await idOf(ben.create(company, {})),
  })

  it.each(
    Object.entries(callers).flatMap(([whose, userId]) =>
      places.map(([place, id]) => ({ whose, userId, place, id })),
    ),
  )('answers a key $whose as one that never was, as $place of $id', async (each) => {
    const { userId, place, id } = each
    const caller = api.as(keyOf(userId, { grants }))
    const never = neverId(orgId)
    const named = await visible()
    const absent = await wires(caller, requestOf(id, { ...named, [place]: never }), never)
    for (const [why, make] of Object.entries(invisible)) {
      const target = await make(place === 'id' ? contact : company)
      const now = { ...named, [place]: target }
      const before = everything()
      expect(await wires(caller, requestOf(id, now), target), why).toEqual(absent)
      expect(everything(), why).toEqual(before)
      for (const other of [api, foreign]) {
        const edges = await other.send('GET', `/objects/${contact}/records/${now.id}/associations/`)
        expect(edges.body.data ?? [], why).toEqual([])
      }
    }
    // What is refused is the record: one that the key sees would do.
    const { method, path, body } = requestOf(id, named)
    const control = await caller.send(method, path, { body })
    expect(control.status).toBeLessThan(300)
    expect(control.body.summary?.failed ?? 0).toBe(0)
    expect(absent[0]).not.toMatchObject({ status: 201 })
    expect(absent[0]!.status >= 400 || absent[0]!.text.includes('"failed":1')).toBe(true)
  })

  it.each(EVERY_OPERATION.filter((id) => OPERATIONS[id].writes !== null))(
    'is not looked for by a key that may not write: %s',
    async (id) => {
      const caller = api.as(keyOf('ada', { grants: { [contact]: readonly, [company]: readonly } }))
      const named = await visible()
      const before = everything().flat().length
      const all = [neverId(orgId), named.id, ...(await Promise.all(made(contact)))]
      const answers = []
      for (const each of all) {
        answers.push(...(await wires(caller, requestOf(id, { ...named, id: each }), each)))
      }
      expect(answers[0]).toMatchObject({ status: 403 })
      expect(answers[0]!.text).toContain('"reason":"write_forbidden"')
      for (const answer of answers) expect(answer).toEqual(answers[0])
      // Nothing went but the one that was deleted right away.
      expect(everything().flat().length - before).toBe(4)
    },
  )
  const made = (type: string) => Object.values(invisible).map((make) => make(type))
})

describe('a type that a key may not read', () => {
  /** A name of the same length that no type has. */
  const unknown = (name: string) => `${name.slice(0, -1)}0`
  const limits: Record<string, () => string> = {
    'for want of a grant': () => keyOf('ada', { grants: { [contact]: full } }),
    "for want of its creator's permission": () => keyOf('kim'),
    'with a grant that only writes': () =>
      keyOf('ada', {
        grants: Object.fromEntries(
          types.map(({ name }) => [name, { read: name === contact, write: true }]),
        ),
      }),
  }

  it.each(
    Object.keys(limits).flatMap((why) => naming('object_type').map((id) => [why, id] as const)),
  )('answers as one that does not exist, %s: %s', async (why, id) => {
    const caller = api.as(limits[why]!())
    const { writes } = OPERATIONS[id]
    const needed = writes === 'upsert' ? ['create', 'update'] : writes === null ? [] : [writes]
    let walked = 0
    for (const { name, writable_operations: accepted } of types) {
      if (name === contact) continue
      walked += 1
      const isAccepted = accepted.includes('create')
      const record = isAccepted ? await idOf(ben.create(name, {})) : neverId(orgId)
      const named = { object_type: name, id: record, association_type: 'x', target_id: record }
      const before = everything()
      const answers = await wires(caller, requestOf(id, named), name)
      if (needed.every((each) => (accepted as string[]).includes(each))) {
        const other = { ...named, object_type: unknown(name) }
        expect(answers, name).toEqual(await wires(caller, requestOf(id, other), unknown(name)))
        expect([403, 404]).toContain(answers[0]!.status)
        // A write is told what it lacks, and not whether the type is there.
        expect(answers[0]!.text.includes('"reason":"write_forbidden"')).toBe(writes !== null)
      } else {
        // The type's own rule comes first, and is the same for whoever asks.
        expect(answers, name).toEqual(await wires(api, requestOf(id, named), name))
        expect(answers[0]!.text).toContain('"reason":"type_read_only"')
      }
      expect(everything()).toEqual(before)
    }
    expect(walked).toBe(types.length - 1)
  })

  it.each(naming('association_type'))('takes its associations with it: %s', async (id) => {
    const caller = api.as(limits['for want of a grant']!())
    const named = { object_type: contact, id: await idOf(ben.create(contact, {})) }
    const definitions: AssociationWire[] = (await api.send('GET', '/associations/')).body.data
    const hidden = definitions.filter((each) => each.source !== contact || each.target !== contact)
    expect(hidden.map(({ name }) => name)).toContain(contactCompany)
    for (const { name, target } of hidden) {
      const target_id = target === company ? await idOf(ben.create(company, {})) : neverId(orgId)
      const request = (association_type: string) =>
        requestOf(id, { ...named, association_type, target_id })
      const answers = await wires(caller, request(name), name)
      if (definitions.find((each) => each.name === name)!.source !== contact) {
        expect(answers).toEqual(await wires(caller, request(unknown(name)), unknown(name)))
        expect(answers[0]).toMatchObject({ status: 404 })
      } else {
        // Section 4.3 rule 6: as with any other target that the key cannot see.
        const seen = requestOf(id, { ...named, association_type: name, target_id: neverId(orgId) })
        expect(answers).toEqual(await wires(caller, seen, name))
        expect(answers[0]).toMatchObject({ status: 422 })
        expect(answers[0]!.text).toContain('"field":"/target_id"')
      }
    }
  })
})

describe('a cursor', () => {
  const paged = EVERY_OPERATION.filter(
    (id) => 'cursor' in OPERATIONS[id].query || OPERATIONS[id].request === contract.QueryBody,
  )
  let named: Names
  beforeAll(async () => {
    const id = await idOf(ben.create(deal, {}))
    named = { object_type: deal, id, association_type: dealContact, target_id: '' }
    for (let index = 0; index < 101; index += 1) {
      await ben.create(deal, {})
      await ben.link(deal, id, dealContact, await idOf(ben.create(contact, {})))
    }
  })

  it.each(paged)('of one key is refused for every other: %s', async (id) => {
    const there = { ...named, id: await idOf(foreign.create(deal, {})) }
    const next = (caller: Caller, cursor: string | null, at = named) => {
      const { method, path, body } = requestOf(id, at)
      if (cursor === null) return caller.send(method, path, { body })
      return body === undefined
        ? caller.send(method, `${path}?cursor=${encodeURIComponent(cursor)}`)
        : caller.send(method, path, { body: { cursor } })
    }
    const { next_cursor: cursor } = (await next(ben, null)).body.pagination
    expect(cursor).toBeTypeOf('string')
    expect((await next(ben, cursor)).status).toBe(200)
    const others = [keyOf('ben'), keyOf('ada'), keyOf('usr_admin', { reach: 'org' })]
    for (const answer of [
      ...(await Promise.all(others.map((key) => next(api.as(key), cursor)))),
      await next(foreign, cursor, there),
    ]) {
      expectProblem(answer, 400, 'request_invalid', 'cursor_invalid')
    }
  })

  it('comes from every operation that has pages', () => {
    expect(paged).toEqual(['listRecords', 'queryRecords', 'listAssociationEdges'])
  })
})

describe('two worlds that differ only in what a key cannot see', () => {
  const own = [contact, company, deal]
  const some = fc.constantFrom
  const properties = fc.record(
    {
      svc_external_id: some('a', 'b', 'c', 'd', 'e', 'f', null),
      svc_email: some(null, ['a@example.com'], ['b@example.com', 'a@example.com']),
      svc_notes: some('red', 'green and red', null),
      svc_score: some(1, 2, 3, null),
    },
    { requiredKeys: [] },
  )
  const filter = fc.oneof(
    fc.record({ property: some('svc_score'), op: some('eq', 'gt', 'lte'), value: fc.nat(3) }),
    fc.record({ property: some('svc_external_id'), op: some('eq', 'neq'), value: some('a', 'b') }),
    fc.record({ property: some('svc_email'), op: some('eq'), value: some('a@example.com') }),
    fc.record({ property: some('svc_private'), op: some('is_null'), value: fc.boolean() }),
    fc.record({ property: some('svc_created_by'), op: some('neq'), value: some('ada') }),
  )
  const sort = fc.record({
    property: some('svc_score', 'svc_external_id', 'svc_created_at', 'svc_private'),
    direction: some('asc', 'desc'),
  })
  const seldom = <Value>(value: fc.Arbitrary<Value>) =>
    fc.oneof({ arbitrary: fc.constant(null), weight: 3 }, { arbitrary: value, weight: 1 })
  const query = fc.record({
    filter: seldom(filter),
    search: seldom(some('red', 'a@example.com')),
    sorts: fc.array(sort, { maxLength: 1 }),
    limit: fc.integer({ min: 1, max: 3 }),
  })
  const aggregation = fc.oneof(
    fc.record({ op: some('count') }),
    fc.record({ op: some('sum', 'avg', 'min', 'max'), property: some('svc_score') }),
  )
  const aggregate = fc.record(
    {
      aggregations: fc.tuple(aggregation),
      filter,
      group_by: some([], ['svc_score'], ['svc_created_by', 'svc_email'], ['svc_private']),
      limit: fc.integer({ min: 1, max: 3 }),
    },
    { requiredKeys: ['aggregations'] },
  )
  const which = fc.nat(99)
  // What she makes private herself she goes on seeing; what Ben had made public vanishes for her, in both worlds.
  const written = fc
    .tuple(properties, fc.option(fc.boolean(), { nil: undefined, freq: 5 }))
    .map(([each, svc_private]) => (svc_private === undefined ? each : { ...each, svc_private }))
  // Where most can be told.
  const telling = EVERY_OPERATION.filter((id) => /query|upsert|edges|aggregate/i.test(id))
  const step = fc.record({
    operation: fc.oneof(some(...EVERY_OPERATION), some(...telling)),
    type: some(...own),
    association: some(contactCompany, dealContact),
    which,
    target: which,
    matching: some('svc_external_id', 'svc_email', 'svc_score'),
    properties: written,
    items: fc.array(fc.record({ which, properties: written }), { minLength: 1, maxLength: 3 }),
    query,
    aggregate,
  })
  type Step = typeof step extends fc.Arbitrary<infer Each> ? Each : never

  /** What Ben does in private, unseen by Ada. */
  const secret = fc.record({
    kind: some('create', 'create', 'update', 'delete', 'link', 'link'),
    type: some(...own),
    which,
    target: which,
    properties,
  })
  type Secret = typeof secret extends fc.Arbitrary<infer Each> ? Each : never

  interface World {
    orgId: number
    ada: Caller
    ben: Caller
    /** Sees everything. */
    admin: Caller
    /** What Ada knows, and what she does not, by type; in both worlds as many. */
    known: Record<string, string[]>
    hidden: Record<string, string[]>
    /** Ids in the order in which Ada met them. */
    met: Map<string, string>
  }

  async function newWorld(): Promise<World> {
    const id = (lastOrgId += 1)
    api.service.addOrg(id)
    const byType = () => Object.fromEntries(own.map((type) => [type, [] as string[]]))
    const world: World = {
      orgId: id,
      ada: api.as(keyOf('ada', { orgId: id })),
      ben: api.as(keyOf('ben', { orgId: id })),
      admin: api.as(keyOf('usr_admin', { orgId: id, reach: 'org' })),
      known: byType(),
      hidden: byType(),
      met: new Map(),
    }
    for (const type of own) {
      for (const [maker, svc_external_id] of [
        [world.ada, 'a'],
        [world.ben, 'b'],
        [world.ada, null],
      ] as const) {
        const values = { svc_external_id, svc_score: world.known[type]!.length }
        world.known[type]!.push(await idOf(maker.create(type, values)))
      }
    }
    return world
  }

  const at = (list: string[], index: number) => list[index % list.length]!

  /** An id that Ada knows, or, one time in four, one that she cannot see. */
  function idIn({ known, hidden, orgId: id, met }: World, type: string, index: number): string {
    if (index % 4 > 0) return at(known[type]!, index >> 2)
    const unknown = hidden[type]![(index >> 2) % 3] ?? neverId(id)
    met.set(unknown, '<unseen>')
    return unknown
  }

  function requestIn(world: World, { operation, type, association, ...each }: Step): Request {
    const source = association === dealContact ? deal : contact
    const object_type = operation === 'associateRecords' && each.which % 5 > 0 ? source : type
    const named: Names = {
      object_type,
      association_type: association,
      id: idIn(world, object_type, each.which),
      target_id: idIn(world, association === dealContact ? contact : company, each.target),
    }
    const items = each.items.map((item) => ({
      id: idIn(world, object_type, item.which),
      properties: item.properties,
    }))
    return requestOf(operation, named, { ...each, items })
  }

  const records = ({ met }: World) => [...met.values()].filter((name) => name !== '<unseen>').length

  /** An answer in words that do not depend on the world: records are named in the order in which Ada meets them. */
  function normal(world: World, asked: string, answer: Answer) {
    const plain = (text: string) =>
      text
        .replace(/rec_[0-9a-z]+_[0-9a-z]{8}/g, (id) => {
          if (!world.met.has(id)) world.met.set(id, `<record ${records(world)}>`)
          return world.met.get(id)!
        })
        .replace(/"next_cursor":"[^"]+"/, '"next_cursor":"<cursor>"')
        .replaceAll(String(world.orgId), '<org>')
    const request = plain(asked)
    const { status, headers, text } = wireOf(answer, null)
    const kept = headers.filter(([name]) => name !== 'content-length')
    return { request, status, headers: plain(JSON.stringify(kept)), text: plain(text) }
  }

  /** Ada's request and all its pages; between them Ben is at work where he has something to do. */
  async function performed(world: World, each: Step, secrets: readonly Secret[]) {
    const ahead = [...secrets]
    const found: ReturnType<typeof normal>[] = []
    const { method, ...request } = requestIn(world, each)
    let { path, body } = request
    for (let pages = 0; pages < 50; pages += 1) {
      await unseen(world, ahead.splice(0, 2))
      const answer = await world.ada.send(method, path, { body })
      const asked = JSON.stringify([method, path.split('?')[0], found.length === 0 ? body : null])
      found.push(normal(world, asked, answer))
      for (const record of answer.text.matchAll(/"id":"([^"]+)","object_type":"([^"]+)"/g)) {
        const list = world.known[record[2]!]!
        if (!list.includes(record[1]!)) list.push(record[1]!)
      }
      const cursor: string | null | undefined = answer.body.pagination?.next_cursor
      if (cursor == null) return found
      if (body === undefined) path = `${path.split('?')[0]}?cursor=${cursor}`
      else body = { cursor }
    }
    throw new Error('The listing has no end')
  }

  /** None of it touches an edge that Ada sees: a new link may take the place of another. */
  async function unseen(world: World, secrets: Secret[]): Promise<void> {
    const { ben: person, admin, known, hidden } = world
    for (const { kind, type, which: index, target, properties: values } of secrets) {
      const mine = hidden[type]!
      if (kind === 'create') {
        const { status, body } = await person.create(type, { ...values, svc_private: true })
        if (status === 201) mine.unshift(body.data.id)
      } else if (mine.length > 0) {
        const id = at(mine, index)
        if (kind === 'update') await person.update(type, id, values)
        else if (kind === 'delete') await person.remove(type, id)
        else if (type === company) {
          const from = at(known[contact]!, target)
          const path = `/objects/${contact}/records/${from}/associations/`
          const edges: { target_id: string }[] = (await admin.send('GET', path)).body.data ?? []
          if (edges.every((edge) => mine.includes(edge.target_id))) {
            await person.link(contact, from, contactCompany, id)
          }
        } else if (type === contact) {
          await person.link(contact, id, contactCompany, at(known[company]!, target))
          await person.link(deal, at(known[deal]!, target), dealContact, id)
        } else await person.link(deal, id, dealContact, at(known[contact]!, target))
      }
    }
  }

  /** Leaves time to report what shrinking has come to. */
  const patience = { interruptAfterTimeLimit: 45_000 }

  it('are one to that key, in every operation', async () => {
    const before = api.service.stats()
    let hiddenMade = 0
    let pages = 0
    const calls = (id: (typeof EVERY_OPERATION)[number]): number =>
      (api.service.stats().byOperation[id] ?? 0) - (before.byOperation[id] ?? 0)
    const histories = fc.asyncProperty(
      fc.array(fc.tuple(step, fc.array(secret, { minLength: 1, maxLength: 6 })), {
        minLength: 5,
        maxLength: 40,
        size: 'max',
      }),
      async (steps) => {
        const [quiet, busy] = [await newWorld(), await newWorld()]
        for (const [each, secrets] of steps) {
          clock.nowMs += 1_000
          const seen = await performed(busy, each, secrets)
          expect(seen).toEqual(await performed(quiet, each, []))
          pages += seen.length - 1
        }
        hiddenMade += Object.values(busy.hidden).flat().length
      },
    )
    await fc.assert(histories, { numRuns: runs(60), ...patience })
    // The dice may leave an operation out: bounded, because each history draws from all of them.
    for (let more = 0; more < 20 && EVERY_OPERATION.some((id) => calls(id) === 0); more++)
      await fc.assert(histories, { numRuns: 5, ...patience })
    for (const id of EVERY_OPERATION) expect(calls(id), id).toBeGreaterThan(0)
    expect(hiddenMade).toBeGreaterThan(runs(100))
    expect(pages).toBeGreaterThan(runs(20))
  })
})
