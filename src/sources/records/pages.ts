// The pages of a query, to its end. Promises kept here: a page that failed temporarily is requested again with the same cursor,
// so that a long reading does not start over; a query or a cursor that the service refuses ends the reading.

import {
  allFilter,
  byLastValue,
  fromValue,
  PageSize,
  sortedBy,
  type FilterNode,
  type QueryBody,
  type RecordRepresentation,
} from '../../contract/index.ts'
import type { Aside, RecordsClient } from '../../client/index.ts'
import { ServiceFailure } from '../../core/errors.ts'
import type { Clock } from '../../core/ports.ts'
import type { SourceFault } from '../source.ts'

/**
 * Longest wait for the quota, and for a service that says when it is back: a reading that is abandoned starts over at its first
 * row.
 */
const WAIT_MAX_MS = 300_000

/** More than a page: as many records as a query may repeat. */
const RECENT_MAX = 200

export interface RecordsPagesOptions {
  readonly objectType: string
  readonly filter: FilterNode | undefined
  /** A property of times that stay, which the records are sorted by; null if there is none. */
  readonly by: string | null
  readonly properties: readonly string[]
  readonly signal: AbortSignal
  readonly clock: Clock
  /** Waits before a page is requested again, ms. */
  readonly retryWaitsMs: readonly number[]
}

/** Records, and what was set aside before them. */
export interface SourcePage {
  readonly records: readonly RecordRepresentation[]
  readonly aside: readonly Aside[]
}

/**
 * @throws SourceError records_query, records_cursor; ServiceFailure if a page fails after its last wait, or permanently;
 *   QuotaWait; the signal's reason
 */
export async function* sourcePages(
  client: Pick<RecordsClient, 'recordPages'>,
  asked: RecordsPagesOptions,
  fault: SourceFault,
): AsyncGenerator<SourcePage, void, undefined> {
  const { objectType, filter, by, signal, clock, retryWaitsMs } = asked
  const properties = [...new Set([...asked.properties, ...(by === null ? [] : [by])])]
  const within = (node: FilterNode): QueryBody => ({
    filter: allFilter([...(filter ? [filter] : []), node])!,
  })
  const size = new PageSize()
  const options = { signal, priority: 'import', maxWaitMs: WAIT_MAX_MS, retries: 0, size } as const
  let query: QueryBody = { ...(filter && { filter }), ...(by !== null && { sorts: sortedBy(by) }) }
  /** Null before the first record: whether what has no value is sorted before the rest. */
  let hasNoneFirst: boolean | null = null
  /** Whether the filter leaves out what has no value. */
  let isCut = false
  const queryFrom = (value: string) => {
    isCut = hasNoneFirst === false
    return within(fromValue(by!, value))
  }
  const goOn = by === null ? null : byLastValue({ by, from: null, queryFrom, read: textOf })
  /** Ids that were read last: what the next query repeats may come in smaller pages. */
  let read: readonly string[] = []
  let cursor: string | null = null
  let pages = 0
  let failures = 0
  // Bounded: each pass brings a page, or is one of the consecutive waits.
  for (;;) {
    const asking = client.recordPages(objectType, { ...query, properties, cursor }, options)
    try {
      let next: QueryBody | null = null
      for await (const { data, pagination, aside = [], query: own } of asking) {
        pages += 1
        failures = 0
        if (by !== null && data.length > 0)
          hasNoneFirst ??= textOf(data[0]!.properties[by]) === null
        next = pagination.has_more ? (goOn?.(data) ?? null) : null
        query = next ?? own ?? query
        cursor = next === null ? (pagination.next_cursor ?? null) : null
        // One that has changed since is as it was before.
        const known = new Set(read)
        const records = data.filter(({ id }) => !known.has(id))
        yield { records, aside }
        read = [...read, ...records.map(({ id }) => id)].slice(-RECENT_MAX)
        if (next !== null) break
      }
      if (next !== null) continue
      if (!isCut) return
      isCut = false
      query = within({ property: by!, op: 'is_null', value: true })
      cursor = null
    } catch (error) {
      if (!(error instanceof ServiceFailure)) throw error
      if (error.reason === 'cursor_invalid')
        throw fault(
          'records_cursor',
          `the service refuses the cursor of page ${pages + 1} (cursors live 24 hours); expected one that it gave to be good; run the sync again, it begins at the first record`,
        )
      if (error.status === 400 || error.status === 422)
        throw fault(
          'records_query',
          `the service refuses the query (${error.reason ?? error.problemCode ?? error.status}${error.field === undefined ? '' : ` at ${error.field}`}); expected a filter on properties of ${objectType}, with operators and values of their field types`,
        )
      await clock.sleep(waitAfter(error, retryWaitsMs[failures]), signal)
      failures += 1
    }
  }
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/**
 * The wait before a request that failed temporarily is sent again, ms. @param ownMs none after the last wait
 * @throws the error, if it fails permanently, or the wait would be too long
 */
export function waitAfter(error: unknown, ownMs: number = Infinity): number {
  if (!(error instanceof ServiceFailure) || error.disposition !== 'retry') throw error
  const wait = Math.max(ownMs, error.retryAfterMs ?? 0)
  if (wait > WAIT_MAX_MS) throw error
  return wait
}
