// What waits for a person: the updates `approve` and `reject`, and what no answer means.

import { condition, setHandler } from '@temporalio/workflow'
import type { DeletionVerdict } from '../activities/index.ts'
import { ApprovalInput, approveUpdate, rejectUpdate, type ApprovalAnswer } from './messages.ts'
import { stacklessFailure, parseInput } from './run.ts'

export interface Approvals {
  /**
   * Waits for the verdict on `rows` of what `stream` names. No verdict within `timeoutMs` counts as rejected.
   * @param what the thing that waits, for the summary. Default: the number of rows
   */
  ask(
    stream: string,
    rows: number,
    timeoutMs: number,
    what?: string,
  ): Promise<DeletionVerdict & { isTimeout: boolean }>
}

const WHAT = {
  rows: {
    approve: 'Lets the rows that wait be sent.',
    reject: 'Sends none of the rows that wait, and ends the run.',
    example: 'Input: nothing.',
  },
  deletions: {
    approve: 'Lets the deletions that wait be made.',
    reject: 'Leaves the rows that would be deleted where they are.',
    example: 'Input: {"stream": "svc_contact"}, or nothing for all that wait.',
  },
} as const

/** Accepts the updates from now on. It refuses an update that nothing waits for. */
export function takeApprovals(what: keyof typeof WHAT): Approvals {
  const asked = new Map<string, { approved: boolean | null }>()
  const undecided = () => [...asked].filter(([, { approved }]) => approved === null)

  /** The streams that an update applies to. */
  const chosen = (input: unknown): readonly string[] => {
    const stream = parseInput(ApprovalInput, input, { stream: 'svc_contact' })
    const waiting = undecided().map(([name]) => name)
    if (waiting.length === 0)
      throw stacklessFailure('Nothing waits for approval in this run now', 'NothingWaits')
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
      for (const stream of streams) asked.set(stream, { approved })
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
    async ask(stream, rows, timeoutMs, what = `${rows} rows`) {
      asked.set(stream, { approved: null })
      const isDecided = await condition(() => asked.get(stream)?.approved !== null, timeoutMs, {
        summary: `approval of ${what} of ${stream} runs out`,
      })
      const approved = asked.get(stream)?.approved ?? false
      asked.delete(stream)
      return { approved, rows, isTimeout: !isDecided }
    },
  }
}
