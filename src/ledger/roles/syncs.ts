// What a sync's runs say about the sync.

import type { RunState } from '../../core/domain/books.ts'
import type { Run } from './runs.ts'

/** How a sync's latest runs went. Times are ISO 8601 in UTC. */
export interface SyncHealth {
  readonly kind: Run['kind']
  /** Of its newest run. */
  readonly state: RunState
  readonly reason: Run['reason']
  /** Whether its newest run ended and knows that the two sides differ, whatever its state. */
  readonly differs: boolean
  /** When the newest run closed that is complete, with rejects or without; null if none is. */
  readonly succeededAt: string | null
  /** When the live run was opened that has rows to send, or sent and not settled; null if there is none. */
  readonly waitingSince: string | null
  /** When the newest run was opened that completed a mirror's stream, by stream. */
  readonly streams: ReadonlyMap<string, string>
}

export interface Syncs {
  /** Names of all syncs that have runs, in order. */
  syncs(): Promise<readonly string[]>
  /** Null for a sync that never ran. Reads a few rows, however many runs there were. */
  syncHealth(sync: string): Promise<SyncHealth | null>
  /** When the newest whole reconciliation without a difference began; null if there is none. */
  reconciled(sync: string): Promise<{ readonly verifiedThrough: string | null }>
}
