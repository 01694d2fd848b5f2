// What a run in one terminal does while something holds it up. What mends itself, or what another terminal decides, is waited for; what
// a person has to put right ends the process, and the next start goes on with the run. Promise kept here: no such wait is silent, and
// one that nobody watches is bounded.

import { approveCommand } from '../../core/domain/limit-exceeded.ts'
import type { BlockReason } from '../../core/errors.ts'
import { systemClock } from '../../core/ports.ts'
import type { Run } from '../../ledger/ledger.ts'
import type { CommandContext } from './context.ts'
import { screenLines } from './terminal.ts'

/** So long one that nobody watches is held up before its process ends. */
export const UNWATCHED_MAX_MS = 10 * 60_000

/** What ends the process: waiting does not help. */
const ENDS: Readonly<Record<BlockReason, boolean>> = {
  auth: true,
  permission: true,
  contract: true,
  service: false,
  ledger: false,
  warehouse: false,
  disk: false,
  approval: false,
}

/** Whether a person has to put something right before the run can go on. */
export const isForPerson = ({ state, reason }: Pick<Run, 'state' | 'reason'>): boolean =>
  state === 'blocked' && reason !== null && reason !== 'abandoned' && ENDS[reason]

/**
 * Whether the run waits for a decision. Where nobody watches, the command ends with the question (exit code 3), unless `--wait` is
 * given; the run itself waits as long as `approval_hours` says.
 */
export const waitsForPerson = ({ state, reason }: Pick<Run, 'state' | 'reason'>): boolean =>
  state === 'blocked' && reason === 'approval'

/** Reports, once for each cause, what a local run waits for; gives whether the process ends. */
export function createLocalWait(
  { terminal, hint }: Pick<CommandContext, 'hint' | 'terminal'>,
  {
    again,
    endsForPerson,
    waits,
    clock = systemClock,
  }: {
    /** The command that goes on with the run. */
    readonly again: string
    /** Whether what is seen is news: a run may be left with a cause that is put right since. */
    readonly endsForPerson: boolean
    /** `--wait`: a decision is waited for. */
    readonly waits: boolean | undefined
    readonly clock?: Pick<typeof systemClock, 'now'>
  },
): (run: Run | null) => boolean {
  let since: number | null = null
  let reported: string | null = null
  return (run) => {
    const isHeld = run !== null && (run.state === 'blocked' || run.state === 'paused')
    if (!isHeld) {
      since = null
      reported = null
      return false
    }
    since ??= clock.now()
    if (endsForPerson && isForPerson(run)) return true
    if (terminal.isScreen !== true)
      return waitsForPerson(run) ? waits !== true : clock.now() - since >= UNWATCHED_MAX_MS
    const cause = `${run.state} ${run.reason}`
    if (cause !== reported) {
      reported = cause
      const text = `${waitText(run, hint)} Ctrl-C leaves the run; ${again} goes on with it.`
      for (const line of screenLines(text, 0)) terminal.err(line)
    }
    return false
  }
}

function waitText({ id, message, state, reason }: Run, hint: CommandContext['hint']): string {
  if (state === 'paused')
    return `Run ${id} is paused; in another terminal: ${hint(`resume ${id}`)}.`
  if (reason === 'approval')
    return `Run ${id} waits for a person; in another terminal: ${hint(approveCommand({ id, message }))}, or reject.`
  return `Run ${id} is blocked, and tried again by itself.`
}
