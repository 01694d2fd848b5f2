// Ends the process of a local run before the run has ended. Promise kept here: what is said of the run is said after its parts have
// stopped, so the next start finds it like that.

import { LIVE_STATES } from '../../core/domain/books.ts'
import { approveCommand } from '../../core/domain/limit-exceeded.ts'
import { SyncError } from '../../core/errors.ts'
import type { Ledger, Run } from '../../ledger/ledger.ts'
import { runToJson } from '../views/run-summary.ts'
import { EXIT, type CommandContext } from '../shared/context.ts'
import { originOfRun } from '../shared/dev-service.ts'
import type { LocalParts } from '../shared/local.ts'
import { waitsForPerson } from '../shared/local-wait.ts'
import { countText, formatNumber, messageLines } from '../shared/terminal.ts'
import { printJson } from '../json.ts'

/** Stops the parts. Returns the run as they leave it, ended if it has in the meantime, null if it was not opened; and where it writes to. */
export async function stopParts(
  context: CommandContext,
  local: LocalParts,
  seen: Run | null,
): Promise<{ readonly run: Run | null; readonly done: string; readonly origin: string | null }> {
  context.terminal.err('Stopping: batches in flight are settled first. Once more ends at once.')
  await local.stop()
  if (seen === null) return { run: null, done: '', origin: null }
  const ledger = await context.openLedger()
  try {
    const run = (await ledger.run(seen.id)) ?? seen
    const origin = await originOfRun(ledger, run)
    return { run, done: await doneText(ledger, run), origin }
  } finally {
    await ledger.close()
  }
}

/** Whether a run has ended. */
export const isOver = (run: Run | null): run is Run =>
  run !== null && !LIVE_STATES.includes(run.state)

/** A part of this process has ended unasked: the run is where it was. */
export const leftByParts = ({ code, message, details }: SyncError, goOn: string): SyncError =>
  new SyncError(code, `${message}. What is done is kept. Go on with it: ${goOn}`, details)

/** Whether all of these runs wait for a person, and nobody is here to decide or to wait. */
export const areAsked = (
  { terminal }: Pick<CommandContext, 'terminal'>,
  { wait }: { readonly wait?: boolean | undefined },
  live: readonly Run[],
): boolean => live.length > 0 && terminal.isScreen !== true && !wait && live.every(waitsForPerson)

/**
 * Reports runs that wait for a decision, to a script that does not wait with them.
 * @param goOn the command that goes on with runs of this process; null where a worker keeps them
 */
export function printQuestion(
  { terminal, json, hint }: Pick<CommandContext, 'terminal' | 'json' | 'hint'>,
  runs: readonly Run[],
  { goOn, account }: { readonly goOn: string | null; readonly account?: object },
): number {
  const lines = runs.map(
    (run) =>
      `Run ${run.id} of ${run.sync} waits for a person: ${run.message ?? 'approval'}. To allow it: ${hint(approveCommand(run))}; to leave it undone: ${hint(`reject ${run.id}`)}`,
  )
  const message = [
    ...lines,
    ...(goOn === null ? [] : [`The run works only while this goes on: ${goOn} --wait`]),
  ].join('. ')
  const error = { code: 'blocked_approval', message }
  if (json) printJson(terminal, { ...(account ?? runToJson(runs[0]!, null)), error })
  else for (const line of messageLines(message)) terminal.err(terminal.style('yellow', line))
  return EXIT.stopped
}

/** Reports a run that was left. @param again the command that goes on with it */
export function printLeft(
  { terminal, json, hint }: CommandContext,
  of: {
    readonly run: Run | null
    readonly done: string
    readonly again: string
    /** It was not a person who left it: it cannot go on by itself. */
    readonly isBlocked: boolean
  },
): number {
  const { run, done, again } = of
  if (of.isBlocked && run && waitsForPerson(run))
    return printQuestion({ terminal, json, hint }, [run], { goOn: again })
  if (of.isBlocked && run?.state === 'blocked') {
    const message = `Run ${run.id} is ${run.message ?? `blocked: ${run.reason}`}`
    const next = `Put that right, and go on with it: ${again}. Or end it: ${hint(`dev --no-service -- cancel ${run.id}`)}`
    const error = { code: `blocked_${run.reason}`, message: `${message}. ${next}` }
    if (json) printJson(terminal, { ...runToJson(run, null), error })
    else {
      for (const line of messageLines(message)) terminal.err(terminal.style('red', line))
      for (const line of messageLines(next)) terminal.err(line)
    }
    return EXIT.stopped
  }
  const what = run === null ? 'The run has not begun' : `Run ${run.id} stays where it is${done}`
  const message = `${what}. Go on with it: ${again}`
  const error = { code: 'interrupted', message }
  if (json) printJson(terminal, { ...(run && runToJson(run, null)), error })
  else terminal.err(terminal.style('yellow', message))
  return EXIT.unknown
}

async function doneText(ledger: Ledger, run: Run): Promise<string> {
  if (run.kind !== 'import') return ''
  const { read, planned, created, updated, skipped, rejected } = await ledger.progress(run.id)
  if (run.rowsRead === null) return `: ${countText(read, 'row was', 'rows were')} read`
  const settled = created + updated + skipped + rejected
  return `: ${formatNumber(settled)} of ${countText(planned, 'row')} ${settled === 1 ? 'is' : 'are'} settled`
}
