// `records-sync pause RUN`, `resume RUN` and `cancel RUN`.

import type { ControlAnswer } from '../../../workflows/messages.ts'
import { pause, resume } from '../../../workflows/names.ts'
import { systemClock } from '../../core/ports.ts'
import { LIVE_STATES } from '../../core/domain/books.ts'
import type { Run } from '../../ledger/ledger.ts'
import { readRunAccount } from '../../report/account.ts'
import { printRunAccount, runToJson } from '../views/run-summary.ts'
import { EXIT, withLedger, type CommandContext } from '../shared/context.ts'
import { liveRunNamed, withRunMessenger } from '../shared/run-messenger.ts'
import { printJson } from '../json.ts'

/** A pause is complete once the batch in flight is settled: the client gives it 20 s, the heartbeat reports it within 5 s. */
const SETTLED_MAX_MS = 60_000
const POLL_MS = 200

/** Stops a run where it is; it keeps what is done, and holds its sync. */
export async function pauseRun(
  context: CommandContext,
  runText: string,
  options: { readonly reason?: string | undefined },
): Promise<number> {
  const run = await liveRunNamed(context, runText)
  const { reason = null } = options
  await withRunMessenger(context, run, true, ({ update }) =>
    update<ControlAnswer>(pause, { reason }),
  )
  const now = await until(context, run, ({ state }) => state !== 'running')
  return printState(context, now, {
    paused: `paused; ${context.hint(`resume ${run.id}`)} lets it go on`,
    running: 'pausing: the batch in flight is finished first',
  })
}

export async function resumeRun(context: CommandContext, runText: string): Promise<number> {
  const run = await liveRunNamed(context, runText)
  await withRunMessenger(context, run, true, ({ update }) =>
    update<ControlAnswer>(resume, undefined),
  )
  const now = await until(context, run, ({ state }) => state !== 'paused')
  return printState(context, now, { running: 'goes on', paused: 'going on' })
}

/** Ends a run: what is done stays, what was not sent is `unsent`, and the books are closed. */
export async function cancelRun(context: CommandContext, runText: string): Promise<number> {
  const run = await liveRunNamed(context, runText)
  await withRunMessenger(context, run, false, ({ handle }) => handle.cancel())
  const now = await until(context, run, ({ state }) => !LIVE_STATES.includes(state))
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

/** The run once the ledger has it as wanted, or as it is after a minute. */
async function until(
  context: CommandContext,
  { id }: Run,
  isReached: (run: Run) => boolean,
): Promise<Run> {
  return await withLedger(context, async (ledger) => {
    const deadline = systemClock.now() + SETTLED_MAX_MS
    for (;;) {
      const run = (await ledger.run(id))!
      if (isReached(run) || systemClock.now() >= deadline) return run
      await systemClock.sleep(POLL_MS)
    }
  })
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
