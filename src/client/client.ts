// The Records Service seen from outside: one method per operation, each thin over `call`, which the contract's table drives.
// Promise kept here: what a method returns was believed as a whole; whatever else happened is an error with a disposition.

import { OPERATIONS } from '../contract/index.ts'
import type {
  AggregateBody,
  AggregateData,
  AssociationEdgeWire,
  AssociationWire,
  FieldTypeWire,
  ObjectSchema,
  ObjectSummary,
  OperationId,
  Properties,
  QueryBody,
  RecordPage,
  RecordRepresentation,
  Self,
} from '../contract/index.ts'
import { silentLogger, systemClock } from '../core/ports.ts'
import type { Clock, Logger, Quota } from '../core/ports.ts'
import { parseBaseUrl } from './address.ts'
import { decodeBySchema } from './answers.ts'
import type { Success } from './answers.ts'
import { batchBody, readBatch } from './batch.ts'
import type { BatchAnswer, BatchInput } from './batch.ts'
import { createCaller } from './call.ts'
import type { CallParts, RequestOptions } from './call.ts'
import { holdKey } from './key.ts'
import { SimplePacer } from './pacer/simple-pacer.ts'
import { eachPage } from './pages.ts'
import { createTransport } from './transport.ts'

export interface ClientOptions {
  /** `https://host[/prefix]`, without `/rest/v1`; `http://` only for localhost, 127.0.0.0/8 and [::1]. */
  readonly baseUrl: string
  /** Read before the first request and again after a 401; never logged. */
  readonly key: () => Promise<string>
  /** Default: a `SimplePacer` of this client's own. */
  readonly quota?: Quota | undefined
  readonly clock?: Clock | undefined
  readonly logger?: Logger | undefined
  /** Connections at a time. Default 16. */
  readonly connections?: number | undefined
  /** Deadline of a whole request, body included. Default 30,000 ms. */
  readonly timeoutMs?: number | undefined
  /** Longest answer that is read. Default 16 MiB. */
  readonly bodyBytesMax?: number | undefined
}

type Output<Schema> = Schema extends { readonly _output: infer Value } ? Value : undefined
type Responses<Id extends OperationId> = (typeof OPERATIONS)[Id]['responses']
/** The body of an operation's success. */
export type BodyOf<Id extends OperationId> = Output<Responses<Id>[keyof Responses<Id>]>

export type RecordsClient = ReturnType<typeof createClient>

/**
 * A client of one service with one key. Its methods fail as `RequestOptions` and `ServiceFailure` say.
 * @throws SyncError `base_url_invalid`, `client_option_invalid`
 */
export function createClient(options: ClientOptions) {
  const { origin, prefix } = parseBaseUrl(options.baseUrl)
  const clock = options.clock ?? systemClock
  const quota = options.quota ?? new SimplePacer(clock)
  const keys = holdKey(options.key)
  const transport = createTransport({
    origin,
    connections: options.connections ?? 16,
    timeoutMs: options.timeoutMs ?? 30_000,
    bodyBytesMax: options.bodyBytesMax ?? 16 * 1_024 * 1_024,
  })
  const logger = options.logger ?? silentLogger
  const caller = createCaller({ transport, keys, quota, clock, logger, prefix })

  /** Any operation of the contract's table. */
  const call = <Id extends OperationId>(
    id: Id,
    parts: CallParts = {},
    requestOptions: RequestOptions = {},
  ): Promise<Success<BodyOf<Id>>> =>
    caller(id, parts, requestOptions, decodeBySchema<BodyOf<Id>>(OPERATIONS[id]))

  const batch = async <Item>(
    id: OperationId,
    type: string,
    input: BatchInput<Item>,
    requestOptions: RequestOptions = {},
    query: CallParts['query'] = {},
  ): Promise<BatchAnswer> => {
    const { body, count } = batchBody(input, requestOptions.permit)
    const parts = { path: { object_type: type }, query, body }
    const answer = await caller(id, parts, requestOptions, (_, json) => readBatch(json, count))
    return { ...answer.body, requestId: answer.requestId ?? null }
  }

  const client = {
    /** Such as `https://api.example.com`. */
    origin,
    quota,
    call,
    /** 12 hexadecimal digits that stand for the key. */
    keyFingerprint: (): Promise<string> => keys.fingerprint(),
    /** Waits for the requests in flight; later ones fail. */
    close: (): Promise<void> => transport.close(),

    /** Version, OpenAPI document and documentation; needs no key. */
    readRoot: async (o?: RequestOptions): Promise<BodyOf<'readRoot'>['data']> =>
      (await call('readRoot', {}, o)).body.data,
    readSelf: async (o?: RequestOptions): Promise<Self> =>
      (await call('readSelf', {}, o)).body.data,
    listObjectTypes: async (o?: RequestOptions): Promise<ObjectSummary[]> =>
      (await call('listObjectTypes', {}, o)).body.data,
    readObjectType: async (type: string, o?: RequestOptions): Promise<ObjectSchema> =>
      (await call('readObjectType', { path: { object_type: type } }, o)).body.data,
    listFieldTypes: async (o?: RequestOptions): Promise<FieldTypeWire[]> =>
      (await call('listFieldTypes', {}, o)).body.data,
    listAssociations: async (o?: RequestOptions): Promise<AssociationWire[]> =>
      (await call('listAssociations', {}, o)).body.data,

    /** One page; `recordPages` reads them all. */
    listRecords: async (
      type: string,
      page: { cursor?: string | undefined; properties?: readonly string[] | undefined } = {},
      o?: RequestOptions,
    ): Promise<RecordPage> => {
      const query = { cursor: page.cursor, properties: page.properties?.join(',') }
      return (await call('listRecords', { path: { object_type: type }, query }, o)).body
    },
    /** One page; `recordPages` reads them all. */
    queryRecords: async (type: string, body: QueryBody, o?: RequestOptions): Promise<RecordPage> =>
      (await call('queryRecords', { path: { object_type: type }, body }, o)).body,
    /** Every page of a query, until `has_more` is false. */
    recordPages: (
      type: string,
      query: QueryBody = {},
      o?: RequestOptions,
    ): AsyncGenerator<RecordPage, void, undefined> =>
      eachPage(
        (cursor) => client.queryRecords(type, { ...query, ...(cursor && { cursor }) }, o),
        query.cursor ?? undefined,
      ),
    aggregateRecords: async (
      type: string,
      body: AggregateBody,
      o?: RequestOptions,
    ): Promise<AggregateData> =>
      (await call('aggregateRecords', { path: { object_type: type }, body }, o)).body.data,
    readRecord: async (
      type: string,
      id: string,
      o?: RequestOptions,
    ): Promise<RecordRepresentation> =>
      (await call('readRecord', { path: { object_type: type, id } }, o)).body.data,

    /** Must not be repeated where the failure says that the outcome is unknown. */
    createRecord: async (
      type: string,
      properties: Properties,
      o?: RequestOptions,
    ): Promise<RecordRepresentation> => {
      const parts = { path: { object_type: type }, body: { data: { properties } } }
      return (await call('createRecord', parts, o)).body.data
    },
    updateRecord: async (
      type: string,
      id: string,
      properties: Properties,
      o?: RequestOptions,
    ): Promise<RecordRepresentation> => {
      const parts = { path: { object_type: type, id }, body: { data: { properties } } }
      return (await call('updateRecord', parts, o)).body.data
    },
    /** Creates a record, or updates the one whose matching property has the same value. */
    upsertRecord: async (
      type: string,
      matchingProperty: string,
      properties: Properties,
      o?: RequestOptions,
    ): Promise<{ record: RecordRepresentation; created: boolean }> => {
      const query = { matching_property: matchingProperty }
      const parts = { path: { object_type: type }, query, body: { data: { properties } } }
      const { body } = await call('upsertRecord', parts, o)
      return { record: body.data, created: body.created }
    },
    deleteRecord: async (type: string, id: string, o?: RequestOptions): Promise<void> => {
      await call('deleteRecord', { path: { object_type: type, id } }, o)
    },

    /** Must not be repeated where the failure says that the outcome is unknown. */
    batchCreate: (
      type: string,
      input: BatchInput<{ properties: Properties }>,
      o?: RequestOptions,
    ): Promise<BatchAnswer> => batch('batchCreate', type, input, o),
    batchUpdate: (
      type: string,
      input: BatchInput<{ id: string; properties: Properties }>,
      o?: RequestOptions,
    ): Promise<BatchAnswer> => batch('batchUpdate', type, input, o),
    batchUpsert: (
      type: string,
      matchingProperty: string,
      input: BatchInput<{ properties: Properties }>,
      o?: RequestOptions,
    ): Promise<BatchAnswer> =>
      batch('batchUpsert', type, input, o, { matching_property: matchingProperty }),
    batchDelete: (
      type: string,
      input: BatchInput<{ id: string }>,
      o?: RequestOptions,
    ): Promise<BatchAnswer> => batch('batchDelete', type, input, o),

    /** Every page of a record's association edges. */
    associationEdgePages: (
      type: string,
      id: string,
      o?: RequestOptions,
    ): AsyncGenerator<BodyOf<'listAssociationEdges'>, void, undefined> =>
      eachPage(async (cursor) => {
        const parts = { path: { object_type: type, id }, query: { cursor } }
        return (await call('listAssociationEdges', parts, o)).body
      }),
    associateRecords: async (
      type: string,
      id: string,
      association: string,
      targetId: string,
      o?: RequestOptions,
    ): Promise<AssociationEdgeWire> => {
      const path = { object_type: type, id, association_type: association }
      const parts = { path, body: { data: { target_id: targetId } } }
      return (await call('associateRecords', parts, o)).body.data
    },
  }
  return client
}
