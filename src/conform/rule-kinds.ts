// The kinds of rules: what is checked by reading, by writing, or on every answer; and refusals, as data.

import { everyAnswer, expectRefusal, expectSuccess, type ExpectedRefusal } from './expect.ts'
import type { Rule, RulePhase } from './rule.ts'
import type { RuleContext } from './rule-context.ts'
import type { ScratchRecords } from './scratch-records.ts'
import type { RuleCall } from './types.ts'
import type { NotApplicable, RuleFault, Unchecked } from './verdict.ts'
import type { WireExchange } from './wire.ts'

/** Requests, or what makes them from a subject. */
export type Requested<Subject> =
  | RuleCall
  | readonly RuleCall[]
  | ((subject: Subject) => RuleCall | readonly RuleCall[])

export interface RefusalRow<Subject> extends Pick<Rule, 'id' | 'text'> {
  /** Default: `reads`. */
  readonly phase?: RulePhase
  /** What the requests are about. @throws NotApplicable, Unchecked */
  readonly of?: (kit: RuleContext) => Subject | Promise<Subject>
  /** Sent first; the service must accept them. */
  readonly accepted?: Requested<Subject>
  /** The statuses of an accepted request; empty: any success. Default: 200. */
  readonly statuses?: readonly number[]
  /** The service must refuse each of them. */
  readonly refused: Requested<Subject>
  readonly refusal: ExpectedRefusal
  /** What is worth saying if the service keeps the rule. */
  readonly note?: (subject: Subject) => string
}

/** A rule that requests are refused, and how. */
export function refusalRule<Subject>(row: RefusalRow<Subject>): Rule {
  const { id, text, phase = 'reads', accepted = [], statuses = [200], refused, refusal } = row
  return {
    id,
    text,
    phase,
    async check(kit) {
      const subject = (await row.of?.(kit)) as Subject
      for (const call of callsOf(accepted, subject)) {
        expectSuccess(await kit.call(call), statuses)
      }
      for (const call of callsOf(refused, subject)) expectRefusal(await kit.call(call), refusal)
      return row.note?.(subject)
    },
  }
}

function callsOf<Subject>(requested: Requested<Subject>, subject: Subject): RuleCall[] {
  return [typeof requested === 'function' ? requested(subject) : requested].flat()
}

/** A rule that is checked without writing. */
export const readRule = (id: string, text: string, check: Rule['check']): Rule => ({
  id,
  text,
  phase: 'reads',
  check,
})

/** A rule that needs scratch records. */
export const writeRule = (
  id: string,
  text: string,
  check: (bench: ScratchRecords, kit: RuleContext) => ReturnType<Rule['check']>,
): Rule => ({ id, text, phase: 'writes', check: async (kit) => await check(kit.bench(), kit) })

/** A rule that a request without parameters is accepted. */
export const acceptedRule = (id: string, text: string, call: RuleCall): Rule =>
  readRule(id, text, async (kit) => expectSuccess(await kit.call(call), [200]))

/** A rule about every answer of a kind; `faultOf` and `none` as in `everyAnswer`. */
export const answerRule = (
  id: string,
  text: string,
  faultOf: (exchange: WireExchange) => RuleFault | null | undefined,
  none?: NotApplicable | Unchecked,
): Rule => ({
  id,
  text,
  phase: 'answers',
  check: ({ exchanges }) => everyAnswer(exchanges, faultOf, none),
})
