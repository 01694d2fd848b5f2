// The records whose edges a run reads first: those that changed, and those with an edge to a deleted record, or that were deleted
// themselves. The warehouse knows them; they stay the same during a run, whatever it reads of them.

import { SyncError } from '../core/errors.ts'
import type { LinkEnd, MirrorStream, MirrorTables } from '../warehouses/mirror-tables.ts'
import type { EdgesParts } from './edges-work.ts'

type Tables = Pick<MirrorTables, 'ids' | 'ownersOfGone' | 'streams'>

/** The tables at the ends of the edges that are mirrored and can be read. */
export async function linkEnds(
  tables: Pick<Tables, 'streams'>,
  source: MirrorStream,
  definitions: readonly { readonly name: string; readonly target: string }[],
): Promise<LinkEnd[]> {
  const ends: LinkEnd[] = [{ column: 'source_id', of: source, among: null }]
  for (const target of new Set(definitions.map((one) => one.target))) {
    const of = await knownStream(tables, target)
    const values = definitions.filter((one) => one.target === target).map(({ name }) => name)
    if (of) ends.push({ column: 'target_id', of, among: { column: 'association', values } })
  }
  return ends
}

/** Undefined for a table that was altered: it fails its own stream. */
async function knownStream(
  tables: Pick<Tables, 'streams'>,
  name: string,
): Promise<MirrorStream | undefined> {
  try {
    return (await tables.streams([name]))[0]
  } catch (error) {
    if (error instanceof SyncError && error.code === 'warehouse_altered') return undefined
    throw error
  }
}

type OwnersParts = Pick<EdgesParts, 'source' | 'stream' | 'ends' | 'position' | 'isHard'>

/** Ids of those owners above `after`, in the order of their bytes. None before the first pass over all records. */
export async function changedOwners(
  tables: Tables,
  { source, stream, ends, position: { run }, isHard }: OwnersParts,
  { after, limit }: { readonly after: string | null; readonly limit: number },
): Promise<readonly string[]> {
  if (run.from === null) return []
  const changed = await tables.ids(source, { after, limit, versionFrom: run.from })
  const gone = await tables.ownersOfGone(stream, 'source_id', {
    after,
    limit,
    ends,
    deletedFrom: run.endsFrom ?? null,
    isMissing: isHard,
  })
  return [...new Set([...changed, ...gone])].toSorted(compareBytes).slice(0, limit)
}

/** The changed owners in a page of ids, which begins above `after`. */
export async function changedAmong(
  tables: Tables,
  parts: OwnersParts,
  { after, ids }: { readonly after: string | null; readonly ids: readonly string[] },
): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  const last = ids.at(-1)
  const limit = ids.length
  // Bounded: each page begins above the one before.
  for (let from = after; last !== undefined;) {
    const some = await changedOwners(tables, parts, { after: from, limit })
    for (const id of some) found.add(id)
    from = some.at(-1) ?? null
    if (some.length < limit || compareBytes(from!, last) >= 0) break
  }
  return found
}

const compareBytes = (one: string, other: string): number =>
  Buffer.compare(Buffer.from(one), Buffer.from(other))
