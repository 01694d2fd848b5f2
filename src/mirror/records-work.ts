// The work on the records of an object type, on their way into their table: what its steps share, and how it begins.

import {
  creationProperty,
  modificationProperty,
  type ObjectSchema,
  type PropertyWire,
  type RecordRepresentation,
} from '../contract/index.ts'
import { joinSome } from '../core/format.ts'
import { LISTED_ALWAYS_MAX } from '../core/domain/mirror.ts'
import type { MirrorConfig } from '../../config/index.ts'
import type { MirrorRow, MirrorStream } from '../warehouses/mirror-tables.ts'
import { compileRow } from './columns.ts'
import {
  lostSinceLastRun,
  noteLostColumns,
  noteOtherVisibility,
  otherThanListed,
} from './last-visibility.ts'
import { Merger } from './merger.ts'
import type { MirrorDeps, StreamJob } from './ports.ts'
import {
  isPositionOfRun,
  newRunState,
  newWindowRunState,
  type Opened,
  type StreamPosition,
} from './position.ts'
import type { Reader } from './reader.ts'
import { StreamAccount } from './stream-account.ts'

export interface RecordsJob extends StreamJob {
  readonly config: MirrorConfig
}

/** A stream whose table is ready and claimed. */
export interface ClaimedStream {
  readonly schema: ObjectSchema
  readonly stream: MirrorStream
  readonly fence: number
  readonly position: StreamPosition
  readonly opened: Opened
  readonly reader: Reader
  /** Properties without a column, because no database can write their names. */
  readonly omitted: readonly string[]
}

/** What every step needs. */
export interface RecordsWork extends Omit<ClaimedStream, 'opened' | 'omitted'> {
  readonly deps: MirrorDeps
  readonly job: RecordsJob
  /** Name of the object type. */
  readonly type: string
  readonly merger: Merger
  readonly account: StreamAccount
  /** The property of modification times; null if there is none that the service sorts by. */
  readonly modified: PropertyWire | null
  /** Orders listings and cuts them into ranges. */
  readonly by: PropertyWire | null
  rowOf(record: RecordRepresentation): MirrorRow
  /** Counts records that were read. */
  count(records: number): void
  /** Whether the activity's time is over. */
  isLate(): boolean
}

/** The property, if the service sorts by it. */
export const sortableProperty = (
  { sortable }: Pick<RecordsJob, 'sortable'>,
  property: PropertyWire | null,
): PropertyWire | null =>
  property !== null && sortable.includes(property.field_type) ? property : null

/** The property of modification times; null if there is none that the service sorts by. */
export function modifiedProperty(
  job: Pick<RecordsJob, 'sortable' | 'config'>,
  schema: ObjectSchema,
): PropertyWire | null {
  return sortableProperty(
    job,
    modificationProperty(schema, job.config.modification_property[schema.name]),
  )
}

/** Continues the run of the position, or begins a new one in it. */
export function beginRecordsWork(
  deps: MirrorDeps,
  job: RecordsJob,
  claimed: ClaimedStream,
): RecordsWork {
  const { schema, stream, fence, position, reader } = claimed
  const modified = modifiedProperty(job, schema)
  const by = sortableProperty(job, creationProperty(schema)) ?? modified
  const endsAtMs = deps.clock.now() + deps.tuning.stream_ms
  const sentences = beginRun(deps, job, claimed, modified)
  const account = new StreamAccount(deps, { run: job.run, ...claimed })
  for (const sentence of sentences) account.say(sentence)
  reader.goOnFrom(position.askedAt)
  reader.goOnFrom(position.listing?.startedAt)
  const merger = new Merger(deps, {
    run: job.run,
    fence,
    stream,
    snapshot: () => account.snapshot(),
    merged: (counts) => account.merged(counts),
    unfit: (rows) => {
      if (position.run.phase === 'list') position.unfit = (position.unfit ?? 0) + rows
      account.differ(
        'records were left out whose ids have U+0000 or half a character: the warehouse cannot hold such ids',
      )
    },
  })
  return {
    deps,
    job,
    type: schema.name,
    schema,
    stream,
    fence,
    position,
    reader,
    merger,
    account,
    modified,
    by,
    rowOf: compileRow(stream, {
      version: modified?.name ?? null,
      values: (position.run.values ??= {}),
      // A listing shows each record once; what is read after it, again.
      isCounted: () => !position.run.full || position.run.phase === 'list',
    }),
    count: (records) => {
      position.run.tally.read += records
    },
    isLate: () => deps.clock.now() >= endsAtMs,
  }
}

/** Writes into the position which run works on it. Returns what that run reports from its start. */
function beginRun(
  deps: MirrorDeps,
  job: RecordsJob,
  { stream, position, opened, omitted }: ClaimedStream,
  modified: PropertyWire | null,
): string[] {
  const { window = null } = job
  if (window === null) noteLostColumns(position, stream, job.config)
  const other = noteOtherVisibility(position, job.sight, window !== null)
  if (!isPositionOfRun(position.run, opened, window))
    position.run = window
      ? newWindowRunState(window, opened)
      : newRunState(opened, job.full || isListingDue(deps, job, { position, stream, modified }))
  const less = window === null ? lostSinceLastRun(job.sight, position) : null
  return [omitted.length > 0 ? omittedText(omitted) : null, less, other].filter(
    (sentence) => sentence !== null,
  )
}

/** Whether changes alone are not enough. */
function isListingDue(
  { clock }: MirrorDeps,
  job: RecordsJob,
  { position, stream, modified }: Pick<RecordsWork, 'position' | 'stream' | 'modified'>,
): boolean {
  const { listing, listedAt, columns, wanting, counted } = position
  if (listedAt === null || listing !== null || wanting) return true
  // Two keys may count the same number of records and see different ones.
  if (otherThanListed(job.sight, position) !== null) return true
  const filled = new Set(columns)
  if (liveColumns(stream).some((name) => !filled.has(name))) return true
  if (modified === null && (counted ?? 0) <= LISTED_ALWAYS_MAX) return true
  return clock.now() - Date.parse(listedAt) >= job.config.full_every_hours * 3_600_000
}

/** Names of the columns that are written, in the order of the position. */
export const liveColumns = ({ columns }: MirrorStream): string[] =>
  columns
    .filter(({ live }) => live)
    .map(({ name }) => name)
    .toSorted()

/** Names in a message, at most. */
const OMITTED_MAX = 5

const omittedText = (names: readonly string[]): string =>
  `left out, because no database can write the name: ${joinSome(
    names.map((name) => JSON.stringify(name)),
    OMITTED_MAX,
  )}`
