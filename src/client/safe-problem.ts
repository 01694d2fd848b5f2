// Problems as a service gives them, safe to keep and to show. Promise kept here: no text of a problem steers a terminal, breaks a line or is
// longer than a person reads; a reason is a word for programs.

import type { Problem } from '../contract/index.ts'
import { safeReason, safeText } from '../core/safe-text.ts'

const DETAIL_CHARS_MAX = 2_000
const POINTER_CHARS_MAX = 500
const WORD_CHARS_MAX = 200
const ERRORS_MAX = 100

export const isRequestId = (text: string): boolean => /^[\x21-\x7e]{1,200}$/.test(text)

type Some = string | null | undefined
const safeOr = (text: Some, safe: (text: string) => string): Some => (text ? safe(text) : text)

interface Said {
  readonly detail: string
  readonly field?: Some
  readonly reason?: Some
}

const safeParts = <Part extends Said>(part: Part): Part => ({
  ...part,
  detail: safeText(part.detail, DETAIL_CHARS_MAX),
  field: safeOr(part.field, (field) => safeText(field, POINTER_CHARS_MAX)),
  reason: safeOr(part.reason, safeReason),
})

/** The same problem, as it may be kept. */
export function safeProblem<Wire extends Problem>(problem: Wire): Wire {
  const { type, title, errors, request_id: id } = problem
  return {
    ...safeParts(problem),
    type: safeText(type, WORD_CHARS_MAX),
    title: safeText(title, WORD_CHARS_MAX),
    errors: errors?.slice(0, ERRORS_MAX).map(safeParts),
    request_id: id && !isRequestId(id) ? null : id,
  }
}
