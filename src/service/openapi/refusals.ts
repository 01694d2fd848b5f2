// Every refusal that an operation can answer: when, in which words, and what the caller does about it.
// The OpenAPI document and the pages about the codes are made from this one table. Promise kept here: each of them is real;
// the test of this table provokes them.

import { maxHeaderSize } from 'node:http'
import {
  BATCH_ITEMS_MAX,
  FILTER_DEPTH_MAX,
  FILTER_GROUPS_MAX,
  FILTER_LEAVES_MAX,
  IN_VALUES_MAX,
  REASONS,
} from '../../contract/index.ts'
import type { ProblemCode, ProblemReason } from '../../contract/index.ts'
import { BODY_BYTES_MAX } from '../http/body.ts'
import type { RefusalFacts } from '../problems.ts'

/** `detail`, `field` and `errors` are an example, in the service's own words. */
export interface KnownRefusal extends Omit<RefusalFacts, 'headers'> {
  /** When the service answers with it. */
  readonly when: string
  /** What the caller does about it. */
  readonly remedy: string
}

const START_AGAIN = 'Start the listing again, without a cursor.'
const MEND = 'Mend the request; the same one is refused again.'
const MEND_FIELD = 'Mend what `field` points at; the same request is refused again.'
const READ_TYPE = 'Read the object type: it says what each property takes.'
const ASK_FOR_GRANT = 'Ask for a key with this grant: a key that exists never gets more.'
const LOOK_UP = 'Check the name: `GET /objects/` lists the types that the key can see.'
const WAIT = 'Wait as many seconds as Retry-After says, then send it again.'

export const REFUSALS = {
  request_malformed: {
    ...of('request_invalid', 400),
    when: 'A query parameter is unknown or was given twice, or the URL or the HTTP message is not well-formed.',
    remedy: MEND,
    detail: 'Unknown query parameter "limit": there is none',
  },
  body_malformed: {
    ...of('request_invalid', 400),
    when: 'The body is no JSON, lacks a member, or has an unknown one.',
    remedy: MEND_FIELD,
    detail: 'properties: an object was expected, got null',
    field: '/data/properties',
  },
  query_malformed: {
    ...of('request_invalid', 400),
    when: 'The body is no JSON object, or has a member that is unknown or of another type.',
    remedy: MEND_FIELD,
    detail: 'limit: Invalid input: expected number, received string',
    field: '/limit',
  },
  query_out_of_range: {
    ...of('request_invalid', 422),
    when: 'A number or a length is not within its limits.',
    remedy: MEND_FIELD,
    detail: 'limit: Too big: expected number to be <=100',
    field: '/limit',
  },
  items_out_of_range: {
    ...of('request_invalid', 422),
    when: `A batch has no item, or more than ${BATCH_ITEMS_MAX}.`,
    remedy: 'Send 1 to 50 items; divide what is more.',
    detail: 'data: a list of 1 to 50 items was expected, got a list of 51',
    field: '/data',
  },
  filter_malformed: {
    ...of('request_invalid', 400),
    when: 'The filter is no tree of nodes: an unknown key, an empty group, no value, an unknown operator.',
    remedy: MEND_FIELD,
    detail: 'value: it is required',
    field: '/filter/value',
  },
  cursor_invalid: {
    ...reason('cursor_invalid'),
    when: 'The cursor is older than 24 hours, altered, of another key or listing, or came with another query than the one it carries.',
    remedy: START_AGAIN,
    detail: 'The service did not issue this cursor to this key, for this listing: start again',
  },
  key_missing: {
    ...of('unauthenticated', 401),
    when: 'The key is missing, unknown or revoked.',
    remedy: 'Send a valid key in the header Authorization; a revoked one stays revoked.',
    detail: 'A valid API key was expected in the header Authorization: Bearer <API_KEY>',
  },
  type_unreadable: {
    ...of('permission_denied', 403),
    when: 'There is no such object type, or the key may not read it.',
    remedy: LOOK_UP,
    detail: 'No object type "svc_invoice" that this key may read',
  },
  type_read_only: {
    ...reason('type_read_only'),
    when: 'The object type does not accept this operation, whoever asks.',
    remedy:
      'Nothing helps: no key may do this. The `writable_operations` of a type say what it accepts.',
    detail: 'svc_risk does not accept create',
  },
  write_forbidden: {
    ...reason('write_forbidden'),
    when: 'The key has no grant to write the object type.',
    remedy: ASK_FOR_GRANT,
    detail: 'This key may not write svc_contact',
  },
  path_unknown: {
    ...of('not_found', 404),
    when: 'There is no such path. Paths end with a slash.',
    remedy: 'Check the path against the OpenAPI document.',
    detail: 'No such path: see the documentation',
  },
  type_unknown: {
    ...of('not_found', 404),
    when: 'There is no such object type, or the key may not read it.',
    remedy: LOOK_UP,
    detail: 'No object type "svc_invoice" that this key may read',
  },
  record_unknown: {
    ...of('not_found', 404),
    when: 'There is no such record, it was deleted, or the key may not see it.',
    remedy: 'Treat the record as gone.',
    detail: 'No record "rec_1ce_76jjpzqs" of svc_contact',
  },
  association_unknown: {
    ...of('not_found', 404),
    when: 'The object type is not the source of such an association type.',
    remedy: 'Check the name: `GET /associations/` lists the definitions.',
    detail: 'svc_contact has no association type "svc_employer"',
  },
  request_too_slow: {
    ...of('timeout', 408),
    when: 'The request did not arrive in time. Nothing was done.',
    remedy: 'Send it again, at once and in one piece.',
    detail: 'The request did not arrive in time: nothing was done',
  },
  method_unsupported: {
    ...of('request_invalid', 405),
    when: 'The path exists and does not support the method.',
    remedy: 'Use a method of the header Allow.',
    detail: 'This path supports GET, HEAD, OPTIONS',
  },
  accept_excludes_json: {
    ...of('request_invalid', 406),
    when: 'The header Accept excludes application/json.',
    remedy: 'Accept application/json, or leave the header out.',
    detail: 'The header Accept excludes application/json, the only media type there is',
  },
  value_taken: {
    ...of('conflict', 409),
    when: 'Another record holds this value of a unique property.',
    remedy:
      'Update the record that holds it, by an upsert with this property, or send another value.',
    detail: 'Another record holds this value of svc_external_id, which is unique',
    field: '/data/properties/svc_external_id',
  },
  ambiguous_match: {
    ...reason('ambiguous_match'),
    when: 'Two or more records hold the value of the matching property.',
    remedy: 'Match by a unique property, or update the one record by its id.',
    detail: '2 records hold this value of svc_last_name: at most one was expected',
    field: '/data/properties/svc_last_name',
  },
  body_too_large: {
    ...of('request_invalid', 413),
    when: `The body has more than ${BODY_BYTES_MAX} bytes.`,
    remedy: 'Send fewer or smaller items.',
    detail: `A body of at most ${BODY_BYTES_MAX} bytes was expected`,
  },
  media_type_unsupported: {
    ...of('request_invalid', 415),
    when: 'The body is not declared as application/json.',
    remedy: 'Send JSON with Content-Type application/json.',
    detail: 'A body of Content-Type application/json was expected',
  },
  schema_invalid: {
    ...reason('schema_invalid'),
    when: 'The properties violate the schema of the object type.',
    remedy: `Mend what \`field\`, or each of \`errors\`, points at. ${READ_TYPE}`,
    detail: 'svc_email: expected a list, each value an e-mail address, got "ada"',
    field: '/data/properties/svc_email',
    errors: [
      {
        field: '/data/properties/svc_email',
        reason: 'invalid_value',
        detail: 'svc_email: expected a list, each value an e-mail address, got "ada"',
      },
      {
        field: '/data/properties/svc_nickname',
        reason: 'unknown_property',
        detail: 'svc_contact has no property "svc_nickname"',
      },
    ],
  },
  invalid_matching_property: {
    ...reason('invalid_matching_property'),
    when: 'The matching property is not named, not known, or has no value in the body.',
    remedy: 'Name a readable property in matching_property and give it a value in each item.',
    detail: 'svc_external_id is the matching property: a value was expected',
    field: '/data/properties/svc_external_id',
  },
  unknown_property: {
    ...reason('unknown_property'),
    when: 'A filter, a sort, a group or a selection names a property that the type does not have.',
    remedy: READ_TYPE,
    detail: 'svc_contact has no property "svc_nickname"',
  },
  operator_not_supported: {
    ...reason('operator_not_supported'),
    when: "The property's field type does not support the operator.",
    remedy: 'Use one of the `operators` of the property.',
    detail: 'svc_subscribed supports eq, neq, is_null, not gt',
    field: '/filter/op',
  },
  invalid_filter: {
    ...reason('invalid_filter'),
    when: `A value does not fit the property's field type, or a list is longer than ${IN_VALUES_MAX}.`,
    remedy: MEND_FIELD,
    detail: 'value: expected a calendar day YYYY-MM-DD, got "yesterday"',
    field: '/filter/value',
  },
  unsupported_sort: {
    ...reason('unsupported_sort'),
    when: 'The property cannot be sorted on.',
    remedy: 'Sort on a single-value property whose field type is `sortable`.',
    detail: 'svc_email cannot be sorted on',
    field: '/sorts/0/property',
  },
  unsupported_aggregation: {
    ...reason('unsupported_aggregation'),
    when: "The property's field type does not support the aggregation.",
    remedy: 'Use one of the `aggregations` of the field type.',
    detail: 'svc_first_name supports count, not sum',
    field: '/aggregations/0/op',
  },
  filter_too_deep: {
    ...reason('filter_too_deep'),
    when: `The tree has more than ${FILTER_DEPTH_MAX} levels.`,
    remedy: 'Flatten the tree: a group within a group of the same kind is one group.',
    detail: 'At most 8 levels were expected',
    field: '/filter/$and/0/$and/0/$and/0/$and/0/$and/0/$and/0/$and/0/$and/0',
  },
  too_many_filter_groups: {
    ...reason('too_many_filter_groups'),
    when: `The tree has more than ${FILTER_GROUPS_MAX} groups, or more than ${FILTER_LEAVES_MAX} conditions.`,
    remedy: 'Use `in` instead of many alternatives, or send several queries.',
    detail: 'At most 50 groups were expected, got 51',
    field: '/filter',
  },
  target_unknown: {
    ...of('request_invalid', 422),
    when: 'The target is unknown, deleted, of another object type, or not visible to the key: the answer is the same.',
    remedy: 'Check the id of the target.',
    detail: 'target_id: the id of a record that this key can see was expected',
    field: '/target_id',
  },
  limit_used_up: {
    ...of('rate_limited', 429),
    when: 'The org used up its requests of this minute.',
    remedy: WAIT,
    detail: 'The limit of requests per minute is used up: wait 40 s',
  },
  headers_too_long: {
    ...of('request_invalid', 431),
    when: `The request line and the headers have more than ${maxHeaderSize} bytes.`,
    remedy: 'Send fewer headers, or a filter in the body of a query instead of a long URL.',
    detail: `A request line and headers of at most ${maxHeaderSize} bytes were expected`,
  },
  service_failed: {
    ...of('internal_error', 500),
    when: 'The service failed.',
    remedy: 'Send it again later; quote the request id when you ask about it.',
    detail: 'The service failed: nothing more is known',
  },
  unavailable: {
    ...of('service_unavailable', 503),
    when: 'The service is unavailable. Nothing was done.',
    remedy: WAIT,
    detail: 'The service is unavailable: nothing was done',
  },
  exchange_rate_unavailable: {
    ...reason('exchange_rate_unavailable'),
    when: 'A filter, a sort or an aggregation needs exchange rates, and there are none now.',
    remedy: WAIT,
    detail: 'svc_lifetime_value cannot be compared: exchange rates are unavailable',
  },
  timed_out: {
    ...of('timeout', 504),
    when: 'The service took too long. A query or an aggregate has to look at too many records; a write may have been done.',
    remedy:
      'Narrow the filter of a query. Send another read, an update, an upsert or a deletion again; before a create is sent again, look for the record.',
    detail: 'The records could not be searched in time: narrow the filter, or ask for less',
  },
} as const satisfies Record<string, KnownRefusal> & Record<ProblemReason, KnownRefusal>

export type RefusalName = keyof typeof REFUSALS

/** The names of the refusals with this code, in the order of the table. */
export function refusalsWith(code: ProblemCode): RefusalName[] {
  return Object.entries(REFUSALS).flatMap(([name, refusal]) =>
    refusal.code === code ? [name as RefusalName] : [],
  )
}

/** Its name for people: its reason, or its name in words. */
export function shortNameOf(name: RefusalName): string {
  const { reason }: KnownRefusal = REFUSALS[name]
  return reason ?? name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ')
}

function of<Code extends ProblemCode>(code: Code, status: number) {
  return { code, status }
}

function reason<Reason extends ProblemReason>(name: Reason) {
  return { ...REASONS[name], reason: name }
}
