// What the parts of a stream's reconciliation share.

import type { ObjectSchema, RecordRepresentation } from '../../contract/index.ts'
import type { Differences, StepStates, Streams } from '../../ledger/ledger.ts'
import type { MergeCounts, MirrorRow, MirrorStream } from '../../warehouses/mirror-tables.ts'
import type { MirrorDeps } from '../ports.ts'
import type { Reader } from '../reader.ts'
import type { RowComparer } from './compare.ts'
import type { LocalTables } from './local-tables.ts'
import type { PartitionKey } from './partition-key.ts'

/** The right to write the table, of the worker that claimed the stream. */
export interface RepairWriter {
  readonly fence: number
  /** As it is to be stored with what is written now: the next run of the mirror continues from it. */
  position(): string
}

export interface ReconcileWork {
  readonly deps: MirrorDeps<Differences & StepStates & Streams>
  readonly run: number
  readonly schema: ObjectSchema
  readonly stream: MirrorStream
  readonly key: PartitionKey
  readonly reader: Reader
  readonly local: LocalTables
  readonly compare: RowComparer
  /** Null without repair. */
  readonly writer: RepairWriter | null
  rowOf(record: RecordRepresentation): MirrorRow
  /** Whether the mirror has not read this version of the record yet. */
  isUnread(record: RecordRepresentation): boolean
  /** Counts records that were read. */
  read(records: number): void
  merged(counts: MergeCounts): void
}
