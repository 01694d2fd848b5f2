// A listing of a type: of all records, or of those that were last changed in a window. Promises kept here: every record that exists
// and does not change from the start to the end of the listing is merged at least once; an interrupted listing continues; a range
// ends only when `has_more` is false, or after its last value.

import { byLastValue, sortedBy, type ObjectSchema, type QueryBody } from '../contract/index.ts'
import type { Window } from '../core/domain/watermark.ts'
import { isLater, parseInstant } from './instant.ts'
import type { MirrorTuning } from './ports.ts'
import type { Listing, ListingRange } from './position.ts'
import { rangeFilter, initialRanges, createRange, splitRange } from './ranges.ts'
import { checkReadLimit } from './read-limit.ts'
import { isCursorRefused, type Reader } from './reader.ts'
import type { RecordsWork } from './records-work.ts'

/** Times that a range may begin again without progress. */
const RESTARTS_MAX = 3

/** Begins a listing: two or three requests. */
export async function beginListing(
  reader: Reader,
  schema: ObjectSchema,
  asked: {
    readonly records: number
    /** The property that the listing is ordered by, and the one of modification times. */
    readonly by: string | null
    readonly modified: string | null
    readonly tuning: Pick<MirrorTuning, 'readers' | 'rows_per_range'>
  },
): Promise<Listing> {
  const { by, modified, records } = asked
  const { readers, rows_per_range: rowsPerRange } = asked.tuning
  const startedAt = reader.now()
  const edge = async (property: string, direction: 'asc' | 'desc') =>
    parseInstant(await reader.edge(schema.name, property, direction))
  const watermark = modified === null ? null : await edge(modified, 'desc')
  let edges: { low: string; high: string } | null = null
  if (by !== null && records > rowsPerRange) {
    const high = by === modified ? watermark : await edge(by, 'desc')
    const low = await edge(by, 'asc')
    if (low !== null && high !== null) edges = { low, high }
  }
  const ranges = initialRanges(records, edges, { rowsPerRange, parts: readers })
  return { startedAt, watermark, by, ranges }
}

/** Begins a listing of what was last changed in a window, by the property of modification times: no request. */
export function beginWindow(
  { from, to }: Window,
  by: string,
  reader: Pick<Reader, 'now'>,
): Listing {
  return {
    startedAt: reader.now(),
    watermark: null,
    by,
    ranges: [createRange(from, to)],
    window: { end: null },
  }
}

/** Continues a listing, `readers` ranges at a time. Returns whether it is complete. */
export async function continueListing(listing: Listing, work: RecordsWork): Promise<boolean> {
  const { readers, rows_per_range: rowsPerRange } = work.deps.tuning
  const stop = new AbortController()
  const isOver = () => work.isLate() || stop.signal.aborted
  if (listing.window !== undefined && listing.ranges.length === 1) {
    // Its records were not counted: one reader reads as many as a range has.
    let rows = 0
    const count = (read: number) => {
      rows += read
      work.count(read)
    }
    const isLarge = () => isOver() || rows >= rowsPerRange
    await readRange(listing, listing.ranges[0]!, { ...work, count }, isLarge)
    if (isOver() || listing.ranges[0]!.done) return listing.ranges[0]!.done
  }
  const taken = new Set<ListingRange>()
  const isCut =
    listing.ranges.filter(({ without }) => !without).length > 1 || listing.window !== undefined
  const next = (): ListingRange | null => {
    let free = listing.ranges.find((one) => !one.done && !taken.has(one))
    if (!free && isCut && listing.ranges.length < 16 * readers) {
      const half = splitRange(listing.ranges, listing.window?.end ?? listing.startedAt)
      if (half) listing.ranges.push((free = half))
    }
    if (free) taken.add(free)
    return free ?? null
  }
  const lane = async () => {
    try {
      // At least one page, however late it is, so that every activity makes progress.
      for (let one = next(); one !== null; one = isOver() ? null : next())
        await readRange(listing, one, work, isOver)
    } catch (error) {
      stop.abort()
      throw error
    }
  }
  const results = await Promise.allSettled(Array.from({ length: isCut ? readers : 1 }, lane))
  for (const result of results) if (result.status === 'rejected') throw result.reason
  return listing.ranges.every((one) => one.done)
}

async function readRange(
  listing: Listing,
  one: ListingRange,
  work: RecordsWork,
  isOver: () => boolean,
): Promise<void> {
  // Bounded: each restart has made progress, or is counted.
  for (let restarts = 0; ;) {
    if (one.reached !== null) addRangeWithout(listing)
    const before = one.reached
    try {
      await readPages(listing, one, work, isOver)
      return
    } catch (error) {
      if (!isCursorRefused(error)) throw error
      restarts = one.reached === before ? restarts + 1 : 0
      if (restarts > RESTARTS_MAX) throw error
      one.cursor = null
    }
  }
}

/** For records without a value, where a filter by it leaves them out from now on. */
function addRangeWithout(listing: Listing): void {
  const isThere = listing.window !== undefined || listing.ranges.some(({ without }) => without)
  if (!isThere) listing.ranges.push(createRange(null, null, true))
}

async function readPages(
  listing: Listing,
  one: ListingRange,
  work: RecordsWork,
  isOver: () => boolean,
): Promise<void> {
  const { deps, type, position, reader, merger, rowOf } = work
  const { by } = listing
  const isOrdered = by !== null && !one.without
  const filter = rangeFilter(by, one)
  const body: QueryBody = {
    ...(one.cursor !== null && { cursor: one.cursor }),
    ...(filter && { filter }),
    ...(isOrdered && { sorts: sortedBy(by) }),
  }
  const queryFrom = (value: string): QueryBody => {
    addRangeWithout(listing)
    const rest = rangeFilter(by, { ...one, reached: value })
    return { ...(rest && { filter: rest }) }
  }
  const from = one.reached ?? one.from
  const goOn = isOrdered ? byLastValue({ by, from, queryFrom, read: parseInstant }) : undefined
  for await (const page of reader.pages(type, body, goOn)) {
    deps.signal.throwIfAborted()
    const last = page.records.at(-1)
    const value = isOrdered && last ? parseInstant(last.properties[by]) : null
    work.count(page.records.length)
    listing.read = (listing.read ?? 0) + page.answered
    await checkReadLimit(work, listing.read, position.counted)
    await merger.take(page.records.map(rowOf), page.askedAt, () => {
      // A cursor keeps the bounds that its range had then; a value does not.
      if (!isOrdered) one.cursor = page.cursor
      if (value !== null) one.reached = value
      // Another reader may have taken the rest of it.
      const isPast = value !== null && one.to !== null && Date.parse(value) >= Date.parse(one.to)
      if (page.cursor === null || isPast || isAfterEnd(listing, value)) one.done = true
    })
    if (one.done || isOver()) return
    await findEnd(listing, one, work)
  }
}

/** For more than a page of a window that is still open: later changes are left for the next run. */
async function findEnd(
  { window, by, startedAt }: Listing,
  { to }: ListingRange,
  { reader, type }: RecordsWork,
): Promise<void> {
  if (window === undefined || window.end !== null || (to !== null && !isLater(to, startedAt)))
    return
  window.end = parseInstant(await reader.edge(type, by!, 'desc'))
}

const isAfterEnd = ({ window }: Listing, value: string | null): boolean =>
  value !== null && window !== undefined && window.end !== null && isLater(value, window.end)

/** The same listing from its first record on. */
export function restartListing(listing: Listing): Listing {
  const bounds = listing.ranges.map(({ from, to, without }) => createRange(from, to, without))
  return { ...listing, ranges: bounds, read: 0 }
}
