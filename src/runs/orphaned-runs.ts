// Finds live runs without a workflow: one was terminated, or the Temporal server has lost its database. Closes their books, as
// the next run of the sync would do, and notifies the observers. Promise kept here: a run that still makes progress is left
// alone, because the server that was asked may not be its own.

import type { Logger } from '../core/ports.ts'
import { LIVE_STATES } from '../core/domain/books.ts'
import type { Run, RunClosing, Runs, Streams } from '../ledger/ledger.ts'
import { closeAbandoned, type RunHolder } from './open.ts'

export interface OrphanCleanupDeps {
  readonly ledger: RunClosing & Runs & Streams
  readonly logger: Logger
  isLive(holder: RunHolder): Promise<boolean>
  /** Finishes what must be done before the books are closed. */
  abandoning(run: Run): Promise<void>
  /** The books were closed. */
  abandoned(run: Run): Promise<void>
}

/** A function that checks once. A run is closed if it was found without a workflow twice, with no progress in between. */
export function orphanCleanup(deps: OrphanCleanupDeps): () => Promise<void> {
  const { ledger, logger } = deps
  /** The progress of each run without a workflow when it was found. */
  const found = new Map<number, string>()
  return async () => {
    const live = await ledger.liveRuns()
    for (const id of found.keys()) if (!live.some((run) => run.id === id)) found.delete(id)
    for (const run of live) {
      if (await deps.isLive(run)) {
        found.delete(run.id)
        continue
      }
      // A workflow ends after its books are closed: a run that is still live after its workflow was found gone is orphaned.
      const now = await ledger.run(run.id)
      if (!now || !LIVE_STATES.includes(now.state)) continue
      const done = JSON.stringify([
        now.state,
        now.rowsRead,
        await ledger.progress(now.id),
        await ledger.streams(now.id),
      ])
      const before = found.get(now.id)
      found.set(now.id, done)
      if (before !== done) continue
      logger.warn({ run: now.id, sync: now.sync, workflow: now.workflowId }, 'run_abandoned')
      await deps.abandoning(now)
      await closeAbandoned(ledger, now)
      await deps.abandoned(now)
      found.delete(now.id)
    }
  }
}
