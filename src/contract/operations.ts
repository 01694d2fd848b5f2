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

/** A row states in what it departs from these. */
const usual = { method: 'GET', authenticated: true, query: {}, request: null } as const
const read = { ...usual, replay: true, writes: null } as const
const batch = {
  ...usual,
  method: 'POST',
  tag: 'batch',
  responses: { 200: schemas.BatchResponse },
} as const
const cursor = z.string().min(1).optional().describe('Opaque next_cursor of the page before')
const matchingProperty = z
  .string()
  .min(1)
  .describe('Name of the property whose value finds the record to update')

export const OPERATIONS = {
  readRoot: {
    ...read,
    path: '/',
    tag: 'service',
    authenticated: false,
    summary: 'Version, OpenAPI document and documentation',
    responses: { 200: schemas.Root },
  },
  readOpenApi: {
    ...read,
    path: '/openapi.json',
    tag: 'service',
    authenticated: false,
    summary: 'The OpenAPI 3.1 document',
    responses: { 200: z.looseObject({ openapi: z.string() }).meta({ id: 'OpenApiDocument' }) },
  },
  readSelf: {
    ...read,
    path: '/self/',
    tag: 'service',
    summary: 'The caller: org, principal, permissions and reach',
    responses: { 200: schemas.SelfResponse },
  },
  listObjectTypes: {
    ...read,
    path: '/objects/',
    tag: 'schema',
    summary: 'The object types that the key can see',
    responses: { 200: schemas.ObjectSummaryList },
  },
  readObjectType: {
    ...read,
    path: '/objects/{object_type}/',
    tag: 'schema',
    summary: 'One object type with its properties',
    responses: { 200: schemas.ObjectSchemaResponse },
  },
  listFieldTypes: {
    ...read,
    path: '/field_types/',
    tag: 'schema',
    summary: 'The field types',
    responses: { 200: schemas.FieldTypeList },
  },
  listRecords: {
    ...read,
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
    ...usual,
    method: 'POST',
    path: '/objects/{object_type}/records/',
    tag: 'records',
    summary: 'Create a record',
    request: schemas.RecordBody,
    responses: { 201: schemas.RecordResponse },
    replay: false,
    writes: 'create',
  },
  upsertRecord: {
    ...usual,
    method: 'PUT',
    path: '/objects/{object_type}/records/',
    tag: 'records',
    summary: 'Create a record, or update the one whose matching property has the same value',
    query: { matching_property: matchingProperty },
    request: schemas.RecordBody,
    responses: { 200: schemas.UpsertResponse, 201: schemas.UpsertResponse },
    replay: true,
    writes: 'upsert',
  },
  readRecord: {
    ...read,
    path: '/objects/{object_type}/records/{id}/',
    tag: 'records',
    summary: 'One record',
    responses: { 200: schemas.RecordResponse },
  },
  updateRecord: {
    ...usual,
    method: 'PATCH',
    path: '/objects/{object_type}/records/{id}/',
    tag: 'records',
    summary: 'Change properties of a record',
    request: schemas.RecordBody,
    responses: { 200: schemas.RecordResponse },
    replay: true,
    writes: 'update',
  },
  deleteRecord: {
    ...usual,
    method: 'DELETE',
    path: '/objects/{object_type}/records/{id}/',
    tag: 'records',
    summary: 'Delete a record',
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
    ...batch,
    path: '/objects/{object_type}/records/batch/create/',
    summary: 'Create up to 50 records',
    request: schemas.BatchWriteBody,
    replay: false,
    writes: 'create',
  },
  batchUpdate: {
    ...batch,
    path: '/objects/{object_type}/records/batch/update/',
    summary: 'Change up to 50 records',
    request: schemas.BatchUpdateBody,
    replay: true,
    writes: 'update',
  },
  batchUpsert: {
    ...batch,
    path: '/objects/{object_type}/records/batch/upsert/',
    summary: 'Create or update up to 50 records by a matching property',
    query: { matching_property: matchingProperty },
    request: schemas.BatchWriteBody,
    replay: true,
    writes: 'upsert',
  },
  batchDelete: {
    ...batch,
    path: '/objects/{object_type}/records/batch/delete/',
    summary: 'Delete up to 50 records',
    request: schemas.BatchDeleteBody,
    replay: true,
    writes: 'delete',
  },
  listAssociations: {
    ...read,
    path: '/associations/',
    tag: 'associations',
    summary: 'The association definitions',
    responses: { 200: schemas.AssociationList },
  },
  listAssociationEdges: {
    ...read,
    path: '/objects/{object_type}/records/{id}/associations/',
    tag: 'associations',
    summary: "A page of a record's association edges",
    query: { cursor },
    responses: { 200: schemas.AssociationEdgePage },
  },
  associateRecords: {
    ...usual,
    method: 'PUT',
    path: '/objects/{object_type}/records/{id}/associations/{association_type}/',
    tag: 'associations',
    summary: 'Link two records',
    request: schemas.AssociateBody,
    responses: { 200: schemas.AssociationEdgeResponse, 201: schemas.AssociationEdgeResponse },
    replay: true,
    writes: 'associate',
  },
} as const satisfies Record<string, Operation>

export type OperationId = keyof typeof OPERATIONS
