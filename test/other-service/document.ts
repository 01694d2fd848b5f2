// The paths of the service, and the OpenAPI document that tells them (sections 4 and 9.6). What the specification does not show
// has one of two forms.

import type { Naming } from './habits.ts'
import type { Json, JsonObject } from './json.ts'

export interface Route {
  readonly operation: string
  readonly method: string
  /** Below `/rest/v1`, with names in braces. */
  readonly path: string
  /** Names of the braces as `operations.ts` knows them, where they differ. */
  readonly names: Readonly<Record<string, string>>
}

const BASE = '/rest/v1'

export function routesOf({ paths, lacks }: Naming): readonly Route[] {
  const isPlain = paths === 'plain'
  const type = isPlain ? '{object_type}' : '{type_name}'
  const id = isPlain ? '{id}' : '{record_id}'
  const names = isPlain ? {} : { type_name: 'object_type', record_id: 'id' }
  const route = (operation: string, method: string, path: string): Route => ({
    operation,
    method,
    path,
    names,
  })
  const records = `/objects/${type}/records/`
  const many = isPlain ? `${records}batch/` : `/objects/${type}/bulk_`
  return [
    route('readRoot', 'GET', '/'),
    route('readOpenApi', 'GET', '/openapi.json'),
    route('readSelf', 'GET', '/self/'),
    route('listObjectTypes', 'GET', '/objects/'),
    route('listFieldTypes', 'GET', '/field_types/'),
    route('queryRecords', 'POST', `${records}query/`),
    route('aggregateRecords', 'POST', `${records}aggregate/`),
    route('batchCreate', 'POST', `${many}create/`),
    route('batchUpdate', isPlain ? 'PATCH' : 'POST', `${many}update/`),
    route('batchUpsert', isPlain ? 'PUT' : 'POST', `${many}upsert/`),
    route('batchDelete', 'POST', `${many}delete/`),
    route('listRecords', 'GET', records),
    route('createRecord', 'POST', records),
    route('upsertRecord', 'PUT', records),
    route('readRecord', 'GET', `${records}${id}/`),
    route('updateRecord', 'PATCH', `${records}${id}/`),
    route('deleteRecord', 'DELETE', `${records}${id}/`),
    route('readObjectType', 'GET', isPlain ? `/objects/${type}/` : `/objects/${type}/schema/`),
    route('listAssociations', 'GET', isPlain ? '/associations/' : '/association_definitions/'),
    route('listAssociationEdges', 'GET', `${records}${id}/${isPlain ? 'associations' : 'edges'}/`),
    route(
      'associateRecords',
      'PUT',
      isPlain
        ? `${records}${id}/associations/{association_type}/`
        : `${records}${id}/associations/{association_type}/{target_id}/`,
    ),
  ].filter(({ operation }) => !lacks.includes(operation))
}

const ref = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` })
const list = (items: Json): JsonObject => ({ type: 'array', items })
const string: JsonObject = { type: 'string' }
const integer: JsonObject = { type: 'integer' }
const boolean: JsonObject = { type: 'boolean' }
const free: JsonObject = { type: 'object', additionalProperties: true }
const object = (
  properties: JsonObject,
  required: readonly string[] = Object.keys(properties),
): JsonObject => ({ type: 'object', properties, required: [...required] })
const data = (inner: Json): JsonObject => object({ data: inner })
const page = (name: string): JsonObject =>
  object({ data: list(ref(name)), pagination: ref('Pagination') })

const SCHEMAS: JsonObject = {
  Record: object({ id: string, object_type: string, properties: free }),
  ObjectSummary: object({
    name: string,
    label: string,
    label_plural: string,
    kinds: list(string),
    is_system: boolean,
    allows_custom_properties: boolean,
    writable_operations: list(string),
  }),
  ObjectSchema: object({
    name: string,
    label: string,
    label_plural: string,
    kinds: list(string),
    is_system: boolean,
    allows_custom_properties: boolean,
    writable_operations: list(string),
    properties: list(ref('Property')),
  }),
  Property: object({
    name: string,
    label: string,
    field_type: string,
    writability: string,
    operators: list(string),
    is_multi: boolean,
    is_unique: boolean,
    options: list(free),
  }),
  FieldType: object({
    name: string,
    label: string,
    value_type: string,
    operators: list(string),
    aggregations: list(string),
    sortable: boolean,
    units: list(string),
  }),
  Association: object({
    name: string,
    label: string,
    source: string,
    target: string,
    cardinality: string,
  }),
  AssociationEdge: object({
    association_type: string,
    source_id: string,
    target_id: string,
    cardinality: string,
  }),
  Self: object({ org_id: integer, permissions: list(free), reach: string }),
  Pagination: object({ has_more: boolean, next_cursor: { type: ['string', 'null'] } }, [
    'has_more',
  ]),
  Query: object(
    {
      cursor: string,
      filter: free,
      limit: integer,
      properties: list(string),
      search: string,
      sorts: list(free),
    },
    [],
  ),
  Aggregate: object(
    {
      aggregations: list(free),
      filter: free,
      group_by: list(string),
      limit: integer,
      offset: integer,
    },
    ['aggregations'],
  ),
  AggregateData: object({ total_groups: integer, results: list(free), has_more: boolean }),
  Write: object({ properties: free }),
  Change: object({ id: string, properties: free }),
  Removal: object({ id: string }),
  BatchItemResult: object({ index: integer, status: integer, record: free, problem: free }, [
    'index',
    'status',
  ]),
  BatchResult: object({ data: list(ref('BatchItemResult')), summary: free }),
  Problem: object({ type: string, title: string, status: integer, detail: string, code: string }),
}

const BODIES: Readonly<Record<string, JsonObject>> = {
  queryRecords: ref('Query'),
  aggregateRecords: ref('Aggregate'),
  createRecord: data(ref('Write')),
  updateRecord: data(ref('Write')),
  upsertRecord: data(ref('Write')),
  batchCreate: data(list(ref('Write'))),
  batchUpdate: data(list(ref('Change'))),
  batchUpsert: data(list(ref('Write'))),
  batchDelete: data(list(ref('Removal'))),
}

const ANSWERS: Readonly<Record<string, readonly [number, JsonObject | null]>> = {
  readRoot: [200, free],
  readOpenApi: [200, free],
  readSelf: [200, data(ref('Self'))],
  listObjectTypes: [200, data(list(ref('ObjectSummary')))],
  readObjectType: [200, data(ref('ObjectSchema'))],
  listFieldTypes: [200, data(list(ref('FieldType')))],
  queryRecords: [200, page('Record')],
  aggregateRecords: [200, data(ref('AggregateData'))],
  listRecords: [200, page('Record')],
  createRecord: [201, data(ref('Record'))],
  upsertRecord: [200, object({ data: ref('Record'), created: boolean })],
  readRecord: [200, data(ref('Record'))],
  updateRecord: [200, data(ref('Record'))],
  deleteRecord: [204, null],
  batchCreate: [200, ref('BatchResult')],
  batchUpdate: [200, ref('BatchResult')],
  batchUpsert: [200, ref('BatchResult')],
  batchDelete: [200, ref('BatchResult')],
  listAssociations: [200, data(list(ref('Association')))],
  listAssociationEdges: [200, page('AssociationEdge')],
  associateRecords: [200, data(ref('AssociationEdge'))],
}

const QUERIES: Readonly<Record<string, readonly string[]>> = {
  listRecords: ['cursor', 'properties'],
  listAssociationEdges: ['cursor'],
  upsertRecord: ['matching_property'],
  batchUpsert: ['matching_property'],
}

const json = (schema: JsonObject): JsonObject => ({ 'application/json': { schema } })

export function documentOf(naming: Naming, url: string): JsonObject {
  const paths: Record<string, Record<string, Json>> = {}
  for (const { operation, method, path } of routesOf(naming)) {
    const isPublic = operation === 'readRoot' || operation === 'readOpenApi'
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
      name: name!,
      in: 'path',
      required: true,
      schema: string,
    }))
    const inQuery = (QUERIES[operation] ?? []).map((name) => ({
      name,
      in: 'query',
      required: name === 'matching_property',
      schema: string,
    }))
    const isTargetInPath = path.includes('{target_id}')
    const body =
      operation === 'associateRecords' && !isTargetInPath
        ? object({ target_id: string })
        : BODIES[operation]
    const [status, answer] = ANSWERS[operation]!
    const item = (paths[`${BASE}${path}`] ??= {})
    item[method.toLowerCase()] = {
      operationId: operation.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      parameters: [...inPath, ...inQuery],
      ...(body && { requestBody: { required: true, content: json(body) } }),
      ...(isPublic && { security: [] }),
      responses: {
        [status]: { description: 'done', ...(answer && { content: json(answer) }) },
        default: {
          description: 'a problem',
          content: { 'application/problem+json': { schema: ref('Problem') } },
        },
      },
    }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Records', version: '1.0.0' },
    servers: [{ url }],
    security: [{ bearer: [] }],
    paths,
    components: {
      schemas: SCHEMAS,
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    },
  }
}
