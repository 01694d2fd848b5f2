// Finds what the table has and the service has not, by counting: the time between the first and the last record is halved until few
// enough records are left to list. One deletion among a million records costs about twenty requests, a listing ten thousand. A
// small type is listed whole.

import { parseInstant, formatInstant } from './instant.ts'
import { createRange, midpoint, rangeFilter } from './ranges.ts'
import { checkReadLimit } from './read-limit.ts'
import type { RecordsWork } from './records-work.ts'
import { tableIds } from './table-ids.ts'

/** Records that are listed rather than counted once more. */
const LIST_MAX = 500
/** Requests for each that is planned: pages may be short, or empty. */
const SHORT_PAGES = 10
/** Ids of the table that are read together. */
const IDS_PAGE = 1_000

/** The time property that is halved, and its column; null if there is none: then only a small type is listed, whole. */
export type BisectKey = { readonly by: string; readonly column: string } | null

interface Interval {
  readonly from: string | null
  readonly to: string | null
  readonly service: number
  readonly table: number
}

type CountBetween = (from: string | null, to: string | null) => Promise<number>

/**
 * The ids that the table has and the service did not list. What the service lists on the way is merged.
 * @param bounds requests, and ids that are looked for, at most
 * @returns null if they were not all found within the bounds
 */
export async function bisect(
  work: RecordsWork,
  key: BisectKey,
  { requestsMax, idsMax }: { readonly requestsMax: number; readonly idsMax: number },
): Promise<readonly string[] | null> {
  const { deps, type, stream, reader } = work
  const countTable: CountBetween = async (from, to) =>
    (await deps.tables.count(stream, withinOf(key, { from, to }))).rows
  const countService: CountBetween = (from, to) =>
    reader.count(type, rangeFilter(key?.by ?? null, createRange(from, to)) ?? undefined)
  const waiting = await firstIntervals(work, key, { countTable, countService })
  const missing: string[] = []
  const last = reader.requests + SHORT_PAGES * requestsMax
  /** Planned requests that are left: a page counts as a full one, however short it is. */
  let left = requestsMax
  // What can be listed whole within the bounds needs no counting.
  const total = waiting.at(-1)!.service
  const listMax = total <= 50 * requestsMax ? total : LIST_MAX
  // Bounded by the requests: each pass sends some, or takes an interval away.
  for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
    const { from, to, service, table } = one
    if (service === table && key !== null) continue
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
    const listed = service === 0 ? new Set<string>() : await list(work, key, one)
    const within = withinOf(key, one)
    const choice = { limit: IDS_PAGE, ...(within && { within }) }
    for await (const ids of tableIds(deps.tables, stream, choice)) {
      missing.push(...ids.filter((id) => !listed.has(id)))
      if (missing.length > idsMax) return null
    }
  }
  return missing
}

const withinOf = (key: BisectKey, { from, to }: Pick<Interval, 'from' | 'to'>) =>
  key === null ? undefined : { column: key.column, from, to }

/** All the time there is; the interval with the most records is the last. */
async function firstIntervals(
  { type, reader }: RecordsWork,
  key: BisectKey,
  { countTable, countService }: Readonly<Record<'countTable' | 'countService', CountBetween>>,
): Promise<Interval[]> {
  const whole = async (service: number): Promise<Interval[]> => [
    { from: null, to: null, service, table: await countTable(null, null) },
  ]
  if (key === null) return await whole(await countService(null, null))
  const low = parseInstant(await reader.edge(type, key.by, 'asc'))
  const high = parseInstant(await reader.edge(type, key.by, 'desc'))
  if (low === null || high === null) return await whole(0)
  const begin = formatInstant(Date.parse(low))
  const end = formatInstant(Date.parse(high) + 1)
  // The service has none before its first and after its last.
  const before = { from: null, to: begin, service: 0, table: await countTable(null, begin) }
  const after = { from: end, to: null, service: 0, table: await countTable(end, null) }
  const service = await countService(begin, end)
  return [before, after, { from: begin, to: end, service, table: await countTable(begin, end) }]
}

async function list(
  work: RecordsWork,
  key: BisectKey,
  { from, to, service }: Interval,
): Promise<Set<string>> {
  const { type, reader, merger, rowOf } = work
  const listed = new Set<string>()
  let read = 0
  const filter = rangeFilter(key?.by ?? null, createRange(from, to))
  for await (const page of reader.pages(type, filter === null ? {} : { filter })) {
    work.count(page.records.length)
    await checkReadLimit(work, (read += page.answered), service)
    for (const { id } of page.records) listed.add(id)
    await merger.take(page.records.map(rowOf), page.askedAt, () => {})
  }
  return listed
}
