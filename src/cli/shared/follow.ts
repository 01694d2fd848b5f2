// Follows a run: a live line from the ledger until the workflow ends, or enough of it is known. Ctrl-C detaches; the run goes on.

import { ApplicationFailure, type WorkflowHandle } from '@temporalio/client'
import { LIVE_STATES } from '../../core/states.ts'
import type { Ledger, Run } from '../../ledger/ledger.ts'
import { LedgerUnreachable, type LedgerRetry } from './ledger-retry.ts'
import type { Terminal } from './terminal.ts'

const pollMs = 200
const awayPollMs = 2_000

/** How following ended. */
export type FollowResult =
  | { readonly kind: 'ended'; readonly run: Run | null; readonly error: unknown }
  | { readonly kind: 'detached'; readonly run: Run | null }

/** The failure's own words: the innermost message, without Temporal's wrapping. */
export function innermostMessage(error: unknown): string {
  let current = error
  let message = 'it failed, and the Temporal server does not say why'
  for (let depth = 0; depth < 10 && current instanceof Error; depth++) {
    message = current.message
    current = current.cause
  }
  return message
}

/**
 * Whether the run wrote nothing because its configuration is wrong. A mirror of which some tables failed has failed, whatever the
 * cause.
 */
export function isConfigFailure(error: unknown): boolean {
  let current = error
  for (let depth = 0; depth < 10 && current instanceof Error; depth++) {
    const type = current instanceof ApplicationFailure ? current.type : null
    if (type === 'ConfigInvalid' || type === 'MappingInvalid') return true
    current = current.cause
  }
  return false
}

/** Waits for the workflow's end and shows its progress. */
export async function followRun(options: {
  terminal: Terminal
  ledger: () => Promise<Ledger | null>
  patience: LedgerRetry
  sync: string
  handle: WorkflowHandle
  /** Ends when the workflow ends, rejecting where it failed; gives up on abort. Says when its server does not answer. */
  untilEnded(signal: AbortSignal, noteAway: (isAway: boolean) => void): Promise<unknown>
  /** What a person is shown of the run while it goes on; null shows nothing. */
  line: ((ledger: Ledger, run: Run) => Promise<string>) | null
  /** Whether what is known is enough to stop following. Default: never. */
  isEnough?(run: Run | null): boolean
}): Promise<FollowResult> {
  const { terminal, handle, patience } = options
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
  const detaching = new AbortController()
  const detached = detaching.signal
  let wake = () => {}
  const onSignal = () => {
    detaching.abort()
    wake()
  }
  process.once('SIGINT', onSignal)
  let ledger: Ledger | null = null
  /** As it was read last. */
  let run: Run | null = null
  const findRun = async () => {
    ledger ??= await options.ledger()
    const runs = (await ledger?.runs({ sync: options.sync, limit: 10 })) ?? []
    run = runs.find(({ workflowId }) => workflowId === handle.workflowId) ?? null
    return run
  }
  const look = async () => {
    const found = await findRun()
    if (found && ledger && options.line) terminal.live(await options.line(ledger, found))
    return found
  }
  try {
    // Bounded by the run: it ends, or a person detaches.
    while (ended.length === 0 && !detached.aborted) {
      const found = (await patience.once(look))?.value
      // What the ledger says is as good: the books are closed before the workflow ends.
      if (isAway && found && !LIVE_STATES.includes(found.state))
        return { kind: 'ended', run: found, error: null }
      if (options.isEnough?.(run)) break
      await Promise.race([
        result,
        new Promise<void>((resolve) => {
          wake = resolve
          setTimeout(resolve, patience.isAway ? awayPollMs : pollMs).unref()
        }),
      ])
    }
    terminal.endLive()
    const end = ended[0]
    if (!end) {
      await patience.once(findRun)
      return { kind: 'detached', run }
    }
    const found = await patience.until(findRun, detached)
    return found ? { kind: 'ended', run, error: end.error } : { kind: 'detached', run }
  } catch (error) {
    if (!(error instanceof LedgerUnreachable)) throw error
    // That the run failed is known without its books.
    return { kind: 'ended', run, error: ended[0]?.error ?? error }
  } finally {
    waiting.abort()
    process.removeListener('SIGINT', onSignal)
    await (ledger as Ledger | null)?.close()
  }
}
