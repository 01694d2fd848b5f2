// The records of a query, page by page, past what cannot be read. Promise kept here: a record that fails alone is set aside, by its id where
// the service still lists it, else by the time between its neighbours; every other record is yielded.

import {
  allFilter,
  mayBeSize,
  PageSize,
  type AggregateBody,
  type AggregateData,
  type FilterNode,
  type QueryBody,
  type RecordPage,
  type RecordRepresentation,
} from '../contract/index.ts'
import { isGone, ServiceFailure } from '../core/errors.ts'
import type { RequestOptions } from './call.ts'
import { eachPage } from './pages.ts'

/** What was set aside: a record, or those between two times, whose ids are not known. */
export interface Aside {
  /** Id of the record, or the property and its times, in words. */
  readonly what: string
  readonly id: string | null
  readonly records: number
  readonly within: FilterNode | null
  /** In our words; no value. */
  readonly why: string
}

/** A page, with what was set aside before it. */
export type ReadablePage = RecordPage & {
  readonly aside?: readonly Aside[]
  /** The query that the cursor of the page belongs to, where it is another one than was asked. */
  readonly query?: QueryBody
}

interface PagesDeps {
  readonly type: string
  query(body: QueryBody): Promise<RecordPage>
  record(id: string): Promise<RecordRepresentation>
  count(filter: FilterNode): Promise<number>
}

/** The client's operations that pages need. */
interface PagesClient {
  queryRecords(type: string, query: QueryBody, options: RequestOptions): Promise<RecordPage>
  readRecord(type: string, id: string, options: RequestOptions): Promise<RecordRepresentation>
  aggregateRecords(
    type: string,
    aggregate: AggregateBody,
    options: RequestOptions,
  ): Promise<AggregateData>
}

export const pagesDeps = (
  client: PagesClient,
  type: string,
  options: RequestOptions,
): PagesDeps => ({
  type,
  query: (body) => client.queryRecords(type, body, options),
  record: (id) => client.readRecord(type, id, options),
  count: async (filter) => {
    const body = { aggregations: [{ op: 'count' as const }], filter }
    return Number((await client.aggregateRecords(type, body, options)).results[0]?.value ?? 0)
  },
})

/** Times that a listing goes past something, at most. */
const PAST_MAX = 100
/** Records of one value that are read one by one, at most. */
const SAME_MAX = 1_000
/** Records read last, among which those of the next query are known. */
const RECENT_MAX = 200

export async function* readablePages(
  deps: PagesDeps,
  query: QueryBody,
  size: PageSize,
): AsyncGenerator<ReadablePage, void, undefined> {
  const { cursor: first, ...whole } = query
  let bound: readonly FilterNode[] = []
  let cursor = first ?? undefined
  let recent: RecordRepresentation[] = []
  let past: Past | null = null
  // Bounded: each pass comes to the end, or goes past something.
  for (let times = 0; ; times++) {
    const asked = narrowed(whole, ...bound)
    try {
      for await (const page of eachPage(pageReader(deps, asked, size), cursor, deps.type)) {
        cursor = page.pagination.next_cursor ?? undefined
        recent = [...recent, ...page.data].slice(-RECENT_MAX)
        yield past === null
          ? page
          : { ...page, data: [...past.found, ...page.data], aside: past.aside, query: asked }
        past = null
      }
      return
    } catch (error) {
      if (!mayBeSize(error) || size.limit > 1 || times >= PAST_MAX) throw error
      const next = await goPast(deps, { whole, bound, recent }, error)
      past =
        past === null
          ? next
          : {
              ...next,
              found: [...past.found, ...next.found],
              aside: [...past.aside, ...next.aside],
            }
      recent = [...recent, ...next.found].slice(-RECENT_MAX)
      bound = [next.bound]
      cursor = undefined
    }
  }
}

const pageReader =
  ({ query }: Pick<PagesDeps, 'query'>, asked: QueryBody, size: PageSize) =>
  (cursor: string | undefined): Promise<RecordPage> =>
    size.read((limit) => {
      const isUsual = limit === size.most && asked.limit === undefined
      return query({ ...asked, ...(cursor && { cursor }), ...(!isUsual && { limit }) })
    })

/** What was found on the way past something, and where the listing goes on behind it. */
interface Past {
  readonly found: readonly RecordRepresentation[]
  readonly aside: readonly Aside[]
  readonly bound: FilterNode
}

/** @throws the failure, where nothing shows how to go on, or the service does not answer otherwise either */
async function goPast(
  deps: PagesDeps,
  come: Pick<Scene, 'whole' | 'bound' | 'recent'>,
  failure: ServiceFailure,
): Promise<Past> {
  const [sort] = come.whole.sorts ?? []
  if (sort === undefined) throw failure
  const by = sort.property
  const isUp = sort.direction === 'asc'
  const scene: Scene = { ...come, deps, by, isUp, failure, from: valueOf(come.recent.at(-1), by) }
  return (await pastListed(scene)) ?? (await pastUnlisted(scene))
}

interface Scene {
  readonly deps: PagesDeps
  /** The query as it was asked, without a cursor. */
  readonly whole: QueryBody
  /** Where the listing went on last. */
  readonly bound: readonly FilterNode[]
  readonly by: string
  readonly isUp: boolean
  readonly recent: readonly RecordRepresentation[]
  readonly failure: ServiceFailure
  /** The value of the last record that was read; null before the first. */
  readonly from: string | null
}

/** By a listing without values: it shows ids. Null if that fails too. */
async function pastListed(scene: Scene): Promise<Past | null> {
  const { deps, whole, bound, by, isUp, recent, from } = scene
  const known = new Set(recent.map(({ id }) => id))
  const start =
    from === null ? bound : [{ property: by, op: isUp ? 'gte' : 'lte', value: from } as const]
  const bare: QueryBody = { ...narrowed(whole, ...start), properties: [by] }
  const same: string[] = []
  let value: string | null = null
  try {
    listing: for await (const { data } of eachPage(
      pageReader(deps, bare, new PageSize()),
      undefined,
      deps.type,
    ))
      for (const record of data) {
        if (value === null && known.has(record.id)) continue
        const own = valueOf(record, by)
        if (own === null) return null
        value ??= own
        if (own !== value || same.length >= SAME_MAX) break listing
        if (!known.has(record.id)) same.push(record.id)
      }
  } catch (error) {
    if (mayBeSize(error)) return null
    throw error
  }
  if (value === null || same.length >= SAME_MAX) return null
  const found: RecordRepresentation[] = []
  const aside: Aside[] = []
  for (const id of same)
    try {
      found.push(await deps.record(id))
    } catch (error) {
      if (!(error instanceof ServiceFailure) || error.block === 'auth') throw error
      if (!isGone(error)) aside.push({ what: id, id, records: 1, within: null, why: whyOf(error) })
    }
  return { found, aside, bound: { property: by, op: isUp ? 'gt' : 'lt', value } }
}

/** By time: halves the time behind the last record until what fails is within one millisecond. */
async function pastUnlisted(scene: Scene): Promise<Past> {
  const { deps, whole, by, isUp, recent, failure, from } = scene
  const start = from === null ? BEGIN_MS : Date.parse(from)
  if (!isUp || Number.isNaN(start)) throw failure
  const at = (op: 'gte' | 'lt', ms: number): FilterNode => ({
    property: by,
    op,
    value: new Date(ms).toISOString(),
  })
  const answers = async (ms: number): Promise<boolean> => {
    try {
      await deps.query({ ...narrowed(whole, at('gte', ms)), properties: [by], limit: 1 })
      return true
    } catch (error) {
      if (mayBeSize(error)) return false
      throw error
    }
  }
  let low = start
  let high = Math.max(start, Date.now()) + DAY_MS
  if (!(await answers(high))) throw failure
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (await answers(middle)) high = middle
    else low = middle
  }
  // Others of the same millisecond are read from its other end.
  const within = [at('gte', low), at('lt', high)]
  const down = {
    ...narrowed(whole, ...within),
    sorts: [{ property: by, direction: 'desc' as const }],
  }
  const known = new Set(recent.map(({ id }) => id))
  const found = new Map<string, RecordRepresentation>()
  try {
    for await (const { data } of eachPage(
      pageReader(deps, down, new PageSize()),
      undefined,
      deps.type,
    ))
      for (const record of data) found.set(record.id, record)
  } catch (error) {
    if (!mayBeSize(error)) throw error
  }
  const span = narrowed(whole, ...within).filter!
  const seen = recent.filter((record) => isWithin(valueOf(record, by), low, high))
  const there = new Set([...found.keys(), ...seen.map(({ id }) => id)])
  const records = Math.max(1, (await deps.count(span)) - there.size)
  const what = `what has ${by} from ${new Date(low).toISOString()} to before ${new Date(high).toISOString()}`
  return {
    found: [...found.values()].filter(({ id }) => !known.has(id)),
    aside: [{ what, id: null, records, within: span, why: whyOf(failure) }],
    bound: at('gte', high),
  }
}

const DAY_MS = 86_400_000
const BEGIN_MS = Date.parse('1900-01-01')

const isWithin = (value: string | null, low: number, high: number): boolean =>
  value !== null && Date.parse(value) >= low && Date.parse(value) < high

function narrowed(query: QueryBody, ...filters: readonly FilterNode[]): QueryBody {
  const filter = allFilter([...(query.filter ? [query.filter] : []), ...filters])
  return { ...query, ...(filter && { filter }) }
}

function valueOf(record: RecordRepresentation | undefined, by: string): string | null {
  const value = record?.properties[by]
  return typeof value === 'string' ? value : null
}

const whyOf = ({ message }: ServiceFailure): string => message.replace(/^\w+: /, '')
