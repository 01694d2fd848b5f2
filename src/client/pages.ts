// Listings, page by page. Promises kept here: only `has_more` ends a listing (specification section 4.5); a listing that repeats
// itself or makes no progress ends in an error; memory does not grow with its length.

import type { AggregateData, PaginationWire } from '../contract/index.ts'
import { ServiceFailure } from '../core/errors.ts'
import type { RequestOptions } from './call.ts'

/** After this many pages in a row that are empty, or bring nothing new, a listing counts as making no progress. */
export const EMPTY_PAGES_MAX = 10

export interface ListingPage {
  readonly data: readonly unknown[]
  readonly pagination: PaginationWire
}

/**
 * Every page of a listing, from `read(undefined)`, or `read(from)`, on.
 * @throws ServiceFailure `distrusted` if a cursor comes back, or after 10 pages in a row that are empty or hold nothing that the
 *   two pages before them did not hold
 */
export async function* eachPage<P extends ListingPage>(
  read: (cursor: string | undefined) => Promise<P>,
  from?: string,
  objectType?: string,
): AsyncGenerator<P, void, undefined> {
  let cursor = from
  let emptyInRow = 0
  /** What the last two pages held. */
  let seen: ReadonlySet<string>[] = []
  // Brent's way to find a circle with two cursors in memory: the mark moves to the newest at pages 1, 2, 4, 8, ...
  let mark = from
  let moveMarkAt = 1
  // Bounded by the service's records: a page either brings new ones, or counts as empty; a circle ends.
  for (let count = 1; ; count++) {
    const page = await read(cursor)
    yield page
    if (!page.pagination.has_more) return
    const held = new Set(page.data.map(nameOf))
    const isNew = [...held].some((name) => !seen.some((before) => before.has(name)))
    seen = [...seen.slice(-1), held]
    emptyInRow = isNew ? 0 : emptyInRow + 1
    if (emptyInRow >= EMPTY_PAGES_MAX) {
      const kind = page.data.length === 0 ? 'empty pages' : 'pages with nothing new'
      throw standstill(`${EMPTY_PAGES_MAX} ${kind} in a row`, objectType)
    }
    const next = page.pagination.next_cursor!
    if (next === cursor || next === mark) throw standstill('a cursor came back', objectType)
    if (count === moveMarkAt) {
      mark = next
      moveMarkAt *= 2
    }
    cursor = next
  }
}

/** Identifies a record by its id; an edge, which is small, by its whole content. */
function nameOf(item: unknown): string {
  const id = (item as { readonly id?: unknown } | null)?.id
  return typeof id === 'string' ? id : JSON.stringify(item)
}

/**
 * Every page of an aggregate, from `read(from)` on. It has no cursor: the offset grows by the number of groups received.
 * @throws ServiceFailure `distrusted` if a page announces more groups than there are
 */
export async function* eachAggregatePage(
  read: (offset: number) => Promise<AggregateData>,
  from: number,
): AsyncGenerator<AggregateData, void, undefined> {
  let offset = from
  // Bounded by `total_groups`, which every page contains.
  for (;;) {
    const page = await read(offset)
    yield page
    if (!page.has_more) return
    offset += page.results.length
    if (page.results.length === 0) throw standstill('a page without groups announces more')
    if (offset >= page.total_groups) throw standstill('more groups are announced than the total')
  }
}

const standstill = (what: string, objectType?: string) =>
  new ServiceFailure(`The listing does not end: ${what}`, {
    objectType,
    kind: 'distrusted',
    disposition: 'halt',
    block: 'contract',
    outcomeUnknown: false,
  })

/** The options of one page: a permit covers one request only. */
export const onePage = (options: Omit<RequestOptions, 'permit'> = {}): RequestOptions => ({
  ...options,
  permit: undefined,
})
