// Whether the table of a stream is the very one that its position was stored with. Promise kept here: a position counts only for
// that table; where it was altered, put back or made again in between, everything is read again.

import { listNames } from '../core/domain/visibility.ts'
import { SyncError } from '../core/errors.ts'
import type { MirrorStream, MirrorTables, TableIdentity } from '../warehouses/mirror-tables.ts'

/** What a position keeps of it. */
interface Kept {
  table?: TableIdentity | null
}

/** Notes the table in the position. Returns how it is another one than before, as a sentence; null if it is the same. */
export function noteTable(
  position: Kept,
  { table }: MirrorStream,
  now: TableIdentity,
): string | null {
  const { table: before } = position
  position.table = now
  if (before === undefined) return null
  if (before === null)
    return `a run before found the table ${table} altered, so everything is read again`
  if (before.id !== now.id)
    return `the table ${table} is not the one that was filled: it was made or put back by others, so everything is read again`
  // A column that the mirror has added since is no other one.
  const other = Object.keys(before.columns).filter(
    (name) => before.columns[name] !== now.columns[name],
  )
  if (other.length === 0) return null
  // By their order alone, all columns after such a one are others.
  const named = now.id === '' ? '' : ` (${listNames(other)})`
  return `the table ${table} has other columns than those that were filled${named}: they were dropped and added, or renamed, so everything is read again`
}

/**
 * Finds the stream. If its table was altered, its position counts for nothing from now on, also if others put the table back.
 * @throws SyncError `warehouse_altered`
 */
export async function findStream(
  tables: Pick<MirrorTables, 'streams' | 'claim' | 'move'>,
  name: string,
): Promise<MirrorStream | undefined> {
  try {
    return (await tables.streams([name]))[0]
  } catch (error) {
    if (!(error instanceof SyncError) || error.code !== 'warehouse_altered') throw error
    const { fence, position } = await tables.claim(name)
    if (position !== null) await tables.move(name, fence, withoutTable(position))
    throw error
  }
}

/** A text that cannot be read stays as it is: its stream reports it. */
function withoutTable(position: string): string {
  try {
    return JSON.stringify({ ...(JSON.parse(position) as object), table: null })
  } catch {
    return position
  }
}
