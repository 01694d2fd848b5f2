// What a run has to do: the object types that are mirrored, and the definitions of their associations, which are a table of
// their own. Promise kept here: nothing is written into a schema that mirrors another org.

import type { AssociationWire, ObjectSummary } from '../contract/index.ts'
import { SyncError } from '../core/errors.ts'
import type { MirrorConfig, MirrorSync } from '../core/sync.ts'
import type { Window } from '../core/watermark.ts'
import type { StreamBooks } from '../ledger/ledger.ts'
import { edgesOf } from './edges.ts'
import type { Discovered, MirrorDeps, StreamRef } from './ports.ts'
import { noTally } from './position.ts'
import { Reader } from './reader.ts'
import { textStream } from './text-table.ts'

/** Name of the stream of the association definitions, and of its table. */
export const DEFINITIONS = 'associations'

const NAMES = ['label', 'source', 'target', 'cardinality', 'description'] as const

export interface DiscoverJob {
  readonly run: number
  readonly sync: MirrorSync
  readonly keyFingerprint: string
  /** As the streams will have it. Edges and association definitions have no time, so they are not read in one. */
  readonly window?: Window | null
  /** Object types that the run is limited to, of those that are mirrored. Default: all of them. */
  readonly only?: readonly string[] | null
}

/**
 * Asks the service what there is: four requests, in a window three.
 * @throws SyncError `warehouse_other_mirror`, `mirror_types`, `mirror_associations`; Blocked, ServiceFailure, QuotaWait
 */
export async function discover(deps: MirrorDeps, job: DiscoverJob): Promise<Discovered> {
  const { client, tables } = deps
  const { mirror: config } = job.sync
  const reader = new Reader(deps)
  const self = await reader.ask((options) => client.readSelf(options))
  await tables.own(`${client.origin} org ${self.org_id}`)
  const types = await reader.ask((options) => client.listObjectTypes(options))
  const fieldTypes = await reader.ask((options) => client.listFieldTypes(options))
  const mirrored = chosen(job.sync, types)
  const names = limited(job, mirrored)
  const isWindow = (job.window ?? null) !== null
  const definitions = isWindow
    ? []
    : await reader.ask((options) => client.listAssociations(options))
  const sources = isWindow
    ? []
    : sourcesOf(job.sync, definitions, mirrored).filter((name) => names.includes(name))
  const streams: StreamRef[] = [
    ...names.map((name) => ({ kind: 'records' as const, name })),
    ...sources.map((name) => ({ kind: 'edges' as const, name })),
  ]
  for (const { kind, name } of streams)
    await deps.ledger.noteStream(job.run, waiting(kind === 'edges' ? edgesOf(name) : name))
  const sortable = fieldTypes.filter((one) => one.sortable).map(({ name }) => name)
  if (isWindow) return { streams, sortable }
  try {
    await mirrorDefinitions(deps, job.run, config, definitions, reader)
  } catch (error) {
    if (!(error instanceof SyncError) || error.code !== 'warehouse_altered') throw error
    // A table of its own, which fails alone as the others do.
    const { message } = error
    await deps.ledger.noteStream(job.run, { ...waiting(DEFINITIONS), state: 'failed', message })
  }
  return { streams, sortable }
}

/** The object types that are mirrored, in the order of their names. */
export function chosen(
  { name: sync, mirror: config }: MirrorSync,
  types: readonly ObjectSummary[],
): string[] {
  const there = types.map(({ name }) => name).toSorted()
  const { object_types: wanted, except } = config
  if (wanted === 'all') return there.filter((name) => !except.includes(name))
  const unknown = wanted.filter((name) => !there.includes(name))
  if (unknown.length === 0) return [...wanted].toSorted()
  throw new SyncError(
    'mirror_types',
    `Sync "${sync}", object_types: ${unknown.join(', ')}: there is no such object type, or the key cannot read it; it can read: ${there.join(', ') || 'none'}`,
  )
}

/** Those of them that the run is limited to. */
export function limited(
  { sync, only = null }: Pick<DiscoverJob, 'sync' | 'only'>,
  mirrored: readonly string[],
): string[] {
  if (only === null) return [...mirrored]
  const unknown = only.filter((name) => !mirrored.includes(name))
  if (unknown.length === 0 && only.length > 0) return mirrored.filter((name) => only.includes(name))
  throw new SyncError(
    'mirror_types',
    `Sync "${sync.name}" cannot be limited to ${unknown.join(', ') || 'no object type at all'}; it mirrors: ${mirrored.join(', ') || 'none'}`,
  )
}

/** The types whose records are asked for their edges. */
function sourcesOf(
  { name: sync, mirror: config }: MirrorSync,
  definitions: readonly AssociationWire[],
  names: readonly string[],
): string[] {
  const sources = new Set<string>()
  for (const name of config.associations) {
    const definition = definitions.find((one) => one.name === name)
    const refuse = (what: string) =>
      new SyncError('mirror_associations', `Sync "${sync}", associations: ${name} ${what}`)
    if (!definition)
      throw refuse(
        `is not an association of the service; there is: ${definitions.map((one) => one.name).join(', ') || 'none'}`,
      )
    if (!names.includes(definition.source))
      throw refuse(
        `begins at ${definition.source}, whose records are not mirrored; add it to object_types`,
      )
    sources.add(definition.source)
  }
  return [...sources].toSorted()
}

async function mirrorDefinitions(
  deps: MirrorDeps,
  run: number,
  config: MirrorConfig,
  definitions: readonly AssociationWire[],
  reader: Reader,
): Promise<void> {
  const { tables, ledger } = deps
  const stream = await textStream(tables, {
    name: DEFINITIONS,
    wanted: DEFINITIONS,
    columns: NAMES,
  })
  const { fence } = await tables.claim(DEFINITIONS)
  const before = reader.now()
  const batch = await tables.batch(stream)
  let counts
  try {
    const rows = definitions.map((one) => ({
      id: one.name,
      version: null,
      cells: NAMES.map((name) => one[name]),
      misfits: null,
    }))
    await batch.add(rows, before)
    counts = await batch.merge({ run, fence, position: 'null' })
  } finally {
    await batch.drop()
  }
  // The list came whole, in one answer.
  const deleted = await tables.delete(stream, fence, 'null', {
    before,
    how: config.deletions,
    at: reader.now(),
  })
  await ledger.noteStream(run, {
    ...waiting(DEFINITIONS),
    inserted: counts.inserted,
    changed: counts.changed,
    unchanged: counts.unchanged,
    table: stream.table,
    state: 'complete',
    mode: 'full',
    requests: reader.requests,
    read: definitions.length,
    deleted,
    misfits: 0,
    serviceCount: definitions.length,
    tableCount: (await tables.count(stream)).rows,
    differs: false,
  })
}

/** A stream that nobody has begun with. */
export const waiting = (stream: string): StreamBooks => ({
  stream,
  table: null,
  state: 'waiting',
  mode: null,
  ...noTally(),
  misfits: null,
  serviceCount: null,
  tableCount: null,
  message: null,
})
