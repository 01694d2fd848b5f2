// What waits for a person: the updates `approve` and `reject`, and what no answer means.

import { condition, setHandler } from '@temporalio/workflow'
import type { DeletionVerdict } from '../activities/index.ts'
import { ApprovalInput, approveUpdate, rejectUpdate, type ApprovalAnswer } from './messages.ts'
import { stacklessFailure, parseInput } from './run.ts'
import { isPlanNamed, shownDigest, type PlanToApprove } from '../src/core/domain/limit-exceeded.ts'

export interface Approvals {
  /**
   * Waits for the verdict on `rows` of what `stream` names. No verdict within `timeoutMs` counts as rejected.
   * @param what the thing that waits, for the summary. Default: the number of rows
   * @param plan what it does, where all of it was looked up: a verdict may name it, and no other one
   */
  ask(
    stream: string,
    rows: number,
    timeoutMs: number,
    what?: string,
    plan?: PlanToApprove | null,
  ): Promise<DeletionVerdict & { isTimeout: boolean }>
}

const WHAT = {
  rows: {
    approve: 'Lets the rows that wait be sent.',
    reject: 'Sends none of the rows that wait, and ends the run.',
    example: 'Input: nothing, or {"plan": "the first 12 characters of its digest"}.',
  },
  deletions: {
    approve: 'Lets the deletions that wait be made.',
    reject: 'Leaves the rows that would be deleted where they are.',
    example: 'Input: {"stream": "svc_contact"}, or nothing for all that wait.',
  },
} as const

/** Accepts the updates from now on. It refuses an update that nothing waits for. */
export function takeApprovals(what: keyof typeof WHAT): Approvals {
  const asked = new Map<string, { approved: boolean | null; plan: PlanToApprove | null }>()
  const undecided = () => [...asked].filter(([, { approved }]) => approved === null)

  const isOfPlan = (name: string, plan: string): boolean => {
    const waits = asked.get(name)?.plan ?? null
    return waits !== null && isPlanNamed(plan, waits)
  }

  /** The streams that an update applies to. */
  const chosen = (input: unknown): readonly string[] => {
    const { stream, plan } = parseInput(ApprovalInput, input, { stream: 'svc_contact' })
    const waiting = undecided().map(([name]) => name)
    if (waiting.length === 0)
      throw stacklessFailure('Nothing waits for approval in this run now', 'NothingWaits')
    const other = plan === null ? undefined : waiting.find((name) => !isOfPlan(name, plan))
    if (other !== undefined) throw otherPlan(asked.get(other)?.plan ?? null, plan!)
    if (stream === null) return waiting
    if (waiting.includes(stream)) return [stream]
    const wrong = JSON.stringify(stream.slice(0, 100))
    throw stacklessFailure(
      `${wrong} does not wait for approval; waiting: ${waiting.join(', ')}`,
      'NotWaiting',
    )
  }
  const decide =
    (approved: boolean) =>
    (input: unknown): ApprovalAnswer => {
      const streams = chosen(input)
      for (const stream of streams)
        asked.set(stream, { approved, plan: asked.get(stream)?.plan ?? null })
      return { streams }
    }
  const validator = (input: unknown) => void chosen(input)
  const { example, ...does } = WHAT[what]
  setHandler(approveUpdate, decide(true), {
    validator,
    description: `${does.approve} ${example}`,
  })
  setHandler(rejectUpdate, decide(false), {
    validator,
    description: `${does.reject} ${example}`,
  })

  return {
    async ask(stream, rows, timeoutMs, what = `${rows} rows`, plan = null) {
      asked.set(stream, { approved: null, plan })
      const isDecided = await condition(() => asked.get(stream)?.approved !== null, timeoutMs, {
        summary: `approval of ${what} of ${stream} runs out`,
      })
      const approved = asked.get(stream)?.approved ?? false
      asked.delete(stream)
      return { approved, rows, isTimeout: !isDecided }
    },
  }
}

/** The failure of a verdict on a plan that does not wait. */
function otherPlan(waits: PlanToApprove | null, named: string): Error {
  const wrong = JSON.stringify(named.slice(0, 100))
  const is =
    waits === null
      ? 'no plan waits in this run; leave it out'
      : `the plan that waits is that of run ${waits.number}, with the digest ${shownDigest(waits.digest)}`
  return stacklessFailure(`${wrong} is not the plan that waits: ${is}`, 'OtherPlan')
}
