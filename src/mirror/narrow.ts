// Where a table and the service differ, found by counting: the time between the first and the last record is halved until few
// enough are left to be listed. One deletion among a million records costs some twenty requests, a listing ten thousand.

import type { FilterNode, RecordRepresentation } from '../contract/index.ts'
import type { MirrorRow, MirrorStream, MirrorTables } from '../warehouses/mirror-tables.ts'
import { instantAt } from './instant.ts'
import type { Merger } from './merger.ts'
import { filterOf, middleOf, range } from './ranges.ts'
import type { Reader } from './reader.ts'

/** Records that are listed rather than counted once more. */
const LIST_MAX = 500

export interface NarrowParts {
  readonly type: string
  /** The time property that is halved, and its column. */
  readonly by: string
  readonly column: string
  readonly reader: Reader
  readonly tables: Pick<MirrorTables, 'count' | 'ids'>
  readonly stream: MirrorStream
  readonly merger: Pick<Merger, 'take'>
  /** Requests, at most, and ids that are looked for. */
  readonly requestsMax: number
  readonly idsMax: number
  rowOf(record: RecordRepresentation): MirrorRow
  instantOf(value: unknown): string | null
  count(rows: number): void
}

interface Interval {
  readonly from: string | null
  readonly to: string | null
  readonly service: number
  readonly table: number
}

/**
 * The ids that the table has and the service did not list. What the service lists there is merged.
 * @returns null where they were not all found within the bounds
 */
export async function narrow(parts: NarrowParts): Promise<readonly string[] | null> {
  const { type, by, column, reader, tables, stream } = parts
  const low = parts.instantOf(await reader.edge(type, by, 'asc'))
  const high = parts.instantOf(await reader.edge(type, by, 'desc'))
  const countTable = async (from: string | null, to: string | null) =>
    (await tables.count(stream, { column, from, to })).rows
  const countService = (from: string | null, to: string | null) =>
    reader.count(type, filterOf(by, range(from, to)) as FilterNode)
  const begin = low === null ? null : instantAt(Date.parse(low))
  const end = high === null ? null : instantAt(Date.parse(high) + 1)

  const missing: string[] = []
  const waiting: Interval[] = []
  if (begin === null || end === null) {
    waiting.push({ from: null, to: null, service: 0, table: await countTable(null, null) })
  } else {
    // The service has none before its first and after its last.
    waiting.push({ from: null, to: begin, service: 0, table: await countTable(null, begin) })
    waiting.push({ from: end, to: null, service: 0, table: await countTable(end, null) })
    const service = await countService(begin, end)
    waiting.push({ from: begin, to: end, service, table: await countTable(begin, end) })
  }
  const last = reader.requests + parts.requestsMax
  // What can be listed whole within the bounds needs no counting.
  const total = waiting.at(-1)!.service
  const listMax = total <= 50 * parts.requestsMax ? total : LIST_MAX
  // Bounded by the requests: each pass sends some, or takes an interval away.
  for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
    const { from, to, service, table } = one
    if (service === table) continue
    if (reader.requests >= last) return null
    const middle = from === null || to === null ? null : middleOf(from, to)
    if (service > listMax && middle !== null) {
      const left = await countService(from, middle)
      const leftTable = await countTable(from, middle)
      waiting.push({ from, to: middle, service: left, table: leftTable })
      waiting.push({ from: middle, to, service: service - left, table: table - leftTable })
      continue
    }
    if (service > 100 * (last - reader.requests)) return null
    const listed = service === 0 ? new Set<string>() : await list(parts, one)
    for (let after: string | null = null; ;) {
      const ids: readonly string[] = await tables.ids(stream, {
        after,
        limit: 1_000,
        within: { column, from, to },
      })
      missing.push(...ids.filter((id) => !listed.has(id)))
      if (missing.length > parts.idsMax) return null
      if (ids.length < 1_000) break
      after = ids.at(-1)!
    }
  }
  return missing
}

async function list(parts: NarrowParts, { from, to }: Interval): Promise<Set<string>> {
  const listed = new Set<string>()
  const filter = filterOf(parts.by, range(from, to))
  for await (const page of parts.reader.pages(parts.type, filter === null ? {} : { filter })) {
    parts.count(page.records.length)
    for (const { id } of page.records) listed.add(id)
    await parts.merger.take(page.records.map(parts.rowOf), page.askedAt, () => {})
  }
  return listed
}
