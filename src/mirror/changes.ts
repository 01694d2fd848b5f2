// Reads what changed since the last run, in the order of modification times. Promises kept here: records that share a time are
// never missed (the read goes back by the overlap, and includes the bound itself); a clock that runs ahead does not move the
// watermark into the future; the read of a type that changes faster than it is read still ends.

import { byLastValue, fromValue, sortedBy, type QueryBody } from '../contract/index.ts'
import { checkReadLimit } from './read-limit.ts'
import { earlierInstant, formatInstant, isLater, parseInstant } from './instant.ts'
import { isCursorRefused } from './reader.ts'
import type { RecordsWork } from './records-work.ts'

/** Times that the read may begin again without progress. */
const RESTARTS_MAX = 3

export interface ChangesToRead {
  /** The property of modification times. */
  readonly modified: string
  /** Start of a read that has not made progress yet; null for everything. */
  readonly from: string | null
  /** The position: the watermark, and how far this run has read, which begins before it. */
  known(): { readonly watermark: string | null; readonly reached: string | null }
  moveTo(watermark: string | null, reached: string): void
}

/** Reads all changes up to the time at which the read began. Returns false if the activity's time was over first. */
export async function readChanges(
  work: RecordsWork,
  { modified, from, known, moveTo }: ChangesToRead,
): Promise<boolean> {
  const { deps, type, position, reader, merger, rowOf } = work
  let start = known().reached ?? from
  let high: string | null | undefined
  let read = 0
  // Bounded: each restart has made progress, or is counted.
  for (let restarts = 0; ;) {
    let reached: string | null = null
    try {
      const queryFrom = (value: string) => ({ filter: fromValue(modified, value) })
      const body: QueryBody = { ...(start !== null && queryFrom(start)), sorts: sortedBy(modified) }
      const goOn = byLastValue({ by: modified, from: start, queryFrom, read: parseInstant })
      for await (const page of reader.pages(type, body, goOn)) {
        deps.signal.throwIfAborted()
        const last = page.records.at(-1)
        reached = (last && parseInstant(last.properties[modified])) ?? reached
        work.count(page.records.length)
        await checkReadLimit(work, (read += page.answered), position.counted)
        const mark = reached === null ? null : earlierInstant(reached, page.askedAt)
        await merger.take(page.records.map(rowOf), page.askedAt, () => {
          const { watermark } = known()
          const isAhead = mark !== null && isLater(mark, watermark)
          if (reached !== null) moveTo(isAhead ? mark : watermark, reached)
        })
        if (page.cursor === null) return true
        // More than a page: later changes are left for the next run.
        high ??= parseInstant(await reader.edge(type, modified, 'desc'))
        if (high !== null && reached !== null && isLater(reached, high)) return true
        if (work.isLate()) return false
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

/** The time at which a read of changes begins; null for everything. */
export const changesFrom = (watermark: string | null, overlapMs: number): string | null =>
  watermark === null || overlapMs === 0
    ? watermark
    : formatInstant(Date.parse(watermark) - overlapMs)
