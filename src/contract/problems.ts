// The closed set of problem codes, the known reasons, and the statuses that belong to them
// (specification sections 2.12, 4.3, 4.6, 5 and 7; statuses that it leaves open are fixed here).

import { namesOf } from '../core/register.ts'

/**
 * Every problem code (specification section 7), with the statuses it may have; the first is the default. The set of codes is closed.
 */
export const CODE_STATUSES = {
  unauthenticated: [401],
  request_invalid: [422, 400, 405, 406, 413, 415, 431],
  not_found: [404, 410],
  permission_denied: [403],
  conflict: [409],
  rate_limited: [429],
  timeout: [504, 408],
  service_unavailable: [503],
  internal_error: [500],
} as const satisfies Record<string, readonly number[]>
export type ProblemCode = keyof typeof CODE_STATUSES
type StatusOf<Code extends ProblemCode> = (typeof CODE_STATUSES)[Code][number]

export const PROBLEM_CODES = namesOf(CODE_STATUSES)

/**
 * The reasons that the specification names, each with its code and status. New ones are additive: a client tolerates any other.
 */
export const REASONS = {
  invalid_matching_property: { code: 'request_invalid', status: 422 },
  ambiguous_match: { code: 'conflict', status: 409 },
  type_read_only: { code: 'permission_denied', status: 403 },
  write_forbidden: { code: 'permission_denied', status: 403 },
  schema_invalid: { code: 'request_invalid', status: 422 },
  cursor_invalid: { code: 'request_invalid', status: 400 },
  unknown_property: { code: 'request_invalid', status: 422 },
  operator_not_supported: { code: 'request_invalid', status: 422 },
  invalid_filter: { code: 'request_invalid', status: 422 },
  unsupported_sort: { code: 'request_invalid', status: 422 },
  unsupported_aggregation: { code: 'request_invalid', status: 422 },
  filter_too_deep: { code: 'request_invalid', status: 422 },
  too_many_filter_groups: { code: 'request_invalid', status: 422 },
  exchange_rate_unavailable: { code: 'service_unavailable', status: 503 },
} as const satisfies Record<
  string,
  { [Code in ProblemCode]: { code: Code; status: StatusOf<Code> } }[ProblemCode]
>
export type ProblemReason = keyof typeof REASONS

export const PROBLEM_REASONS = namesOf(REASONS)

/** Statuses of a batch item (specification section 2.10), and what became of the item. */
export const BATCH_ITEM_OUTCOMES = {
  200: 'updated',
  201: 'created',
  204: 'updated',
  403: 'rejected',
  404: 'rejected',
  409: 'rejected',
  422: 'rejected',
  500: 'retry',
  503: 'retry',
} as const satisfies Record<number, 'created' | 'updated' | 'rejected' | 'retry'>
export type BatchItemStatus = keyof typeof BATCH_ITEM_OUTCOMES

export const BATCH_ITEM_STATUSES = Object.keys(BATCH_ITEM_OUTCOMES).map(
  (status) => Number(status) as BatchItemStatus,
)

const titles: Readonly<Record<StatusOf<ProblemCode>, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  408: 'Request Timeout',
  409: 'Conflict',
  410: 'Gone',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
}
/** Reason phrases, which a problem's `title` repeats. */
export const TITLES: Readonly<Record<number, string>> = titles
