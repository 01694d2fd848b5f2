// `records-sync pause RUN`, `resume RUN` and `cancel RUN`.

import { osActor } from '../../actions/recorded.ts'
import { controlRun } from '../../actions/control-run.ts'
import { LIVE_STATES } from '../../core/domain/books.ts'
import type { Run } from '../../ledger/ledger.ts'
import { readRunAccount } from '../../report/account.ts'
import { printRunAccount, runToJson } from '../views/run-summary.ts'
import { untilRun } from '../shared/ask-again.ts'
import { EXIT, withLedger, type CommandContext } from '../shared/context.ts'
import { liveRunNamed } from '../shared/find-run.ts'
import { printJson } from '../json.ts'

/** Stops a run where it is; it keeps what is done, and holds its sync. */
export async function pauseRun(
  context: CommandContext,
  runText: string,
  options: { readonly reason?: string | undefined },
): Promise<number> {
  const run = await liveRunNamed(context, runText)
  const { reason = null } = options
  await controlRun(context, osActor(), run, { action: 'pause', reason })
  const now = await untilRun(context, run, ({ state }) => state !== 'running')
  return printState(context, now, {
    paused: `paused; ${context.hint(`resume ${run.id}`)} lets it go on`,
    running: 'pausing: the batch in flight is finished first',
  })
}

export async function resumeRun(context: CommandContext, runText: string): Promise<number> {
  const run = await liveRunNamed(context, runText)
  await controlRun(context, osActor(), run, { action: 'resume' })
  const now = await untilRun(context, run, ({ state }) => state !== 'paused')
  return printState(context, now, { running: 'goes on', paused: 'going on' })
}

/** Ends a run: what is done stays, what was not sent is `unsent`, and the books are closed. */
export async function cancelRun(context: CommandContext, runText: string): Promise<number> {
  const run = await liveRunNamed(context, runText)
  await controlRun(context, osActor(), run, { action: 'cancel' })
  const now = await untilRun(context, run, ({ state }) => !LIVE_STATES.includes(state))
  const isLive = LIVE_STATES.includes(now.state)
  const code = printState(context, now, {
    [now.state]: isLive
      ? 'was asked to end, and has not ended yet: is a worker running? It ends as soon as one is'
      : now.state,
  })
  if (isLive) return EXIT.stopped
  const account = await withLedger(context, (ledger) => readRunAccount(ledger, now))
  if (account && !context.json) printRunAccount(context.terminal, account)
  return code
}

function printState(
  context: CommandContext,
  run: Run,
  words: Readonly<Record<string, string>>,
): number {
  if (context.json) printJson(context.terminal, runToJson(run, null))
  else context.terminal.out(`Run ${run.id} of ${run.sync}: ${words[run.state] ?? run.state}`)
  return EXIT.done
}
