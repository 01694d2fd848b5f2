// The table's ids and rows, in pages.

import { slicesOf } from '../../core/slices.ts'
import type { ColumnEquals, MirrorStream, StoredRow } from '../../warehouses/mirror-tables.ts'
import { tableIds } from '../table-ids.ts'
import { ROWS_MAX } from './local-tables.ts'
import { tableRange } from './partition-key.ts'
import type { PartitionRange } from './state.ts'
import type { ReconcileWork } from './work.ts'

/** Ids of the table that are read together. */
const IDS_MAX = 10_000

/** Ids of the rows of a partition, or of all; with `equals`, only of rows that have these values. */
export async function* idPages(
  { deps, stream, key, local }: ReconcileWork,
  range: PartitionRange | null,
  equals: readonly ColumnEquals[] = [],
): AsyncGenerator<readonly string[]> {
  const within = range === null ? undefined : tableRange(key, range)
  const choice = { limit: IDS_MAX, equals, ...(within && { within }) }
  for await (const ids of tableIds(local, stream, choice)) {
    deps.signal.throwIfAborted()
    deps.beat()
    yield ids
  }
}

/** The rows of any number of ids; `stream` may have some of the columns only. */
export async function* rowPages(
  { deps, stream: whole, local }: ReconcileWork,
  ids: readonly string[],
  stream: MirrorStream = whole,
): AsyncGenerator<readonly StoredRow[]> {
  for (const some of slicesOf(ids, ROWS_MAX)) {
    const rows = await local.rows(stream, some)
    deps.signal.throwIfAborted()
    deps.beat()
    yield rows
  }
}

export async function rowsById(
  work: ReconcileWork,
  ids: readonly string[],
): Promise<Map<string, StoredRow>> {
  const held = new Map<string, StoredRow>()
  for await (const rows of rowPages(work, ids)) for (const row of rows) held.set(row.id, row)
  return held
}
