// Reports how a run has ended, to the person or program that followed it, and gives the exit code.

import { countNeedsPerson } from '../../core/domain/books.ts'
import { lookOf, type RunLook } from '../../core/domain/run-states.ts'
import type { NotedDifference, Run } from '../../ledger/ledger.ts'
import { readRunAccount, type RunAccount } from '../../report/account.ts'
import { nextStepOf, printFirstDifferences, readFirstDifferences } from '../views/differences.ts'
import { printRunAccount, runPurposeText, runToJson } from '../views/run-summary.ts'
import { EXIT, exitCodeOf, withLedger, type CommandContext } from '../shared/context.ts'
import { hintHere } from '../shared/hint-here.ts'
import { innermostMessage, isConfigFailure, type FollowResult } from '../shared/follow.ts'
import { LedgerUnreachable, type LedgerRetry } from '../shared/ledger-retry.ts'
import { messageLines, safeText, type Terminal } from '../shared/terminal.ts'
import { ServerAway } from '../shared/wait-for-end.ts'
import { printJson } from '../json.ts'

/** Reports a run that has ended, or whose end is not known here. Gives the exit code. */
export async function reportEnd(
  context: CommandContext,
  followed: FollowResult & { kind: 'ended' },
  { patience, workflowId }: { patience: LedgerRetry; workflowId: string },
): Promise<number> {
  const { run } = followed
  let account: RunAccount | null = null
  let first: readonly NotedDifference[] = []
  let { error } = followed
  // The books are read once more; while the ledger stays away, the end is not known here.
  if (run && !isAway(error))
    try {
      const read = () =>
        withLedger(context, async (ledger) => {
          const found = await readRunAccount(ledger, run)
          const { differences = null } = found ?? {}
          first = differences ? await readFirstDifferences(ledger, run.id, differences) : []
          return found
        })
      account = (await patience.until(read))?.value ?? null
    } catch (failure) {
      if (!(failure instanceof LedgerUnreachable)) throw failure
      error ??= failure
    }
  if (isAway(error)) return printUnknown(context, run, error)
  if (error !== null || !run) {
    const message =
      error === null
        ? `${workflowId} has ended, and the ledger of ${context.configFile} has no run of it: the worker that took it has another ledger, or the ledger was replaced`
        : // The form that is below is one of the Temporal UI.
          innermostMessage(error).replace(/\.? Copy what to write from below$/, '')
    printFailed(context, run, { account, message })
    return isConfigFailure(error) ? EXIT.usage : EXIT.stopped
  }
  if (context.json) printJson(context.terminal, runToJson(run, account))
  else {
    const isNext = account?.differences != null
    const hint = isNext ? await hintHere(context, run.sync) : context.hint
    printEnded({ terminal: context.terminal, hint }, run, account, first)
  }
  return exitCodeOf(run.state)
}

const isAway = (error: unknown): error is ServerAway | LedgerUnreachable =>
  error instanceof ServerAway || error instanceof LedgerUnreachable

function printUnknown(
  context: CommandContext,
  run: Run | null,
  { code, message }: ServerAway | LedgerUnreachable,
): number {
  const { terminal } = context
  if (context.json)
    printJson(terminal, { ...(run && runToJson(run, null)), error: { code, message } })
  else {
    const see = context.hint(run ? `show ${run.id}` : 'status')
    terminal.err(terminal.style('yellow', `${message}. See it: ${see}`))
  }
  return EXIT.unknown
}

function printFailed(
  { terminal, json }: CommandContext,
  run: Run | null,
  { account, message }: { account: RunAccount | null; message: string },
): void {
  if (json) {
    printJson(terminal, { ...(run && runToJson(run, account)), error: { message } })
    return
  }
  if (run) printHead(terminal, run)
  for (const line of messageLines(safeText(message, 4_000)))
    terminal.err(terminal.style('red', line))
  if (run && account) printRunAccount(terminal, account)
}

const printHead = (terminal: Terminal, { id, sync, state }: Run) =>
  terminal.out(`Run ${id} of ${sync}: ${terminal.style('bold', state)}`)

function printEnded(
  context: Pick<CommandContext, 'terminal' | 'hint'>,
  run: Run,
  account: RunAccount | null,
  first: readonly NotedDifference[],
): void {
  const { terminal } = context
  printHead(terminal, run)
  const about = runPurposeText(run)
  if (about !== null) terminal.out(`  ${safeText(about, 300)}`)
  for (const warning of run.warnings)
    terminal.out(terminal.style('yellow', `  ${safeText(warning, 1_000)}`))
  if (account) printRunAccount(terminal, account)
  printFirstDifferences(terminal, run.kind, first)
  const next = account?.differences
    ? nextStepOf(context, run, account.differences)
    : whatToSee(context, run)
  if (next !== null) terminal.out(`  ${next}`)
}

/** Where a person sees what a run of this state left, if anything. */
export function whatToSee(
  { hint }: Pick<CommandContext, 'hint'>,
  { id, state, counts }: Pick<Run, 'id' | 'state' | 'counts'>,
): string | null {
  // The files of `rejects` have rows; links are counted where the run is shown.
  const isOfLinks = counts !== null && countNeedsPerson(counts) === 0
  const look = lookOf(state)
  const steps: Readonly<Record<RunLook, string | null>> = {
    blocked: null,
    rejects: isOfLinks
      ? `The links: ${hint(`show ${id}`)}`
      : `The rejects: ${hint(`rejects ${id}`)}`,
    differences: `What differs: ${hint(`show ${id}`)}`,
  }
  return look && steps[look]
}
