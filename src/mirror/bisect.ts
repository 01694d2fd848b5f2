// Where a table and the service differ, found by counting: the time between the first and the last record is halved until few
// enough are left to be listed. One deletion among a million records costs some twenty requests, a listing ten thousand. A
// small type is listed whole.

import type { RecordRepresentation } from '../contract/index.ts'
import type { MirrorRow, MirrorStream, MirrorTables } from '../warehouses/mirror-tables.ts'
import { checkReadLimit, type ReadLimitParts } from './read-limit.ts'
import { formatInstant } from './instant.ts'
import type { Merger } from './merger.ts'
import { rangeFilter, midpoint, createRange } from './ranges.ts'
import type { Reader } from './reader.ts'

/** Records that are listed rather than counted once more. */
const LIST_MAX = 500
/** Requests for each that is planned: pages may be short, or empty. */
const SHORT_PAGES = 10

export interface BisectParts extends ReadLimitParts {
  /** The time property that is halved, and its column; null where there is none: then a small type is listed whole. */
  readonly partitionKey: { readonly by: string; readonly column: string } | null
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
export async function bisect(parts: BisectParts): Promise<readonly string[] | null> {
  const { reader, partitionKey: axis } = parts
  const countTable = async (from: string | null, to: string | null) =>
    (await parts.tables.count(parts.stream, withinOf(parts, from, to))).rows
  const countService = (from: string | null, to: string | null) =>
    reader.count(parts.type, rangeFilter(axis?.by ?? null, createRange(from, to)) ?? undefined)

  const waiting = await firstIntervals(parts, countTable, countService)
  const missing: string[] = []
  const last = reader.requests + SHORT_PAGES * parts.requestsMax
  /** Planned requests that are left: a page counts as a full one, however short it comes. */
  let left = parts.requestsMax
  // What can be listed whole within the bounds needs no counting.
  const total = waiting.at(-1)!.service
  const listMax = total <= 50 * parts.requestsMax ? total : LIST_MAX
  // Bounded by the requests: each pass sends some, or takes an interval away.
  for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
    const { from, to, service, table } = one
    if (service === table && axis !== null) continue
    const middle = from === null || to === null ? null : midpoint(from, to)
    if (service > listMax && middle !== null) {
      if (left-- <= 0) return null
      const lower = await countService(from, middle)
      const lowerTable = await countTable(from, middle)
      waiting.push({ from, to: middle, service: lower, table: lowerTable })
      waiting.push({ from: middle, to, service: service - lower, table: table - lowerTable })
      continue
    }
    left -= Math.ceil(service / 100)
    if (left < 0 || reader.requests >= last) return null
    const listed = service === 0 ? new Set<string>() : await list(parts, one)
    for (let after: string | null = null; ;) {
      const ids: readonly string[] = await parts.tables.ids(parts.stream, {
        after,
        limit: 1_000,
        ...(withinOf(parts, from, to) && { within: withinOf(parts, from, to)! }),
      })
      missing.push(...ids.filter((id) => !listed.has(id)))
      if (missing.length > parts.idsMax) return null
      if (ids.length < 1_000) break
      after = ids.at(-1)!
    }
  }
  return missing
}

const withinOf = ({ partitionKey: axis }: BisectParts, from: string | null, to: string | null) =>
  axis === null ? undefined : { column: axis.column, from, to }

/** All the time there is, the one with the most records last. */
async function firstIntervals(
  { partitionKey: axis, reader, type, instantOf }: BisectParts,
  countTable: (from: string | null, to: string | null) => Promise<number>,
  countService: (from: string | null, to: string | null) => Promise<number>,
): Promise<Interval[]> {
  const whole = async (service: number): Promise<Interval[]> => [
    { from: null, to: null, service, table: await countTable(null, null) },
  ]
  if (axis === null) return await whole(await countService(null, null))
  const low = instantOf(await reader.edge(type, axis.by, 'asc'))
  const high = instantOf(await reader.edge(type, axis.by, 'desc'))
  if (low === null || high === null) return await whole(0)
  const begin = formatInstant(Date.parse(low))
  const end = formatInstant(Date.parse(high) + 1)
  // The service has none before its first and after its last.
  const before = { from: null, to: begin, service: 0, table: await countTable(null, begin) }
  const after = { from: end, to: null, service: 0, table: await countTable(end, null) }
  const service = await countService(begin, end)
  return [before, after, { from: begin, to: end, service, table: await countTable(begin, end) }]
}

async function list(parts: BisectParts, { from, to, service }: Interval): Promise<Set<string>> {
  const listed = new Set<string>()
  let read = 0
  const filter = rangeFilter(parts.partitionKey?.by ?? null, createRange(from, to))
  for await (const page of parts.reader.pages(parts.type, filter === null ? {} : { filter })) {
    parts.count(page.records.length)
    await checkReadLimit(parts, (read += page.records.length), service)
    for (const { id } of page.records) listed.add(id)
    await parts.merger.take(page.records.map(parts.rowOf), page.askedAt, () => {})
  }
  return listed
}
