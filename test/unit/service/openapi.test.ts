// The OpenAPI document against the service that it describes: whatever it says is tried.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EVERY_OPERATION, OPERATIONS, Problem } from '../../../src/contract/index.ts'
import type { Operation, OperationId } from '../../../src/contract/index.ts'
import { OPERATION_IDS } from '../../../src/service/handlers/index.ts'
import { EXAMPLE_ORG_ID, EXAMPLE_SECRET, examples } from '../../../src/service/openapi/examples.ts'
import type { Example } from '../../../src/service/openapi/examples.ts'
import { DESCRIPTIONS, refusalsOf } from '../../../src/service/openapi/operations.ts'
import { REFUSALS } from '../../../src/service/openapi/refusals.ts'
import type { KnownRefusal, RefusalName } from '../../../src/service/openapi/refusals.ts'
import { exampleExchanges, exchanges } from '../../golden/golden.ts'
import { manualClock, startApi } from './api.ts'
import type { Answer, Api, SendOptions } from './api.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into foreign JSON
type Json = any

const options = { orgId: EXAMPLE_ORG_ID, secret: EXAMPLE_SECRET, seedRecords: 3 }
let api: Api
let document: Json
beforeAll(async () => {
  api = await startApi(options)
  document = (await api.send('GET', '/openapi.json', { key: null })).body
})
afterAll(() => api.service.close())

/** The node that a `$ref` means, or the node itself. */
const resolved = (node: Json): Json =>
  node?.$ref === undefined
    ? node
    : node.$ref
        .slice(2)
        .split('/')
        .reduce((current: Json, name: string) => current?.[name], document)

const nodeOf = (id: OperationId): Json =>
  document.paths[`/rest/v1${OPERATIONS[id].path}`][OPERATIONS[id].method.toLowerCase()]

function send(to: Api, { operationId, parameters, body }: Example, more: SendOptions = {}) {
  const { method, path, query }: Operation = OPERATIONS[operationId]
  const all = { ...parameters }
  const url = path.replace(/\{(\w+)\}/g, (_match, name: string) => encodeURIComponent(all[name]!))
  const given = Object.keys(query).filter((name) => all[name] !== undefined)
  const search = new URLSearchParams(Object.fromEntries(given.map((name) => [name, all[name]!])))
  return to.send(method, given.length === 0 ? url : `${url}?${search}`, { body, ...more })
}

/** Headers of HTTP itself, which OpenAPI does not describe. */
const plumbing = new Set([
  'content-type',
  'content-length',
  'date',
  'connection',
  'keep-alive',
  'transfer-encoding',
])

/** Whether the document allows an answer of an operation: status, media type, headers, and an example of the refusal. */
function expectDescribed(id: OperationId, answer: Answer): void {
  const response = resolved(nodeOf(id).responses[answer.status])
  expect(response, `${id} ${answer.status}`).toBeDefined()
  for (const [name, header] of Object.entries<Json>(response.headers)) {
    const { required, schema } = resolved(header)
    const value = answer.headers.get(name)
    if (required) expect(value, `${id} ${answer.status} ${name}`).not.toBeNull()
    if (schema.const !== undefined) expect(value).toBe(schema.const)
    if (schema.type === 'integer' && required) expect(value).toMatch(/^\d+$/)
  }
  const described = Object.keys(response.headers).map((name) => name.toLowerCase())
  const sent = [...answer.headers.keys()].filter((name) => !plumbing.has(name))
  expect(described, `${id} ${answer.status}`).toEqual(expect.arrayContaining(sent))
  const type = answer.headers.get('content-type')?.split(';')[0]
  expect(Object.keys(response.content ?? {})).toEqual(type === undefined ? [] : [type])
  if (answer.status < 400) return
  const { code, reason } = Problem.parse(answer.body)
  const values = Object.values<Json>(response.content['application/problem+json'].examples)
  const kinds = values.map((example) => resolved(example).value)
  expect(
    kinds.map((each) => [each.code, each.reason]),
    `${id} ${answer.status}`,
  ).toContainEqual([code, reason])
}

/** Whether a request's path is the operation's. */
function isOf(id: OperationId, path: string): boolean {
  const pattern = `/rest/v1${OPERATIONS[id].path}`.replaceAll('.', '\\.')
  return new RegExp(`^${pattern.replace(/\{\w+\}/g, '[^/?]+')}(\\?|$)`).test(path)
}

describe('the document', () => {
  it('has every operation that has a handler, each described, with an id of its own', () => {
    const nodes: Json[] = Object.values<Json>(document.paths).flatMap((path) => Object.values(path))
    expect(nodes.map((node) => node.operationId).toSorted()).toEqual(OPERATION_IDS.toSorted())
    const tags = document.tags.map((tag: Json) => tag.name)
    for (const { operationId, summary, description, tags: own, security } of nodes) {
      const id = operationId as OperationId
      expect(summary).toBe(OPERATIONS[id].summary)
      expect(description.length).toBeGreaterThan(10)
      expect(tags).toEqual(expect.arrayContaining(own))
      expect(security).toEqual(OPERATIONS[id].authenticated ? [{ bearer: [] }] : [])
    }
    expect(Object.keys(DESCRIPTIONS).toSorted()).toEqual(EVERY_OPERATION.toSorted())
  })

  it('refers only to what it has, and has nothing that nobody refers to', () => {
    const refs = new Set(
      [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map((match) => match[1]!),
    )
    for (const $ref of refs) expect(resolved({ $ref }), $ref).toBeTypeOf('object')
    const { securitySchemes: _named, ...components } = document.components
    for (const [kind, all] of Object.entries<Json>(components)) {
      for (const name of Object.keys(all)) expect(refs).toContain(`#/components/${kind}/${name}`)
    }
  })

  it('describes every parameter and gives an example of it', () => {
    for (const id of OPERATION_IDS) {
      for (const parameter of nodeOf(id).parameters) {
        expect(parameter.description, `${id} ${parameter.name}`).toMatch(/\.$/)
        expect(parameter.schema.type).toBe('string')
        if (parameter.name !== 'cursor') expect(parameter.example).toBeTypeOf('string')
      }
    }
  })

  it('knows the status of every golden exchange', () => {
    // Some are about paths that are not there, and so about no operation.
    const ours = exchanges.filter(
      ({ operation, request }) =>
        OPERATION_IDS.includes(operation) && isOf(operation, request.path),
    )
    expect(ours.length).toBeGreaterThan(50)
    for (const { operation, title, response } of ours) {
      const known = Object.keys(nodeOf(operation).responses)
      expect(known, `${operation}: ${title}`).toContain(String(response.status))
    }
  })
})

describe('the examples', () => {
  it.each(exampleExchanges.map((each, index) => [each.operation, each.example, index] as const))(
    'are true: %s, %s',
    async (operationId, name, index) => {
      const fresh = await startApi({
        orgId: EXAMPLE_ORG_ID,
        secret: EXAMPLE_SECRET,
        clock: manualClock(),
      })
      try {
        for (const { method, path, body } of exampleExchanges[index]!.given ?? []) {
          const answer = await fresh.send(method, path.slice('/rest/v1'.length), { body })
          expect(answer.status).toBeLessThan(300)
        }
        const example = examples(fresh.service.url)[index]!
        expect(example).toMatchObject({ operationId, name })
        const answer = await send(fresh, example)
        expect(answer.status).toBe(example.status)
        expectHolds(answer.body, example.answer ?? '', '')
        expectDescribed(operationId, answer)
        // The schemas of the contract, which the document's are made of.
        const { request, responses }: Operation = OPERATIONS[operationId]
        request?.parse(example.body)
        responses[example.status]?.parse(example.answer)
      } finally {
        await fresh.service.close()
      }
    },
  )

  it('are there for every operation and every success, and nothing in them is left open', () => {
    const all = examples('')
    for (const id of OPERATION_IDS) {
      const statuses = all
        .filter(({ operationId }) => operationId === id)
        .map(({ status }) => status)
      const successes = Object.keys(OPERATIONS[id].responses).map(Number)
      expect(new Set(statuses), id).toEqual(new Set(successes))
    }
    expect(JSON.stringify(document)).not.toContain('{{')
  })

  it('stand in the document', () => {
    const query = nodeOf('queryRecords')
    expect(query.requestBody.content['application/json'].examples.customers.value).toMatchObject({
      limit: 100,
    })
    expect(
      resolved(query.responses[422]).content['application/problem+json'].examples,
    ).toHaveProperty('unknown_property')
  })
})

/** Everything in the example is in the answer; of lists, each member in some member, in order. Request ids differ. */
function expectHolds(actual: Json, example: Json, where: string): void {
  if (Array.isArray(example)) {
    let from = 0
    for (const [index, item] of example.entries()) {
      const found = actual.findIndex((each: Json, at: number) => at >= from && holds(each, item))
      expect(found, `${where}/${index}: ${JSON.stringify(actual)}`).toBeGreaterThanOrEqual(from)
      from = found + 1
    }
  } else if (typeof example === 'object' && example !== null) {
    for (const [name, value] of Object.entries(example)) {
      if (name === 'request_id' || value === undefined) continue
      expectHolds(actual?.[name], value, `${where}/${name}`)
    }
  } else expect(actual, where).toEqual(example)
}

function holds(actual: Json, example: Json): boolean {
  try {
    expectHolds(actual, example, '')
    return true
  } catch {
    return false
  }
}

describe('makers of clients', () => {
  /** Every schema of the document, with its place; a reference is not followed. */
  function* schemasIn(node: Json, at: string): Generator<[string, Json]> {
    if (typeof node !== 'object' || node === null) return
    yield [at, node]
    for (const [name, child] of Object.entries(node)) {
      if (name !== 'example' && name !== 'examples' && name !== 'default') {
        yield* schemasIn(child, `${at}/${name}`)
      }
    }
  }
  const all = () => [...schemasIn(document, '')]

  it('find no constant that is a boolean: openapi-python-client writes code that is none', () => {
    const constants = all().filter(([, node]) => typeof node.const === 'boolean')
    expect(constants.map(([at]) => at)).toEqual([])
    const single = all().filter(([, node]) =>
      node.enum?.some?.((each: Json) => typeof each === 'boolean'),
    )
    expect(single.map(([at]) => at)).toEqual([])
  })

  it('find a name for each part of what refers to itself', () => {
    const { schemas } = document.components
    const refs = (node: Json): string[] =>
      [...schemasIn(node, '')].flatMap(([, each]) =>
        typeof each.$ref === 'string' ? [each.$ref.split('/').at(-1)] : [],
      )
    const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
      refs(schemas[from]).some((name) => {
        if (name === to) return true
        if (seen.has(name)) return false
        seen.add(name)
        return reaches(name, to, seen)
      })
    const recursive = Object.keys(schemas).filter((name) => reaches(name, name))
    expect(recursive.sort()).toEqual(['FilterAnd', 'FilterNode', 'FilterOr'])
    // No alternative of one is written inline, where it would have no name.
    for (const name of recursive) {
      for (const choice of schemas[name].anyOf ?? []) expect(Object.keys(choice)).toEqual(['$ref'])
    }
    expect(schemas.FilterNode.anyOf).toHaveLength(3)
  })
})

describe('the refusals', () => {
  const contacts = '/objects/svc_contact/records/'
  const query = `${contacts}query/`
  const write = (properties: Json) => ({ body: { data: { properties } } })
  const leaf = (property: string, op: string, value: Json) => ({
    body: { filter: { property, op, value } },
  })
  const nested = (levels: number): Json =>
    levels === 1 ? { property: 'svc_score', op: 'eq', value: 1 } : { $and: [nested(levels - 1)] }
  const before: Partial<Record<RefusalName, () => unknown>> = {
    ambiguous_match: async () => {
      for (let twin = 0; twin < 2; twin += 1) {
        await api.send('POST', contacts, write({ svc_last_name: 'Twin' }))
      }
    },
    exchange_rate_unavailable: () => api.service.setExchangeRates(false),
    service_failed: () =>
      api.service.setFaults({ seed: 1, rate: 1, kinds: ['internal_500_after'] }),
    unavailable: () => api.service.setFaults({ seed: 1, rate: 1, kinds: ['unavailable_503'] }),
  }
  const provocations: [RefusalName, OperationId | null, string, string, SendOptions?][] = [
    ['request_malformed', 'readSelf', 'GET', '/self/?limit=1'],
    ['body_malformed', 'createRecord', 'POST', contacts, write(null)],
    ['query_malformed', 'queryRecords', 'POST', query, { body: { limit: '101' } }],
    ['query_out_of_range', 'queryRecords', 'POST', query, { body: { limit: 101 } }],
    [
      'items_out_of_range',
      'batchDelete',
      'POST',
      `${contacts}batch/delete/`,
      { body: { data: Array.from({ length: 51 }, () => ({ id: 'x' })) } },
    ],
    [
      'filter_malformed',
      'queryRecords',
      'POST',
      query,
      { body: { filter: { property: 'svc_score', op: 'eq' } } },
    ],
    ['cursor_invalid', 'listRecords', 'GET', `${contacts}?cursor=x`],
    ['key_missing', 'readSelf', 'GET', '/self/', { key: null }],
    ['type_unreadable', 'listRecords', 'GET', '/objects/svc_invoice/records/'],
    ['type_read_only', 'createRecord', 'POST', '/objects/svc_risk/records/', write({})],
    ['write_forbidden', 'createRecord', 'POST', contacts, { ...write({}), key: 'reader' }],
    ['path_unknown', null, 'GET', '/nowhere/'],
    ['type_unknown', 'readObjectType', 'GET', '/objects/svc_invoice/'],
    ['record_unknown', 'readRecord', 'GET', `${contacts}rec_1ce_76jjpzqs/`],
    [
      'association_unknown',
      'associateRecords',
      'PUT',
      `${contacts}rec_1ce_5ezrdtjh/associations/svc_employer/`,
      { body: { data: { target_id: 'x' } } },
    ],
    ['method_unsupported', 'readSelf', 'POST', '/self/'],
    ['accept_excludes_json', 'readSelf', 'GET', '/self/', { headers: { accept: 'text/html' } }],
    ['value_taken', 'createRecord', 'POST', contacts, write({ svc_external_id: 'seed-1' })],
    [
      'ambiguous_match',
      'upsertRecord',
      'PUT',
      `${contacts}?matching_property=svc_last_name`,
      write({ svc_last_name: 'Twin' }),
    ],
    ['body_too_large', 'createRecord', 'POST', contacts, write({ svc_notes: 'x'.repeat(2 ** 22) })],
    [
      'media_type_unsupported',
      'createRecord',
      'POST',
      contacts,
      { ...write({}), headers: { 'content-type': 'text/plain' } },
    ],
    [
      'schema_invalid',
      'createRecord',
      'POST',
      contacts,
      write({ svc_email: 'ada', svc_nickname: 'Ada' }),
    ],
    [
      'invalid_matching_property',
      'upsertRecord',
      'PUT',
      `${contacts}?matching_property=svc_external_id`,
      write({ svc_first_name: 'Ada' }),
    ],
    ['unknown_property', 'listRecords', 'GET', `${contacts}?properties=svc_nickname`],
    ['operator_not_supported', 'queryRecords', 'POST', query, leaf('svc_subscribed', 'gt', true)],
    ['invalid_filter', 'queryRecords', 'POST', query, leaf('svc_birthday', 'eq', 'yesterday')],
    [
      'unsupported_sort',
      'queryRecords',
      'POST',
      query,
      { body: { sorts: [{ property: 'svc_email', direction: 'asc' }] } },
    ],
    [
      'unsupported_aggregation',
      'aggregateRecords',
      'POST',
      `${contacts}aggregate/`,
      { body: { aggregations: [{ op: 'sum', property: 'svc_first_name' }] } },
    ],
    ['filter_too_deep', 'queryRecords', 'POST', query, { body: { filter: nested(9) } }],
    [
      'too_many_filter_groups',
      'queryRecords',
      'POST',
      query,
      { body: { filter: { $or: Array.from({ length: 50 }, () => nested(2)) } } },
    ],
    [
      'target_unknown',
      'associateRecords',
      'PUT',
      `${contacts}rec_1ce_5ezrdtjh/associations/svc_contact_company/`,
      { body: { data: { target_id: 'x' } } },
    ],
    ['service_failed', 'readSelf', 'GET', '/self/'],
    ['unavailable', 'readSelf', 'GET', '/self/'],
    [
      'exchange_rate_unavailable',
      'queryRecords',
      'POST',
      query,
      { body: { sorts: [{ property: 'svc_lifetime_value', direction: 'asc' }] } },
    ],
    [
      'headers_too_long',
      'readSelf',
      'GET',
      '/self/',
      { headers: { 'x-long': 'x'.repeat(20_000) } },
    ],
  ]

  it.each(provocations)('%s', async (name, id, method, path, how = {}) => {
    const reader = api.service.mintKey({ grants: { svc_contact: { read: true, write: false } } })
    await before[name]?.()
    try {
      const more = how.key === 'reader' ? { key: reader } : {}
      const answer = await api.send(method, path, { ...how, ...more })
      const { when: _when, remedy: _remedy, ...facts }: KnownRefusal = REFUSALS[name]
      expect(answer.status).toBe(facts.status)
      const { type: _type, title: _title, request_id: _id, ...said } = answer.body
      expect(said).toEqual(facts)
      if (id) expectDescribed(id, answer)
    } finally {
      api.service.setFaults(null)
      api.service.setExchangeRates(true)
    }
  })

  it('limit_used_up', async () => {
    const clock = manualClock()
    clock.nowMs += 20_000
    const limited = await startApi({ limitPerMinute: 1, clock })
    await limited.send('GET', '/self/')
    const answer = await limited.send('GET', '/self/')
    await limited.service.close()
    expect(answer.body).toMatchObject({ detail: REFUSALS.limit_used_up.detail })
    expectDescribed('readSelf', answer)
  })

  it('are all tried here, but for what takes its time', () => {
    const tried = new Set<string>([...provocations.map(([name]) => name), 'limit_used_up'])
    const others = Object.keys(REFUSALS).filter((name) => !tried.has(name))
    expect(others).toEqual(['request_too_slow', 'timed_out'])
  })
})

describe('every operation', () => {
  interface Spoiling {
    /** Which operations it concerns. */
    concerns: (operation: Operation, id: OperationId) => boolean
    /** One of them is what such an operation answers, and the document says so. */
    refusals: RefusalName[]
    /** What is done to a request that is right. */
    spoil: (example: Example) => [Example, SendOptions?]
  }
  const reads = (body: Operation) => body.request !== null
  const writes = (operation: Operation) => operation.writes !== null
  const names = (parameter: string) => (operation: Operation) =>
    operation.path.includes(`{${parameter}}`) || parameter in operation.query
  const changed = (example: Example, values: Record<string, string>): Example => ({
    ...example,
    parameters: { ...example.parameters, ...values },
  })
  const spoilings: Record<string, Spoiling> = {
    'a request without a key': {
      concerns: (operation) => operation.authenticated,
      refusals: ['key_missing'],
      spoil: (example) => [example, { key: null }],
    },
    'an unwelcome Accept': {
      concerns: () => true,
      refusals: ['accept_excludes_json'],
      spoil: (example) => [example, { headers: { accept: 'text/html' } }],
    },
    'a body of another media type': {
      concerns: reads,
      refusals: ['media_type_unsupported'],
      spoil: (example) => [example, { headers: { 'content-type': 'text/plain' } }],
    },
    'an unknown member of the body': {
      concerns: reads,
      refusals: ['body_malformed', 'query_malformed'],
      spoil: (example) => [{ ...example, body: { ...(example.body as object), more: 1 } }],
    },
    'an unknown type': {
      concerns: names('object_type'),
      refusals: ['type_unknown', 'type_unreadable'],
      spoil: (example) => [changed(example, { object_type: 'svc_invoice' })],
    },
    'a type of a very long name': {
      concerns: names('object_type'),
      refusals: ['type_unknown', 'type_unreadable'],
      spoil: (example) => [changed(example, { object_type: 'x'.repeat(2_000) })],
    },
    'a type that takes no writes': {
      concerns: writes,
      refusals: ['type_read_only'],
      spoil: (example) => [changed(example, { object_type: 'svc_risk' })],
    },
    'a key that may not write': {
      concerns: writes,
      refusals: ['write_forbidden'],
      spoil: (example) => {
        const grants = { svc_contact: { read: true, write: false } }
        return [example, { key: api.service.mintKey({ grants }) }]
      },
    },
    'an unknown record': {
      concerns: names('id'),
      refusals: ['record_unknown'],
      spoil: (example) => [changed(example, { id: 'rec_1ce_zzzzzzzz' })],
    },
    'a forged cursor': {
      concerns: (operation, id) => names('cursor')(operation) || id === 'queryRecords',
      refusals: ['cursor_invalid'],
      spoil: (example) => [
        example.operationId === 'queryRecords'
          ? { ...example, body: { cursor: 'forged' } }
          : changed(example, { id: 'rec_1ce_5ezrdtjh', cursor: 'forged' }),
      ],
    },
    'an unknown matching property': {
      concerns: names('matching_property'),
      refusals: ['invalid_matching_property'],
      spoil: (example) => [changed(example, { matching_property: 'svc_nickname' })],
    },
  }

  it.each(Object.entries(spoilings))('refuses %s as the document says', async (_name, spoiling) => {
    const concerned = OPERATION_IDS.filter((id) => spoiling.concerns(OPERATIONS[id], id))
    expect(concerned.length).toBeGreaterThan(0)
    for (const id of concerned) {
      const example = examples('').find(({ operationId }) => operationId === id)!
      const [spoilt, how] = spoiling.spoil(example)
      const answer = await send(api, spoilt, how)
      expectDescribed(id, answer)
      const name = spoiling.refusals.find((each) => refusalsOf(id).includes(each))
      const { status, code, reason }: Partial<KnownRefusal> = name ? REFUSALS[name] : {}
      expect({ id, ...told(answer) }).toEqual({ id, status, code, reason })
    }
  })

  const told = ({ status, body: { code, reason } }: Answer) => ({ status, code, reason })
})
