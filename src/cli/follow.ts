// Follows a run: a live line from the ledger's counters until the workflow ends. Ctrl-C detaches; the run goes on.

import type { WorkflowHandle } from '@temporalio/client'
import type { Ledger, Progress, Run } from '../ledger/ledger.ts'
import { bar, duration, figure, type Terminal } from './terminal.ts'

const pollMs = 200

/** How following ended. */
export type Followed =
  | { readonly kind: 'ended'; readonly run: Run | null; readonly error: unknown }
  | { readonly kind: 'detached'; readonly run: Run | null }

/** The failure's own words: the innermost message, without Temporal's wrapping. */
export function messageOf(error: unknown): string {
  let current = error
  let message = 'the workflow failed'
  for (let depth = 0; depth < 10 && current instanceof Error; depth++) {
    message = current.message
    current = current.cause
  }
  return message
}

function progressLine(
  run: Run,
  progress: Progress,
  pushedSince: { at: number; done: number },
): string {
  if (run.state === 'blocked') return `${run.sync}  ${run.message ?? 'blocked'}; asking again`
  if (run.rowsRead === null) return `${run.sync}  staging  ${figure(progress.read)} rows`
  const done = progress.created + progress.updated + progress.rejected + progress.failed
  if (pushedSince.at === 0) {
    pushedSince.at = Date.now()
    pushedSince.done = done
  }
  const seconds = (Date.now() - pushedSince.at) / 1_000
  const rate = seconds > 0.5 ? (done - pushedSince.done) / seconds : 0
  const share = progress.planned === 0 ? 1 : done / progress.planned
  const speed =
    rate > 0
      ? `  ${figure(Math.round(rate))}/s, ${duration(((progress.planned - done) / rate) * 1_000)} left`
      : ''
  const rejects = progress.rejected + progress.failed
  return [
    `${run.sync}  ${bar(share)} ${Math.floor(share * 100)} %`,
    `${figure(done)} of ${figure(progress.planned)} rows${speed}`,
    `${figure(progress.requests)} requests${rejects > 0 ? `, ${figure(rejects)} rejected` : ''}`,
  ].join('  ')
}

/** Waits for the workflow's end and shows its progress. */
export async function follow(options: {
  terminal: Terminal
  ledger: () => Promise<Ledger | null>
  sync: string
  handle: WorkflowHandle
  /** Ends when the workflow ends, rejecting where it failed; gives up on abort. */
  untilEnded(signal: AbortSignal): Promise<unknown>
  /** Called once: staging is complete, and so many rows are to be sent. */
  planned(rows: number): void
  quiet: boolean
}): Promise<Followed> {
  const { terminal, handle } = options
  const ended: { error: unknown }[] = []
  // The wait is one long request: left alone it would keep a detached process alive.
  const waiting = new AbortController()
  const result = options.untilEnded(waiting.signal).then(
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
  const pushedSince = { at: 0, done: 0 }
  let isPlanned = false
  let ledger: Ledger | null = null
  const findRun = async (): Promise<Run | null> => {
    ledger ??= await options.ledger()
    const runs = (await ledger?.runs({ sync: options.sync, limit: 10 })) ?? []
    return runs.find((run) => run.workflowId === handle.workflowId) ?? null
  }
  const progressOf = async (run: Run) => (await ledger?.progress(run.id)) ?? null
  try {
    // Bounded by the run: it ends, or a person detaches.
    while (ended.length === 0 && !detached) {
      const run = await findRun()
      const progress = run && !options.quiet ? await progressOf(run) : null
      if (run && progress) {
        if (!isPlanned && run.rowsRead !== null) {
          isPlanned = true
          options.planned(progress.planned)
        }
        terminal.live(progressLine(run, progress, pushedSince))
      }
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
