// Every operation is found in whatever way a service describes it: the variants of test/fixtures/openapi, our own service's
// document, spellings made at random, and documents that mean harm.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isUsual, resolveOperations } from '../../../src/client/index.ts'
import type { RequestOverrides, Resolution } from '../../../src/client/index.ts'
import { EVERY_OPERATION, OPERATIONS, usualRequest } from '../../../src/contract/index.ts'
import type { Operation, OperationId } from '../../../src/contract/index.ts'
import { openApiDocument } from '../../../src/service/openapi/index.ts'
import { fixture } from './variant-service.ts'
import { runs } from '../../runs.ts'

/** `METHOD path`, then the places that are not the usual ones: `PUT /x/ matching_property=body`. */
function shown({ operations }: Resolution, id: OperationId): string {
  const { method, path, places } = operations[id]
  const usual = usualRequest(id).places
  const moved = Object.entries(places)
    .filter(([name, place]) => {
      const { in: where, name: called } = usual[name as keyof typeof usual]!
      return place.in !== where || place.name !== called
    })
    .map(([name, place]) => ` ${name}=${place.in}${place.name === name ? '' : `:${place.name}`}`)
  return `${method} ${path}${moved.join('')}`
}

const withSource = ({ operations }: Resolution, source: string) =>
  EVERY_OPERATION.filter((id) => operations[id].source === source)

/** What was found, and is not our own request. */
const unusual = (resolution: Resolution) =>
  Object.fromEntries(
    withSource(resolution, 'openapi')
      .filter((id) => !isUsual(id, resolution.operations[id]))
      .map((id) => [id, shown(resolution, id)]),
  )

const foreign = (url: string) =>
  `the document names ${url} as its server; requests go to the configured one`
const root = ['readRoot', 'readOpenApi']

describe('variants', () => {
  test('put-batch: one path for every batch, told apart by method; the base path in servers', () => {
    const resolution = resolveOperations(fixture('put-batch'))
    expect(withSource(resolution, 'openapi')).toHaveLength(19)
    const records = '/rest/v1/objects/{object_type}/records/'
    expect(unusual(resolution)).toEqual({
      upsertRecord: `PUT ${records} matching_property=body`,
      batchCreate: `POST ${records}batch/`,
      batchUpdate: `PATCH ${records}batch/`,
      batchUpsert: `PUT ${records}batch/ matching_property=body`,
      batchDelete: `DELETE ${records}batch/`,
      associateRecords: `PUT ${records}{id}/associations/ association_type=item`,
    })
    expect(resolution.warnings).toEqual([foreign('https://api.example.com')])
    expect(resolution.operations.batchUpsert.reason).toBe(
      'told by its path, operation id, body and answer',
    )
  })

  test('dashed: no trailing slash, camelCase, links, updates by PUT', () => {
    const resolution = resolveOperations(fixture('dashed'))
    const records = '/rest/v1/objects/{object_type}/records'
    expect(unusual(resolution)).toEqual({
      readSelf: 'GET /rest/v1/self',
      listObjectTypes: 'GET /rest/v1/objects',
      readObjectType: 'GET /rest/v1/objects/{object_type}',
      listFieldTypes: 'GET /rest/v1/field-types',
      listRecords: `GET ${records}`,
      createRecord: `POST ${records}`,
      upsertRecord: `POST ${records}/upsert matching_property=query:matchingProperty`,
      readRecord: `GET ${records}/{id}`,
      updateRecord: `PUT ${records}/{id}`,
      deleteRecord: `DELETE ${records}/{id}`,
      queryRecords: `POST ${records}/search`,
      aggregateRecords: `POST ${records}/aggregations`,
      batchCreate: `POST ${records}/batch-create`,
      batchUpdate: `POST ${records}/batch-update`,
      batchUpsert: `POST ${records}/batch-upsert matching_property=query:matchingProperty`,
      batchDelete: `POST ${records}/batch-delete`,
      listAssociations: 'GET /rest/v1/association-types',
      listAssociationEdges: `GET ${records}/{id}/links`,
      associateRecords: `PUT ${records}/{id}/links/{association_type}/{target_id} target_id=path`,
    })
    expect(resolution.warnings).toEqual([])
  })

  test('batch-first: batches apart from their type, dotted ids, the property in each item', () => {
    const resolution = resolveOperations(fixture('batch-first'))
    const batch = 'POST /rest/v1/batch/{object_type}'
    const records = '/rest/v1/objects/{object_type}/records/'
    expect(unusual(resolution)).toEqual({
      upsertRecord: `PUT ${records} matching_property=item`,
      batchCreate: `${batch}/create/`,
      batchUpdate: `${batch}/update/`,
      batchUpsert: `${batch}/upsert/ matching_property=item`,
      batchDelete: `${batch}/delete/`,
      associateRecords: `PUT ${records}{id}/associations/{association_type}/ target_id=body`,
    })
  })

  test('bare: nothing but methods and paths', () => {
    const resolution = resolveOperations(fixture('bare'))
    expect(withSource(resolution, 'openapi')).toHaveLength(19)
    expect(unusual(resolution)).toEqual({
      associateRecords:
        'PUT /rest/v1/objects/{object_type}/records/{id}/associations/{association_type}/{target_id}/ target_id=path',
    })
    expect(resolution.warnings).toEqual([])
  })

  test('single-only: no batch upsert, so upserts go one by one', () => {
    const resolution = resolveOperations(fixture('single-only'))
    expect(resolution.upsertsOneByOne).toBe(true)
    expect(unusual(resolution)).toEqual({
      associateRecords:
        'PUT /rest/v1/objects/{object_type}/records/{id}/associations/{association_type}/ target_id=body',
    })
    expect(withSource(resolution, 'absent')).toEqual([
      'aggregateRecords',
      'batchCreate',
      'batchUpdate',
      'batchUpsert',
      'batchDelete',
      'listAssociations',
      'listAssociationEdges',
    ])
    expect(resolution.warnings).toEqual([
      foreign('https://api.example.com'),
      'the document has no batch upsert: records are upserted one by one, a request each',
      'the document does not have aggregateRecords, batchCreate, batchUpdate, batchDelete, listAssociations and listAssociationEdges',
    ])
  })

  test('below-type: records without a word for them, schemas apart, another base path', () => {
    const resolution = resolveOperations(fixture('below-type'))
    const objects = '/crm/v3/objects/{object_type}'
    expect(unusual(resolution)).toEqual({
      readSelf: 'GET /crm/v3/me',
      listObjectTypes: 'GET /crm/v3/schemas',
      readObjectType: 'GET /crm/v3/schemas/{object_type}',
      listFieldTypes: 'GET /crm/v3/field-types',
      listRecords: `GET ${objects}`,
      createRecord: `POST ${objects}`,
      upsertRecord: `PUT ${objects}`,
      readRecord: `GET ${objects}/{id}`,
      updateRecord: `PATCH ${objects}/{id}`,
      deleteRecord: `DELETE ${objects}/{id}`,
      queryRecords: `POST ${objects}/search`,
      aggregateRecords: `POST ${objects}/aggregate`,
      batchCreate: `POST ${objects}/batch/create`,
      batchUpdate: `POST ${objects}/batch/update`,
      batchUpsert: `POST ${objects}/batch/upsert`,
      batchDelete: `POST ${objects}/batch/archive`,
      listAssociations: 'GET /crm/v3/associations',
      listAssociationEdges: `GET ${objects}/{id}/associations`,
      associateRecords: `POST ${objects}/{id}/associations association_type=item:associationType target_id=item:toObjectId`,
    })
  })

  test('generated: long ids, references for everything, a relative server', () => {
    const resolution = resolveOperations(fixture('generated'))
    const records = '/api/rest/v1/objects/{object_type}/records'
    expect(withSource(resolution, 'openapi')).toHaveLength(12)
    expect(unusual(resolution)).toMatchObject({
      readObjectType: 'GET /api/rest/v1/objects/{object_type}',
      upsertRecord: `PUT ${records}`,
      queryRecords: `POST ${records}/query`,
      batchUpsert: `PUT ${records}/batch matching_property=body`,
    })
    expect(resolution.upsertsOneByOne).toBe(false)
  })

  test('uncertain: a tie is no answer, nor is a request that we cannot fill', () => {
    const resolution = resolveOperations(fixture('uncertain'))
    const records = '/rest/v1/objects/{object_type}/records/'
    expect(withSource(resolution, 'default')).toEqual([
      ...root,
      'queryRecords',
      'batchUpsert',
      'associateRecords',
    ])
    for (const id of withSource(resolution, 'default')) {
      expect(isUsual(id, resolution.operations[id])).toBe(true)
    }
    expect(resolution.upsertsOneByOne).toBe(false)
    expect(resolution.warnings.slice(1, 4)).toEqual([
      `queryRecords: POST ${records}find/ would fit, but it asks for the query parameter region; our own choice is used`,
      `batchUpsert: POST ${records}bulk/upsert/ and POST ${records}many/upsert/ fit equally well, so our own choice is used`,
      `associateRecords: PUT ${records}{id}/associations/{association_type}/{target_object_type}/{target_id}/ would fit, but it asks for {target_object_type}; our own choice is used`,
    ])
  })

  test('noisy: neither another version nor anything that merely looks alike is taken', () => {
    const resolution = resolveOperations(fixture('noisy'))
    expect(withSource(resolution, 'openapi')).toEqual([
      'readSelf',
      'listObjectTypes',
      'readObjectType',
      'listRecords',
      'createRecord',
      'upsertRecord',
      'readRecord',
      'updateRecord',
      'deleteRecord',
      'queryRecords',
      'batchUpsert',
    ])
    expect(unusual(resolution)).toEqual({})
  })
})

describe('what is not there is not made up', () => {
  const records = '/rest/v1/objects/{object_type}/records/'
  const sourcesOf = (paths: Record<string, object>, ids: readonly OperationId[]) => {
    const { operations } = resolveOperations({ openapi: '3.1.0', paths })
    return ids.map((id) => operations[id].source)
  }

  test.each<[string, string, string, OperationId, string]>([
    ['a single upsert is no batch upsert', 'put', records, 'batchUpsert', 'absent'],
    ['a batch create is no create', 'post', `${records}batch/`, 'createRecord', 'absent'],
    [
      'an object type is no list of records',
      'get',
      '/rest/v1/objects/{type}/',
      'listRecords',
      'absent',
    ],
    ['a batch of queries is no query', 'post', `${records}batch/query/`, 'queryRecords', 'absent'],
    // It might as well replace every record.
    [
      'a PUT that says nothing is no batch upsert',
      'put',
      `${records}batch/`,
      'batchUpsert',
      'absent',
    ],
    ['but the single one of the specification is one', 'put', records, 'upsertRecord', 'openapi'],
  ])('%s', (_, method, path, id, source) => {
    const paths = { [path]: { [method]: {} }, '/rest/v1/self/': { get: {} } }
    expect(sourcesOf(paths, ['readSelf', id])).toEqual(['openapi', source])
  })

  test('an answer or a body of another shape speaks against it', () => {
    const object = (name: string) => ({ properties: { data: { properties: { [name]: {} } } } })
    const json = (schema: object) => ({ content: { 'application/json': { schema } } })
    const paths = {
      '/rest/v1/self/': { get: { responses: { 200: json(object('uptime')) } } },
      [records]: { post: { requestBody: json(object('file_url')) } },
      '/rest/v1/objects/': { get: {} },
    }
    expect(sourcesOf(paths, ['readSelf', 'createRecord'])).toEqual(['openapi', 'openapi'])
    const elsewhere = { '/rest/v1/me/': paths['/rest/v1/self/'], '/rest/v1/objects/': { get: {} } }
    expect(sourcesOf(elsewhere, ['readSelf'])).toEqual(['absent'])
  })
})

test('our own service is as expected, from the first operation to the last', () => {
  const url = 'http://127.0.0.1:8080'
  const resolution = resolveOperations(
    JSON.parse(JSON.stringify(openApiDocument(url))),
    {},
    {
      url: `${url}/rest/v1/openapi.json`,
      prefix: '',
    },
  )
  expect(unusual(resolution)).toEqual({})
  expect(withSource(resolution, 'openapi')).toEqual(EVERY_OPERATION.slice(2))
  expect(resolution.warnings).toEqual([])
})

describe('spellings', () => {
  const spellings = {
    camel: (words: string[]) =>
      words
        .map((word, index) => (index === 0 ? word : word[0]!.toUpperCase() + word.slice(1)))
        .join(''),
    snake: (words: string[]) => words.join('_'),
    dotted: (words: string[]) => words.join('.'),
    dashed: (words: string[]) => words.join('-'),
    none: () => undefined,
  }
  const variant = fc.record({
    spelling: fc.constantFrom(...Object.values(spellings)),
    slash: fc.boolean(),
    base: fc.constantFrom('', '/crm', '/api/crm'),
    baseInServers: fc.boolean(),
    names: fc.constantFrom(['type', 'record_id'], ['objectType', 'id'], ['object', 'recordId']),
    batch: fc.constantFrom('batch', 'bulk'),
    matching: fc.constantFrom('query', 'body', 'item', 'silent'),
    order: fc.shuffledSubarray([...EVERY_OPERATION], { minLength: EVERY_OPERATION.length }),
  })

  test('ids, slashes, names, bases and order do not matter', () => {
    fc.assert(
      fc.property(
        variant,
        ({ spelling, slash, base, baseInServers, names, batch, matching, order }) => {
          const start = baseInServers ? '' : `${base}/v1`
          const paths: Record<string, Record<string, object>> = {}
          const expected: Partial<Record<OperationId, string>> = {}
          for (const id of order) {
            const { method, path, query }: Operation = OPERATIONS[id]
            if (id === 'readRoot' || id === 'readOpenApi') continue
            const below = path.replace('batch', batch).replace(/\/$/, slash ? '/' : '')
            const written = below
              .replace('{object_type}', `{${names[0]}}`)
              .replace('{id}', `{${names[1]}}`)
            const isUpsert = 'matching_property' in query
            const name = { matching_property: { type: 'string' } }
            const isBatch = id.startsWith('batch')
            const item = {
              type: 'object',
              properties: { properties: {}, ...(matching === 'item' && name) },
            }
            const schema = {
              type: 'object',
              properties: {
                ...(matching === 'body' && name),
                data: isBatch ? { type: 'array', items: item } : item,
              },
            }
            const operationId = spelling(id.split(/(?=[A-Z])/).map((word) => word.toLowerCase()))
            paths[start + written] ??= {}
            paths[start + written]![method.toLowerCase()] = {
              ...(operationId && { operationId }),
              ...(isUpsert &&
                matching === 'query' && {
                  parameters: [{ name: 'matching_property', in: 'query' }],
                }),
              ...(isUpsert &&
                matching !== 'silent' && {
                  requestBody: { content: { 'application/json': { schema } } },
                }),
            }
            const moved = isUpsert && ['body', 'item'].includes(matching)
            expected[id] =
              `${method} ${base}/v1${below}${moved ? ` matching_property=${matching}` : ''}`
          }
          const servers = [{ url: baseInServers ? `${base}/v1` : '/' }]
          const resolution = resolveOperations({ openapi: '3.1.0', servers, paths })
          for (const id of EVERY_OPERATION.slice(2)) {
            expect(shown(resolution, id)).toBe(expected[id])
            expect(resolution.operations[id].source).toBe('openapi')
          }
        },
      ),
      { numRuns: runs(300) },
    )
  })

  test('what creates is never taken for what may be sent again', () => {
    const words = [
      'create',
      'insert',
      'add',
      'upsert',
      'update',
      'delete',
      'import',
      'merge',
      'sync',
    ]
    const parts = ['records', 'batch', 'objects', '{type}', '{id}', ...words]
    const endpoint = fc.record({
      method: fc.constantFrom('post', 'put', 'patch'),
      parts: fc.array(fc.constantFrom(...parts), { minLength: 1, maxLength: 5 }),
      operationId: fc.option(
        fc.array(fc.constantFrom(...words, 'records', 'batch'), { maxLength: 3 }),
      ),
    })
    fc.assert(
      fc.property(fc.array(endpoint, { maxLength: 8 }), (endpoints) => {
        const paths: Record<string, Record<string, object>> = {
          '/rest/v1/self/': { get: {} },
        }
        for (const { method, parts: segments, operationId } of endpoints) {
          const path = `/rest/v1/${segments.join('/')}`
          paths[path] = {
            ...paths[path],
            [method]: operationId ? { operationId: operationId.join('_') } : {},
          }
        }
        const { operations } = resolveOperations({ openapi: '3.0.0', paths })
        for (const id of ['upsertRecord', 'batchUpsert'] as const) {
          const { source, method, path } = operations[id]
          if (source !== 'openapi') continue
          const writes = /create|insert|add|delete/.test(path.split('/').at(-1)!)
          expect(writes, `${id}: ${method} ${path}`).toBe(false)
        }
      }),
      { numRuns: runs(1_000) },
    )
  })
})

describe('where requests go', () => {
  const self = (document: object, place?: { url: string; prefix: string }) =>
    resolveOperations({ openapi: '3.1.0', ...document }, {}, place)
  const at = (prefix: string) => ({
    url: `https://api.example.com${prefix}/rest/v1/openapi.json`,
    prefix,
  })

  test.each([
    ['no servers, paths below /rest/v1', undefined, '/rest/v1/self/', '', '/rest/v1/self/'],
    ['no servers, paths without it', undefined, '/self/', '', '/rest/v1/self/'],
    ['a server with a path', 'https://api.example.com/api/v7/', '/self/', '', '/api/v7/self/'],
    ['a relative server', '../v9', '/self/', '', '/rest/v9/self/'],
    [
      'a prefix that the document knows',
      'https://api.example.com/crm/rest/v1',
      '/self/',
      '/crm',
      '/rest/v1/self/',
    ],
    [
      'a prefix that it does not know',
      'http://internal:8080/rest/v1',
      '/self/',
      '/crm',
      '/rest/v1/self/',
    ],
    ['a URL that is none', 'https://[', '/rest/v1/self/', '', '/rest/v1/self/'],
  ])('%s', (_, server, path, prefix, expected) => {
    const servers = server === undefined ? undefined : [{ url: server }]
    const { operations } = self({ servers, paths: { [path]: { get: {} } } }, at(prefix))
    expect(operations.readSelf).toMatchObject({ path: expected, source: 'openapi' })
  })

  test('of several servers, the one of the configured origin', () => {
    const servers = [{ url: 'https://test.example.com/a' }, { url: 'https://api.example.com/b/' }]
    const resolution = self({ servers, paths: { '/self/': { get: {} } } }, at(''))
    expect(resolution.operations.readSelf.path).toBe('/b/self/')
    expect(resolution.warnings.join()).not.toContain('test.example.com')
  })

  test('servers of an operation and variables count', () => {
    const get = {
      servers: [{ url: '/{a}/{b}', variables: { a: { default: 'x' }, b: { default: [[1]] } } }],
    }
    const { operations } = self({
      paths: { '/self/': { get }, '/objects/': { get: {}, servers: [{ url: '/y' }] } },
    })
    // A variable without a text is left as it is, and then it is no path of ours.
    expect(operations.readSelf.source).toBe('absent')
    expect(operations.listObjectTypes.path).toBe('/y/objects/')
  })

  test.each([
    '/../self/',
    '/%2e%2e/self/',
    '//evil.example/self/',
    '/self/?key=1',
    '/self/#x',
    '/a b/self/',
    '/self\r\nX: y/',
    '\\\\evil/self/',
    'https://evil.example/self/',
    `/${'a'.repeat(400)}/self/`,
  ])('a path that leads elsewhere is none: %j', (path) => {
    const paths = { [path]: { get: { operationId: 'readSelf' } }, '/rest/v1/objects/': { get: {} } }
    const { operations } = self({ paths })
    expect(operations.readSelf).toMatchObject({ source: 'absent', path: '/rest/v1/self/' })
    expect(operations.listObjectTypes.source).toBe('openapi')
  })
})

describe('the configuration', () => {
  const given = (overrides: RequestOverrides) => resolveOperations(fixture('put-batch'), overrides)

  test('overrides anything, with the places of its values', () => {
    const resolution = given({
      batchUpsert: 'POST /batch/{object_type}/',
      upsertRecord: { request: 'POST /objects/{object_type}/save/', matching_property: 'item' },
      associateRecords: {
        request: 'PUT {base_url}/api/links/{object_type}/{id}/{target_id}',
        association_type: 'body',
      },
    })
    expect(withSource(resolution, 'configuration')).toEqual([
      'upsertRecord',
      'batchUpsert',
      'associateRecords',
    ])
    expect(shown(resolution, 'batchUpsert')).toBe('POST /rest/v1/batch/{object_type}/')
    expect(shown(resolution, 'upsertRecord')).toBe(
      'POST /rest/v1/objects/{object_type}/save/ matching_property=item',
    )
    expect(shown(resolution, 'associateRecords')).toBe(
      'PUT /api/links/{object_type}/{id}/{target_id} association_type=body target_id=path',
    )
    expect(resolution.operations.batchCreate.source).toBe('openapi')
  })

  test('counts without a document too', () => {
    const { operations, warnings } = resolveOperations(null, { readSelf: 'GET /me' })
    expect(operations.readSelf).toMatchObject({ path: '/rest/v1/me', source: 'configuration' })
    expect(warnings).toEqual([
      'the OpenAPI document is not a JSON object; the usual requests are used',
    ])
  })

  test.each<[string, RequestOverrides, string]>([
    [
      'no method',
      { readSelf: '/self/' },
      'readSelf: expected a method and a path, such as `GET /self/`',
    ],
    ['a method that is none', { readSelf: 'FETCH /self/' }, 'expected a method and a path'],
    ['a path that climbs', { readSelf: 'GET /../self/' }, 'expected a method and a path'],
    ['a whole URL', { readSelf: 'GET https://evil.example/self/' }, 'expected a method and a path'],
    ['a missing name', { readRecord: 'GET /records/{id}/' }, '{object_type} is missing'],
    ['an unknown name', { readSelf: 'GET /orgs/{org}/self/' }, '{org} has no meaning'],
    [
      'a name twice',
      { readObjectType: 'GET /{object_type}/{object_type}' },
      '{object_type} stands twice',
    ],
    [
      'a place for nothing',
      { readSelf: { request: 'GET /me', target_id: 'body' } },
      '`target_id` has no meaning',
    ],
    [
      'a place for what is in the path',
      {
        associateRecords: {
          request: 'PUT /{object_type}/{id}/{association_type}/{target_id}',
          target_id: 'body',
        },
      },
      '`target_id` is in the path already',
    ],
    [
      'an unknown operation',
      { readAll: 'GET /' } as RequestOverrides,
      'readAll: expected one of readRoot',
    ],
  ])('%s is refused, and what was expected is said', (_, overrides, message) => {
    expect(() => given(overrides)).toThrow(message)
    expect(() => given(overrides)).toThrow(
      expect.objectContaining({ code: 'client_option_invalid' }),
    )
  })
})

describe('documents that mean harm', () => {
  test.each<[string, unknown, string]>([
    ['null', null, 'is not a JSON object'],
    ['a list', [], 'is not a JSON object'],
    ['Swagger 2', { swagger: '2.0', paths: {} }, 'is not one of OpenAPI 3'],
    ['no paths', { openapi: '3.1.0' }, 'describes none of the operations'],
    ['paths of a list', { openapi: '3.1.0', paths: [] }, 'describes none of the operations'],
    [
      'names of Object',
      { openapi: '3.1.0', paths: { '/rest/v1/__proto__/': { constructor: {} } } },
      'describes none',
    ],
  ])('%s: our own requests, and a warning that says why', (_, document, why) => {
    const { operations, warnings } = resolveOperations(document)
    for (const id of EVERY_OPERATION) {
      expect(operations[id]).toMatchObject({ ...usualRequest(id), source: 'default' })
    }
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain(why)
  })

  test('circles of references end', () => {
    const circle = { $ref: '#/components/schemas/A' }
    const document = {
      openapi: '3.1.0',
      paths: {
        '/rest/v1/self/': {
          get: { responses: { 200: { content: { 'application/json': { schema: circle } } } } },
        },
        '/rest/v1/objects/': { $ref: '#/paths/~1rest~1v1~1objects~1' },
      },
      components: {
        schemas: {
          A: { allOf: [{ $ref: '#/components/schemas/B' }], properties: { data: circle } },
          B: {
            anyOf: [
              circle,
              { $ref: '#/components/schemas/%E0%A4%A' },
              { $ref: 'https://evil.example/x' },
            ],
          },
        },
      },
    }
    const { operations } = resolveOperations(document)
    expect(operations.readSelf.source).toBe('openapi')
    expect(operations.listObjectTypes.source).toBe('absent')
  })

  test('a tree of references that doubles at every step is looked at once', () => {
    const schemas: Record<string, object> = { S0: { properties: { data: {} } } }
    for (let step = 1; step < 60; step++) {
      const below = { $ref: `#/components/schemas/S${step - 1}` }
      schemas[`S${step}`] = { allOf: [below, below], anyOf: [below, below] }
    }
    const schema = { $ref: '#/components/schemas/S59' }
    const get = { responses: { 200: { content: { 'application/json': { schema } } } } }
    const document = {
      openapi: '3.1.0',
      paths: { '/rest/v1/self/': { get } },
      components: { schemas },
    }
    expect(resolveOperations(document).operations.readSelf.source).toBe('openapi')
  })

  test('of a hundred thousand paths two thousand are read, and that is said', () => {
    const paths: Record<string, object> = { '/rest/v1/self/': { get: {} } }
    for (let index = 0; index < 100_000; index++) paths[`/rest/v1/objects/x${index}/`] = { get: {} }
    const { operations, warnings } = resolveOperations({ openapi: '3.1.0', paths })
    expect(operations.readSelf.source).toBe('openapi')
    expect(warnings[0]).toBe('only the first 2000 operations of the document were read')
  })
})
