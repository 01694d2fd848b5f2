// What the steps of a stream's work share: the records of an object type on their way into their table.

import type { ObjectSchema, PropertyWire, RecordRepresentation } from '../contract/index.ts'
import type { MirrorConfig } from '../../config/index.ts'
import type { MirrorRow, MirrorStream } from '../warehouses/mirror-tables.ts'
import type { StreamAccount } from './stream-account.ts'
import type { Merger } from './merger.ts'
import type { MirrorDeps, StreamJob } from './ports.ts'
import type { StreamPosition } from './position.ts'
import type { Reader } from './reader.ts'

export interface RecordsJob extends StreamJob {
  readonly config: MirrorConfig
}

export interface RecordsWork {
  readonly deps: MirrorDeps
  readonly job: RecordsJob
  readonly schema: ObjectSchema
  readonly stream: MirrorStream
  readonly fence: number
  readonly position: StreamPosition
  readonly reader: Reader
  readonly merger: Merger
  readonly account: StreamAccount
  /** The property that tells when a record was changed last; null where there is none that the service sorts by. */
  readonly modified: PropertyWire | null
  /** Orders and cuts listings. */
  readonly by: PropertyWire | null
  /** What every read needs. */
  readonly parts: {
    readonly type: string
    readonly reader: Reader
    readonly merger: Merger
    readonly readers: number
    /** Wait before a blocked run asks again, ms. */
    readonly probeMs: number
    readonly signal: AbortSignal
    rowOf(record: RecordRepresentation): MirrorRow
    instantOf(value: unknown): string | null
    /** Notes records that came. */
    count(rows: number): void
    /** Whether the activity's time is over. */
    isLate(): boolean
  }
}
