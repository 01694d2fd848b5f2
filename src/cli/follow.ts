// Follows a run: a live line from the ledger until the workflow ends. Ctrl-C detaches; the run goes on.

import type { WorkflowHandle } from '@temporalio/client'
import { LIVE_STATES } from '../core/states.ts'
import type { Ledger, Run } from '../ledger/ledger.ts'
import type { Terminal } from './terminal.ts'

const pollMs = 200

/** How following ended. */
export type Followed =
  | { readonly kind: 'ended'; readonly run: Run | null; readonly error: unknown }
  | { readonly kind: 'detached'; readonly run: Run | null }

/** The failure's own words: the innermost message, without Temporal's wrapping. */
export function messageOf(error: unknown): string {
  let current = error
  let message = 'it failed, and the Temporal server does not say why'
  for (let depth = 0; depth < 10 && current instanceof Error; depth++) {
    message = current.message
    current = current.cause
  }
  return message
}

/** Waits for the workflow's end and shows its progress. */
export async function follow(options: {
  terminal: Terminal
  ledger: () => Promise<Ledger | null>
  sync: string
  handle: WorkflowHandle
  /** Ends when the workflow ends, rejecting where it failed; gives up on abort. Says when its server does not answer. */
  untilEnded(signal: AbortSignal, noteAway: (isAway: boolean) => void): Promise<unknown>
  /** What a person is shown of the run while it goes on; null shows nothing. */
  line: ((ledger: Ledger, run: Run) => Promise<string>) | null
}): Promise<Followed> {
  const { terminal, handle } = options
  const ended: { error: unknown }[] = []
  // The wait is one long request: left alone it would keep a detached process alive.
  const waiting = new AbortController()
  let isAway = false
  const noteAway = (away: boolean) => {
    isAway = away
    terminal.err(
      away
        ? 'The Temporal server does not answer; the run goes on. Asking again'
        : 'The Temporal server is back',
    )
  }
  const result = options.untilEnded(waiting.signal, noteAway).then(
    () => ended.push({ error: null }),
    (error: unknown) => ended.push({ error }),
  )
  let detached = false
  let wake = () => {}
  const onSignal = () => {
    detached = true
    wake()
  }
  process.once('SIGINT', onSignal)
  let ledger: Ledger | null = null
  const findRun = async (): Promise<Run | null> => {
    ledger ??= await options.ledger()
    const runs = (await ledger?.runs({ sync: options.sync, limit: 10 })) ?? []
    return runs.find((run) => run.workflowId === handle.workflowId) ?? null
  }
  try {
    // Bounded by the run: it ends, or a person detaches.
    while (ended.length === 0 && !detached) {
      const run = await findRun()
      if (run && ledger && options.line) terminal.live(await options.line(ledger, run))
      // What the ledger says is as good: the books are closed before the workflow ends.
      if (isAway && run && !LIVE_STATES.includes(run.state))
        return { kind: 'ended', run, error: null }
      await Promise.race([
        result,
        new Promise<void>((resolve) => {
          wake = resolve
          setTimeout(resolve, pollMs).unref()
        }),
      ])
    }
    terminal.endLive()
    const run = await findRun()
    return ended[0] ? { kind: 'ended', run, error: ended[0].error } : { kind: 'detached', run }
  } finally {
    waiting.abort()
    process.removeListener('SIGINT', onSignal)
    await (ledger as Ledger | null)?.close()
  }
}
