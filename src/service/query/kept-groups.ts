// Groups of aggregates that were computed for one page, kept for the pages after it.
// Promises kept here: a first page shows what is stored now; a page that begins where an earlier one ended has the same groups
// as that one; what is kept is bounded, in number and in time.

import { createHash } from 'node:crypto'
import type { FilterNode } from '../../contract/index.ts'
import type { Aggregation, Groups } from './aggregates.ts'
import type { VisibleRecords } from '../auth/visible-records.ts'

/** Results of an org, and groups of all of them, at most. */
const RESULTS_MAX = 16
const GROUPS_MAX = 4_000_000
/** Ends of pages that may be continued, of one result. */
const ENDS_MAX = 32
/** How long a result is kept that is not asked for. */
const UNUSED_MS = 60_000

interface Kept {
  readonly groups: Groups
  readonly type: unknown
  /** The state of the store before the first record was looked at. */
  readonly version: number
  /** Where pages ended: the next one may begin there, once. */
  readonly ends: Set<number>
  usedMs: number
}

export interface GroupsQuery extends Aggregation {
  readonly filter: FilterNode | null
}

export class KeptGroups {
  /** The least recently used first. */
  private readonly results = new Map<string, Kept>()
  private timer: NodeJS.Timeout | null = null

  /**
   * The groups of which the page at `offset` is a part: those that an earlier page began with, where this one goes on from its
   * end; else those that are kept, if nothing was written since; else those that `compute` finds now.
   */
  async of(
    view: VisibleRecords,
    query: GroupsQuery,
    offset: number,
    compute: () => Promise<Groups>,
  ): Promise<{ groups: Groups; endsAt(end: number): void }> {
    const id = idOf(view, query)
    const kept = this.find(id, view, offset) ?? (await this.computed(view, compute))
    // Put at the end: it is the latest one.
    this.results.delete(id)
    this.results.set(id, kept)
    kept.usedMs = performance.now()
    this.dropMost()
    return {
      groups: kept.groups,
      endsAt: (end) => {
        const { ends } = kept
        ends.add(end)
        if (ends.size > ENDS_MAX) ends.delete(ends.values().next().value!)
      },
    }
  }

  private find(id: string, { store }: VisibleRecords, offset: number): Kept | null {
    const kept = this.results.get(id)
    if (kept?.type !== store.type) return null
    const goesOn = kept.ends.delete(offset)
    return goesOn || kept.version === store.version ? kept : null
  }

  private async computed({ store }: VisibleRecords, compute: () => Promise<Groups>): Promise<Kept> {
    const { type, version } = store
    const groups = await compute()
    return { groups, type, version, ends: new Set(), usedMs: 0 }
  }

  private dropMost(): void {
    const total = () => [...this.results.values()].reduce((sum, each) => sum + each.groups.total, 0)
    while (this.results.size > RESULTS_MAX || total() > GROUPS_MAX)
      this.results.delete(this.results.keys().next().value!)
    this.timer ??= setTimeout(() => this.dropUnused(), UNUSED_MS).unref()
  }

  private dropUnused(): void {
    this.timer = null
    const before = performance.now() - UNUSED_MS
    for (const [id, { usedMs }] of this.results) if (usedMs <= before) this.results.delete(id)
    if (this.results.size > 0) this.timer = setTimeout(() => this.dropUnused(), UNUSED_MS).unref()
  }
}

/** The same for readers who see the same records. */
function idOf(view: VisibleRecords, { op, property, groupBy, filter }: GroupsQuery): string {
  const names = groupBy.map(({ name }) => name)
  const facts = [view.store.type.name, view.reader, op, property?.name ?? null, names, filter]
  return createHash('sha256').update(JSON.stringify(facts)).digest('base64')
}
