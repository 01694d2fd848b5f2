// The shares of a stream: how it is cut into them, and how each is looked at: read whole, counted, or one page of it. Cutting
// asks the table, which costs no requests; where the table lacks most of its rows, the service is asked once.

import { PAGE_LIMIT_MAX, type ObjectSchema } from '../../contract/index.ts'
import type { MirrorStream } from '../../warehouses/mirror-tables.ts'
import { formatInstant, parseInstant } from '../instant.ts'
import type { MirrorDeps } from '../ports.ts'
import type { Reader } from '../reader.ts'
import {
  nextMillisecond,
  cutByRows,
  cutByTime,
  rangeFilterOf,
  BEFORE_ALL,
  rowInstant,
  newestPartitionStart,
  recordInstant,
  tableRange,
  type PartitionKey,
} from './partition-key.ts'
import { Counting, chooseCountGroups, type CountGroups } from './counting.ts'
import type { LocalTables } from './local-tables.ts'
import type { RecordDiffer } from './record-differ.ts'
import type { ReconcileState, PartitionRange } from './state.ts'

/**
 * Of `rows_per_range`: records of a share at most; those of a type that is read rather than counted; those that changed last and
 * are read whatever is counted; those of a short list.
 */
const SHARE = 1 / 2
const READ = 1 / 5
const NEWEST = 1 / 20
const LIST = 1 / 100
/** Shares of a stream, at most, and those that each reader has where it is counted: a record that changed is in another one then. */
const PARTITIONS_MAX = 1_000
const PARTITIONS_PER_STEP = 5
/** Requests that counting may take in any case; beyond them, and what reading everything would take, shares are read whole. */
const REQUESTS_MIN = 300
/** Records that a combination of values should have in a share: one page lists them. */
const CELL_RECORDS = 80
/** Rows by which the properties are chosen that counts are grouped by. */
const SAMPLE_ROWS = 1_000

export interface PartitionsParts {
  readonly schema: ObjectSchema
  readonly stream: MirrorStream
  readonly partitionKey: PartitionKey
  readonly reader: Reader
  readonly local: LocalTables
  readonly differ: RecordDiffer
  /** Records to look at, about; null: all. */
  readonly sample: number | null
  /** What is later was not read by the mirror; null where nothing is known of it. */
  readonly mark: string | null
  /** Where the stream stands: how it is looked at, what the service counts, since when is newest. */
  readonly place: Readonly<Pick<ReconcileState, 'how' | 'serviceCount' | 'newest'>>
}

export class Partitions {
  readonly #deps: Pick<MirrorDeps, 'tuning' | 'beat'>
  readonly #parts: PartitionsParts
  #grouping: Promise<CountGroups> | undefined

  constructor(deps: Pick<MirrorDeps, 'tuning' | 'beat'>, parts: PartitionsParts) {
    this.#deps = deps
    this.#parts = parts
  }

  /** Whether so many records are not rather read at once. */
  isWorthCounting(records: number): boolean {
    const { rows_per_range: rowsPerRange } = this.#deps.tuning
    return this.#parts.partitionKey.kind !== 'none' && records > rowsPerRange * READ
  }

  /** Where what is read first begins: what the mirror has not read, and of what is counted a little more. */
  async newest(): Promise<string> {
    const { partitionKey: axis, stream, local, mark, place } = this.#parts
    const { tuning, beat } = this.#deps
    const to = mark === null ? BEFORE_ALL : nextMillisecond(mark)
    if (place.how !== 'counted') return to
    const rows = Math.floor(tuning.rows_per_range * NEWEST)
    return await newestPartitionStart(local, stream, axis, { to, rows, beat })
  }

  /** The shares to look at, newest first. */
  async cut(): Promise<PartitionRange[]> {
    const { partitionKey: axis, stream, schema, reader, local, sample } = this.#parts
    const { tuning, beat } = this.#deps
    const { how, serviceCount, newest: to } = this.#parts.place
    if (axis.kind === 'none') return [{ from: null, to: null }]
    const { rows } = await local.count(stream, tableRange(axis, { from: BEFORE_ALL, to }))
    const share = tuning.rows_per_range * SHARE
    let size = Math.max(share, Math.ceil(rows / PARTITIONS_MAX))
    if (sample !== null) size = Math.ceil(rows / Math.max(1, Math.floor(sample / PAGE_LIMIT_MAX)))
    else if (how === 'counted') {
      const { names, cells } = await this.#groups()
      const counted = Math.max(
        tuning.rows_per_range * LIST,
        rows / (tuning.readers * PARTITIONS_PER_STEP),
      )
      size = Math.min(share, counted, names.length > 0 ? CELL_RECORDS * cells : Infinity)
    }
    size = Math.max(2, Math.ceil(size))
    // A table that lacks most of it does not tell where the records are.
    if (serviceCount! > 2 * rows + size) {
      const low = parseInstant(await reader.edge(schema.name, axis.property!, 'asc'))
      if (low !== null && low < to)
        return cutByTime(low, to, Math.min(PARTITIONS_MAX, Math.ceil(serviceCount! / size)))
    }
    return await cutByRows(local, stream, axis, { to, rows: size, beat })
  }

  /** What is done with a share. */
  async look(): Promise<(span: PartitionRange) => Promise<void>> {
    const {
      partitionKey: axis,
      schema,
      stream,
      reader,
      local,
      differ: looker,
      sample,
      place,
    } = this.#parts
    const { tuning } = this.#deps
    if (sample !== null) {
      const limit = Math.min(PAGE_LIMIT_MAX, sample)
      return (span) => this.#lookAtPage(span, limit)
    }
    if (place.how === 'read') return (span) => looker.examine(span)
    const counting = new Counting({
      type: schema.name,
      stream,
      partitionKey: axis,
      reader,
      local,
      differ: looker,
      groups: (await this.#groups()).names,
      listMax: Math.max(2, Math.ceil(tuning.rows_per_range * LIST)),
      requestsMax: Math.max(REQUESTS_MIN, Math.ceil(place.serviceCount! / PAGE_LIMIT_MAX)),
    })
    return (span) => counting.look(span)
  }

  /** The records without a value by which they could be found, and such rows. */
  async recheckUnsettled(): Promise<void> {
    const { partitionKey: axis, stream, schema, reader, local, differ: looker, place } = this.#parts
    const none = { property: axis.property!, op: 'is_null' as const, value: true }
    const records = await reader.count(schema.name, none)
    const { rows: all } = await local.count(stream)
    const { rows: valued } = await local.count(
      stream,
      tableRange(axis, { from: BEFORE_ALL, to: null }),
    )
    const rows = all - valued
    if (records === 0 && rows === 0) return
    if (records === rows && place.how !== 'read') return
    const listed = new Set<string>()
    if (records > 0) await looker.list(none, 'desc', Infinity, ({ id }) => listed.add(id))
    if (rows === 0) return
    for await (const ids of looker.idsOf(null))
      for await (const held of looker.rowsOf(ids))
        await looker.absent(
          held
            .filter((row) => rowInstant(axis, stream, row) === null && !listed.has(row.id))
            .map(({ id }) => id),
        )
  }

  /** One page from the beginning of a share, and the rows that belong to it. */
  async #lookAtPage(span: PartitionRange, limit: number): Promise<void> {
    const { partitionKey: axis, differ: looker } = this.#parts
    const listed = new Set<string>()
    const filter = rangeFilterOf(axis, span)
    const { last, hasMore } = await looker.list(filter, 'asc', limit, ({ id }) => listed.add(id))
    let { to } = span
    if (hasMore) {
      // Others may share the time of the last one.
      const value = last && recordInstant(axis, last)
      if (!value) return
      to = formatInstant(Date.parse(value))
    }
    if (span.from !== null && to !== null && to <= span.from) return
    for await (const ids of looker.idsOf({ from: span.from, to }))
      await looker.absent(ids.filter((id) => !listed.has(id)))
  }

  #groups(): Promise<CountGroups> {
    this.#grouping ??= this.#chooseGroups()
    return this.#grouping
  }

  async #chooseGroups(): Promise<CountGroups> {
    const { schema, stream, local } = this.#parts
    const ids = await local.ids(stream, { after: null, limit: SAMPLE_ROWS })
    return chooseCountGroups(schema, stream, await local.rows(stream, ids))
  }
}
