// What changed since the last time, in the order of modification times. Promises kept here: records that share a time are never
// missed (the read goes back by the overlap, and takes the bound itself along); a clock that runs ahead does not move the
// watermark into the future; a type that changes faster than it is read still comes to an end.

import type { QueryBody, RecordRepresentation } from '../contract/index.ts'
import type { MirrorRow } from '../warehouses/mirror-tables.ts'
import { checkReadLimit, type ReadLimitParts } from './read-limit.ts'
import { earlierInstant, formatInstant, isLater } from './instant.ts'
import type { Merger } from './merger.ts'
import { isCursorRefused, type Reader } from './reader.ts'

/** Times that the read may begin anew without having come further. */
const RESTARTS_MAX = 3

export interface ChangesParts extends ReadLimitParts {
  /** The property of modification times. */
  readonly modified: string
  readonly overlapMs: number
  /** Records that the service counted last; null where it was not asked. */
  readonly counted: number | null
  readonly reader: Reader
  readonly merger: Pick<Merger, 'take'>
  readonly signal: AbortSignal
  isLate(): boolean
  rowOf(record: RecordRepresentation): MirrorRow
  instantOf(value: unknown): string | null
  count(rows: number): void
  /** Where it begins, if it has not come anywhere; null for everything. Default: the overlap before the watermark. */
  readonly from?: string | null
  /** What the position knows: the watermark, and where this run has come in its read, which begins before that. */
  known(): { readonly watermark: string | null; readonly reached: string | null }
  moveTo(watermark: string | null, reached: string): void
}

/** Reads to the end of what had changed when it began. Returns whether it came there. */
export async function readChanges(parts: ChangesParts): Promise<boolean> {
  const known = parts.known()
  const { from = changesFrom(known.watermark, parts.overlapMs) } = parts
  let start = known.reached ?? from
  let high: string | null | undefined
  let read = 0
  // Bounded: each new beginning has come further, or is counted.
  for (let restarts = 0; ;) {
    let reached: string | null = null
    try {
      const body: QueryBody = {
        ...(start !== null && {
          filter: { property: parts.modified, op: 'gte', value: start },
        }),
        sorts: [{ property: parts.modified, direction: 'asc' }],
      }
      for await (const page of parts.reader.pages(parts.type, body)) {
        parts.signal.throwIfAborted()
        const last = page.records.at(-1)
        reached = (last && parts.instantOf(last.properties[parts.modified])) ?? reached
        parts.count(page.records.length)
        await checkReadLimit(parts, (read += page.records.length), parts.counted)
        const mark = reached === null ? null : earlierInstant(reached, page.askedAt)
        await parts.merger.take(page.records.map(parts.rowOf), page.askedAt, () => {
          const { watermark } = parts.known()
          const isAhead = mark !== null && isLater(mark, watermark)
          if (reached !== null) parts.moveTo(isAhead ? mark : watermark, reached)
        })
        if (page.cursor === null) return true
        // More than a page: what changes from now on is left for the next run.
        high ??= parts.instantOf(await parts.reader.edge(parts.type, parts.modified, 'desc'))
        if (high !== null && reached !== null && isLater(reached, high)) return true
        if (parts.isLate()) return false
      }
      return true
    } catch (error) {
      if (!isCursorRefused(error)) throw error
      restarts = reached === null || reached === start ? restarts + 1 : 0
      if (restarts > RESTARTS_MAX) throw error
      start = reached ?? start
    }
  }
}

/** Where a read of changes begins; null for everything. */
export const changesFrom = (watermark: string | null, overlapMs: number): string | null =>
  watermark === null || overlapMs === 0
    ? watermark
    : formatInstant(Date.parse(watermark) - overlapMs)
