// The one table of operations (specification section 4): 19 authenticated and 2 public. Client methods, service routes
// and the OpenAPI document come from it. Paths that the specification leaves open are our choice (design section 6).

import { z } from 'zod'
import * as schemas from './schemas/index.ts'

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'

export interface Operation {
  readonly method: Method
  /** Below `/rest/v1`; `{name}` marks a path parameter. */
  readonly path: string
  readonly summary: string
  readonly tag: 'service' | 'schema' | 'records' | 'batch' | 'associations'
  /** False for the two public operations. */
  readonly authenticated: boolean
  /** Query parameters, by name. */
  readonly query: Readonly<Record<string, z.ZodType>>
  /** Schema of the request's body, or null if there is none. */
  readonly request: z.ZodType | null
  /** Success statuses and the schema of each body; null if there is no body. */
  readonly responses: Readonly<Record<number, z.ZodType | null>>
  /** Whether it may be sent again after an unknown outcome: it changes nothing, or makes the same change again. */
  readonly replay: boolean
  /** The gate of section 4.3 rule 5 that a write passes. */
  readonly writes: schemas.WritableOperation | 'upsert' | null
}

const read = {
  authenticated: true,
  query: {},
  request: null,
  replay: true,
  writes: null,
} as const
const cursor = z.string().min(1).optional().describe('Opaque next_cursor of the page before')
const matchingProperty = z
  .string()
  .min(1)
  .describe('Name of the property whose value finds the record to update')

/** Every operation by its id. */
export const OPERATIONS = {
  readRoot: {
    ...read,
    method: 'GET',
    path: '/',
    tag: 'service',
    authenticated: false,
    summary: 'Version, OpenAPI document and documentation',
    responses: { 200: schemas.Root },
  },
  readOpenApi: {
    ...read,
    method: 'GET',
    path: '/openapi.json',
    tag: 'service',
    authenticated: false,
    summary: 'The OpenAPI 3.1 document',
    responses: { 200: z.looseObject({ openapi: z.string() }).meta({ id: 'OpenApiDocument' }) },
  },
  readSelf: {
    ...read,
    method: 'GET',
    path: '/self/',
    tag: 'service',
    summary: 'The caller: org, principal, permissions and reach',
    responses: { 200: schemas.SelfResponse },
  },
  listObjectTypes: {
    ...read,
    method: 'GET',
    path: '/objects/',
    tag: 'schema',
    summary: 'The object types that the key can see',
    responses: { 200: schemas.ObjectSummaryList },
  },
  readObjectType: {
    ...read,
    method: 'GET',
    path: '/objects/{object_type}/',
    tag: 'schema',
    summary: 'One object type with its properties',
    responses: { 200: schemas.ObjectSchemaResponse },
  },
  listFieldTypes: {
    ...read,
    method: 'GET',
    path: '/field_types/',
    tag: 'schema',
    summary: 'The field types',
    responses: { 200: schemas.FieldTypeList },
  },
  listRecords: {
    ...read,
    method: 'GET',
    path: '/objects/{object_type}/records/',
    tag: 'records',
    summary: 'A page of the records of a type',
    query: {
      cursor,
      properties: z
        .string()
        .optional()
        .describe('Comma-separated names of the properties to return'),
    },
    responses: { 200: schemas.RecordPage },
  },
  createRecord: {
    method: 'POST',
    path: '/objects/{object_type}/records/',
    tag: 'records',
    summary: 'Create a record',
    authenticated: true,
    query: {},
    request: schemas.RecordBody,
    responses: { 201: schemas.RecordResponse },
    replay: false,
    writes: 'create',
  },
  upsertRecord: {
    method: 'PUT',
    path: '/objects/{object_type}/records/',
    tag: 'records',
    summary: 'Create a record, or update the one whose matching property has the same value',
    authenticated: true,
    query: { matching_property: matchingProperty },
    request: schemas.RecordBody,
    responses: { 200: schemas.UpsertResponse, 201: schemas.UpsertResponse },
    replay: true,
    writes: 'upsert',
  },
  readRecord: {
    ...read,
    method: 'GET',
    path: '/objects/{object_type}/records/{id}/',
    tag: 'records',
    summary: 'One record',
    responses: { 200: schemas.RecordResponse },
  },
  updateRecord: {
    method: 'PATCH',
    path: '/objects/{object_type}/records/{id}/',
    tag: 'records',
    summary: 'Change properties of a record',
    authenticated: true,
    query: {},
    request: schemas.RecordBody,
    responses: { 200: schemas.RecordResponse },
    replay: true,
    writes: 'update',
  },
  deleteRecord: {
    method: 'DELETE',
    path: '/objects/{object_type}/records/{id}/',
    tag: 'records',
    summary: 'Delete a record',
    authenticated: true,
    query: {},
    request: null,
    responses: { 204: null },
    replay: true,
    writes: 'delete',
  },
  queryRecords: {
    ...read,
    method: 'POST',
    path: '/objects/{object_type}/records/query/',
    tag: 'records',
    summary: 'A page of the records that match a filter',
    request: schemas.QueryBody,
    responses: { 200: schemas.RecordPage },
  },
  aggregateRecords: {
    ...read,
    method: 'POST',
    path: '/objects/{object_type}/records/aggregate/',
    tag: 'records',
    summary: 'Count, sum, average, least or greatest, by group',
    request: schemas.AggregateBody,
    responses: { 200: schemas.AggregateResponse },
  },
  batchCreate: {
    method: 'POST',
    path: '/objects/{object_type}/records/batch/create/',
    tag: 'batch',
    summary: 'Create up to 50 records',
    authenticated: true,
    query: {},
    request: schemas.BatchWriteBody,
    responses: { 200: schemas.BatchResponse },
    replay: false,
    writes: 'create',
  },
  batchUpdate: {
    method: 'POST',
    path: '/objects/{object_type}/records/batch/update/',
    tag: 'batch',
    summary: 'Change up to 50 records',
    authenticated: true,
    query: {},
    request: schemas.BatchUpdateBody,
    responses: { 200: schemas.BatchResponse },
    replay: true,
    writes: 'update',
  },
  batchUpsert: {
    method: 'POST',
    path: '/objects/{object_type}/records/batch/upsert/',
    tag: 'batch',
    summary: 'Create or update up to 50 records by a matching property',
    authenticated: true,
    query: { matching_property: matchingProperty },
    request: schemas.BatchWriteBody,
    responses: { 200: schemas.BatchResponse },
    replay: true,
    writes: 'upsert',
  },
  batchDelete: {
    method: 'POST',
    path: '/objects/{object_type}/records/batch/delete/',
    tag: 'batch',
    summary: 'Delete up to 50 records',
    authenticated: true,
    query: {},
    request: schemas.BatchDeleteBody,
    responses: { 200: schemas.BatchResponse },
    replay: true,
    writes: 'delete',
  },
  listAssociations: {
    ...read,
    method: 'GET',
    path: '/associations/',
    tag: 'associations',
    summary: 'The association definitions',
    responses: { 200: schemas.AssociationList },
  },
  listAssociationEdges: {
    ...read,
    method: 'GET',
    path: '/objects/{object_type}/records/{id}/associations/',
    tag: 'associations',
    summary: "A page of a record's association edges",
    query: { cursor },
    responses: { 200: schemas.AssociationEdgePage },
  },
  associateRecords: {
    method: 'PUT',
    path: '/objects/{object_type}/records/{id}/associations/{association_type}/',
    tag: 'associations',
    summary: 'Link two records',
    authenticated: true,
    query: {},
    request: schemas.AssociateBody,
    responses: { 200: schemas.AssociationEdgeResponse, 201: schemas.AssociationEdgeResponse },
    replay: true,
    writes: 'associate',
  },
} as const satisfies Record<string, Operation>

export type OperationId = keyof typeof OPERATIONS
