// What the service answers when it refuses: the facts first, then the problem body of section 2.12, made from them.
// Promise kept here: every refusal has a code of the closed set, a status that belongs to it, and says what was expected.

import { REASONS, TITLES, type ProblemCode, type ProblemReason } from '../contract/index.ts'

/** One thing that is wrong in a body: RFC 6901 pointer, what was expected, machine-readable reason. */
export interface Violation {
  readonly field: string
  readonly detail: string
  readonly reason: string
}

export interface RefusalFacts {
  readonly status: number
  readonly code: ProblemCode
  readonly detail: string
  readonly reason?: string | undefined
  readonly field?: string | undefined
  readonly errors?: readonly Violation[] | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** A request that is refused as a whole; the HTTP layer answers with its facts. */
export class RequestRefused extends Error {
  readonly facts: RefusalFacts
  /** `options.cause`: what the operator must see and the caller must not. */
  constructor(facts: RefusalFacts, options?: ErrorOptions) {
    super(facts.detail, options)
    this.name = 'Refusal'
    this.facts = facts
  }
}

/** The facts of a known reason; its code and status come from the contract. */
export function refusalFacts(reason: ProblemReason, detail: string, field?: string): RefusalFacts {
  return { ...REASONS[reason], reason, detail, field }
}

/** A request that is refused for a known reason. */
export function refused(reason: ProblemReason, detail: string, field?: string): RequestRefused {
  return new RequestRefused(refusalFacts(reason, detail, field))
}

/** Nothing was done, and the same request may succeed later: 503. */
export function unavailable(
  detail: string,
  retryAfter: string,
  options?: ErrorOptions,
): RequestRefused {
  const headers = { 'Retry-After': retryAfter }
  const facts = { status: 503, code: 'service_unavailable', detail, headers } as const
  return new RequestRefused(facts, options)
}

/** A structurally malformed request: 400. */
export function malformed(detail: string, field?: string): RequestRefused {
  return new RequestRefused({ status: 400, code: 'request_invalid', detail, field })
}

/** A request of the right shape with a number or a length that is not allowed: 422. */
export function outOfRange(detail: string, field: string): RequestRefused {
  return new RequestRefused({ status: 422, code: 'request_invalid', detail, field })
}

export function notFound(detail: string): RefusalFacts {
  return { status: 404, code: 'not_found', detail }
}

export const noValidKey: RefusalFacts = {
  status: 401,
  code: 'unauthenticated',
  detail: 'A valid API key was expected in the header Authorization: Bearer <API_KEY>',
  headers: { 'WWW-Authenticate': 'Bearer' },
}

/** The same for a record that never existed, one that is gone, and one that the key cannot see. */
export function noRecord(id: string, objectType: string): RefusalFacts {
  return notFound(`No record ${describeValue(id)} of ${objectType}`)
}

/** A body that violates the object type's schema: the first violation, and all of them if there are several. */
export function schemaInvalid(violations: readonly Violation[]): RefusalFacts {
  const first = violations[0]!
  return {
    ...refusalFacts('schema_invalid', first.detail, first.field),
    errors: violations.length > 1 ? violations : undefined,
  }
}

/** The body on the wire. JSON drops members that are undefined. */
export function problemBody(facts: RefusalFacts, docsUrl: string, requestId: string) {
  return {
    type: `${docsUrl}/errors/${facts.code}`,
    title: TITLES[facts.status] ?? 'Error',
    status: facts.status,
    detail: facts.detail,
    code: facts.code,
    reason: facts.reason,
    field: facts.field,
    errors: facts.errors,
    request_id: requestId,
  }
}

/** An RFC 6901 reference token. */
export function pointerToken(name: string): string {
  return name.includes('~') || name.includes('/')
    ? name.replaceAll('~', '~0').replaceAll('/', '~1')
    : name
}

/** A short description of a value for a `detail`. */
export function describeValue(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (typeof value === 'object') return 'an object'
  if (value === Infinity) return 'a number of more digits than are kept'
  if (typeof value !== 'string') return JSON.stringify(value) ?? 'nothing'
  return JSON.stringify(value.length > 60 ? `${value.slice(0, 57)}...` : value)
}
