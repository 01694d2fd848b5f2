// Looks for live runs that no workflow carries: one was terminated, or the Temporal server has lost its database. Their books
// are closed, as the next run of the sync would do, and whoever watches is told. Promise kept here: a run that still moves is
// left alone, because the server that was asked may be another one than its own.

import type { Logger } from '../core/ports.ts'
import { LIVE_STATES } from '../core/states.ts'
import type { Ledger, Run } from '../ledger/ledger.ts'
import { closeAbandoned, type RunHolder } from './open.ts'

export interface OrphanCleanupDeps {
  readonly ledger: Ledger
  readonly logger: Logger
  isLive(holder: RunHolder): Promise<boolean>
  /** What is still to be done before the books are closed. */
  abandoning(run: Run): Promise<void>
  /** The books were closed. */
  abandoned(run: Run): Promise<void>
}

/** A function that looks once. A run is closed where it was found without a workflow twice, and nothing happened between. */
export function orphanCleanup(deps: OrphanCleanupDeps): () => Promise<void> {
  const { ledger, logger } = deps
  /** What each run without a workflow had done when it was found. */
  const found = new Map<number, string>()
  return async () => {
    const live = await ledger.liveRuns()
    for (const id of found.keys()) if (!live.some((run) => run.id === id)) found.delete(id)
    for (const run of live) {
      if (await deps.isLive(run)) {
        found.delete(run.id)
        continue
      }
      // A workflow ends after its books are closed: read after it was found to be gone, a run that is live is left over.
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
