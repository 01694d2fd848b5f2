// What `check` finds of an import: its source can be opened, its mapping fits both sides, and what its first rows become.

import type { Config, ImportSync } from '../../../config/index.ts'
import type { RecordsClient } from '../../client/index.ts'
import { writesRecords } from '../../core/domain/import-modes.ts'
import { MappingError, SourceError, SyncError } from '../../core/errors.ts'
import { countText, formatNumber } from '../../core/format.ts'
import { ROW_CHARS_MAX } from '../../core/limits.ts'
import {
  checkOwnRecords,
  linkBoundsOf,
  loadMapping,
  openNoRows,
  readTarget,
  stagedParts,
} from '../../import/index.ts'
import type { ReadSchema } from '../../mapping-tests/index.ts'
import { openSource, sourceOf } from '../../sources/index.ts'
import type { Source, SourceRow } from '../../sources/source.ts'
import type { CommandContext, createClients } from '../shared/context.ts'
import type { OperationRow } from '../views/operations.ts'
import { shownRow, type ShownRow } from '../views/first-rows.ts'
import { firstRows, firstRowsWarnings, invalidRows, mostlyInvalidText } from './check-rows.ts'
import { sharedLinks, sharedProperties } from './check-shared.ts'

export interface CheckFindings {
  readonly message: string
  /** Whether most rows of an import would be set aside. */
  readonly isMostlyInvalid?: boolean
  readonly warnings?: readonly string[]
  /** Of a connection: how each operation is requested. */
  readonly operations?: readonly OperationRow[]
}

/** What is read while imports are checked. */
export interface ImportsRead {
  readonly read: ReadSchema[]
  readonly rowsWanted: number
  readonly rows: ShownRow[]
  /** How long the query of a file may take, ms. */
  readonly queryMs: number
}

/** Whether the source can be opened, and the mapping fits both sides. */
export async function checkImport(
  context: CommandContext,
  config: Config,
  sync: ImportSync,
  {
    connect,
    clientOf,
    checking,
  }: {
    connect: Awaited<ReturnType<typeof createClients>>['connect']
    clientOf(name: string): Promise<RecordsClient>
    /** What is read is added. */
    checking: ImportsRead
  },
): Promise<CheckFindings> {
  const { createSourceOpeners } = await import('../../resources/openers.ts')
  const limit = queryLimit(sync, checking.queryMs)
  const openers = createSourceOpeners(context, connect)
  const source = await openSource(sync, openers, limit.signal).catch(async (error: unknown) => {
    const over = limit.over(error)
    throw await withNames(
      over === null ? error : new SourceError('query_slow', over),
      sync,
      clientOf,
    )
  })
  try {
    const client = await clientOf(sync.import.to)
    const target = await readTarget(
      { client, signal: new AbortController().signal, priority: 'interactive' },
      sync,
    )
    // Also where the mapping does not fit it: a test says so too.
    checking.read.push({ sync, service: client.origin, target, columns: source.columns })
    const { columns, kinds } = source
    const mapping = await loadMapping(sync.name, sync.import, target, columns, { kinds })
    const home = { origin: client.origin, orgId: target.self.org_id }
    checkOwnRecords(sync.name, sync.import, source, home)
    const found = await readFirstRows(source, mapping, sync, { ...checking, limit })
    const { failed, warnings } = found
    return {
      isMostlyInvalid: failed !== null,
      message: failed ?? importMessage(sync, source.columns.length),
      warnings: [
        ...(source.warnings ?? []),
        ...mapping.warnings,
        ...sharedProperties(config, sync),
        ...sharedLinks(config, sync, linkBoundsOf(sync.import, target.links?.definitions ?? [])),
        ...warnings,
      ],
    }
  } catch (error) {
    throw error instanceof SourceError ? error.of(sync.name) : error
  } finally {
    await source.close()
  }
}

function importMessage({ import: config }: ImportSync, columns: number): string {
  const { object_type: type, matching_property: matching, properties, links = [] } = config
  const linked = links.map(
    ({ association, to, by }) => `${association} to ${to} by ${by ?? 'record id'}`,
  )
  if (!writesRecords(config.mode))
    return `links of ${type}, found by ${matching}, from ${countText(columns, 'column')}: ${linked.join(', ')}`
  const count = Object.keys(properties).length
  const with_ = linked.length === 0 ? '' : `; links: ${linked.join(', ')}`
  return `${count} properties of ${type} from ${columns} columns, matched by ${matching}${with_}`
}

/** Reads rows of a source that costs nothing to read, and of any other one if they are wanted. Returns what is wrong with them. */
async function readFirstRows(
  source: Source,
  mapping: Awaited<ReturnType<typeof loadMapping>>,
  { name, import: config }: ImportSync,
  { rowsWanted, rows, limit }: ImportsRead & { readonly limit: QueryLimit },
): ReturnType<typeof firstRowsWarnings> {
  const { columns } = source
  const wanted = rows.length + rowsWanted
  const note = (chunk: readonly SourceRow[]) => {
    for (const row of chunk) checkSize(row, mapping)
    for (const row of chunk.slice(0, wanted - rows.length))
      rows.push(shownRow(name, row, { config, columns, mapping }))
  }
  if (sourceOf(config.from).isLocal)
    return await firstRowsWarnings(source, mapping, note, limit.signal).catch((error: unknown) => {
      const over = limit.over(error)
      if (over === null) throw error
      return { warnings: [over], failed: null }
    })
  const first = rowsWanted > 0 ? await firstRows(source, rowsWanted) : []
  const tried = invalidRows(first, mapping)
  const warnings = mapping.notes()
  note(first)
  return { warnings, failed: mostlyInvalidText(tried, first.length === rowsWanted) }
}

/** A row with less text than this is mapped only where it is shown: none of its values can make it too large. */
const LARGE_ROW_CHARS = ROW_CHARS_MAX / 64

/** @throws SourceError `row_too_large`, as a run does */
function checkSize(row: SourceRow, mapping: Awaited<ReturnType<typeof loadMapping>>): void {
  let chars = 0
  for (const cell of row.cells) if (typeof cell === 'string') chars += cell.length
  if (chars >= LARGE_ROW_CHARS) stagedParts([mapping.map(row)])
}

/** Until when the query over a file is waited for. */
interface QueryLimit {
  readonly signal: AbortSignal | undefined
  /** What to say if an error of the reading is that the time was over; otherwise null. */
  over(error: unknown): string | null
}

/** DuckDB ends no query by itself, and one may have no end. */
function queryLimit({ import: { from } }: ImportSync, ms: number): QueryLimit {
  if (!('csv' in from) || from.sql === undefined) return { signal: undefined, over: () => null }
  const signal = AbortSignal.timeout(ms)
  const text = `the query over the file had not ended after ${formatNumber(ms / 1_000)} s, and was stopped: its rows were not looked at. A run waits until it ends. If it never does, look for a join without a condition or a recursion without an end; otherwise try it on a part of the file`
  return { signal, over: (error) => (signal.aborted && error === signal.reason ? text : null) }
}

/** The error of a source that cannot be opened; with it what is wrong with the names on the service, which needs no source. */
async function withNames(
  error: unknown,
  sync: ImportSync,
  clientOf: (name: string) => Promise<RecordsClient>,
): Promise<unknown> {
  if (!(error instanceof SourceError)) return error
  const ofSource = error.of(sync.name)
  const { columns } = openNoRows(sync.import)
  try {
    const signal = new AbortController().signal
    const client = await clientOf(sync.import.to)
    const target = await readTarget({ client, signal, priority: 'interactive' }, sync)
    await loadMapping(sync.name, sync.import, target, columns)
  } catch (ofNames) {
    if (ofNames instanceof MappingError) return new AggregateError([ofSource, ofNames])
    if (!(ofNames instanceof SyncError)) throw ofNames
  }
  return ofSource
}
