// Services that break a rule, and the rules that the kit then finds broken: those, and no others.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FILTER_OPERATORS, FilterNode } from '../../../src/contract/index.ts'
import type { FilterOperator } from '../../../src/contract/index.ts'
import { RULES } from '../../../src/conform/index.ts'
import type { RunningService } from '../../../src/service/index.ts'
import type { Breakage, PassedRequest } from './breaking.ts'
import { conformBroken, everythingIn, idsOf, startScene } from './scene.ts'
import { isSoak } from '../../runs.ts'

let service: RunningService
beforeAll(async () => void (service = await startScene()))
afterAll(async () => await service.close())

const isQuery = ({ path }: PassedRequest) => path.endsWith('/query/')
const isAggregate = ({ path }: PassedRequest) => path.endsWith('/aggregate/')
const isBatch = ({ path }: PassedRequest) => path.includes('/records/batch/')
const isCreate = ({ method, path }: PassedRequest) =>
  method === 'POST' && path.endsWith('/records/')

/** The rules about trees that are malformed. */
const MALFORMED = RULES.map(({ id }) => id).filter((id) =>
  /^4\.6\.(unknown-key|group-key|two-groups|mixed|empty-\w+|and-no-list|child-no-node|missing-\w+|unknown-op|deep)$/.test(
    id,
  ),
)
/** Every rule about filters, but for those about too many groups and about aggregates. */
const FILTERS = RULES.map(({ id }) => id).filter(
  (id) =>
    id.startsWith('2.11.') ||
    MALFORMED.includes(id) ||
    ['4.1.search-and-filter', '4.6.unknown-property', '4.6.operator-not-supported'].includes(id) ||
    ['4.6.invalid-value', '4.6.is-null-boolean', '4.6.in-list'].includes(id) ||
    ['8.filter-depth', '8.in-values'].includes(id),
)

type Case = readonly [what: string, broken: readonly string[], breakage: Breakage]

/** Breakages of one run, unless `npm run test:soak` looks at each alone. */
const AT_A_TIME = isSoak ? 1 : 6
/** Of what these change, others are seen. */
const ALONE = /^(a 500|has_more|a code outside)/

/** Breakages that break different rules are looked at in one run: what is found must be what each of them breaks, and no more. */
function together(cases: readonly Case[]): readonly Case[] {
  const runs: Case[][] = []
  for (const each of cases) {
    const isApart = (other: Case) => !other[1].some((id) => each[1].includes(id))
    const room = ALONE.test(each[0])
      ? undefined
      : runs.find((run) => run.length < AT_A_TIME && !ALONE.test(run[0]![0]) && run.every(isApart))
    if (room) room.push(each)
    else runs.push([each])
  }
  return runs.map((run) => [
    run.map(([what]) => what).join('; '),
    run.flatMap(([, broken]) => broken),
    {
      request(request) {
        for (const [, , { request: change }] of run) {
          const answer = change?.(request)
          if (answer) return answer
        }
      },
      answer: (answer, request) =>
        run.forEach(([, , breakage]) => breakage.answer?.(answer, request)),
    },
  ])
}

const reads: readonly Case[] = [
  [
    'no tracing header',
    ['1.request-id-header'],
    {
      answer: ({ headers }) => void delete headers['svc-request-id'],
    },
  ],
  [
    'no request_id in errors',
    ['1.request-id-body'],
    {
      answer: ({ status, body }) => void (status >= 400 && delete body.request_id),
    },
  ],
  [
    'answers that may be cached',
    ['1.no-store'],
    {
      answer: ({ headers }) => void (headers['cache-control'] = 'max-age=60'),
    },
  ],
  [
    'no RateLimit-Remaining',
    ['8.rate-headers'],
    {
      answer: ({ headers }) => void delete headers['ratelimit-remaining'],
    },
  ],
  [
    'errors as plain JSON',
    ['1.problem-media-type'],
    {
      answer: ({ status, headers }) => {
        if (status >= 400) headers['content-type'] = 'application/json'
      },
    },
  ],
  [
    'unknown records as a page of HTML',
    ['1.problem-media-type', '1.request-id-body', '2.12.fields', '2.12.status', '7.unknown-record'],
    {
      answer: (answer) => {
        if (answer.status !== 404) return
        answer.headers['content-type'] = 'text/html'
        answer.body = '<html>Not found</html>'
      },
    },
  ],
  [
    'a 500 as a page of HTML',
    [
      '1.problem-media-type',
      '1.request-id-header',
      '1.request-id-body',
      '1.no-store',
      '2.4.listed',
      '2.12.fields',
      '2.12.status',
      '5.1.every-operation',
      '8.rate-headers',
    ],
    {
      request: ({ method, path }) =>
        method === 'GET' && path.endsWith('/field_types/')
          ? { status: 500, headers: { 'content-type': 'text/html' }, body: '<html>oops</html>' }
          : undefined,
    },
  ],
  [
    'titles of their own',
    ['2.12.title'],
    {
      answer: ({ status, body }) => void (status >= 400 && (body.title = 'Oops')),
    },
  ],
  [
    'a code outside the closed set',
    ['2.12.code', '2.12.type', '7.unknown-record'],
    {
      answer: ({ body }) => void (body?.code === 'not_found' && (body.code = 'missing')),
    },
  ],
  [
    'the status in a problem is another',
    ['2.12.status'],
    {
      answer: ({ status, body }) => void (status >= 400 && (body.status = 400 - 1)),
    },
  ],
  [
    'has_more without a cursor',
    ['2.8.next-cursor'],
    {
      answer: ({ body }) =>
        void (body?.pagination?.has_more && (body.pagination.next_cursor = null)),
    },
  ],
  [
    'has_more that is never true',
    ['4.5.has-more'],
    {
      answer: ({ body }) => void (body?.pagination && (body.pagination = { has_more: false })),
    },
  ],
  [
    'a cursor on the last page',
    ['2.8.last-page'],
    {
      answer: ({ body }) => void (body?.pagination && (body.pagination.next_cursor ??= 'end')),
    },
  ],
  [
    'unknown cursors that begin again',
    ['4.5.cursor-unknown'],
    {
      request: (request) => {
        if (request.body?.cursor === 'conform-no-such-cursor') delete request.body.cursor
      },
    },
  ],
  [
    'gt that means gte',
    ['2.11.gt'],
    {
      request: (request) => {
        if (isQuery(request))
          request.body = JSON.parse(
            JSON.stringify(request.body).replaceAll('"op":"gt"', '"op":"gte"'),
          )
      },
    },
  ],
  [
    '$or that means $and',
    ['2.11.or', '2.11.nested'],
    {
      request: (request) => {
        if (isQuery(request) && request.body?.filter?.$or?.length === 2)
          request.body.filter = { $and: request.body.filter.$or }
      },
    },
  ],
  [
    'filters that are ignored',
    FILTERS,
    {
      request: (request) => {
        if (isQuery(request) && request.body?.filter) delete request.body.filter
      },
    },
  ],
  [
    'malformed filters as 422',
    MALFORMED,
    {
      answer: (answer, request) => {
        if (isQuery(request) && answer.status === 400 && request.body?.filter) {
          Object.assign(answer, { status: 422 })
          Object.assign(answer.body, { status: 422, title: 'Unprocessable Content' })
        }
      },
    },
  ],
  [
    'no reasons',
    [
      '4.3.5.update',
      '4.3.5.delete',
      '4.3.5.batch-update',
      '4.3.5.batch-delete',
      '4.5.cursor-unknown',
      '4.6.sort-unsupported',
      '4.6.aggregate-malformed',
      '4.6.unknown-property',
      '4.6.operator-not-supported',
      '4.6.invalid-value',
      '4.6.unknown-sort',
      '4.6.unsupported-aggregation',
      '4.6.too-many-groups',
      '8.filter-depth',
      '8.in-values',
    ],
    {
      answer: ({ body }) => void delete body?.reason,
    },
  ],
  [
    'desc that means asc',
    ['4.1.sort-desc'],
    {
      request: ({ body }) =>
        void (body?.sorts?.[0]?.direction === 'desc' && (body.sorts[0].direction = 'asc')),
    },
  ],
  [
    'properties that are not selected',
    ['4.list-properties', '4.1.properties'],
    {
      request: (request) => {
        request.path = request.path.replace(/\?properties=.*/, '')
        if (isQuery(request) && request.body) delete request.body.properties
      },
    },
  ],
  [
    'limit that is ignored',
    ['4.1.limit', '8.query-limit-most'],
    {
      request: (request) => {
        if (isQuery(request) && request.body?.limit) delete request.body.limit
      },
    },
  ],
  [
    'a search that is cut',
    ['8.search'],
    {
      request: ({ body }) => {
        if (typeof body?.search === 'string') body.search = body.search.slice(0, 200)
      },
    },
  ],
  [
    'counts that are one too many',
    ['4.2.count', '4.2.filter', '4.2.group-by'],
    {
      answer: ({ status, body }, request) => {
        if (status !== 200 || !isAggregate(request) || request.body.aggregations[0].op !== 'count')
          return
        for (const row of body.data.results) row.value += 1
      },
    },
  ],
  [
    'sums as JSON numbers',
    ['2.9.aggregate', '4.2.sum'],
    {
      answer: ({ status, body }, request) => {
        if (status !== 200 || !isAggregate(request)) return
        for (const row of body.data.results) {
          if (request.body.aggregations[0].op === 'sum' && typeof row.value === 'string')
            row.value = Number(row.value)
        }
      },
    },
  ],
  [
    'one sum for all currencies',
    ['4.2.currency-sum'],
    {
      answer: ({ status, body }, request) => {
        if (status !== 200 || !isAggregate(request)) return
        for (const row of body.data.results) if (Array.isArray(row.value)) row.value.pop()
      },
    },
  ],
  [
    'offset that is ignored',
    ['4.2.offset', '8.offset'],
    {
      request: (request) => {
        if (isAggregate(request) && request.body?.offset) delete request.body.offset
      },
    },
  ],
  [
    'the filter of an aggregate that is ignored',
    ['4.2.filter', '4.2.null', '4.6.aggregate-malformed'],
    {
      request: (request) => {
        if (isAggregate(request) && request.body?.filter) delete request.body.filter
      },
    },
  ],
  [
    'total_groups of the page',
    ['4.2.group-by'],
    {
      answer: ({ status, body }, request) => {
        if (status === 200 && isAggregate(request)) body.data.total_groups = 1
      },
    },
  ],
  [
    'records without a type',
    ['2.1.record'],
    {
      answer: ({ body }) => {
        if (Array.isArray(body?.data))
          for (const each of body.data) if (each.properties) delete each.object_type
      },
    },
  ],
  [
    'lists of one as a single value',
    ['2.1.multi-value'],
    {
      answer: ({ body }) => {
        if (!Array.isArray(body?.data)) return
        for (const { properties } of body.data) {
          if (Array.isArray(properties?.svc_email)) properties.svc_email = properties.svc_email[0]
        }
      },
    },
  ],
  [
    'a property without operators',
    ['2.3.property'],
    {
      answer: ({ body }) => {
        const properties = body?.data?.properties
        if (Array.isArray(properties)) delete properties[0].operators
      },
    },
  ],
  [
    '401 without WWW-Authenticate',
    ['5.2.www-authenticate'],
    {
      answer: ({ headers }) => void delete headers['www-authenticate'],
    },
  ],
  [
    'an operation that needs no key',
    ['5.1.every-operation'],
    {
      request: ({ path, headers }) => {
        if (path.endsWith('/field_types/')) headers['authorization'] ??= `Bearer ${service.key}`
      },
    },
  ],
  [
    'a key in the query string',
    ['5.8.query-string'],
    {
      request: ({ path, headers }) => {
        const key = /api_key=(\w+)/.exec(path)?.[1]
        if (key) headers['authorization'] = `Bearer ${key}`
      },
    },
  ],
  [
    '405 without Allow',
    ['7.method'],
    {
      answer: ({ headers }) => void delete headers['allow'],
    },
  ],
  [
    'CSV for who asks for it',
    ['7.accept'],
    {
      request: (request) => void (request.headers['accept'] = '*/*'),
    },
  ],
  [
    'unknown types as 404 where records are listed',
    ['7.list-statuses'],
    {
      answer: (answer) => {
        if (answer.status !== 403 || answer.body.reason) return
        Object.assign(answer, { status: 404 })
        Object.assign(answer.body, {
          status: 404,
          title: 'Not Found',
          code: 'not_found',
          type: answer.body.type.replace(/\w+$/, 'not_found'),
        })
      },
    },
  ],
  [
    'a read-only type that says whose write it was',
    ['4.3.5.identical'],
    {
      answer: ({ body }) =>
        void (body?.reason === 'type_read_only' && (body.detail += ` (${Math.random()})`)),
    },
  ],
  [
    'grants before the type',
    ['4.3.5.update', '4.3.5.delete', '4.3.5.batch-update', '4.3.5.batch-delete'],
    {
      answer: ({ body }) =>
        void (body?.reason === 'type_read_only' && (body.reason = 'write_forbidden')),
    },
  ],
  [
    'an OpenAPI document without aggregates',
    ['9.6.describes'],
    {
      answer: ({ body }, { path }) => {
        if (path.endsWith('/openapi.json'))
          delete body.paths['/rest/v1/objects/{object_type}/records/aggregate/']
      },
    },
  ],
]

const writes: readonly Case[] = [
  [
    'creates without Location',
    ['4.create'],
    {
      answer: ({ headers }) => void delete headers['location'],
    },
  ],
  [
    'nulls that do not clear',
    ['4.3.1.patch-null'],
    {
      request: ({ method, body }) => {
        if (method !== 'PATCH' || !body?.data?.properties) return
        for (const [name, value] of Object.entries(body.data.properties))
          if (value === null) delete body.data.properties[name]
      },
    },
  ],
  [
    'upserts that say created of every record',
    ['4.upsert-updated', '4.3.2.upsert'],
    {
      answer: ({ status, body }, { method }) => {
        if (method === 'PUT' && status < 300 && 'created' in body) body.created = true
      },
    },
  ],
  [
    'upserts that take any of two',
    ['4.3.4.ambiguous'],
    {
      answer: (answer, { body }) => {
        if (answer.body?.reason !== 'ambiguous_match') return
        Object.assign(answer, {
          status: 200,
          headers: { ...answer.headers, 'content-type': 'application/json' },
        })
        answer.body = {
          data: { id: 'x', object_type: 'svc_contact', properties: body.data.properties },
          created: false,
        }
      },
    },
  ],
  [
    'only the first violation',
    ['4.3.7.several'],
    {
      answer: ({ body }) => void delete body?.errors,
    },
  ],
  [
    'batch results in another order',
    [
      '4.3.2.batch-twice',
      '4.4.create',
      '4.4.update',
      '4.4.upsert',
      '4.4.delete',
      '4.4.create-problem',
      '4.4.upsert-problem',
      '4.4.unknown-id',
    ],
    {
      answer: ({ status, body }, request) =>
        void (isBatch(request) && status === 200 && body.data.reverse()),
    },
  ],
  [
    'pointers that are not of the item',
    ['4.4.create-problem', '4.4.upsert-problem'],
    {
      answer: ({ status, body }, request) => {
        if (!isBatch(request) || status !== 200) return
        for (const { problem } of body.data)
          if (problem?.field) problem.field = problem.field.replace(/^\/data\/\d+/, '/data')
      },
    },
  ],
  [
    'a summary that counts nothing as failed',
    ['4.4.summary'],
    {
      answer: ({ status, body }, request) =>
        void (isBatch(request) && status === 200 && (body.summary.failed = 0)),
    },
  ],
  [
    'batches of any size',
    ['8.batch-items'],
    {
      request: (request) =>
        void (isBatch(request) && request.body.data.length > 50 && request.body.data.pop()),
    },
  ],
  [
    'creates that make nothing of a text',
    ['4.create-stored', '4.3.4.ambiguous'],
    {
      request: (request) => {
        if (isCreate(request) && request.body?.data?.properties?.svc_first_name)
          delete request.body.data.properties.svc_first_name
      },
    },
  ],
  [
    'targets that were deleted told from unknown ones',
    ['4.3.6.target'],
    {
      answer: ({ body }, { body: sent }) => {
        if (body?.field === '/target_id' && sent.data.target_id.startsWith('rec_'))
          body.detail = 'It was deleted'
      },
    },
  ],
]

describe('a service that breaks a rule while it is read:', () => {
  test.each(together(reads))('%s', async (_, broken, breakage) => {
    const before = everythingIn(service)
    const report = await conformBroken(service, breakage)
    expect(idsOf(report, 'broken').toSorted()).toEqual(broken.toSorted())
    expect(everythingIn(service)).toBe(before)
  })
})

describe('a service that breaks a rule when it is written to:', () => {
  test.each(together(writes))('%s', async (_, broken, breakage) => {
    const before = everythingIn(service)
    const report = await conformBroken(service, breakage, { write: ['svc_contact', 'svc_company'] })
    expect(idsOf(report, 'broken').toSorted()).toEqual(broken.toSorted())
    expect(report.leftovers).toEqual([])
    expect(everythingIn(service)).toBe(before)
  })
})

describe('an operator that means another:', () => {
  const swapped: Readonly<Record<FilterOperator, FilterOperator>> = {
    eq: 'neq',
    neq: 'eq',
    // Of is_null the value is turned.
    is_null: 'is_null',
    gt: 'gte',
    gte: 'gt',
    lt: 'lte',
    lte: 'lt',
    starts_with: 'ends_with',
    ends_with: 'starts_with',
    contains: 'starts_with',
    not_contains: 'contains',
    contains_any: 'not_contains_any',
    not_contains_any: 'contains_any',
    in: 'not_in',
    not_in: 'in',
  }
  const groups = ['2.11.and', '2.11.or', '2.11.nested']

  // Those of a pair are not swapped together: each would hide the other.
  const SETS: readonly (readonly FilterOperator[])[] = [
    ['eq', 'is_null', 'gt', 'lt', 'starts_with', 'contains', 'contains_any', 'in'],
    ['neq', 'gte', 'lte', 'ends_with', 'not_contains', 'not_contains_any', 'not_in'],
  ]
  test('each of them once', () => {
    expect(SETS.flat().toSorted()).toEqual(FILTER_OPERATORS.toSorted())
  })

  test.each(SETS.map((ops) => [ops] as const))('%s', async (ops) => {
    const swap = (filter: object): object =>
      JSON.parse(JSON.stringify(filter), (_, value) => {
        if (!ops.includes(value?.op) || typeof value.property !== 'string') return value
        const { op } = value as { op: FilterOperator }
        return { ...value, op: swapped[op], value: op === 'is_null' ? !value.value : value.value }
      }) as object
    const report = await conformBroken(service, {
      request: (request) => {
        const { filter } = request.body ?? {}
        if (isQuery(request) && FilterNode.safeParse(filter).success) {
          request.body.filter = swap(filter)
        }
      },
    })
    const broken = idsOf(report, 'broken').filter((id) => id.startsWith('2.11.'))
    expect(broken.filter((id) => !groups.includes(id)).toSorted()).toEqual(
      ops.map((op) => `2.11.${op}`).toSorted(),
    )
  })
})
