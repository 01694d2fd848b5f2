// Whether a worker of the same project has another copy of its ledger open: a copied folder has the same project, so both take
// the same runs, and neither knows what the other one has sent. Workers show which copy they have; see projects.ts.

import type { Client } from '@temporalio/client'
import type { Clock } from '../core/ports.ts'
import { SyncError } from '../core/errors.ts'
import { signs, type Sign } from './projects.ts'

/** A worker that has not polled for this long has gone: it polls every minute. */
const goneMs = 180_000

export interface CopyWatch {
  readonly project: string
  /** Which copy of the ledger this worker has. */
  readonly copy: string
  readonly clock: Clock
  signs(): Promise<readonly Sign[]>
}

export const copyWatch = (client: Client, of: Omit<CopyWatch, 'signs'>): (() => Promise<void>) =>
  copies({ ...of, signs: () => signs(client) })

/**
 * Checks once. A worker that was listed at the first check counts only after it has polled again: it may have gone just before.
 * @throws SyncError `ledger_copied` if a worker uses another copy
 */
export function copies({ project, copy, clock, signs: read }: CopyWatch): () => Promise<void> {
  let isFirst = true
  /** When others last polled, by the server's clock, and when this process first saw that, by ours. */
  const known = new Map<string, { seenMs: number; newAtMs: number }>()
  let found: SyncError | null = null
  const look = (all: readonly Sign[]): SyncError | null => {
    const others = all.filter((sign) => sign.project === project && sign.copy !== copy)
    const nowMs = clock.now()
    for (const { identity, seenMs } of others) {
      const before = known.get(identity)
      if (before === undefined)
        known.set(identity, { seenMs, newAtMs: isFirst ? -Infinity : nowMs })
      else if (seenMs > before.seenMs) known.set(identity, { seenMs, newAtMs: nowMs })
    }
    isFirst = false
    const there = others.filter(({ identity }) => nowMs - known.get(identity)!.newAtMs < goneMs)
    // Forget workers that are no longer listed.
    for (const identity of known.keys())
      if (!others.some((other) => other.identity === identity)) known.delete(identity)
    if (there.length === 0) return null
    const where = [...new Set(there.map(({ label, host }) => `${label} on ${host}`))].toSorted()
    return new SyncError(
      'ledger_copied',
      `Another copy of this ledger is worked with, by ${where.join(', ')}: both take the runs of project ${project}, and neither knows what the other one sent. Stop one of them, and give it a ledger of its own (\`ledger:\` in its configuration)`,
    )
  }
  return async () => {
    // A server that does not answer is reported elsewhere, and proves nothing about copies.
    const all = await read().catch(() => null)
    if (all !== null) found = look(all)
    if (found !== null) throw found
  }
}
