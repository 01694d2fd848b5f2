// Validates answers. Promises kept here: an answer is accepted only if it is complete UTF-8 JSON of the right media type and
// shape; no foreign text reaches a message.

import { isAscii, isUtf8, transcode } from 'node:buffer'
import { Problem, type Operation, type OperationId } from '../contract/index.ts'
import { SendDeadlinePassed, ServiceFailure } from '../core/errors.ts'
import { isJsonObject, parseJson } from '../core/json.ts'
import { InvalidResponse, schemaOf, type Decode } from './decode.ts'
import {
  IS_OUTCOME_UNKNOWN,
  TOO_LARGE,
  requestDisposition,
  unverifiedTreatment,
  withKnownCode,
} from './disposition.ts'
import type { NoAnswer } from './network-errors.ts'
import { isRequestId, safeProblem } from './safe-problem.ts'
import { parseRetryAfter } from './pacer/headers.ts'
import type { WireAnswer } from './transport.ts'

/** An operation with its name, for messages. */
export interface NamedOperation {
  readonly id: OperationId
  readonly operation: Operation
  readonly type?: string | undefined
  /** Of the record that it is about. */
  readonly recordId?: string | undefined
}

/**
 * A create, or a batch create, that may have been carried out. The client never sends it again: look for the record by a property
 * that identifies it, then decide. Its `disposition` is `halt`.
 */
export class OutcomeUnknown extends ServiceFailure {}

/** A valid success answer. `body` is undefined if the status has none. */
export interface Success<Body> {
  readonly status: number
  readonly body: Body
  readonly requestId: string | undefined
}

/** @throws ServiceFailure of kind `problem` or `distrusted` */
export function readAnswer<Body>(
  named: NamedOperation,
  answer: WireAnswer,
  decode: Decode<Body>,
  nowMs: number,
): Success<Body> {
  const { status } = answer
  try {
    if (status >= 300 && status < 400)
      throw new InvalidResponse('redirects are not followed', redirectedTo(named, answer))
    if (status < 200 || status >= 300) throw problemFailure(named, answer, nowMs)
    const schema = schemaOf(named.operation, status)
    if (schema === undefined) throw new InvalidResponse('its status is not one of this operation')
    const { location } = answer.headers
    // For a create, section 4 promises only the status and `Location`.
    const mayBeEmpty = schema === null || (named.id === 'createRecord' && location !== undefined)
    const isEmpty = mayBeEmpty && answer.body.length === 0
    const json = isEmpty ? undefined : jsonOf(answer, 'application/json')
    return { status, body: decode(status, json, location), requestId: requestIdOf(answer, json) }
  } catch (error) {
    if (error instanceof ServiceFailure) throw error
    // Anything else that a hostile body can cause, such as nesting too deep for a schema, also counts as a reason.
    const why = error instanceof InvalidResponse ? error : new InvalidResponse('it cannot be read')
    throw invalidResponseFailure(named, answer, why, nowMs)
  }
}

/** The id of the record that a read of another one is redirected to; none for any other address. */
function redirectedTo(
  { id, recordId }: NamedOperation,
  { headers }: WireAnswer,
): string | undefined {
  const found = /\/records\/([^/?#]+)\/?(?:[?#].*)?$/.exec(headers['location'] ?? '')?.[1]
  if (id !== 'readRecord' || found === undefined) return undefined
  try {
    const other = decodeURIComponent(found)
    return other === recordId ? undefined : other
  } catch {
    return undefined
  }
}

/** A request without an answer, as the failure that every caller knows. */
export function noAnswerFailure(named: NamedOperation, error: NoAnswer): ServiceFailure {
  if (error.kind === 'late' && !error.mayBeSent)
    return new SendDeadlinePassed(`${named.id}: ${error.message}`, {
      kind: 'no_answer',
      disposition: 'retry',
      block: 'service',
      outcomeUnknown: false,
    })
  return failureOf(named, error.message, {
    kind: error.kind === 'distrusted' ? 'distrusted' : 'no_answer',
    disposition: error.kind === 'barred' ? 'halt' : 'retry',
    block: 'service',
    mayBeSize: error.mayBeSent,
    outcomeUnknown: named.operation.writes !== null && error.mayBeSent,
    isExplained: error.isExplained,
    leftLate: error.kind === 'late',
  })
}

function problemFailure(named: NamedOperation, answer: WireAnswer, nowMs: number): ServiceFailure {
  const { operation } = named
  const { status } = answer
  const json = jsonOf(answer, 'application/problem+json')
  const parsed = Problem.safeParse(withKnownCode(json, status))
  if (!parsed.success) throw new InvalidResponse('its body is not a problem with a known code')
  const problem = safeProblem(parsed.data)
  if (problem.status !== status)
    throw new InvalidResponse('its status is not the one of its problem')
  const reason = token(problem.reason)
  const words = reason === undefined ? problem.code : `${problem.code} (${reason})`
  const tooLarge = status === TOO_LARGE ? `: ${TOO_LARGE_WORDS}` : ''
  const said = `the service answered ${status} ${words}${placesOf(problem)}${aboutOf(named, status)}`
  return failureOf(named, `${said}${tooLarge}`, {
    kind: 'problem',
    mayBeSize: status >= 500 || problem.code === 'timeout',
    ...requestDisposition(operation, status, problem),
    outcomeUnknown:
      operation.writes !== null && status !== TOO_LARGE && IS_OUTCOME_UNKNOWN[problem.code],
    status,
    problemCode: problem.code,
    reason,
    field: problem.field ?? undefined,
    errors: (problem.errors ?? []).map((error) => ({
      field: error.field,
      reason: error.reason ?? null,
      detail: error.detail,
    })),
    requestId: requestIdOf(answer, problem),
    retryAfterMs: waitOf(answer, nowMs),
    detail: problem.detail,
  })
}

function invalidResponseFailure(
  named: NamedOperation,
  answer: WireAnswer,
  { message: why, otherId }: InvalidResponse,
  nowMs: number,
): ServiceFailure {
  const { status } = answer
  const isTooLarge = status === TOO_LARGE
  const words = isTooLarge
    ? `${TOO_LARGE_WORDS} (status ${status})`
    : `the answer (status ${status}) is not believed: ${why}`
  return failureOf(named, words, {
    kind: 'distrusted',
    ...unverifiedTreatment(named.operation, status),
    otherId,
    mayBeSize: status >= 500 || why === TORN,
    outcomeUnknown: named.operation.writes !== null && !isTooLarge,
    status,
    requestId: requestIdOf(answer, undefined),
    retryAfterMs: waitOf(answer, nowMs),
    ...(isTooLarge && { problemCode: 'request_invalid', detail: TOO_LARGE_WORDS }),
  })
}

const TOO_LARGE_WORDS = 'the request is too large'
const TORN = 'it is not complete JSON'

type Facts = ConstructorParameters<typeof ServiceFailure>[1]

/** The only place that makes the failure of a request: a request that must not be sent again never gets `retry`. */
function failureOf(
  { id, operation, type }: NamedOperation,
  words: string,
  told: Facts,
): ServiceFailure {
  const message = `${id}: ${words}`
  const facts = { ...told, objectType: type }
  if (!facts.outcomeUnknown || operation.replay) return new ServiceFailure(message, facts)
  const doubt = 'it may have been carried out, and is not sent again'
  return new OutcomeUnknown(`${message}; ${doubt}`, { ...facts, disposition: 'halt' })
}

/** @throws InvalidResponse */
function jsonOf({ headers, body }: WireAnswer, mediaType: string): object {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  if (encoding !== 'identity') throw new InvalidResponse('its content encoding is not identity')
  const [type, ...parameters] = (headers['content-type'] ?? '')
    .split(';')
    .map((part) => part.trim().toLowerCase())
  if (type === 'text/html')
    throw new InvalidResponse(
      `it is a web page, not ${mediaType}; check that the base URL is that of the service, not of its pages`,
    )
  if (type !== mediaType) throw new InvalidResponse(`its media type is not ${mediaType}`)
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset)) {
    throw new InvalidResponse('its charset is not utf-8')
  }
  if (!isUtf8(body)) throw new InvalidResponse('it is not UTF-8')
  let json: unknown
  try {
    json = parseJson(textOf(withoutMark(body)))
  } catch {
    throw new InvalidResponse(TORN)
  }
  if (!isJsonObject(json)) throw new InvalidResponse('it is not a JSON object')
  return json
}

/** RFC 8259 section 8.1 lets a reader leave a byte order mark out. */
export const withoutMark = (body: Buffer): Buffer =>
  body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? body.subarray(3) : body

/** A text of UTF-8. By way of UTF-16 it takes half the time, unless it is ASCII. */
const textOf = (body: Buffer): string =>
  isAscii(body) ? body.toString('latin1') : transcode(body, 'utf8', 'utf16le').toString('utf16le')

/** The id from the body, or from the one header that matches `*-Request-Id`. Ignored unless printable. */
function requestIdOf({ headers }: WireAnswer, json: unknown): string | undefined {
  const told = (json as { request_id?: unknown } | undefined)?.request_id
  const names = Object.keys(headers).filter((name) => name.endsWith('-request-id'))
  const id = typeof told === 'string' ? told : names.length === 1 ? headers[names[0]!] : undefined
  return id !== undefined && isRequestId(id) ? id : undefined
}

const PLACES_MAX = 3

/**
 * Where a problem points, and why, as far as these are plain pointers into the request: names of properties and positions, never a
 * value. The service's words about them may quote values: they are the failure's `detail` and `errors`.
 */
function placesOf({ field, errors, reason: ofProblem }: Problem): string {
  const reasons = new Map<string, string | undefined>()
  for (const each of [{ field: field ?? '', reason: null }, ...(errors ?? [])]) {
    if (!/^(?:\/\w{1,64}){1,8}$/.test(each.field)) continue
    const reason = each.reason === ofProblem ? undefined : token(each.reason)
    reasons.set(each.field, reasons.get(each.field) ?? reason)
  }
  const named = [...reasons]
    .slice(0, PLACES_MAX)
    .map(([pointer, reason]) => (reason === undefined ? pointer : `${pointer} (${reason})`))
  if (named.length === 0) return field === '' ? ' at the body' : ''
  const more = reasons.size - named.length
  return ` at ${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** The object type; where it was not found, the record too. */
function aboutOf({ type, recordId }: NamedOperation, status: number): string {
  if (type === undefined) return ''
  const isRecord = status === 404 && recordId !== undefined && /^\d{1,20}$/.test(recordId)
  return ` for ${isRecord ? `record ${recordId} of ${type}` : type}`
}

const waitOf = ({ headers }: WireAnswer, nowMs: number): number | undefined =>
  parseRetryAfter(headers['retry-after'], nowMs, headers['date']) ?? undefined

/** The service's reason, if it has the form of one: it goes into messages and logs. */
function token(reason: string | null | undefined): string | undefined {
  return reason != null && /^[a-z][a-z0-9_]{0,63}$/.test(reason) ? reason : undefined
}
