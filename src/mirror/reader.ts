// Reads of the service for a mirror. Promises kept here: a page that failed temporarily is requested again with the same cursor;
// every answer has the time of its request, and no later answer has an earlier time, whatever the clocks of two workers show;
// every request is counted, and each wait for an answer sends heartbeats, whatever the answer is.

import {
  mayBeSize,
  newRecordsOf,
  PageSize,
  type AssociationEdgeWire,
  type FilterNode,
  type GoOn,
  type QueryBody,
  type RecordRepresentation,
} from '../contract/index.ts'
import type { Aside, RequestOptions } from '../client/index.ts'
import { isGone, ServiceFailure } from '../core/errors.ts'
import type { Json } from '../core/json.ts'
import { withHeartbeat } from '../runs/heartbeat.ts'
import { formatInstant } from './instant.ts'
import type { MirrorDeps } from './ports.ts'

/** A page, and when it was asked for: an instant of our clock. */
export interface ReadPage {
  readonly records: readonly RecordRepresentation[]
  /**
   * Records of the answer, with those that the page before had. Of pages in a row that bring nothing new: one for the first, two for the
   * second, and so on, so that a read of them ends.
   */
  readonly answered: number
  readonly cursor: string | null
  readonly askedAt: string
}

/** Records that have these values of the properties that were asked for, in their order. */
export interface GroupCount {
  readonly values: readonly Json[]
  readonly records: number
}

export type ReaderDeps = Pick<
  MirrorDeps,
  'client' | 'clock' | 'signal' | 'priority' | 'tuning' | 'beat'
>

/** Whether the service no longer accepts a cursor: they live 24 hours. */
export const isCursorRefused = (error: unknown): boolean =>
  error instanceof ServiceFailure && error.reason === 'cursor_invalid'

/** Why a record was set aside, and whether the service lists it. */
export interface Unread {
  readonly why: string
  readonly isListed: boolean
  /** Of records whose ids are not known: how many, and the filter that they match. */
  readonly records?: number
  readonly within?: FilterNode
}

/** Records of a stream that may be set aside: with more of them, the stream fails. */
const UNREAD_MAX = 100

/** @throws ServiceFailure where the answer has no count */
function countOf(type: string, value: unknown): number {
  if (Number.isSafeInteger(value) && Number(value) >= 0) return Number(value)
  const found = value === null ? 'null' : typeof value
  throw new ServiceFailure(
    `${type}: the service was asked for a count and answered ${found}, not a whole number`,
    {
      kind: 'distrusted',
      disposition: 'halt',
      block: 'contract',
      outcomeUnknown: false,
      objectType: type,
    },
  )
}

/**
 * Reads of one stream.
 * Its methods fail with ServiceFailure after the last wait, QuotaWait, and the signal's reason.
 */
export class Reader {
  /** Requests sent since the start. */
  requests = 0
  /** Records that could not be read, by id. */
  readonly unread = new Map<string, Unread>()
  /** Ids that lead to another record, and the id of that one. */
  readonly merged = new Map<string, string>()
  /** The last time that `now` returned, here or in another worker before. */
  #latest: string | null = null
  readonly #deps: ReaderDeps

  constructor(deps: ReaderDeps) {
    this.#deps = deps
  }

  /** This class retries and counts the requests itself. */
  get #options() {
    const { signal, priority } = this.#deps
    return { signal, priority, retries: 0 } as const
  }

  now(): string {
    const now = formatInstant(this.#deps.clock.now())
    // The clock went back, or is behind that of another worker: this request is later all the same.
    const isBehind = this.#latest !== null && now < this.#latest
    return (this.#latest = isBehind ? formatInstant(Date.parse(this.#latest!) + 1) : now)
  }

  /** Makes every time later than this one, which another worker used. */
  goOnFrom(instant: string | null | undefined): void {
    if (instant && (this.#latest === null || instant > this.#latest)) this.#latest = instant
  }

  /** The last time that `now` returned; null before the first. */
  get latest(): string | null {
    return this.#latest
  }

  /**
   * Every page of a query, from `body.cursor` on.
   * @param goOn the query that reads on behind a page, where no cursor is needed; else null. What it repeats is left out
   */
  async *pages(
    type: string,
    body: QueryBody,
    goOn: GoOn = () => null,
  ): AsyncGenerator<ReadPage, void, undefined> {
    const { client, beat } = this.#deps
    const size = new PageSize(body.limit)
    const options = { ...this.#options, size, onSend: () => void this.requests++ }
    let asked = body
    let cursor = body.cursor ?? null
    let before: readonly RecordRepresentation[] = []
    let idle = 0
    let failures = 0
    // Bounded: each pass yields a page, or is one of the waits in a row.
    for (;;) {
      const pages = client.recordPages(type, { ...asked, cursor }, options)
      try {
        for (;;) {
          const askedAt = this.now()
          const step = await withHeartbeat(this.#deps, pages.next())
          if (step.done === true) return
          failures = 0
          const { data, pagination, aside = [], query = asked } = step.value
          for (const one of aside) this.#takeAside(one)
          const next = pagination.has_more ? goOn(data) : null
          asked = next ?? query
          const following = pagination.next_cursor ?? null
          cursor = next === null ? following : null
          beat(data.length)
          const records = newRecordsOf(data, before)
          before = data
          idle = records.length > 0 ? 0 : idle + 1
          yield {
            records,
            answered: Math.max(idle, data.length),
            cursor: pagination.has_more ? following : null,
            askedAt,
          }
          if (next !== null) break
        }
      } catch (error) {
        await this.#waitAfter(error, failures++)
      } finally {
        await pages.return()
      }
    }
  }

  #takeAside({ what, id, records, within, why }: Aside): void {
    const unread = { why, isListed: true, ...(id === null && { records }) }
    this.unread.set(what, { ...unread, ...(within !== null && { within }) })
  }

  /** Records that match, by the service's own count. */
  async count(type: string, filter?: FilterNode): Promise<number> {
    const { results } = await this.#counts(type, filter)
    return countOf(type, results[0]?.value)
  }

  /**
   * The service's counts of the records that match, for each combination of the values of some properties; null if these are more
   * than so many pages of groups.
   */
  async groups(
    type: string,
    by: readonly string[],
    filter: FilterNode | null,
    pagesMax: number,
  ): Promise<readonly GroupCount[] | null> {
    const groups: GroupCount[] = []
    for (let page = 0; page < pagesMax; page++) {
      const more = { group_by: [...by], offset: groups.length }
      const { results, has_more: hasMore } = await this.#counts(type, filter, more)
      for (const { group_by: values, value } of results)
        groups.push({
          values: by.map((name) => values[name] as Json),
          records: countOf(type, value),
        })
      if (!hasMore) return groups
      if (results.length === 0) return null
    }
    return null
  }

  #counts(
    type: string,
    filter: FilterNode | null | undefined,
    more: { readonly group_by?: string[]; readonly offset?: number } = {},
  ) {
    const aggregations = [{ op: 'count' as const }]
    const body = { aggregations, ...(filter && { filter }), ...more }
    return this.ask((options) => this.#deps.client.aggregateRecords(type, body, options))
  }

  /** The lowest or highest value of a property; null if no record has one, or the one that has it cannot be read. */
  async edge(type: string, property: string, direction: 'asc' | 'desc'): Promise<unknown> {
    const body: QueryBody = {
      filter: { property, op: 'is_null', value: false },
      sorts: [{ property, direction }],
      properties: [property],
      limit: 1,
    }
    const { data } = await this.ask((options) =>
      this.#deps.client.queryRecords(type, body, options),
    ).catch(async (error: unknown) => {
      if (!mayBeSize(error)) throw error
      // Where the service counts nothing either, it is away.
      await this.count(type)
      return { data: [] }
    })
    return data[0]?.properties[property] ?? null
  }

  /**
   * The record; null if the id is one of a record no more; undefined if its record was set aside. An answer that leads to another
   * record counts if a second one leads to the same.
   */
  async record(
    type: string,
    id: string,
    isListed = false,
  ): Promise<RecordRepresentation | null | undefined> {
    if (this.unread.has(id)) return undefined
    let other: string | undefined
    try {
      return await this.ask((options) =>
        this.#deps.client.readRecord(type, id, options).catch((error: unknown) => {
          const leadsTo = error instanceof ServiceFailure ? error.otherId : undefined
          if (leadsTo === undefined || leadsTo !== other) {
            other = leadsTo
            throw error
          }
          this.merged.set(id, leadsTo)
          return null
        }),
      )
    } catch (error) {
      if (isGone(error) && error.otherId === undefined) return null
      await this.#setAside(type, id, isListed, error)
      return undefined
    }
  }

  /** Throws the failure of a record if it is not about this record alone. */
  async #setAside(type: string, id: string, isListed: boolean, error: unknown): Promise<void> {
    const isOfRecord =
      error instanceof ServiceFailure && error.objectType !== undefined && error.block !== 'auth'
    if (!isOfRecord || this.unread.size >= UNREAD_MAX) throw error
    // Where the service answers nothing else either, it is away.
    if (error.block === 'service') await this.count(type)
    this.unread.set(id, { why: error.message.replace(/^\w+: /, ''), isListed })
  }

  /** The edges of a record; none if the service answers that it is gone; undefined if the record was set aside. */
  async edges(type: string, id: string): Promise<AssociationEdgeWire[] | undefined> {
    const { client } = this.#deps
    const edges: AssociationEdgeWire[] = []
    try {
      await this.ask(async () => {
        edges.length = 0
        let pages = 0
        for await (const page of client.associationEdgePages(type, id, this.#options)) {
          edges.push(...page.data)
          if (pages++ > 0) this.requests++
        }
      })
    } catch (error) {
      if (isGone(error)) return []
      await this.#setAside(type, id, true, error)
      return undefined
    }
    return edges
  }

  /** Asks until there is an answer, or the last wait is over. */
  async ask<Result>(
    request: (options: Pick<RequestOptions, 'signal' | 'priority' | 'retries'>) => Promise<Result>,
  ): Promise<Result> {
    const { beat } = this.#deps
    for (let failures = 0; ; failures++) {
      try {
        this.requests++
        const result = await withHeartbeat(this.#deps, request(this.#options))
        beat()
        return result
      } catch (error) {
        await this.#waitAfter(error, failures)
      }
    }
  }

  /** Waits before a retry, or throws if there is none. */
  async #waitAfter(error: unknown, failures: number): Promise<void> {
    const { tuning, clock, signal, beat } = this.#deps
    const wait = tuning.read_backoff_ms[failures]
    if (!(error instanceof ServiceFailure) || error.disposition !== 'retry' || wait === undefined)
      throw error
    const longest = tuning.read_backoff_ms.at(-1)!
    if ((error.retryAfterMs ?? 0) > longest) throw error
    beat()
    await clock.sleep(Math.max(wait, error.retryAfterMs ?? 0), signal)
  }
}
