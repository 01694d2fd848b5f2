// A table of events, and what a query with a watermark and a window reads of it. The watermark is a number.

import { rankOf } from '../../../src/core/domain/watermark-rank.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type { Extent, Source } from '../../../src/sources/source.ts'

export interface Event {
  readonly id: string
  readonly first: string
  readonly at: number
  readonly company?: string
}

export const EVENTS = {
  query: 'SELECT * FROM events WHERE at >= :watermark AND at >= :from AND at < :to',
  warehouse: 'lake',
  watermark: { column: 'at', initial: '0' },
} as ImportConfig['from']

/** @param ranked false: as versions read that kept no watermark of rows */
export function eventsSource(
  events: readonly Event[],
  { watermark, window }: Extent,
  { ranked = true, column = 'at' } = {},
): Source {
  const begin = window === null ? Number(watermark?.value ?? 0) : 0
  const from = Number(window?.from ?? begin)
  const to = Number(window?.to ?? Infinity)
  const rows = events.filter(({ at }) => at >= Math.max(from, begin) && at < to)
  const sorted = rows.toSorted((a, b) => a.at - b.at)
  const reached = Math.max(begin, ...rows.map(({ at }) => at))
  const rank = (at: number) => rankOf({ column, order: 'number', value: String(at) })!
  return {
    columns: ['id', 'first', 'at', 'company'],
    async *chunks() {
      yield sorted.map(({ id, first, at, company = '' }, index) => ({
        ordinal: index + 1,
        line: index + 1,
        ...(ranked && { watermark: rank(at) }),
        cells: [id, first, String(at), company],
      }))
    },
    summary: () => ({
      rows: rows.length,
      digest: 'd'.repeat(64),
      ...(window === null && { watermark: { column, order: 'number', value: String(reached) } }),
    }),
    close: async () => {},
  }
}

/** A backfill of the times from `from` until before `to`. */
export const windowOf = (from: number, to: number, overwriteNewer?: true) => ({
  limits: {
    window: { from: String(from), to: String(to) },
    only: null,
    ...(overwriteNewer && { overwriteNewer }),
  },
})
