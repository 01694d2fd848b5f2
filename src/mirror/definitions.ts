// The definitions of associations, in a table of their own. Every run reads all of them.

import type { AssociationWire, ObjectSummary } from '../contract/index.ts'
import { SyncError } from '../core/errors.ts'
import type { MirrorConfig } from '../../config/index.ts'
import { listNames } from '../core/domain/visibility.ts'
import type { Runs, Streams } from '../ledger/ledger.ts'
import type { MirrorStream, MirrorTables } from '../warehouses/mirror-tables.ts'
import type { MirrorDeps } from './ports.ts'
import type { Reader } from './reader.ts'
import { askedAtOf, type Opened } from './position.ts'
import { openedRun, waitingStream } from './streams.ts'
import { tableIds } from './table-ids.ts'
import { textStream } from './text-table.ts'

/** Name of the stream, and of its table. */
export const DEFINITIONS = 'associations'
/** The same if an object type has that name. */
const DEFINITIONS_COLUMNS = 'association definitions'

const NAMES = ['label', 'source', 'target', 'cardinality', 'description'] as const

const isDefinitionsTable = (stream: MirrorStream | undefined): boolean =>
  stream !== undefined &&
  stream.columns.length === NAMES.length &&
  NAMES.every((name) => stream.columns.some(({ property }) => property === name))

/** Whether a stream of the warehouse holds definitions, and no object type. */
export async function isDefinitions(
  tables: Pick<MirrorTables, 'streams'>,
  name: string,
): Promise<boolean> {
  if (name === DEFINITIONS_COLUMNS) return true
  if (name !== DEFINITIONS) return false
  return isDefinitionsTable((await tables.streams([name]).catch(() => []))[0])
}

/** @throws SyncError `mirror_name` if the table of definitions has the name of an object type that came later */
export async function checkDefinitionsName(
  tables: Pick<MirrorTables, 'streams'>,
  type: string,
): Promise<void> {
  if (type !== DEFINITIONS || !isDefinitionsTable((await tables.streams([type]))[0])) return
  throw new SyncError(
    'mirror_name',
    `The object type ${type} has the name of the table of association definitions, which was there first; leave the type out by except, or mirror into another schema`,
  )
}

/** What the service lists. */
interface Listed {
  readonly definitions: readonly AssociationWire[]
  readonly types: readonly ObjectSummary[]
}

/** What is stored with their table: who has read it, and the last time that it has used. */
interface DefinitionsPosition {
  readonly run: Pick<Opened, 'id' | 'openedAt'>
  readonly askedAt: string
}

/** Mirrors them. A table of theirs that was altered fails alone. */
export async function mirrorDefinitions(
  deps: MirrorDeps<Runs & Streams>,
  run: number,
  config: MirrorConfig,
  found: Listed,
  reader: Reader,
): Promise<void> {
  const [known] = await deps.tables.streams([DEFINITIONS]).catch(() => [])
  const isTaken = known
    ? !isDefinitionsTable(known)
    : found.types.some(({ name }) => name === DEFINITIONS) ||
      (await deps.tables.streamNames()).includes(DEFINITIONS_COLUMNS)
  const name = isTaken ? DEFINITIONS_COLUMNS : DEFINITIONS
  try {
    await mirrorThem(deps, run, { ...found, config, name, reader })
  } catch (error) {
    if (!(error instanceof SyncError) || error.code !== 'warehouse_altered') throw error
    const { message } = error
    await deps.ledger.noteStream(run, { ...waitingStream(name), state: 'failed', message })
  }
}

async function mirrorThem(
  { tables, ledger }: MirrorDeps<Runs & Streams>,
  run: number,
  about: Listed & {
    readonly config: MirrorConfig
    readonly name: string
    readonly reader: Reader
  },
): Promise<void> {
  const { config, name, definitions, types, reader } = about
  const wanted = name === DEFINITIONS ? DEFINITIONS : 'association_definitions'
  const stream = await textStream(tables, { name, wanted, columns: NAMES })
  const { fence, position: stored } = await tables.claim(name)
  reader.goOnFrom(askedAtOf(stored))
  const { id, openedAt } = await openedRun(ledger, run)
  const before = reader.now()
  const at = reader.now()
  const now: DefinitionsPosition = { run: { id, openedAt }, askedAt: at }
  const position = JSON.stringify(now)
  const batch = await tables.batch(stream)
  let counts
  try {
    const rows = definitions.map((one) => ({
      id: one.name,
      version: null,
      cells: NAMES.map((column) => one[column]),
      misfits: null,
    }))
    await batch.add(rows, before)
    counts = await batch.merge({ run, fence, position })
  } finally {
    await batch.drop()
  }
  // One answer had the whole list.
  const unlisted = await unlistedOf(tables, stream, { before, config, types })
  const { gone, message, differs } = unlisted
  const how = { before, how: config.deletions, at }
  const deleted =
    gone.length === 0 ? 0 : await tables.delete(stream, fence, position, { ...how, ids: gone })
  await ledger.noteStream(run, {
    ...waitingStream(name),
    ...counts,
    table: stream.table,
    state: 'complete',
    mode: 'full',
    requests: reader.requests,
    read: definitions.length,
    deleted,
    misfits: 0,
    serviceCount: definitions.length,
    tableCount: (await tables.count(stream)).rows,
    differs,
    message,
  })
}

/** Definitions that are read together; there is one for each association. */
const PAGE = 1_000

/**
 * The definitions that were not listed: those to delete, and a message for those whose types are not listed either. Without its
 * type, nothing is known of a definition: it stays as long as the type is configured, as the table of that type does.
 */
async function unlistedOf(
  tables: Pick<MirrorTables, 'ids' | 'rows'>,
  stream: MirrorStream,
  about: { before: string; config: MirrorConfig; types: readonly ObjectSummary[] },
) {
  const { before, types } = about
  const { object_types: wanted, except } = about.config
  const listed = new Set(types.map(({ name }) => name))
  const isWanted = (type: string) =>
    wanted === 'all' ? !except.includes(type) : wanted.includes(type)
  const live = stream.columns.filter((column) => column.live)
  const ends = ['source', 'target'].map((end) => live.findIndex(({ property }) => property === end))
  const gone: string[] = []
  const reported = {
    stay: { rows: 0, lost: new Set<string>() },
    go: { rows: 0, lost: new Set<string>() },
  }
  for await (const ids of tableIds(tables, stream, { limit: PAGE, seenBefore: before }))
    for (const { id, cells } of await tables.rows(stream, ids)) {
      const lost = ends.map((at) => String(cells[at])).filter((type) => !listed.has(type))
      const isHeld = lost.some(isWanted)
      if (!isHeld) gone.push(id)
      if (lost.length === 0) continue
      const group = reported[isHeld ? 'stay' : 'go']
      group.rows++
      for (const type of lost) group.lost.add(type)
    }
  const text = ({ rows, lost }: (typeof reported)['go'], what: string) =>
    rows === 0
      ? []
      : [
          `${rows} association ${rows === 1 ? 'definition is' : 'definitions are'} not listed any more, and neither is ${listNames([...lost].toSorted())}: ${what}`,
        ]
  const message = [...text(reported.stay, 'they stay'), ...text(reported.go, 'they were deleted')]
  return { gone, message: message.join('; ') || null, differs: reported.stay.rows > 0 }
}
