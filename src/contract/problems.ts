// The closed set of problem codes, the known reasons, and the statuses that belong to them
// (specification sections 2.12, 4.3, 4.6, 5 and 7; statuses that it leaves open are fixed here).

/** Every problem code (specification section 7). The set is closed. */
export const PROBLEM_CODES = [
  'unauthenticated',
  'request_invalid',
  'not_found',
  'permission_denied',
  'conflict',
  'rate_limited',
  'timeout',
  'service_unavailable',
  'internal_error',
] as const
export type ProblemCode = (typeof PROBLEM_CODES)[number]

/** The reasons that the specification names. New ones are additive: a client tolerates any other. */
export const PROBLEM_REASONS = [
  'invalid_matching_property',
  'ambiguous_match',
  'type_read_only',
  'write_forbidden',
  'schema_invalid',
  'cursor_invalid',
  'unknown_property',
  'operator_not_supported',
  'invalid_filter',
  'unsupported_sort',
  'unsupported_aggregation',
  'filter_too_deep',
  'too_many_filter_groups',
  'exchange_rate_unavailable',
] as const
export type ProblemReason = (typeof PROBLEM_REASONS)[number]

/** The statuses each code may have; the first is the default. */
export const CODE_STATUSES = {
  unauthenticated: [401],
  request_invalid: [422, 400, 405, 406, 413, 415, 431],
  not_found: [404],
  permission_denied: [403],
  conflict: [409],
  rate_limited: [429],
  timeout: [504, 408],
  service_unavailable: [503],
  internal_error: [500],
} as const satisfies Record<ProblemCode, readonly number[]>

/** The code and status of each reason. */
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
} as const satisfies Record<ProblemReason, { code: ProblemCode; status: number }>

/** Statuses of a batch item (specification section 2.10). */
export const BATCH_ITEM_STATUSES = [200, 201, 204, 403, 404, 409, 422, 500, 503] as const
export type BatchItemStatus = (typeof BATCH_ITEM_STATUSES)[number]

/** Reason phrases, which a problem's `title` repeats. */
export const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  408: 'Request Timeout',
  409: 'Conflict',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
}
