// What an answer means for the work: try again, refuse the item, or stop the run (design section 6). One table; a new
// problem code or a new reason of the contract does not compile until it is classified here.

import { BATCH_ITEM_OUTCOMES, CODE_STATUSES, PROBLEM_CODES } from '../contract/index.ts'
import type {
  BatchItemResult,
  Operation,
  Problem,
  ProblemCode,
  ProblemReason,
} from '../contract/index.ts'
import type { BlockReason, Disposition } from '../core/errors.ts'

export interface FailureTreatment {
  readonly disposition: Disposition
  /** What blocks the run on `halt`, or on `retry` for too long. */
  readonly block: BlockReason
}

const retry: FailureTreatment = { disposition: 'retry', block: 'service' }
const reject: FailureTreatment = { disposition: 'reject', block: 'contract' }
const contract: FailureTreatment = { disposition: 'halt', block: 'contract' }
const permission: FailureTreatment = { disposition: 'halt', block: 'permission' }
const auth: FailureTreatment = { disposition: 'halt', block: 'auth' }

/** Checked first: a reason is more precise than its code. */
const byReason = {
  invalid_matching_property: contract,
  ambiguous_match: reject,
  type_read_only: permission,
  write_forbidden: permission,
  schema_invalid: reject,
  cursor_invalid: contract,
  unknown_property: contract,
  operator_not_supported: contract,
  invalid_filter: contract,
  unsupported_sort: contract,
  unsupported_aggregation: contract,
  filter_too_deep: contract,
  too_many_filter_groups: contract,
  exchange_rate_unavailable: retry,
} as const satisfies Record<ProblemReason, FailureTreatment>

type Rule = (operation: Operation, status: number) => FailureTreatment

const byCode = {
  unauthenticated: () => auth,
  permission_denied: () => permission,
  // Reads carry no item that could be refused; a wrong method or media type affects every item alike.
  request_invalid: (operation, status) =>
    operation.writes === null || [405, 406, 415].includes(status) ? contract : reject,
  not_found: (operation) => (operation.path.includes('{id}') ? reject : contract),
  conflict: () => reject,
  rate_limited: () => retry,
  timeout: () => retry,
  service_unavailable: () => retry,
  internal_error: () => retry,
} as const satisfies Record<ProblemCode, Rule>

/** Whether a write may have been carried out anyway; `service_unavailable` comes before any work. */
export const IS_OUTCOME_UNKNOWN: Readonly<Record<ProblemCode, boolean>> = {
  unauthenticated: false,
  permission_denied: false,
  request_invalid: false,
  not_found: false,
  conflict: false,
  rate_limited: false,
  timeout: true,
  service_unavailable: false,
  internal_error: true,
}

/** What a status means if the problem names no code; specification section 7 leaves that open for some of them. */
function codeOfStatus(status: number): ProblemCode | undefined {
  return PROBLEM_CODES.find((code) => (CODE_STATUSES[code] as readonly number[]).includes(status))
}

/** The body of a problem. If it has no code, or one outside the closed set, its status decides; `gone` is `not_found`. */
export function withKnownCode(problem: object, status: number): object {
  const { code } = problem as { readonly code?: unknown }
  if (code === 'gone') return { ...problem, code: 'not_found' }
  const isOpen = code === undefined || typeof code === 'string'
  if (!isOpen || (PROBLEM_CODES as readonly unknown[]).includes(code)) return problem
  return { ...problem, code: codeOfStatus(status) }
}

/** Whether the service or a proxy before it says so: nothing was carried out, and a smaller request may pass. */
export const TOO_LARGE = 413

/** How the refusal of a whole request is treated. */
export function requestDisposition(
  operation: Operation,
  status: number,
  problem: Pick<Problem, 'code' | 'reason'>,
): FailureTreatment {
  const { code, reason } = problem
  if (status === TOO_LARGE) return byCode.request_invalid(operation, status)
  if (reason != null && Object.hasOwn(byReason, reason)) return byReason[reason as ProblemReason]
  return byCode[code](operation, status)
}

/** What a status means that came without the service's own problem, such as from a proxy. */
export function unverifiedTreatment(operation: Operation, status: number): FailureTreatment {
  if (status === TOO_LARGE) return byCode.request_invalid(operation, status)
  // A redirect may be temporary at a proxy: it is retried a few times before a person must repair it.
  return status < 400 ? { disposition: 'retry', block: 'contract' } : retry
}

/** What the answer to one item of a batch means. */
export function itemDisposition(
  result: Pick<BatchItemResult, 'status'>,
): 'accepted' | 'rejected' | 'retry' {
  const outcome = BATCH_ITEM_OUTCOMES[result.status]
  return outcome === 'created' || outcome === 'updated' ? 'accepted' : outcome
}
