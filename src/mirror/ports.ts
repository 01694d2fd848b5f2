// What the mirror needs from outside. The composition root passes it in; tests pass in their own.

import type { RecordsClient } from '../client/index.ts'
import type { MappingProblem } from '../core/errors.ts'
import type { Clock, Logger, Priority } from '../core/ports.ts'
import type { KeyVisibility } from '../core/domain/visibility.ts'
import type { Window } from '../core/domain/watermark.ts'
import type { Streams } from '../ledger/ledger.ts'
import type { MirrorTables } from '../warehouses/mirror-tables.ts'

/** The client's operations that a mirror uses; all of them read. */
export type MirrorClient = Pick<
  RecordsClient,
  | 'origin'
  | 'quota'
  | 'readSelf'
  | 'listObjectTypes'
  | 'readObjectType'
  | 'listFieldTypes'
  | 'queryRecords'
  | 'recordPages'
  | 'readRecord'
  | 'aggregateRecords'
  | 'listAssociations'
  | 'associationEdgePages'
  | 'clockAheadMs'
>

/** Times and sizes that a run may set; production values are the defaults. */
export interface MirrorTuning {
  /** Streams of a run that are worked on at the same time. */
  readonly streams_in_flight: number
  /** Ranges of one stream that are read at the same time. */
  readonly readers: number
  /** Records of a range, about. */
  readonly rows_per_range: number
  /** Rows that are merged together, at least, */
  readonly rows_per_merge: number
  /** unless the first of them has waited for so long, ms. */
  readonly merge_ms: number
  /** Time after which a stream's activity hands over to the next, ms. */
  readonly stream_ms: number
  /** Time that a run spends on the edges of records that have not changed, ms. */
  readonly edges_ms: number
  /** Waits before a request that failed temporarily is sent again, ms; after the last the run is blocked. */
  readonly read_backoff_ms: readonly number[]
  /** Wait before a run that is `blocked: service` asks again, ms. */
  readonly service_probe_ms: number
  /** The same for every other reason, ms. */
  readonly blocked_probe_ms: number
  /** How long a deletion waits for approval before it counts as rejected, ms. */
  readonly approval_ms: number
  readonly heartbeat_timeout_ms: number
}

export const DEFAULT_MIRROR_TUNING: MirrorTuning = {
  streams_in_flight: 3,
  readers: 8,
  rows_per_range: 20_000,
  rows_per_merge: 10_000,
  merge_ms: 2_000,
  stream_ms: 600_000,
  edges_ms: 60_000,
  read_backoff_ms: [500, 1_000, 2_000, 5_000],
  service_probe_ms: 30_000,
  blocked_probe_ms: 300_000,
  approval_ms: 86_400_000,
  heartbeat_timeout_ms: 60_000,
}

/** `Roles`: those of the ledger that a step uses. */
export interface MirrorDeps<Roles = Streams> {
  readonly ledger: Roles
  readonly client: MirrorClient
  readonly tables: MirrorTables
  readonly clock: Clock
  readonly logger: Logger
  readonly tuning: MirrorTuning
  /** Records whose edges are read together. Default: 500. */
  readonly ownersMax?: number
  /** Priority of its requests for quota. */
  readonly priority: Priority
  /** Aborted on cancel, pause and shutdown. What was read and not merged is read again. */
  readonly signal: AbortSignal
  /** Adds the place in the configuration file to what is wrong with a setting. Default: none. */
  placed?(problem: MappingProblem): Promise<string>
  /** Sends a heartbeat: once per page, and every few seconds of a wait. */
  beat(rows?: number): void
}

/** A stream of a run: the records of an object type, or the association edges of these records. */
export interface StreamRef {
  readonly kind: 'records' | 'edges'
  /** Name of the object type. */
  readonly name: string
}

/** What discovery found, names only. */
export interface DiscoveredStreams {
  readonly streams: readonly StreamRef[]
  /** Field types whose properties the service sorts by. */
  readonly sortable: readonly string[]
  /** What the key saw then. */
  readonly sight?: KeyVisibility | null
}

/** What a person decided about deletions of a stream; `rows` is the number that was asked about. */
export interface DeletionVerdict {
  readonly approved: boolean
  readonly rows: number
}

/** How far a stream came: `again` hands over to the next activity, `approval` waits for a verdict. */
export type StreamResult =
  | { readonly state: 'done' }
  | { readonly state: 'again' }
  | { readonly state: 'approval'; readonly rows: number; readonly of: number }

/** The part of a stream that one activity works on. */
export interface StreamJob {
  readonly run: number
  readonly stream: StreamRef
  readonly sortable: readonly string[]
  /** Whether everything is read, even if a part would be enough. */
  readonly full: boolean
  /**
   * With a window only records that were last changed in it are read, whatever `full` says; nothing is deleted, and the state of
   * runs without a window stays as it is. Instants in UTC with milliseconds. Default: none.
   */
  readonly window?: Window | null
  readonly verdict: DeletionVerdict | null
  /** What the key saw when the run began. Default: not known, so it is not compared with that of the run before. */
  readonly sight?: KeyVisibility | null
}
