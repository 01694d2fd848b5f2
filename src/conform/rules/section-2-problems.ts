// Sections 2.10 and 2.12: the results of a batch, and the body of every error.

import { STATUS_CODES } from 'node:http'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import * as contract from '../../contract/index.ts'
import { fault, isSuccess, valueKind, plainWord } from '../expect.ts'
import type { Rule } from '../rule.ts'
import type { RuleFault } from '../verdict.ts'
import { dataItems, bodyMember, shapeRule } from '../shapes.ts'
import { answerRule } from '../rule-kinds.ts'
import { fieldsOf, problemOf, type WireExchange } from '../wire.ts'

const inBatches = <Part>(part: Part) => ({
  batchCreate: part,
  batchUpdate: part,
  batchUpsert: part,
  batchDelete: part,
})
const batchItems = inBatches(dataItems)
const codes: readonly unknown[] = contract.PROBLEM_CODES
/** RFC 6901: empty, or tokens in which `~` is escaped. */
const pointerForm = /^(?:\/(?:[^~/]|~[01])*)*$/

/** Every problem in an answer: its body if it is an error, those of its items if it is a batch. */
function problemsIn(
  exchange: WireExchange,
): { at: string; problem: JsonObject; status: unknown }[] {
  if (!isSuccess(exchange)) {
    if (exchange.status < 400) return []
    return [{ at: '', problem: problemOf(exchange) as JsonObject, status: exchange.status }]
  }
  if (exchange.operation === null || !(exchange.operation in batchItems)) return []
  return dataItems(exchange).flatMap(({ at, value }) => {
    const { problem, status } = fieldsOf(value)
    return isJsonObject(problem) ? [{ at: `${at}/problem`, problem, status }] : []
  })
}

function problemRule(
  word: string,
  text: string,
  faultOf: (problem: JsonObject, status: unknown) => RuleFault | null | undefined,
): Rule {
  return answerRule(`2.12.${word}`, text, (exchange) => {
    const faults = problemsIn(exchange).map(({ at, problem, status }) => {
      const found = faultOf(problem, status)
      return found && { ...found, at: at + found.at }
    })
    return faults.find(Boolean) ?? (faults.includes(null) ? null : undefined)
  })
}

export const section2Problems: readonly Rule[] = [
  shapeRule(
    '2.10.item',
    'A batch item result has index and status, and a record or a problem of their shapes.',
    contract.BatchItemResult,
    batchItems,
  ),
  shapeRule(
    '2.10.summary',
    'A batch answer has a summary of total, succeeded and failed.',
    contract.BatchSummary,
    inBatches(bodyMember('summary')),
  ),
  problemRule('fields', 'A problem has the texts type, title, detail and code.', (problem) => {
    const missing = ['type', 'title', 'detail', 'code'].find(
      (name) => typeof problem[name] !== 'string',
    )
    return missing === undefined
      ? null
      : fault(`/${missing}`, 'a text', valueKind(problem[missing]))
  }),
  problemRule('code', 'code is one of the nine of the closed set.', ({ code }) => {
    if (typeof code !== 'string') return undefined
    if (codes.includes(code)) return null
    return fault('/code', `one of ${contract.PROBLEM_CODES.join(', ')}`, plainWord(code))
  }),
  problemRule('type', 'type is {docs_url}/errors/<code>.', ({ type, code }) => {
    if (typeof type !== 'string' || typeof code !== 'string') return undefined
    if (type.endsWith(`/errors/${code}`)) return null
    return fault('/type', `a URI that ends in /errors/${plainWord(code)}`, plainWord(type))
  }),
  problemRule('title', 'title is the HTTP reason phrase of the status.', ({ title }, status) => {
    if (typeof title !== 'string' || typeof status !== 'number') return undefined
    // RFC 9110 renamed 413 and 422.
    const phrases = [contract.TITLES[status], STATUS_CODES[status], olderPhrases[status]]
    if (phrases.includes(title)) return null
    return fault('/title', phrases[0] ?? 'a reason phrase', plainWord(title))
  }),
  problemRule('status', 'status is the HTTP status.', (problem, status) => {
    if (problem['status'] === status) return null
    const got = problem['status']
    return fault('/status', String(status), typeof got === 'number' ? String(got) : valueKind(got))
  }),
  problemRule('field', 'field, where there is one, is an RFC 6901 pointer.', ({ field }) => {
    if (field == null) return undefined
    if (typeof field === 'string' && pointerForm.test(field)) return null
    return fault('/field', 'an RFC 6901 pointer', plainWord(field))
  }),
  problemRule(
    'errors',
    'errors, on a 422 only, holds {field, detail}; field is an RFC 6901 pointer.',
    ({ errors }, status) => {
      if (errors == null) return undefined
      if (status !== 422) return fault('/errors', 'nothing, on another status', valueKind(errors))
      if (!Array.isArray(errors)) return fault('/errors', 'a list', valueKind(errors))
      const wrong = errors.findIndex((each) => {
        const parsed = contract.FieldError.safeParse(each)
        return !parsed.success || !pointerForm.test(parsed.data.field)
      })
      return wrong < 0
        ? null
        : fault(
            `/errors/${wrong}`,
            'an object with field, a pointer, and detail',
            valueKind(errors[wrong]),
          )
    },
  ),
  problemRule('reason', 'reason, where there is one, is a text.', ({ reason }) => {
    if (reason == null) return undefined
    return typeof reason === 'string' ? null : fault('/reason', 'a text', valueKind(reason))
  }),
]

const olderPhrases: Readonly<Record<number, string>> = {
  413: 'Payload Too Large',
  422: 'Unprocessable Entity',
}
