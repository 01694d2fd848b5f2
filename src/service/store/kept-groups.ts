// Groups of aggregates that were computed for one page, kept for the pages after it.
// Promises kept here: a first page shows what is stored now; a page that begins where one ended that the same key got has the
// groups of that page, whoever else reads or writes; what is kept is bounded, in number, size and time.

import { createHash } from 'node:crypto'
import type { AGGREGATIONS, AggregateData, FilterNode } from '../../contract/index.ts'
import type { CompiledProperty } from '../schema/object-types.ts'
import type { VisibleRecords } from './visible-records.ts'

export interface Aggregation {
  readonly op: (typeof AGGREGATIONS)[number]
  /** A property whose field type has `op`; for a count, any. Null counts records, whether they have a value or not. */
  readonly property: CompiledProperty | null
  /** Empty: all records are one group, which exists even if there is no record. */
  readonly groupBy: readonly CompiledProperty[]
}

/** Every group of an aggregate, in order. */
export interface Groups {
  readonly total: number
  /** `limit` groups after the first `offset`. */
  page(limit: number, offset: number): AggregateData
}

/** Lists of an org, and groups of all of them, at most. */
const LISTS_MAX = 256
const GROUPS_MAX = 4_000_000
/** Pages that may be continued: of an org, and of one aggregate by one key, so that a key that only begins drives no other out. */
const ENDS_MAX = 4_096
const ENDS_OF_KEY_MAX = 32
/** How long a page may be continued, and a list is kept that is not asked for. */
const KEPT_MS = 60_000

/** The groups of one aggregate at one time. They never change. */
interface List {
  readonly aggregate: string
  readonly groups: Groups
  readonly store: VisibleRecords['store']
  readonly type: unknown
  /** The state of the store before the first record was looked at. */
  readonly version: number
  usedMs: number
}

/** Where a page ended that has others after it: the next one may begin there, once. */
interface End extends GroupsReader {
  readonly list: List
  readonly offset: number
  readonly handedMs: number
}

export interface GroupsQuery extends Aggregation {
  readonly filter: FilterNode | null
}

/** Who asks for a page: a key; and a connection, which tells apart readers who share the key. */
export interface GroupsReader {
  readonly key: string
  readonly connection: WeakRef<object>
}

export interface GroupsPage {
  readonly reader: GroupsReader
  readonly limit: number
  readonly offset: number
}

export class KeptGroups {
  /** The least recently used first. */
  private readonly lists = new Set<List>()
  /** The first that was handed out first. */
  private readonly ends = new Set<End>()
  private timer: NodeJS.Timeout | null = null

  /**
   * A page of the groups that an earlier page ended in, where this one begins at that end; else of those that are kept, if
   * nothing was written since; else of those that `compute` finds now.
   */
  async page(
    view: VisibleRecords,
    query: GroupsQuery,
    { reader, limit, offset }: GroupsPage,
    compute: () => Promise<Groups>,
  ): Promise<AggregateData> {
    this.dropOld()
    const aggregate = idOf(view, query)
    const list =
      this.continued(aggregate, reader, offset) ??
      this.current(aggregate, view.store.version) ??
      (await this.computed(aggregate, view, compute))
    const data = list.groups.page(limit, offset)
    if (list.groups.total > GROUPS_MAX) return data
    // Put at the end: it is the latest one.
    this.lists.delete(list)
    this.lists.add(list)
    list.usedMs = performance.now()
    if (data.has_more)
      this.ends.add({ ...reader, list, offset: offset + limit, handedMs: list.usedMs })
    this.dropMost(aggregate, reader.key)
    this.timer ??= setTimeout(() => this.tick(), KEPT_MS).unref()
    return data
  }

  /** Of several ends, one of the same connection; of those, the latest: a reader goes on sooner than two begin at once. */
  private continued(aggregate: string, { key, connection }: GroupsReader, offset: number) {
    const socket = connection.deref()
    const fits = [...this.ends].filter(
      (end) => end.key === key && end.offset === offset && end.list.aggregate === aggregate,
    )
    const end = fits.findLast((each) => each.connection.deref() === socket) ?? fits.at(-1)
    if (end === undefined) return null
    this.ends.delete(end)
    return end.list.type === end.list.store.type ? end.list : null
  }

  private current(aggregate: string, version: number): List | null {
    for (const list of this.lists) {
      if (list.aggregate === aggregate && list.version === version) return list
    }
    return null
  }

  private async computed(
    aggregate: string,
    { store }: VisibleRecords,
    compute: () => Promise<Groups>,
  ): Promise<List> {
    const { type, version } = store
    const groups = await compute()
    // Somebody else may have computed it meanwhile.
    const known = this.current(aggregate, version)
    if (known) return known
    const list = { aggregate, groups, store, type, version, usedMs: performance.now() }
    if (groups.total <= GROUPS_MAX) this.lists.add(list)
    return list
  }

  private dropMost(aggregate: string, key: string): void {
    const own = [...this.ends].filter((end) => end.key === key && end.list.aggregate === aggregate)
    if (own.length > ENDS_OF_KEY_MAX) this.ends.delete(own[0]!)
    if (this.ends.size > ENDS_MAX) this.ends.delete(this.ends.values().next().value!)
    this.dropUseless()
    let groups = 0
    for (const list of this.lists) groups += list.groups.total
    for (const list of this.lists) {
      if (this.lists.size <= LISTS_MAX && groups <= GROUPS_MAX) break
      groups -= list.groups.total
      this.drop(list)
    }
  }

  private drop(list: List): void {
    this.lists.delete(list)
    for (const end of this.ends) if (end.list === list) this.ends.delete(end)
  }

  private dropOld(): void {
    const before = performance.now() - KEPT_MS
    for (const end of this.ends) if (end.handedMs <= before) this.ends.delete(end)
    for (const list of this.lists) if (list.usedMs <= before) this.drop(list)
    this.dropUseless()
  }

  /** Lists that no page continues, and no other shows: something was written since. */
  private dropUseless(): void {
    const continued = new Set([...this.ends].map(({ list }) => list))
    for (const list of this.lists) {
      if (!continued.has(list) && list.version !== list.store.version) this.lists.delete(list)
    }
  }

  private tick(): void {
    this.timer = null
    this.dropOld()
    if (this.lists.size > 0) this.timer = setTimeout(() => this.tick(), KEPT_MS).unref()
  }
}

/** The same for readers who see the same records. */
function idOf(view: VisibleRecords, { op, property, groupBy, filter }: GroupsQuery): string {
  const names = groupBy.map(({ name }) => name)
  const facts = [view.store.type.name, view.reader, op, property?.name ?? null, names, filter]
  return createHash('sha256').update(JSON.stringify(facts)).digest('base64')
}
