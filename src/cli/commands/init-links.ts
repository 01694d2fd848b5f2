// The links that `init` proposes for a second file: the keys of the files that other syncs of the configuration read.

import type { Config } from '../../../config/index.ts'
import type { RecordsClient } from '../../client/index.ts'
import { SyncError } from '../../core/errors.ts'
import {
  keyText,
  proposeLinks,
  sharedPrefix,
  type KeyedRows,
  type Proposal,
  type ProposedLink,
  type SourceSample,
  type Target,
} from '../../import/index.ts'
import { openCsv } from '../../sources/csv/index.ts'

interface Scene {
  readonly sample: SourceSample
  readonly targets: readonly Target[]
  readonly decided: Proposal
}

/** The columns that name records of other syncs. */
export async function proposedLinks(
  config: Config,
  connection: string,
  client: RecordsClient,
  { sample, targets, decided: { objectType, key } }: Scene,
): Promise<readonly ProposedLink[]> {
  const others = await keyedRows(config, connection)
  if (others.length === 0) return []
  const prefix = sharedPrefix(targets.map(({ schema }) => schema.name))
  const mapped = new Set(key === null ? [] : [key.column])
  const associations = await associationsOf(client)
  return proposeLinks(sample, objectType, others, associations, { prefix, mapped })
}

const ROWS_MAX = 100_000
const CHUNK_ROWS = 1_000

/** The keys of imports from CSV files over the same connection. A file that cannot be read now has none. */
async function keyedRows(config: Config, connection: string): Promise<KeyedRows[]> {
  const found: KeyedRows[] = []
  for (const sync of Object.values(config.syncs)) {
    if (sync.kind !== 'import' || sync.import.to !== connection) continue
    const { from, object_type: objectType, matching_property: by, properties } = sync.import
    const column = properties[by]?.column
    if (!('csv' in from) || from.csv === undefined || from.sql !== undefined) continue
    if (column === undefined || by === undefined) continue
    const { csv: path, sql: _, tables: __, ...settings } = from
    const keys = await keysOf({ path, ...settings }, column)
    if (keys.size > 0) found.push({ sync: sync.name, objectType, by, keys })
  }
  return found
}

async function keysOf(
  options: Parameters<typeof openCsv>[0],
  column: string,
): Promise<ReadonlySet<string>> {
  const keys = new Set<string>()
  try {
    const source = await openCsv(options)
    try {
      const index = source.columns.indexOf(column)
      if (index < 0) return keys
      let rows = 0
      for await (const chunk of source.chunks(CHUNK_ROWS)) {
        for (const { cells } of chunk) keys.add(keyText(String(cells[index] ?? '')))
        rows += chunk.length
        if (rows >= ROWS_MAX) break
      }
    } finally {
      await source.close()
    }
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
  }
  keys.delete('')
  return keys
}

/** Associations of the service; none where the key may not see them. */
async function associationsOf(client: RecordsClient) {
  try {
    return await client.listAssociations()
  } catch (error) {
    if (error instanceof SyncError) return []
    throw error
  }
}
