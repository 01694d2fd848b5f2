// Reads of a listing that go on by the value of the last record instead of a cursor. A cursor may be a number of records, which are fewer as
// soon as one before them is deleted, or moves behind them: the next page would leave one out. Within one value there is the cursor alone.

import { canonicalJson, type Json } from '../core/json.ts'
import type { FilterNode, QueryBody, RecordRepresentation } from './schemas/index.ts'

/** The query that reads on behind a page; null: the cursor does. */
export type GoOn = (page: readonly RecordRepresentation[]) => QueryBody | null

export interface ValueOrder {
  /** A property of times, which the records are sorted by. */
  readonly by: string
  /** The value at which the query begins; null: at the first. */
  readonly from: string | null
  /** The rest of the query, for what has this value or a later one. */
  queryFrom(value: string): QueryBody
  /** The value of a property, in a form that stays the same; null if it has none. */
  read(value: unknown): string | null
}

/** Null of a page whose last record has no value, or the one that the query begins with. */
export function byLastValue({ by, from, queryFrom, read }: ValueOrder): GoOn {
  let start = from
  return (page) => {
    const value = read(page.at(-1)?.properties[by])
    if (value === null || value === start) return null
    start = value
    return { ...queryFrom(value), sorts: sortedBy(by) }
  }
}

export const sortedBy = (by: string): NonNullable<QueryBody['sorts']> => [
  { property: by, direction: 'asc' },
]

export const fromValue = (property: string, value: string): FilterNode => ({
  property,
  op: 'gte',
  value,
})

/** The records of a page but those that the page before had, as they were. */
export function newRecordsOf(
  page: readonly RecordRepresentation[],
  before: readonly RecordRepresentation[],
): readonly RecordRepresentation[] {
  const read = new Map(before.map((record) => [record.id, record]))
  const text = (record: RecordRepresentation) => canonicalJson(record as unknown as Json)
  return page.filter((record) => {
    const same = read.get(record.id)
    return same === undefined || text(record) !== text(same)
  })
}
