// The client of the Records Service: one method per operation, each a thin wrapper of `call`, which the contract's table drives.
// Promise kept here: what a method returns is a valid answer as a whole; every other outcome is an error with a disposition.

import { BATCH_ITEMS_MAX, OPERATIONS, PageSize } from '../contract/index.ts'
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
import type { ImportOperation } from '../core/domain/import-modes.ts'
import type { RemovalAction } from '../core/domain/deletions.ts'
import type { OrgRef } from '../core/domain/org-ref.ts'
import type { KeyVisibility } from '../core/domain/visibility.ts'
import type { Quota } from '../core/ports.ts'
import type { Success } from './answers.ts'
import { batchBody, readBatch, type BatchAnswer, type BatchInput } from './batch.ts'
import { checkResponseMatches } from './match-response.ts'
import { createOperationCaller } from './call.ts'
import type { CallDeps, OperationCaller, RequestOptions } from './call.ts'
import { createOne } from './create-one.ts'
import { decodeBySchema, type BodyOf } from './decode.ts'
import { lackingRemoval, lackingWrite, type Resolution } from './discovery/index.ts'
import type { Discovery } from './discovery/read.ts'
import { foreignOrgFailure } from './key-orgs.ts'
import { batchItems, deleted, writeSingly, written, type WriteItem } from './single-writes.ts'
import type { CallParts } from './build-request.ts'
import { clientParts, type ClientOptions } from './options.ts'
import { eachAggregatePage, eachPage, onePage } from './pages.ts'
import { pagesDeps, readablePages, type ReadablePage } from './record-pages.ts'

/** Options of the methods that send several requests: each request takes a permit of its own. */
export type ListingOptions = Omit<RequestOptions, 'permit'>
/** What a listing may choose: `next_cursor` of the previous page, and the properties, by default all that can be read. */
export interface ListSelection {
  readonly cursor?: string | undefined
  readonly properties?: readonly string[] | undefined
}
type Pages<Page> = AsyncGenerator<Page, void, undefined>

/**
 * A client of one service with one key. Its methods fail as `RequestOptions` and `ServiceFailure` describe; those that create
 * fail with `OutcomeUnknown` if the record may exist anyway.
 */
export class RecordsClient {
  /** Such as `https://api.example.com`. */
  readonly origin: string
  readonly quota: Quota
  private caller: OperationCaller
  private readonly deps: CallDeps
  private readonly discovery: Discovery

  /** @throws SyncError `base_url_invalid`, `client_option_invalid` */
  constructor(options: ClientOptions) {
    const { deps, discovery } = clientParts(options)
    this.origin = deps.origin
    this.quota = deps.quota
    this.deps = deps
    this.discovery = discovery
    this.caller = createOperationCaller(deps)
  }

  /**
   * The same client, bound to one org: it fails before it sends anything if the key in use belongs to another org, now or later.
   * It asks once for each key whose key it is. With a sight it also fails if a key other than the one that had the sight sees
   * less. @throws ServiceFailure that blocks on `contract`
   */
  forHome(home: OrgRef, sight: KeyVisibility | null = null): RecordsClient {
    if (this.origin !== home.origin)
      throw foreignOrgFailure({ origin: this.origin, orgId: null }, home, null)
    const view = Object.create(this) as RecordsClient
    view.caller = createOperationCaller({ ...this.deps, bound: { home, sight } })
    return view
  }

  /** How each operation is requested on this service, and why; reads the document if that was not done yet. */
  resolution(): Promise<Resolution> {
    return this.discovery.resolution()
  }

  /** Items that one request carries: 50, or 1 if the service has single operations only. */
  async itemsPerRequest(operation: ImportOperation | 'batchDelete'): Promise<number> {
    const { oneByOne, deletesOneByOne } = await this.discovery.resolution()
    const isAlone = operation === 'batchDelete' ? deletesOneByOne : oneByOne.includes(operation)
    return isAlone ? 1 : BATCH_ITEMS_MAX
  }

  /** That the service has neither a batch nor its single operation, and what it offers; null if it has one of them. */
  async lackingWrite(operation: ImportOperation): Promise<ReturnType<typeof lackingWrite>> {
    return lackingWrite(await this.discovery.resolution(), operation)
  }

  /** Those of these operations that the document of the service does not have. */
  async lackingOperations(operations: readonly OperationId[]): Promise<readonly OperationId[]> {
    const resolution = await this.discovery.resolution()
    return operations.filter((id) => resolution.operations[id].source === 'absent')
  }

  /** The operations that could carry out a removal, if the service has none of them; null if it has one. */
  async lackingRemoval(action: RemovalAction): Promise<string | null> {
    return lackingRemoval(await this.discovery.resolution(), action)
  }

  /** 12 hexadecimal digits that identify the key. */
  keyFingerprint(): Promise<string> {
    return this.deps.keys.fingerprint()
  }

  /** Reads the key again, which may have changed; if it cannot be read, the one in use stays. */
  renewKey(): Promise<void> {
    return this.deps.keys.renew()
  }

  /** By how many ms the service's clock is ahead of ours, by the `Date` of its newest answer; null if no answer had one. */
  clockAheadMs(): number | null {
    return this.deps.serviceClock.aheadMs
  }

  /** Waits for the requests in flight; later ones fail. */
  close(): Promise<void> {
    return this.deps.transport.close()
  }

  /** Any operation of the contract's table. */
  call<Id extends OperationId>(
    id: Id,
    parts: CallParts = {},
    options: RequestOptions = {},
  ): Promise<Success<BodyOf<Id>>> {
    const decode = decodeBySchema<BodyOf<Id>>(OPERATIONS[id])
    return this.caller(id, parts, options, (status, json) => {
      const body = decode(status, json)
      checkResponseMatches(id, body, parts)
      return body
    })
  }

  /** Version and the addresses of the documents; needs no key. */
  async readRoot(options?: RequestOptions): Promise<BodyOf<'readRoot'>['data']> {
    return (await this.call('readRoot', {}, options)).body.data
  }

  /** The service's OpenAPI 3.1 document; needs no key. */
  async readOpenApi(options?: RequestOptions): Promise<BodyOf<'readOpenApi'>> {
    return (await this.call('readOpenApi', {}, options)).body
  }

  /** Whose key this is, what it may do and how far it reaches. */
  async readSelf(options?: RequestOptions): Promise<Self> {
    return (await this.call('readSelf', {}, options)).body.data
  }

  /** The object types that the key can see, without their properties. */
  async listObjectTypes(options?: RequestOptions): Promise<ObjectSummary[]> {
    return (await this.call('listObjectTypes', {}, options)).body.data
  }

  /** One object type with its properties. */
  async readObjectType(type: string, options?: RequestOptions): Promise<ObjectSchema> {
    return (await this.call('readObjectType', { path: { object_type: type } }, options)).body.data
  }

  async listFieldTypes(options?: RequestOptions): Promise<FieldTypeWire[]> {
    return (await this.call('listFieldTypes', {}, options)).body.data
  }

  /** One page of the records of a type; `listRecordPages` reads them all. */
  async listRecords(
    type: string,
    choice: ListSelection = {},
    options?: RequestOptions,
  ): Promise<RecordPage> {
    const query = { cursor: choice.cursor, properties: choice.properties?.join(',') }
    return (await this.call('listRecords', { path: { object_type: type }, query }, options)).body
  }

  /** Every page of the records of a type, until `has_more` is false. */
  listRecordPages(
    type: string,
    choice: ListSelection = {},
    options?: ListingOptions,
  ): Pages<RecordPage> {
    return eachPage(
      (cursor) => this.listRecords(type, { ...choice, cursor }, onePage(options)),
      choice.cursor,
    )
  }

  /** One page of the records that match; `recordPages` reads them all. */
  async queryRecords(
    type: string,
    query: QueryBody = {},
    options?: RequestOptions,
  ): Promise<RecordPage> {
    const parts = { path: { object_type: type }, body: query }
    return (await this.call('queryRecords', parts, options)).body
  }

  /** Every page of the records that match, smaller where it must be, and past what cannot be read. */
  recordPages(
    type: string,
    query: QueryBody = {},
    options: ListingOptions & { readonly size?: PageSize } = {},
  ): Pages<ReadablePage> {
    const { size = new PageSize(query.limit), ...each } = options
    // Twice at least: a page that fails once may not be too large.
    const one = onePage({ ...each, retries: Math.max(1, each.retries ?? this.deps.retries) })
    return readablePages(pagesDeps(this, type, one), query, size)
  }

  /** One page of groups; `aggregatePages` reads them all. */
  async aggregateRecords(
    type: string,
    aggregate: AggregateBody,
    options?: RequestOptions,
  ): Promise<AggregateData> {
    const parts = { path: { object_type: type }, body: aggregate }
    return (await this.call('aggregateRecords', parts, options)).body.data
  }

  /** Every page of groups, by `offset`, until `has_more` is false. */
  aggregatePages(
    type: string,
    aggregate: AggregateBody,
    options?: ListingOptions,
  ): Pages<AggregateData> {
    return eachAggregatePage(
      (offset) => this.aggregateRecords(type, { ...aggregate, offset }, onePage(options)),
      aggregate.offset ?? 0,
    )
  }

  async readRecord(
    type: string,
    id: string,
    options?: RequestOptions,
  ): Promise<RecordRepresentation> {
    return (await this.call('readRecord', { path: { object_type: type, id } }, options)).body.data
  }

  /**
   * Never sent again if its outcome is unknown. If the service answers without a body, the record has the id of its `Location`
   * and the properties as they were given. @throws OutcomeUnknown
   */
  async createRecord(
    type: string,
    properties: Properties,
    options: RequestOptions = {},
  ): Promise<RecordRepresentation> {
    return (await createOne(this.caller, type, properties, options)).body.data
  }

  /** Changes the named properties: null clears one, the others stay. */
  async updateRecord(
    type: string,
    id: string,
    properties: Properties,
    options?: RequestOptions,
  ): Promise<RecordRepresentation> {
    const parts = { path: { object_type: type, id }, body: { data: { properties } } }
    return (await this.call('updateRecord', parts, options)).body.data
  }

  /** Creates a record, or updates the one whose matching property has the same value. */
  async upsertRecord(
    type: string,
    matchingProperty: string,
    properties: Properties,
    options?: RequestOptions,
  ): Promise<{ record: RecordRepresentation; created: boolean }> {
    const query = { matching_property: matchingProperty }
    const parts = { path: { object_type: type }, query, body: { data: { properties } } }
    const { body } = await this.call('upsertRecord', parts, options)
    return { record: body.data, created: body.created }
  }

  async deleteRecord(type: string, id: string, options?: RequestOptions): Promise<void> {
    await this.call('deleteRecord', { path: { object_type: type, id } }, options)
  }

  /** Never sent again if its outcome is unknown. On a service without batches, one request for each. @throws OutcomeUnknown */
  batchCreate(
    type: string,
    input: BatchInput<{ properties: Properties }>,
    options?: RequestOptions,
  ): Promise<BatchAnswer> {
    return this.writes('batchCreate', type, input, options)
  }

  /** One request; on a service without batch updates, one for each item. */
  batchUpdate(
    type: string,
    input: BatchInput<{ id: string; properties: Properties }>,
    options?: RequestOptions,
  ): Promise<BatchAnswer> {
    return this.writes('batchUpdate', type, input, options)
  }

  /** One request; on a service without batch upserts, one upsert for each item. */
  batchUpsert(
    type: string,
    matchingProperty: string,
    input: BatchInput<{ properties: Properties }>,
    options?: RequestOptions,
  ): Promise<BatchAnswer> {
    return this.writes('batchUpsert', type, input, options, { matching_property: matchingProperty })
  }

  /** One request; on a service without batch deletions, one for each item. */
  batchDelete(
    type: string,
    input: BatchInput<{ id: string }>,
    options?: RequestOptions,
  ): Promise<BatchAnswer> {
    return this.writes('batchDelete', type, input, options)
  }

  /** The association definitions. */
  async listAssociations(options?: RequestOptions): Promise<AssociationWire[]> {
    return (await this.call('listAssociations', {}, options)).body.data
  }

  /** One page of a record's association edges; `associationEdgePages` reads them all. */
  async listAssociationEdges(
    type: string,
    id: string,
    cursor?: string,
    options?: RequestOptions,
  ): Promise<BodyOf<'listAssociationEdges'>> {
    const parts = { path: { object_type: type, id }, query: { cursor } }
    return (await this.call('listAssociationEdges', parts, options)).body
  }

  /** Every page of a record's association edges, until `has_more` is false. */
  associationEdgePages(
    type: string,
    id: string,
    options?: ListingOptions,
  ): Pages<BodyOf<'listAssociationEdges'>> {
    return eachPage((cursor) => this.listAssociationEdges(type, id, cursor, onePage(options)))
  }

  /** Links two records. Linking them again succeeds. */
  async associateRecords(
    type: string,
    id: string,
    association: string,
    targetId: string,
    options?: RequestOptions,
  ): Promise<AssociationEdgeWire> {
    const path = { object_type: type, id, association_type: association }
    const parts = { path, body: { data: { target_id: targetId } } }
    return (await this.call('associateRecords', parts, options)).body.data
  }

  private async writes(
    id: ImportOperation | 'batchDelete',
    type: string,
    input: BatchInput<WriteItem>,
    options: RequestOptions = {},
    query: CallParts['query'] = {},
  ): Promise<BatchAnswer> {
    if ((await this.itemsPerRequest(id)) > 1)
      return await this.batch(id, type, input, options, query)
    const items = batchItems(input, options.permit)
    return await writeSingly(id, items, options, async (item, each) => {
      const { properties = {} } = item
      if (id === 'batchCreate') return written(await createOne(this.caller, type, properties, each))
      const path = { object_type: type, ...(item.id !== undefined && { id: item.id }) }
      const parts = { path, query, body: { data: { properties } } }
      if (id === 'batchDelete') return deleted(await this.call('deleteRecord', { path }, each))
      if (id === 'batchUpdate') return written(await this.call('updateRecord', parts, each), false)
      return written(await this.call('upsertRecord', parts, each))
    })
  }

  private async batch(
    id: OperationId,
    type: string,
    input: BatchInput<{ readonly id?: string; readonly properties?: Properties }>,
    options: RequestOptions = {},
    query: CallParts['query'] = {},
  ): Promise<BatchAnswer> {
    const { body, count } = batchBody(input, options.permit)
    const asked = { type, ids: 'items' in input ? input.items.map((item) => item.id) : [] }
    const parts = { path: { object_type: type }, query, body }
    const answer = await this.caller(id, parts, options, (_, json) => readBatch(json, count, asked))
    return { ...answer.body, requestId: answer.requestId ?? null }
  }
}
