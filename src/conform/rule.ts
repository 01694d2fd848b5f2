// What a rule of the specification is to this kit; what can be said of one is a verdict.

import type { RuleContext } from './rule-context.ts'
import { Broken, NotApplicable, Unchecked } from './verdict.ts'
import type { RuleVerdict } from './verdict.ts'

/**
 * When a rule is asked: `reads` write nothing; `writes` need a type that scratch records may be made of; `answers` look
 * at every answer that came, at the end.
 */
export const RULE_PHASES = ['reads', 'writes', 'answers'] as const
export type RulePhase = (typeof RULE_PHASES)[number]

export interface Rule {
  /** The section of the specification, a dot, and a word: `4.6.empty-and`. Stable. */
  readonly id: string
  /** The rule, as one sentence. */
  readonly text: string
  readonly phase: RulePhase
  /**
   * Returns where the rule is kept, with what is worth saying about it.
   * @throws Broken, NotApplicable, Unchecked
   */
  check(kit: RuleContext): Promise<string | void> | string | void
}

/** What `check` came to. Anything that is not one of the three is a mistake of the kit, and thrown on. */
export async function ruleVerdict(rule: Rule, kit: RuleContext): Promise<RuleVerdict> {
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
