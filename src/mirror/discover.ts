// Finds what a run has to do: the object types that are mirrored. It also mirrors the definitions of their associations, a table of
// their own. Promise kept here: nothing is written into a schema that mirrors another org, or that another project or sync fills.

import type { AssociationWire } from '../contract/index.ts'
import { SyncError } from '../core/errors.ts'
import { checkHolder, type Holder } from '../core/domain/mirror.ts'
import type { MirrorSync } from '../../config/index.ts'
import type { Window } from '../core/domain/watermark.ts'
import type { LedgerIdentity, Runs, Streams } from '../ledger/ledger.ts'
import { mirrorDefinitions } from './definitions.ts'
import { selectTypes, noteLostTypes, placedIn } from './lost-types.ts'
import type { DiscoveredStreams, MirrorDeps, StreamRef } from './ports.ts'
import { Reader } from './reader.ts'
import { edgesStream, waitingStream } from './streams.ts'

export interface DiscoverJob {
  readonly run: number
  readonly sync: MirrorSync
  readonly keyFingerprint: string
  /** Edges and association definitions have no time, so a window leaves them out. */
  readonly window?: Window | null
  /** Object types that the run is limited to, of those that are mirrored. Default: all of them. */
  readonly only?: readonly string[] | null
}

/**
 * Asks the service for types, field types and associations: four requests, three in a window.
 * @throws SyncError `warehouse_other_mirror`, `warehouse_other_project`, `warehouse_other_sync`, `mirror_types`; Blocked,
 *   ServiceFailure, QuotaWait
 */
export async function discoverStreams(
  deps: MirrorDeps<LedgerIdentity & Runs & Streams>,
  job: DiscoverJob,
): Promise<DiscoveredStreams> {
  const { client } = deps
  const { mirror: config } = job.sync
  const reader = new Reader(deps)
  const { types, sortable } = await ownTables(deps, reader, job.sync)
  const { names: mirrored } = selectTypes(config, types)
  const names = limitStreams(job, mirrored)
  const isWindow = (job.window ?? null) !== null
  const definitions = isWindow
    ? []
    : await reader.ask((options) => client.listAssociations(options))
  const { sources, unfound } = isWindow
    ? { sources: [], unfound: [] }
    : sourcesOf(job.sync, definitions, mirrored)
  const streams: StreamRef[] = [
    ...names.map((name) => ({ kind: 'records' as const, name })),
    ...sources
      .filter((name) => names.includes(name))
      .map((name) => ({ kind: 'edges' as const, name })),
  ]
  for (const { kind, name } of streams)
    await deps.ledger.noteStream(
      job.run,
      waitingStream(kind === 'edges' ? edgesStream(name) : name),
    )
  if (job.only == null) {
    await noteLostTypes(deps, job.run, config, types)
    for (const { association, message: words } of unfound) {
      const path = ['associations', association]
      const message = await placedIn(deps, { message: words, path })
      const stream = waitingStream(`association ${association}`)
      await deps.ledger.noteStream(job.run, { ...stream, state: 'failed', message })
    }
  }
  if (isWindow) return { streams, sortable }
  await mirrorDefinitions(deps, job.run, config, { definitions, types }, reader)
  return { streams, sortable }
}

/**
 * Checks whose the tables are, or notes it, and reads the object types, and the field types that the service sorts by: three
 * requests.
 */
export async function ownTables(
  { client, tables, ledger }: MirrorDeps<LedgerIdentity>,
  reader: Reader,
  sync: MirrorSync,
) {
  const self = await reader.ask((options) => client.readSelf(options))
  await tables.own(`${client.origin} org ${self.org_id}`, await ledger.project(), sync.name)
  const types = await reader.ask((options) => client.listObjectTypes(options))
  const fieldTypes = await reader.ask((options) => client.listFieldTypes(options))
  return { types, sortable: fieldTypes.filter((one) => one.sortable).map(({ name }) => name) }
}

/** @throws SyncError `warehouse_other_project`, `warehouse_other_sync` if another project, or sync, fills the tables */
export async function checkTablesHolder(
  place: string,
  holder: Holder,
  { ledger, sync }: { readonly ledger: LedgerIdentity; readonly sync: string },
): Promise<void> {
  const { owner } = holder
  checkHolder(`The warehouse ${place}`, holder, { owner, project: await ledger.project(), sync })
}

/** The types that the run is limited to. */
export function limitStreams(
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

/** An association whose edges cannot be mirrored, and why. */
interface Unfound {
  readonly association: string
  readonly message: string
}

/** The types whose records have edges to read. */
function sourcesOf(
  { mirror: config }: MirrorSync,
  definitions: readonly AssociationWire[],
  names: readonly string[],
): { readonly sources: readonly string[]; readonly unfound: readonly Unfound[] } {
  const sources = new Set<string>()
  const unfound: Unfound[] = []
  for (const name of config.associations) {
    const definition = definitions.find((one) => one.name === name)
    if (definition && names.includes(definition.source)) sources.add(definition.source)
    else
      unfound.push({
        association: name,
        message: definition
          ? `the association ${name} begins at ${definition.source}, whose records are not mirrored; add it to object_types`
          : `the association ${name} is not listed, so the key cannot read what it links, or it is gone; there is: ${definitions.map((one) => one.name).join(', ') || 'none'}`,
      })
  }
  return { sources: [...sources].toSorted(), unfound }
}
