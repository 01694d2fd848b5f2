// What a rule of the specification is to this kit, and what can be said of it: kept, broken with the evidence, not
// applicable, or not checked and why. Promise kept here: evidence holds what was expected and what kind of thing came,
// never a value of a record that was there before, and never a key.

import type { Kit } from './kit.ts'

/**
 * When a rule is asked: `reads` write nothing; `writes` need a type that scratch records may be made of; `answers` look
 * at every answer that came, at the end.
 */
export const PHASES = ['reads', 'writes', 'answers'] as const
export type Phase = (typeof PHASES)[number]

export interface Rule {
  /** The section of the specification, a dot, and a word: `4.6.empty-and`. Stable. */
  readonly id: string
  /** The rule, as one sentence. */
  readonly text: string
  readonly phase: Phase
  /**
   * Returns where the rule is kept, with what is worth saying about it.
   * @throws Broken, NotApplicable, Unchecked
   */
  check(kit: Kit): Promise<string | void> | string | void
}

/** Where an answer departs from a rule. */
export interface Fault {
  /** A header, or an RFC 6901 pointer into the answer's body; empty where the answer as a whole is meant. */
  readonly at: string
  readonly expected: string
  readonly got: string
}

/** The proof of a broken rule: a request, and what is wrong with its answer. */
export interface Evidence extends Fault {
  /** `POST /rest/v1/objects/svc_contact/records/query/`, without key, cursor and record id. */
  readonly request: string
  /** What in the request matters, or empty. */
  readonly sent: string
  readonly status: number
  /** As the service named the request, for its own logs. */
  readonly requestId: string | null
}

export type Verdict =
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

/** The rule speaks of something that this service, or this key, does not have. */
export class NotApplicable extends Error {}

/** Nothing can be said of the rule, for want of what the message says. */
export class Unchecked extends Error {}

/** What `check` came to. Anything that is not one of the three is a mistake of the kit, and thrown on. */
export async function verdictOf(rule: Rule, kit: Kit): Promise<Verdict> {
  try {
    return { kind: 'kept', note: (await rule.check(kit)) ?? '' }
  } catch (error) {
    if (error instanceof Broken)
      return { kind: 'broken', evidence: error.evidence, note: error.note }
    if (error instanceof NotApplicable) return { kind: 'not_applicable', why: error.message }
    if (error instanceof Unchecked) return { kind: 'unchecked', why: error.message }
    throw error
  }
}

/** The section that a rule's id begins with: `4.3.1` of `4.3.1.null-clears`. */
export const sectionOf = (id: string): string => id.slice(0, id.lastIndexOf('.'))
