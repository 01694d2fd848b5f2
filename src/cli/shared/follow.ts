// Follows a run: a live line from the ledger until the workflow ends, or enough of it is known. Ctrl-C detaches; the run goes on.

import { setTimeout as sleep } from 'node:timers/promises'
import { ApplicationFailure } from '@temporalio/client'
import { LIVE_STATES } from '../../core/domain/books.ts'
import type { Ledger, Run } from '../../ledger/ledger.ts'
import { causesOf } from '../../temporal/failures.ts'
import { onInterrupt } from './interrupt.ts'
import { LedgerUnreachable, type LedgerRetry } from './ledger-retry.ts'
import type { Terminal } from './terminal.ts'

export { causesOf, innermostMessage } from '../../temporal/failures.ts'

const pollMs = 200
const awayPollMs = 2_000

export type FollowResult =
  | { readonly kind: 'ended'; readonly run: Run | null; readonly error: unknown }
  | { readonly kind: 'detached'; readonly run: Run | null }

/**
 * Whether the run wrote nothing because its configuration is wrong. A mirror of which some tables failed has failed, whatever the
 * cause.
 */
export const isConfigFailure = (error: unknown): boolean =>
  causesOf(error).some(
    (cause) =>
      cause instanceof ApplicationFailure &&
      (cause.type === 'ConfigInvalid' || cause.type === 'MappingInvalid'),
  )

interface FollowOptions {
  readonly terminal: Terminal
  readonly ledger: () => Promise<Ledger | null>
  readonly patience: LedgerRetry
  readonly sync: string
  readonly workflowId: string
  /** Detaches. Default: Ctrl-C does. */
  readonly interrupted?: AbortSignal
  /** Ends when the workflow ends, rejecting if it failed; gives up on abort. Reports when its server does not answer. */
  untilEnded(signal: AbortSignal, noteAway: (isAway: boolean) => void): Promise<unknown>
  /** What a person sees of the run while it goes on; null shows nothing. */
  readonly line: ((ledger: Ledger, run: Run) => Promise<string>) | null
  /** What keeps the run from being opened; null: nothing that is known. A person sees it once for each text. */
  beforeOpened?(): string | null
  /** Whether what is known is enough to stop following. Default: never. */
  isEnough?(run: Run | null): boolean
}

/** Waits for the workflow's end and shows its progress. */
export async function followRun(options: FollowOptions): Promise<FollowResult> {
  const { terminal, patience } = options
  const end = watchEnd(options)
  const interrupt = options.interrupted
    ? { signal: options.interrupted, stop: () => {} }
    : watchInterrupt()
  const reader = runReader(options)
  try {
    // Bounded by the run: it ends, or a person detaches.
    while (end.error() === undefined && !interrupt.signal.aborted) {
      const found = (await patience.once(reader.show))?.value
      // The ledger is as good a source: the books are closed before the workflow ends.
      if (end.isAway() && found && !LIVE_STATES.includes(found.state))
        return { kind: 'ended', run: found, error: null }
      if (options.isEnough?.(reader.latest())) break
      const pause = sleep(patience.isAway ? awayPollMs : pollMs, undefined, {
        signal: interrupt.signal,
        ref: false,
      })
      await Promise.race([end.reached, pause.catch(() => {})])
    }
    terminal.endLive()
    const error = end.error()
    if (error === undefined) {
      await patience.once(reader.read)
      return { kind: 'detached', run: reader.latest() }
    }
    const found = await patience.until(reader.read, interrupt.signal)
    const run = reader.latest()
    return found ? { kind: 'ended', run, error } : { kind: 'detached', run }
  } catch (error) {
    if (!(error instanceof LedgerUnreachable)) throw error
    // That the run failed is known without its books.
    return { kind: 'ended', run: reader.latest(), error: end.error() ?? error }
  } finally {
    end.stop()
    interrupt.stop()
    await reader.close()
  }
}

/** The workflow's end: `error` is undefined until then, and null if it did not fail. */
function watchEnd({ terminal, untilEnded }: FollowOptions) {
  // The wait is one long request: left alone it would keep a detached process alive.
  const waiting = new AbortController()
  let isAway = false
  let error: unknown
  const noteAway = (away: boolean) => {
    isAway = away
    terminal.err(
      away
        ? 'The Temporal server does not answer; the run goes on. Asking again'
        : 'The Temporal server is back',
    )
  }
  const reached = untilEnded(waiting.signal, noteAway).then(
    () => void (error = null),
    (failure: unknown) => void (error = failure),
  )
  return { reached, isAway: () => isAway, error: () => error, stop: () => waiting.abort() }
}

/** Ctrl-C detaches. */
function watchInterrupt() {
  const pressed = new AbortController()
  const stop = onInterrupt(['SIGINT'], () => pressed.abort())
  return {
    signal: pressed.signal,
    // After a press the process ends; until then the same press may come again.
    stop: () => pressed.signal.aborted || stop(),
  }
}

/** Reads the run from the ledger, which may not be there before the run is opened. */
function runReader(options: FollowOptions) {
  let ledger: Ledger | null = null
  let run: Run | null = null
  let reported: string | null = null
  const report = (text: string | null) => {
    if (text !== null && text !== reported) options.terminal.err(text)
    reported = text ?? reported
  }
  const read = async () => {
    ledger ??= await options.ledger()
    const runs = (await ledger?.runs({ sync: options.sync, limit: 10 })) ?? []
    run = runs.find(({ workflowId }) => workflowId === options.workflowId) ?? null
    return run
  }
  const show = async () => {
    const found = await read()
    if (found === null) report(options.beforeOpened?.() ?? null)
    if (found && ledger && options.line) options.terminal.live(await options.line(ledger, found))
    return found
  }
  return { read, show, latest: () => run, close: async () => await ledger?.close() }
}
