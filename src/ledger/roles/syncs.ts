// What a sync's runs say about the sync.

import type { Books, RunState } from '../../core/domain/books.ts'
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

/** A run as lists and charts of many runs show it: without its configuration, and without its items. */
export interface RunBrief extends Pick<
  Run,
  'id' | 'kind' | 'purpose' | 'state' | 'reason' | 'rowsRead' | 'openedAt' | 'closedAt'
> {
  /** Of an import that is closed. */
  readonly counts: Books | null
  /** Of a mirror: sums over its streams; null before the first of them is noted. */
  readonly streams: {
    readonly read: number
    readonly inserted: number
    readonly changed: number
    readonly deleted: number
  } | null
}

export interface Syncs {
  /** Names of all syncs that have runs, in order. */
  syncs(): Promise<readonly string[]>
  /** Null for a sync that never ran. Reads a few rows, however many runs there were. */
  syncHealth(sync: string): Promise<SyncHealth | null>
  /** When the newest whole reconciliation without a difference began; null if there is none. */
  reconciled(sync: string): Promise<{ readonly verifiedThrough: string | null }>
  /** The runs of a sync, newest first; `before`: only those with a lower number. Reads no item. */
  runBriefs(sync: string, options: { limit: number; before?: number }): Promise<readonly RunBrief[]>
}
