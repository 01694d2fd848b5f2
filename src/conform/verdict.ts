// The possible verdicts on a rule: kept, broken with the evidence, not applicable, or not checked and why.
// Promise kept here: evidence holds what was expected and what kind of value came, never a value of a record that existed
// before, and never a key.

/** Where an answer departs from a rule. */
export interface RuleFault {
  /** A header, or an RFC 6901 pointer into the answer's body; empty if the answer as a whole is meant. */
  readonly at: string
  readonly expected: string
  readonly got: string
}

/** The proof of a broken rule: a request, and what is wrong with its answer. */
export interface Evidence extends RuleFault {
  /** `POST /rest/v1/objects/svc_contact/records/query/`, without key, cursor and record id. */
  readonly request: string
  /** The part of the request that matters, or empty. */
  readonly sent: string
  readonly status: number
  /** The service's id of the request, for its own logs. */
  readonly requestId: string | null
}

export type RuleVerdict =
  | { readonly kind: 'kept'; readonly note: string }
  | { readonly kind: 'broken'; readonly evidence: Evidence; readonly note: string }
  | { readonly kind: 'not_applicable'; readonly why: string }
  | { readonly kind: 'unchecked'; readonly why: string }

/** The service does not keep the rule. */
export class Broken extends Error {
  readonly evidence: Evidence
  readonly note: string
  constructor(evidence: Evidence, note = '') {
    super(evidence.expected)
    this.evidence = evidence
    this.note = note
  }
}

/** The rule is about something that this service, or this key, does not have. */
export class NotApplicable extends Error {}

/** The rule could not be checked; the message says what was missing. */
export class Unchecked extends Error {}

/** The section that a rule's id begins with: `4.3.1` of `4.3.1.null-clears`. */
export const ruleSection = (id: string): string => id.slice(0, id.lastIndexOf('.'))
