// The partitions of a stream: how it is cut into them, and how each is checked: read whole, counted, or one page of it. If the
// table lacks most of its rows, the service is asked once where its records lie.

import { PAGE_LIMIT_MAX } from '../../contract/index.ts'
import { formatInstant, parseInstant } from '../instant.ts'
import { chooseCountGroups, Counting, type CountGroups } from './counting.ts'
import { cutByRows, cutByTime, newestPartitionStart } from './cut.ts'
import {
  BEFORE_ALL,
  rangeFilterOf,
  recordInstant,
  rowInstant,
  tableRange,
} from './partition-key.ts'
import type { RecordDiffer } from './record-differ.ts'
import type { PartitionRange, ReconcileState } from './state.ts'
import { idPages, rowPages } from './table-pages.ts'
import type { ReconcileWork } from './work.ts'

/**
 * Shares of `rows_per_range`: records of a partition at most; of a type that is read rather than counted; of the newest records,
 * which are always read; of a short list.
 */
const PARTITION = 1 / 2
const READ = 1 / 5
const NEWEST = 1 / 20
const LIST = 1 / 100
/** Partitions of a stream, at most, and for each reader if they are counted: a record that changed is in another one then. */
const PARTITIONS_MAX = 1_000
const PARTITIONS_PER_READER = 5
/** Requests that counting may take in any case; beyond them, and what reading everything would take, partitions are read whole. */
const REQUESTS_MIN = 300
/** Records that a combination of values should have in a partition: one page lists them. */
const CELL_RECORDS = 80
/** Rows by which the properties are chosen that counts are grouped by. */
const SAMPLE_ROWS = 1_000

export interface PartitionsOptions {
  /** Records to look at, about; null: all. */
  readonly sample: number | null
  /** What is later was not read by the mirror; null if nothing is known of it. */
  readonly mark: string | null
  /** How the stream is compared, how many records the service counts, and since when records are newest. */
  readonly state: Readonly<Pick<ReconcileState, 'how' | 'serviceCount' | 'newest'>>
}

export class Partitions {
  readonly #work: ReconcileWork
  readonly #differ: RecordDiffer
  readonly #options: PartitionsOptions
  #grouping: Promise<CountGroups> | undefined

  constructor(work: ReconcileWork, differ: RecordDiffer, options: PartitionsOptions) {
    this.#work = work
    this.#differ = differ
    this.#options = options
  }

  /** Whether a type of so many records is counted; a smaller one is read. */
  isWorthCounting(records: number): boolean {
    const { deps, key } = this.#work
    return key.kind !== 'none' && records > deps.tuning.rows_per_range * READ
  }

  /** Since when records are read whole: those that the mirror has not read, and a few more if the rest is counted. */
  async newest(): Promise<string> {
    const { mark, state } = this.#options
    // The millisecond after it: later records begin there.
    const to = mark === null ? BEFORE_ALL : formatInstant(Date.parse(mark) + 1)
    if (state.how !== 'counted') return to
    const rows = Math.floor(this.#work.deps.tuning.rows_per_range * NEWEST)
    return await newestPartitionStart(this.#work, { to, rows })
  }

  /** The partitions to check, newest first. */
  async cut(): Promise<PartitionRange[]> {
    const { stream, schema, key, reader, local } = this.#work
    const { serviceCount, newest: to } = this.#options.state
    if (key.kind === 'none') return [{ from: null, to: null }]
    const { rows } = await local.count(stream, tableRange(key, { from: BEFORE_ALL, to }))
    const size = Math.max(2, Math.ceil(await this.#partitionRows(rows)))
    // A table that lacks most rows does not show where the records are.
    if (serviceCount! > 2 * rows + size) {
      const low = parseInstant(await reader.edge(schema.name, key.property!, 'asc'))
      if (low !== null && low < to)
        return cutByTime(low, to, Math.min(PARTITIONS_MAX, Math.ceil(serviceCount! / size)))
    }
    return await cutByRows(this.#work, { to, rows: size })
  }

  /** Rows of a partition of a table with so many. */
  async #partitionRows(rows: number): Promise<number> {
    const { sample, state } = this.#options
    const { readers, rows_per_range: rowsPerRange } = this.#work.deps.tuning
    const most = rowsPerRange * PARTITION
    if (sample !== null) return rows / Math.max(1, Math.floor(sample / PAGE_LIMIT_MAX))
    if (state.how !== 'counted') return Math.max(most, rows / PARTITIONS_MAX)
    const { names, cells } = await this.#groups()
    const counted = Math.max(rowsPerRange * LIST, rows / (readers * PARTITIONS_PER_READER))
    return Math.min(most, counted, names.length > 0 ? CELL_RECORDS * cells : Infinity)
  }

  /** How a partition is checked. */
  async checker(): Promise<(range: PartitionRange) => Promise<void>> {
    const { sample, state } = this.#options
    const { tuning } = this.#work.deps
    if (sample !== null) {
      const limit = Math.min(PAGE_LIMIT_MAX, sample)
      return (range) => this.#checkPage(range, limit)
    }
    if (state.how === 'read') return (range) => this.#differ.examine(range)
    const counting = new Counting(this.#work, this.#differ, {
      groups: (await this.#groups()).names,
      listMax: Math.max(2, Math.ceil(tuning.rows_per_range * LIST)),
      requestsMax: Math.max(REQUESTS_MIN, Math.ceil(state.serviceCount! / PAGE_LIMIT_MAX)),
    })
    return (range) => counting.check(range)
  }

  /** Checks what belongs to no partition: records without a value of the key, and such rows. */
  async checkUnpartitioned(): Promise<void> {
    const { stream, schema, key, reader, local } = this.#work
    const differ = this.#differ
    const none = { property: key.property!, op: 'is_null' as const, value: true }
    const records = await reader.count(schema.name, none)
    const { rows: all } = await local.count(stream)
    const valued = await local.count(stream, tableRange(key, { from: BEFORE_ALL, to: null }))
    const rows = all - valued.rows
    if (records === 0 && rows === 0) return
    if (records === rows && this.#options.state.how !== 'read') return
    const listed = new Set<string>()
    if (records > 0) await differ.list(none, 'desc', Infinity, ({ id }) => listed.add(id))
    if (rows === 0) return
    for await (const ids of idPages(this.#work, null))
      for await (const held of rowPages(this.#work, ids))
        await differ.absent(
          held
            .filter((row) => rowInstant(key, stream, row) === null && !listed.has(row.id))
            .map(({ id }) => id),
        )
  }

  /** Checks the first page of a partition, and the rows that belong to it. */
  async #checkPage(range: PartitionRange, limit: number): Promise<void> {
    const { key } = this.#work
    const differ = this.#differ
    const listed = new Set<string>()
    const filter = rangeFilterOf(key, range)
    const { last, hasMore } = await differ.list(filter, 'asc', limit, ({ id }) => listed.add(id))
    let { to } = range
    if (hasMore) {
      // Other records may share the time of the last one.
      const value = last && recordInstant(key, last)
      if (!value) return
      to = formatInstant(Date.parse(value))
    }
    if (range.from !== null && to !== null && to <= range.from) return
    for await (const ids of idPages(this.#work, { from: range.from, to }))
      await differ.absent(ids.filter((id) => !listed.has(id)))
  }

  #groups(): Promise<CountGroups> {
    this.#grouping ??= this.#chooseGroups()
    return this.#grouping
  }

  async #chooseGroups(): Promise<CountGroups> {
    const { schema, stream, local } = this.#work
    const ids = await local.ids(stream, { after: null, limit: SAMPLE_ROWS })
    return chooseCountGroups(schema, stream, await local.rows(stream, ids))
  }
}
