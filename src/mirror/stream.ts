// One stream of a run: prepares and claims its table, and works on it.

import type { ObjectSchema, PropertyWire } from '../contract/index.ts'
import { Blocked, isNotFound, SyncError } from '../core/errors.ts'
import { BOOK_TABLES } from '../core/domain/mirror.ts'
import type { MirrorStream, TableIdentity } from '../warehouses/mirror-tables.ts'
import { checkDefinitionsName } from './definitions.ts'
import { mirrorEdges } from './edges.ts'
import { endSchemaChanges } from './end-schema-changes.ts'
import type { Window } from '../core/domain/watermark.ts'
import { evolveSchema } from './schema-evolution.ts'
import type { Runs, SchemaHistory, Streams } from '../ledger/ledger.ts'
import type { MirrorDeps, StreamResult } from './ports.ts'
import {
  firstPosition,
  isPositionOfRun,
  newRunState,
  newWindowRunState,
  parsePosition,
  type Opened,
  type StreamPosition,
} from './position.ts'
import { findStream, noteTable } from './table-identity.ts'
import { Reader } from './reader.ts'
import { runRecords } from './records.ts'
import { openedRun } from './streams.ts'
import { beginRecordsWork, modifiedProperty, type RecordsJob } from './records-work.ts'
import { hasGoneBackElsewhere } from './went-back.ts'

/** Times that a new table is named, because another process took the name first. */
const NAMINGS_MAX = 3

/** Works on a stream of either kind, as `mirrorRecords` does. */
export function mirrorStream(
  deps: MirrorDeps<Runs & SchemaHistory & Streams>,
  job: RecordsJob,
): Promise<StreamResult> {
  return job.stream.kind === 'edges' ? mirrorEdges(deps, job) : mirrorRecords(deps, job)
}

/**
 * Works on a stream until it is done, its time is over, or a person has to decide.
 * @throws Blocked, ServiceFailure, QuotaWait: a retry continues; FenceLost if another worker has it; SyncError
 */
async function mirrorRecords(
  deps: MirrorDeps<Runs & SchemaHistory & Streams>,
  job: RecordsJob,
): Promise<StreamResult> {
  const { tables } = deps
  const type = job.stream.name
  const reader = new Reader(deps)
  const schema = await readType(reader, deps, type, job.config)
  const { window = null } = job
  if (window !== null && modifiedProperty(job, schema) === null)
    throw new SyncError(
      'mirror_window',
      `${type} cannot be read in a window: it has no property of modification times that the service sorts by; name one under modification_property, or leave out from and to, and write full: true, which reads all of it`,
    )
  await checkDefinitionsName(tables, type)
  const { stream, omitted } = await prepare(deps, job, schema)
  const { fence, position: stored } = await tables.claim(type)
  const opened = await openedRun(deps.ledger, job.run)
  const first = () =>
    firstPosition(window ? newWindowRunState(window, opened) : newRunState(opened, true))
  const position = stored === null ? first() : parsePosition(stored, deps.tables.place, type)
  noteOtherTable(position, { stream, opened, window, now: await tables.identity(stream) })
  const claimed = { schema, stream, omitted, fence, position, opened, reader }
  const begins = window === null && !isPositionOfRun(position.run, opened, window)
  const full = job.full || (begins && (await hasGoneBackElsewhere(tables, type, position)))
  return await runRecords(beginRecordsWork(deps, { ...job, full }, claimed))
}

/** A position of another table counts for nothing: the run reads everything, or leaves that to the next run if it has a window. */
function noteOtherTable(
  position: StreamPosition,
  about: {
    readonly stream: MirrorStream
    readonly opened: Opened
    readonly window: Window | null
    readonly now: TableIdentity
  },
): void {
  const { stream, opened, window, now } = about
  const other = noteTable(position, stream, now)
  if (other === null) return
  position.listedAt = null
  position.listing = null
  if (window === null) position.run = { ...newRunState(opened, true), said: [other] }
  else position.table = null
}

/** Without the properties that are left out. @throws SyncError `mirror_type` if the type is gone */
export async function readType(
  reader: Reader,
  deps: MirrorDeps,
  type: string,
  { except }: Pick<RecordsJob['config'], 'except'>,
): Promise<ObjectSchema> {
  try {
    const schema = await reader.ask((options) => deps.client.readObjectType(type, options))
    const isIn = ({ name }: PropertyWire) => !except.includes(`${type}.${name}`)
    return { ...schema, properties: schema.properties.filter(isIn) }
  } catch (error) {
    if (!isNotFound(error)) throw error
    throw new SyncError(
      'mirror_type',
      `Object type ${type} is not there any more, or the key cannot read it; its table stays as it is`,
    )
  }
}

/** The table as the schema needs it; changes it if `schema_changes` says so, and notes it. */
async function prepare(
  deps: MirrorDeps<SchemaHistory>,
  { run, config }: Pick<RecordsJob, 'run' | 'config'>,
  schema: ObjectSchema,
): Promise<{ readonly stream: MirrorStream; readonly omitted: readonly string[] }> {
  const { tables, tuning, ledger } = deps
  for (let naming = 1; ; naming++) {
    const known = await findStream(tables, schema.name)
    const taken = known ? [] : [...BOOK_TABLES, ...(await tables.tableNames())]
    const evolved = evolveSchema(schema.name, known, schema, config.schema_changes, taken)
    // Before: what a worker that ends in between has changed is found in no table any more.
    if (evolved.found.length > 0) await ledger.noteSchemaChanges(run, schema.name, evolved.found)
    if (evolved.frozen.length > 0)
      throw new Blocked(
        'contract',
        `${schema.name}: ${evolved.frozen.join(', ')}; schema_changes is freeze. To take them over, cancel this run, set it to evolve (or ignore) and run again`,
        tuning.blocked_probe_ms,
      )
    try {
      if (evolved.change !== null) await tables.change([evolved.change])
      if (known !== undefined) await endSchemaChanges(ledger, run, evolved.stream)
      return evolved
    } catch (error) {
      const isTaken = error instanceof SyncError && error.code === 'warehouse_altered'
      if (!isTaken || known !== undefined || naming === NAMINGS_MAX) throw error
    }
  }
}
