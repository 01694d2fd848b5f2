// What the import asks of its surroundings. The composition root hands these in; the tests hand in others.

import type { ImportConfig } from '../../config/index.ts'
import type { RecordsClient } from '../client/index.ts'
import type { ImportOperation } from '../core/domain/import-modes.ts'
import type { Clock, Logger, Priority } from '../core/ports.ts'
import type { RunSchema } from '../ledger/ledger.ts'

/** The client's operations that an import uses. */
export type ImportClient = Pick<
  RecordsClient,
  | 'origin'
  | 'quota'
  | 'readSelf'
  | 'readObjectType'
  | 'listObjectTypes'
  | 'listFieldTypes'
  | ImportOperation
  | 'itemsPerRequest'
  | 'lackingWrite'
  | 'lackingOperations'
  | 'listAssociations'
  | 'associationEdgePages'
  | 'call'
  | 'lackingRemoval'
  | 'batchUpdate'
  | 'queryRecords'
  | 'readRecord'
  | 'batchDelete'
  | 'keyFingerprint'
  | 'clockAheadMs'
>

/** Times and sizes that a run may set; production values are the defaults. */
export interface ImportTuning {
  /** Rows of a segment. */
  readonly rows_per_segment: number
  /** Batches of one segment in flight, at most; how many there are follows the quota, the latency and the throughput. */
  readonly in_flight: number
  /** Segments of a run that are pushed at the same time. */
  readonly segments_in_flight: number
  /** Time after which a segment's activity hands over to the next, ms. */
  readonly segment_ms: number
  /** Wait before a run that is `blocked: service` asks again, ms. */
  readonly service_probe_ms: number
  /** The same for every other reason, ms. */
  readonly blocked_probe_ms: number
  /** Waits between sendings of a batch that got no answer, ms; the last one repeats. */
  readonly resend_backoff_ms: readonly number[]
  /** Waits before the rounds of items answered 500 or 503, ms. */
  readonly item_backoff_ms: readonly number[]
  /** Rows that the service may refuse one after the other before the run is blocked; at least as many as a batch has. */
  readonly refused_in_row_max: number
  readonly heartbeat_timeout_ms: number
}

export const DEFAULT_IMPORT_TUNING: ImportTuning = {
  rows_per_segment: 100_000,
  in_flight: 64,
  segments_in_flight: 2,
  segment_ms: 600_000,
  service_probe_ms: 30_000,
  blocked_probe_ms: 300_000,
  resend_backoff_ms: [500, 1_000, 2_000, 5_000],
  item_backoff_ms: [1_000, 4_000, 15_000, 45_000],
  refused_in_row_max: 0,
  heartbeat_timeout_ms: 60_000,
}

/** `Roles`: those of the ledger that a step uses; most look-ups use none. */
export interface ImportDeps<Roles = unknown> {
  readonly ledger: Roles
  readonly client: ImportClient
  readonly clock: Clock
  readonly logger: Logger
  readonly tuning: ImportTuning
  /** In whose name the quota is asked. */
  readonly priority: Priority
  /** Aborted on cancel, pause and shutdown: reads and waits stop at once, a write in flight ends first. */
  readonly signal: AbortSignal
  /** Says that the work moves: once per slice and batch, and every few seconds of a wait. `rows`: read, or sent, since the last time. */
  beat(rows?: number): void
}

/** A run of an import, as it was staged. */
export interface StagedImport {
  readonly run: number
  readonly config: ImportConfig
  /** What the service said of the mapped properties; null before the run is staged. */
  readonly schema: RunSchema | null
  /** Of an undo: the run that it undoes. */
  readonly undoes?: number | undefined
}
