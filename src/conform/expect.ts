// What checks require of an answer. A service that is temporarily unavailable breaks no rule by that: such answers leave
// a rule unchecked, unless the rule is about them.

import { canonicalJson, isJsonObject, type Json } from '../core/json.ts'
import { Broken, Unchecked, type NotApplicable, type RuleFault } from './verdict.ts'
import { problemOf, type WireExchange } from './wire.ts'

const passing: readonly number[] = [429, 503, 504]

/** What the specification says about a refusal. */
export interface ExpectedRefusal {
  /** The stated statuses; default: any 4xx. */
  readonly statuses?: readonly number[]
  readonly code?: string
  readonly reason?: string
  /** The pointer to what is wrong in the request. */
  readonly field?: string
}

export const fault = (at: string, expected: string, got: string): RuleFault => ({
  at,
  expected,
  got,
})

export const broken = (exchange: WireExchange, ...found: Parameters<typeof fault>): Broken =>
  brokenBy(exchange, fault(...found))

function brokenBy(exchange: WireExchange, found: RuleFault, note = ''): Broken {
  const { line, sent, status, requestId } = exchange
  return new Broken({ request: line, sent, status, requestId, ...found }, note)
}

export const isSuccess = ({ status }: Pick<WireExchange, 'status'>): boolean =>
  status >= 200 && status < 300

/** @throws Unchecked if the service answers that it cannot answer now */
export function expectAvailable(exchange: WireExchange): void {
  if (!passing.includes(exchange.status)) return
  throw new Unchecked(`${exchange.line} was answered ${answerText(exchange)}`)
}

/** @throws Broken, Unchecked */
export function expectSuccess(exchange: WireExchange, statuses: readonly number[] = []): void {
  expectAvailable(exchange)
  const fits = statuses.length === 0 ? isSuccess(exchange) : statuses.includes(exchange.status)
  if (fits) return
  const expected = statuses.length === 0 ? 'a success' : `status ${statuses.join(' or ')}`
  throw broken(exchange, '', expected, answerText(exchange))
}

/** @throws Broken, Unchecked */
export function expectRefusal(exchange: WireExchange, refusal: ExpectedRefusal): void {
  const { statuses, code, reason, field } = refusal
  if (!statuses?.includes(exchange.status)) expectAvailable(exchange)
  const problem = problemOf(exchange)
  const fits =
    (statuses?.includes(exchange.status) ?? (exchange.status >= 400 && exchange.status < 500)) &&
    (code === undefined || problem['code'] === code) &&
    (reason === undefined || problem['reason'] === reason) &&
    (field === undefined || problem['field'] === field)
  if (fits) return
  const expected = [
    statuses ? `status ${statuses.join(' or ')}` : 'a refusal',
    ...[code, reason && `reason ${reason}`, field && `field ${field}`].filter(Boolean),
  ].join(', ')
  throw broken(exchange, '', expected, answerText(exchange, field !== undefined))
}

/** What an answer says, in the specification's words: `422 request_invalid, reason schema_invalid`. */
export function answerText(exchange: WireExchange, withField = false): string {
  const { status, headers, bytes } = exchange
  const { code, reason, field } = problemOf(exchange)
  if (status >= 400 && code !== undefined) {
    const parts = [
      `${status} ${plainWord(code)}`,
      ...(reason == null ? [] : [`reason ${plainWord(reason)}`]),
      ...(withField ? [field == null ? 'no field' : `field ${plainWord(field)}`] : []),
    ]
    return parts.join(', ')
  }
  const media = headers['content-type']?.split(';')[0] ?? 'no content type'
  return status >= 400 ? `${status}, ${plainWord(media)}, ${bytes} bytes` : `status ${status}`
}

/** A word as it came, if a specification could hold it; else only the kind of the value. */
export function plainWord(value: unknown): string {
  if (typeof value === 'string' && /^[\w./~:;=$+ -]{1,80}$/.test(value)) return value
  return valueKind(value)
}

/** The kind of a value, and nothing of its content. */
export function valueKind(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (isJsonObject(value)) return 'an object'
  if (typeof value === 'string') return value === '' ? 'an empty text' : 'a text'
  return `a ${typeof value}`
}

/** Whether the bodies are equal except for the ids of the requests. */
export function sameProblem(a: WireExchange, b: WireExchange): boolean {
  const bodies = [a, b].map((exchange) => {
    const { request_id: _, ...rest } = problemOf(exchange)
    return canonicalJson(rest as Json)
  })
  return a.status === b.status && bodies[0] === bodies[1]
}

/**
 * A rule about every answer of a kind.
 * @param faultOf null if an answer keeps the rule, undefined if the rule does not apply to it
 * @returns how many answers were checked
 * @throws Broken with the first fault and their number; `none` if there was no such answer
 */
export function everyAnswer(
  exchanges: readonly WireExchange[],
  faultOf: (exchange: WireExchange) => RuleFault | null | undefined,
  none: NotApplicable | Unchecked = new Unchecked('no such answer was seen'),
): string {
  let count = 0
  const faults: { exchange: WireExchange; found: RuleFault }[] = []
  for (const exchange of exchanges) {
    const found = faultOf(exchange)
    if (found === undefined) continue
    count += 1
    if (found) faults.push({ exchange, found })
  }
  if (count === 0) throw none
  const [first] = faults
  const answers = `${count} answer${count === 1 ? '' : 's'}`
  if (first) throw brokenBy(first.exchange, first.found, `${faults.length} of ${answers}`)
  return answers
}
