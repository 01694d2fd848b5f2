// A rule of the specification, as this kit checks it; the result is a verdict.

import type { RuleContext } from './rule-context.ts'
import { Broken, NotApplicable, Unchecked, type RuleVerdict } from './verdict.ts'

/**
 * When a rule is checked: `reads` write nothing; `writes` need a type in which scratch records may be created; `answers` check
 * every answer that came, at the end.
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
   * Returns if the service keeps the rule, with anything worth saying about it.
   * @throws Broken, NotApplicable, Unchecked
   */
  check(kit: RuleContext): Promise<string | void> | string | void
}

/** The verdict of `check`. An error that is not one of the three is a mistake of the kit, and is thrown on. */
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
