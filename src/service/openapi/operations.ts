// What the OpenAPI document says about each operation in addition to the contract's table: a text, and what it can refuse.
// Promise kept here: an operation that is added to the contract does not compile until it is described here.

import { OPERATIONS, type Operation, type OperationId } from '../../contract/index.ts'
import type { RefusalName } from './refusals.ts'

interface Description {
  /** Markdown. */
  readonly text: string
  /** In addition to those that every operation of its kind has. Default: none. */
  readonly refusals?: readonly RefusalName[]
}

/** What every operation can refuse. */
const ALWAYS: readonly RefusalName[] = [
  'request_malformed',
  'method_unsupported',
  'accept_excludes_json',
  'request_too_slow',
  'limit_used_up',
  'headers_too_long',
  'service_failed',
  'unavailable',
  'timed_out',
]
/** What an operation that reads a body can refuse. */
const WITH_BODY: readonly RefusalName[] = ['body_too_large', 'media_type_unsupported']
/** The gates of a write, in their order. */
const GATES: readonly RefusalName[] = ['type_read_only', 'type_unknown', 'write_forbidden']
const QUERIES: readonly RefusalName[] = [
  'query_malformed',
  'query_out_of_range',
  'filter_malformed',
  'unknown_property',
  'operator_not_supported',
  'invalid_filter',
  'filter_too_deep',
  'too_many_filter_groups',
  'exchange_rate_unavailable',
]
const PROPERTIES: readonly RefusalName[] = ['body_malformed', 'value_taken', 'schema_invalid']
const ITEMS: readonly RefusalName[] = ['body_malformed', 'items_out_of_range']

const NULL_CLEARS =
  'A null clears a property; a property that is left out stays as it is. Values that are stored already are no error, so the request may be sent again.'
const BATCH =
  'Answers 200 with one result for each item, in the order of the request: an item that is refused has a `problem`, changes nothing and stops no other item. '
const EVERYTHING =
  'One request may read up to 100 records; `pagination` says whether there are more, and a page may hold fewer and still not be the last.'

export const DESCRIPTIONS: Readonly<Record<OperationId, Description>> = {
  readRoot: {
    text: 'Needs no key. Says which version this is and where its description and documentation are.',
  },
  readOpenApi: { text: 'Needs no key. This document.' },
  readSelf: {
    text: 'Says whose key it is, which org it belongs to, how far it sees, and what it may read and write. The cheapest way to try a key.',
  },
  listObjectTypes: {
    text: 'Lists exactly the object types that the key may read. The list is not paginated.',
  },
  readObjectType: {
    text: 'The object type, with every property: its field type, whether it may be written, and the operators that filter it.',
    refusals: ['type_unknown'],
  },
  listFieldTypes: {
    text: "Lists what a property's `field_type` can be: the JSON shape of its values, its operators, aggregations and units. The list is not paginated.",
  },
  listRecords: {
    text: `Lists every record of the type that the key may see, in the order of creation. ${EVERYTHING}`,
    refusals: ['cursor_invalid', 'type_unreadable', 'unknown_property'],
  },
  createRecord: {
    text: 'Creates a record. Sent again, it creates another one: where the outcome is unknown, look for the record first, or use an upsert.',
    refusals: PROPERTIES,
  },
  upsertRecord: {
    text: `Finds the record by the value of \`matching_property\`, which must be in the body. Where there is none it is created (201), where there is one it is updated (200), where there are several the request is refused. ${NULL_CLEARS}`,
    refusals: [...PROPERTIES, 'invalid_matching_property', 'ambiguous_match'],
  },
  readRecord: {
    text: 'The record, with every property that the key may read.',
    refusals: ['type_unknown', 'record_unknown'],
  },
  updateRecord: {
    text: `Changes the properties that the body names. ${NULL_CLEARS}`,
    refusals: [...PROPERTIES, 'record_unknown'],
  },
  deleteRecord: {
    text: 'Deletes the record and its links. Sent again, it answers 404.',
    refusals: ['record_unknown'],
  },
  queryRecords: {
    text: `Lists the records that match a filter and a search, in the order of at most one property. ${EVERYTHING} A cursor carries its query: next to it, leave the query out or give the same.`,
    refusals: [...QUERIES, 'cursor_invalid', 'type_unreadable', 'unsupported_sort'],
  },
  aggregateRecords: {
    text: 'Computes one number for each group of records. Groups are paged by `limit` and `offset`, without a cursor.',
    refusals: [...QUERIES, 'type_unreadable', 'unsupported_aggregation'],
  },
  batchCreate: { text: `${BATCH}Sent again, it creates the records again.`, refusals: ITEMS },
  batchUpdate: { text: `${BATCH}${NULL_CLEARS}`, refusals: ITEMS },
  batchUpsert: {
    text: `${BATCH}Each item is found by its value of \`matching_property\`. ${NULL_CLEARS}`,
    refusals: [...ITEMS, 'invalid_matching_property'],
  },
  batchDelete: {
    text: `${BATCH}Sent again, it answers 404 for each item that is gone.`,
    refusals: ITEMS,
  },
  listAssociations: {
    text: 'Lists the association definitions between types that the key may read. The list is not paginated.',
  },
  listAssociationEdges: {
    text: `Lists the links from a record to records that the key may see. ${EVERYTHING.replace('records', 'links')}`,
    refusals: ['cursor_invalid', 'type_unknown', 'record_unknown'],
  },
  associateRecords: {
    text: 'Links the record to another one (201); a link that exists is no error (200). Where the cardinality allows one link only, the new one takes the place of the old.',
    refusals: ['body_malformed', 'record_unknown', 'association_unknown', 'target_unknown'],
  },
}

export function refusalsOf(id: OperationId): RefusalName[] {
  const { authenticated, request, writes }: Operation = OPERATIONS[id]
  return [
    ...ALWAYS,
    ...(authenticated ? (['key_missing'] as const) : []),
    ...(request === null ? [] : WITH_BODY),
    ...(writes === null ? [] : GATES),
    ...(DESCRIPTIONS[id].refusals ?? []),
  ]
}
