// Looks at records: compares what the service lists with the rows of the table, asks again before anything is told, notes it, and
// mends it where that is wanted. Promises kept here: what only moved while it was looked at is not told; a difference is noted
// before it is mended, and noted as mended after the table was read again.

import type { FilterNode, RecordRepresentation } from '../../contract/index.ts'
import { IN_VALUES_MAX } from '../../contract/index.ts'
import type { Difference } from '../../core/differences.ts'
import { SyncError } from '../../core/errors.ts'
import { forEachConcurrent } from '../../core/concurrency.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import type {
  ColumnEquals,
  StoredRow,
  MergeCounts,
  MirrorRow,
  MirrorStream,
} from '../../warehouses/mirror-tables.ts'
import type { Differences } from '../../ledger/ledger.ts'
import type { MirrorDeps } from '../ports.ts'
import { isCursorRefused, type Reader } from '../reader.ts'
import {
  rangeFilterOf,
  rowInstant,
  isInRange,
  recordInstant,
  tableRange,
  type PartitionKey,
} from './partition-key.ts'
import { compareInstants, extraRow, type RowComparer, type RowDifference } from './compare.ts'
import { ROWS_MAX, type LocalTables } from './local-tables.ts'
import type { PartitionRange } from './state.ts'

/** Ids of the table that are read together. */
const IDS_MAX = 10_000
/** Records that changed since the mirror ran, and rows without a record, at most. */
export const UNSETTLED_MAX = 10_000
/** Rows whose place in the table is known to be an old one. */
const KNOWN_MAX = 100_000
/** Times that a listing begins anew because the service does not know its cursor any more. */
const RESTARTS_MAX = 3
/** Pages of a second look, at most: many records may share a time. */
const AGAIN_PAGES_MAX = 3

/** Writes into the table, of whoever claimed the stream. */
export interface RepairWriter {
  readonly fence: number
  /** As it is stored: the regular flow goes on from there. */
  readonly position: string
}

export interface RecordDifferParts {
  readonly run: number
  readonly type: string
  readonly stream: MirrorStream
  readonly reader: Reader
  readonly local: LocalTables
  readonly axis: PartitionKey
  readonly compare: RowComparer
  /** Null where nothing is mended. */
  readonly writer: RepairWriter | null
  rowOf(record: RecordRepresentation): MirrorRow
  /** Whether the mirror has not read this record yet, as it is now. */
  isUnread(record: RecordRepresentation): boolean
  read(records: number): void
  merged(counts: MergeCounts): void
}

/** A record that is not as its row. */
interface Suspect {
  readonly record: RecordRepresentation
  readonly row: MirrorRow
  readonly held: StoredRow | undefined
  readonly look: Exclude<RowDifference, { kind: 'equal' }>
  readonly askedAt: string
  /** Whether it was asked for by its id already. */
  readonly isSure: boolean
}

export class RecordDiffer {
  /** Records that changed since the mirror ran last. */
  readonly pending = new Set<string>()
  readonly #deps: MirrorDeps<Differences>
  readonly #parts: RecordDifferParts
  /** Rows that are known to differ, with the instant at which the table has them: they say nothing of other records there. */
  readonly #known = new Map<string, string | null>()
  #suspects: Suspect[] = []
  #extras: string[] = []
  #extraCount = 0
  #committing: Promise<void> = Promise.resolve()

  constructor(deps: MirrorDeps<Differences>, parts: RecordDifferParts) {
    this.#deps = deps
    this.#parts = parts
  }

  /** Ids of the rows of a share that are known to differ. */
  knownIn(span: PartitionRange): string[] {
    return [...this.#known].filter(([, at]) => isInRange(span, at)).map(([id]) => id)
  }

  get waiting(): number {
    return this.#suspects.length + this.#extras.length
  }

  /**
   * Reads a share of the service whole, compares it, and looks for the rows of the table that are in it and were not listed.
   * @param more filters besides
   * @param equals what the rows that match them have; null where no row does
   */
  async examine(
    span: PartitionRange,
    more: readonly FilterNode[] = [],
    equals: readonly ColumnEquals[] | null = [],
  ): Promise<void> {
    const { axis } = this.#parts
    const listed = new Set<string>()
    const filter = rangeFilterOf(axis, span, more)
    for (let restarts = 0; ; restarts++) {
      try {
        await this.list(filter, 'desc', Infinity, ({ id }) => listed.add(id))
        break
      } catch (error) {
        // What was compared is compared once more, and told once.
        if (!isCursorRefused(error) || restarts === RESTARTS_MAX) throw error
      }
    }
    if (equals === null) return
    for await (const ids of this.idsOf(span, equals))
      await this.absent(ids.filter((id) => !listed.has(id)))
  }

  /** Compares what a query lists, or its first page of `limit`. Returns the last record, and whether there are more. */
  async list(
    filter: FilterNode | null,
    direction: 'asc' | 'desc',
    limit: number,
    seen: (record: RecordRepresentation) => void,
  ): Promise<{ last: RecordRepresentation | undefined; hasMore: boolean }> {
    const { reader, type, axis } = this.#parts
    const body = {
      ...(filter && { filter }),
      ...(axis.property !== null && !isNullFilter(filter)
        ? { sorts: [{ property: axis.property, direction }] }
        : {}),
      ...(Number.isFinite(limit) && { limit }),
    }
    let last: RecordRepresentation | undefined
    let gathered: RecordRepresentation[] = []
    for await (const page of reader.pages(type, body)) {
      this.#deps.signal.throwIfAborted()
      this.#parts.read(page.records.length)
      for (const record of page.records) seen(record)
      last = page.records.at(-1) ?? last
      gathered.push(...page.records)
      const isLast = page.cursor === null || Number.isFinite(limit)
      if (gathered.length + 100 > ROWS_MAX || isLast) {
        await this.#compare(gathered, page.askedAt)
        gathered = []
      }
      if (isLast) return { last, hasMore: page.cursor !== null }
    }
    return { last, hasMore: false }
  }

  /** Ids of the table's rows of a share, in pages; of those that have some values, where these are given. */
  async *idsOf(
    span: PartitionRange | null,
    equals: readonly ColumnEquals[] = [],
  ): AsyncGenerator<readonly string[]> {
    const { signal, beat } = this.#deps
    const { stream, axis, local } = this.#parts
    const within = span === null ? undefined : tableRange(axis, span)
    for (let after: string | null = null; ;) {
      const choice = { after, limit: IDS_MAX, equals, ...(within && { within }) }
      const ids: readonly string[] = await local.ids(stream, choice)
      signal.throwIfAborted()
      beat()
      yield ids
      if (ids.length < IDS_MAX) return
      after = ids.at(-1)!
    }
  }

  /** The rows of any number of ids, in pages; of some columns only, where the stream is given with these. */
  async *rowsOf(
    ids: readonly string[],
    stream: MirrorStream = this.#parts.stream,
  ): AsyncGenerator<readonly StoredRow[]> {
    for (let from = 0; from < ids.length; from += ROWS_MAX) {
      const rows = await this.#parts.local.rows(stream, ids.slice(from, from + ROWS_MAX))
      this.#deps.signal.throwIfAborted()
      this.#deps.beat()
      yield rows
    }
  }

  /** Asks for the records of rows that the service did not list where they should be. */
  async absent(ids: readonly string[]): Promise<void> {
    const { reader, type } = this.#parts
    const unknown = ids.filter((id) => !this.#known.has(id))
    for await (const rows of this.rowsOf(unknown)) {
      await forEachConcurrent(rows, this.#deps.tuning.readers, async (held) => {
        const askedAt = reader.now()
        const record = await reader.record(type, held.id)
        if (record === null) this.#takeExtra(held)
        else this.#take(record, held, askedAt, true)
      })
      await this.#commitIfMany()
    }
  }

  /** Looks at records by their ids, whatever was noted of them. Returns those that are as their rows. */
  async compare(ids: readonly string[]): Promise<string[]> {
    const { reader, type } = this.#parts
    const equal: string[] = []
    for (let from = 0; from < ids.length; from += ROWS_MAX) {
      const some = ids.slice(from, from + ROWS_MAX)
      const held = await this.#held(some)
      await forEachConcurrent(some, this.#deps.tuning.readers, async (id) => {
        const row = held.get(id)
        const askedAt = reader.now()
        const record = await reader.record(type, id)
        if (record === null) {
          if (row === undefined || row.isDeleted) equal.push(id)
          else this.#takeExtra(row)
        } else if (this.#take(record, row, askedAt, true) === 'equal') equal.push(id)
      })
    }
    await this.commit()
    return equal
  }

  /** Tells everything that is still in doubt, once what is being told is. */
  commit(): Promise<void> {
    const after = this.#committing.then(() => this.#commit())
    this.#committing = after.catch(() => {})
    return after
  }

  async #commitIfMany(): Promise<void> {
    if (this.waiting >= IN_VALUES_MAX) await this.commit()
  }

  async #compare(records: readonly RecordRepresentation[], askedAt: string): Promise<void> {
    const held = await this.#held(records.map(({ id }) => id))
    for (const record of records) this.#take(record, held.get(record.id), askedAt, false)
    await this.#commitIfMany()
  }

  async #held(ids: readonly string[]): Promise<Map<string, StoredRow>> {
    const held = new Map<string, StoredRow>()
    for await (const rows of this.rowsOf(ids)) for (const row of rows) held.set(row.id, row)
    return held
  }

  /** Compares; what is not equal is a suspect from then on. */
  #take(
    record: RecordRepresentation,
    held: StoredRow | undefined,
    askedAt: string,
    isSure: boolean,
  ): RowDifference['kind'] {
    const { rowOf, compare, isUnread } = this.#parts
    const row = rowOf(record)
    const look = compare(row, held, isUnread(record))
    if (look.kind === 'equal') return 'equal'
    this.#remember(record.id, held)
    this.#suspects.push({ record, row, held, look, askedAt, isSure })
    return look.kind
  }

  #takeExtra(held: StoredRow): void {
    this.#extraCount++
    if (this.#extraCount > UNSETTLED_MAX)
      throw new SyncError(
        'reconcile_extra',
        `${this.#parts.type}: more than ${UNSETTLED_MAX} rows have no record at the service any more; run the mirror with full: true, which reads everything and deletes them as configured`,
      )
    this.#remember(held.id, held)
    this.#extras.push(held.id)
  }

  #remember(id: string, held: StoredRow | undefined): void {
    if (this.#known.size >= KNOWN_MAX) return
    const { axis, stream } = this.#parts
    const isThere = held !== undefined && !held.isDeleted
    this.#known.set(id, isThere ? rowInstant(axis, stream, held) : null)
  }

  async #commit(): Promise<void> {
    const suspects = this.#suspects
    const extras = this.#extras
    this.#suspects = []
    this.#extras = []
    const { run, type } = this.#parts
    await this.#note(extras.map((id) => extraRow(type, id)))
    for (let from = 0; from < suspects.length; from += IN_VALUES_MAX) {
      const sure = await this.#again(suspects.slice(from, from + IN_VALUES_MAX))
      await this.#note(sure.flatMap(({ look }) => differencesOf(look)))
      for (const { look, record } of sure) if (look.kind === 'pending') this.#pend(record.id)
      const mended = await this.#mend(sure)
      if (mended.length > 0)
        await this.#deps.ledger.noteDifferences(run, mended, { repaired: true })
    }
  }

  #pend(id: string): void {
    this.pending.add(id)
    if (this.pending.size > UNSETTLED_MAX)
      throw new SyncError(
        'reconcile_unread',
        `${this.#parts.type}: more than ${UNSETTLED_MAX} records changed since the mirror ran last; run it first`,
      )
  }

  async #note(differences: readonly Difference[]): Promise<void> {
    const { ledger } = this.#deps
    // The differences of a record are noted together, and replace those that were noted before.
    let some: Difference[] = []
    let records = 0
    for (const [index, one] of differences.entries()) {
      some.push(one)
      if (differences[index + 1]?.recordId === one.recordId) continue
      if (++records % LEDGER_ROWS_MAX > 0 && index + 1 < differences.length) continue
      await ledger.noteDifferences(this.#parts.run, some, { repaired: false })
      some = []
    }
  }

  /** Those that are not as their rows when they are asked for once more. */
  async #again(suspects: readonly Suspect[]): Promise<Suspect[]> {
    const { reader, type } = this.#parts
    const sure = suspects.filter(({ isSure }) => isSure)
    const unsure = suspects.filter(({ isSure }) => !isSure)
    if (unsure.length === 0) return sure
    const askedAt = reader.now()
    const now = await this.#listAgain(unsure)
    const rest = unsure.filter(({ record }) => !now.has(record.id))
    await forEachConcurrent(rest, this.#deps.tuning.readers, async ({ record: { id } }) => {
      const record = await reader.record(type, id)
      if (record !== null) now.set(id, record)
    })
    const held = await this.#held(unsure.map(({ record }) => record.id))
    const { rowOf, compare, isUnread } = this.#parts
    for (const { record: before } of unsure) {
      const record = now.get(before.id)
      // It was deleted meanwhile.
      if (record === undefined) continue
      const row = rowOf(record)
      const mine = held.get(record.id)
      const look = compare(row, mine, isUnread(record))
      if (look.kind === 'equal') continue
      sure.push({ record, row, held: mine, look, askedAt, isSure: true })
    }
    return sure
  }

  /** Those of them that still have the same instant, as far as a few pages tell. */
  async #listAgain(suspects: readonly Suspect[]): Promise<Map<string, RecordRepresentation>> {
    const { reader, type, axis } = this.#parts
    const found = new Map<string, RecordRepresentation>()
    const { property } = axis
    if (property === null || !axis.hasIn || suspects.length <= AGAIN_PAGES_MAX) return found
    const ids = new Set(suspects.map(({ record }) => record.id))
    const timed = suspects.filter(({ record }) => recordInstant(axis, record) !== null)
    const value = [...new Set(timed.map(({ record }) => record.properties[property]!))]
    if (value.length === 0) return found
    let pages = 0
    for await (const page of reader.pages(type, { filter: { property, op: 'in', value } })) {
      this.#deps.signal.throwIfAborted()
      for (const record of page.records) if (ids.has(record.id)) found.set(record.id, record)
      if (++pages === AGAIN_PAGES_MAX || found.size === ids.size || page.cursor === null) break
    }
    return found
  }

  /** Merges the records. Returns the differences that are none any more. */
  async #mend(suspects: readonly Suspect[]): Promise<Difference[]> {
    const { tables, beat } = this.#deps
    const { stream, run, writer, reader, compare, isUnread } = this.#parts
    if (writer === null || suspects.length === 0) return []
    // No merge puts an older version in the place of a newer one.
    const newer = suspects.filter(
      ({ row, held }) =>
        held?.version != null &&
        row.version !== null &&
        compareInstants(held.version, row.version) > 0,
    )
    if (newer.length > 0)
      await tables.delete(stream, writer.fence, writer.position, {
        before: reader.now(),
        ids: newer.map(({ row }) => row.id),
        how: 'hard',
        at: reader.now(),
      })
    const batch = await tables.batch(stream)
    try {
      for (const askedAt of new Set(suspects.map((one) => one.askedAt)))
        await batch.add(
          suspects.filter((one) => one.askedAt === askedAt).map(({ row }) => row),
          askedAt,
        )
      this.#parts.merged(await batch.merge({ run, ...writer }))
    } finally {
      await batch.drop()
    }
    beat()
    const held = await this.#held(suspects.map(({ row }) => row.id))
    return suspects
      .filter(
        ({ row, record }) => compare(row, held.get(row.id), isUnread(record)).kind === 'equal',
      )
      .flatMap(({ look }) => differencesOf(look))
  }
}

const differencesOf = (look: RowDifference): readonly Difference[] =>
  'differences' in look ? look.differences : []

const isNullFilter = (filter: FilterNode | null): boolean =>
  filter !== null && 'op' in filter && filter.op === 'is_null'
