// Compares records of the service with their rows. What is not equal waits as a suspect; `commit` looks at it again (suspects.ts),
// writes it into the ledger, and repairs it if the run does so (repair.ts).

import type { FilterNode, RecordRepresentation } from '../../contract/index.ts'
import { SyncError } from '../../core/errors.ts'
import { forEachConcurrent } from '../../core/concurrency.ts'
import { slicesOf } from '../../core/slices.ts'
import type { ColumnEquals, StoredRow } from '../../warehouses/mirror-tables.ts'
import { isCursorRefused } from '../reader.ts'
import { extraRow } from './compare.ts'
import { ROWS_MAX } from './local-tables.ts'
import { isInRange, rangeFilterOf, rowInstant } from './partition-key.ts'
import { differencesOf, noteDifferences, repairRows } from './repair.ts'
import type { PartitionRange } from './state.ts'
import { confirmSuspects, suspectOf, SUSPECTS_MAX, type Suspect } from './suspects.ts'
import { idPages, rowPages, rowsById } from './table-pages.ts'
import type { ReconcileWork } from './work.ts'

/** Records that changed since the mirror ran, and rows without a record, at most. */
export const UNSETTLED_MAX = 10_000
/** Rows that are known to differ, at most. */
const KNOWN_MAX = 100_000
/** Times that a listing begins again because the service no longer accepts its cursor. */
const RESTARTS_MAX = 3

export class RecordDiffer {
  /** Records that changed since the mirror ran last. */
  readonly pending = new Set<string>()
  readonly #work: ReconcileWork
  /** Rows that are known to differ, with their instant in the table: counts of a partition leave them out. */
  readonly #known = new Map<string, string | null>()
  #suspects: Suspect[] = []
  #extras: string[] = []
  #extraCount = 0
  #committing: Promise<void> = Promise.resolve()

  constructor(work: ReconcileWork) {
    this.#work = work
  }

  /** Ids of the rows of a partition that are known to differ. */
  knownIn(range: PartitionRange): string[] {
    return [...this.#known].filter(([, at]) => isInRange(range, at)).map(([id]) => id)
  }

  /**
   * Reads a partition of the service whole, compares it, and looks for rows of the table that belong to it and were not listed.
   * @param more filters to add
   * @param equals the values of the rows that match them; null if no row has these
   */
  async examine(
    range: PartitionRange,
    more: readonly FilterNode[] = [],
    equals: readonly ColumnEquals[] | null = [],
  ): Promise<void> {
    const listed = new Set<string>()
    const filter = rangeFilterOf(this.#work.key, range, more)
    for (let restarts = 0; ; restarts++) {
      try {
        await this.list(filter, 'desc', Infinity, ({ id }) => listed.add(id))
        break
      } catch (error) {
        // A record that is compared twice is reported once.
        if (!isCursorRefused(error) || restarts === RESTARTS_MAX) throw error
      }
    }
    if (equals === null) return
    for await (const ids of idPages(this.#work, range, equals))
      await this.absent(ids.filter((id) => !listed.has(id)))
  }

  /** Compares the records of a query, or its first page of `limit`. Returns the last record, and whether there are more. */
  async list(
    filter: FilterNode | null,
    direction: 'asc' | 'desc',
    limit: number,
    seen: (record: RecordRepresentation) => void,
  ): Promise<{ last: RecordRepresentation | undefined; hasMore: boolean }> {
    const { deps, reader, schema, key } = this.#work
    const body = {
      ...(filter && { filter }),
      ...(key.property !== null && !isNullFilter(filter)
        ? { sorts: [{ property: key.property, direction }] }
        : {}),
      ...(Number.isFinite(limit) && { limit }),
    }
    let last: RecordRepresentation | undefined
    let gathered: RecordRepresentation[] = []
    for await (const page of reader.pages(schema.name, body)) {
      deps.signal.throwIfAborted()
      this.#work.read(page.records.length)
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

  /** Asks by id for the records of rows that the service did not list. */
  async absent(ids: readonly string[]): Promise<void> {
    const { deps, reader, schema } = this.#work
    const unknown = ids.filter((id) => !this.#known.has(id))
    for await (const rows of rowPages(this.#work, unknown)) {
      await forEachConcurrent(rows, deps.tuning.readers, async (held) => {
        const askedAt = reader.now()
        const record = await reader.record(schema.name, held.id)
        if (record === null) this.#takeExtra(held)
        else if (record !== undefined) this.#take(record, held, { askedAt, isSure: true })
      })
      await this.#commitIfMany()
    }
  }

  /** Compares records by their ids, whatever is known of them. Returns those that are as their rows. */
  async compare(ids: readonly string[]): Promise<string[]> {
    const { deps, reader, schema } = this.#work
    const equal: string[] = []
    for (const some of slicesOf(ids, ROWS_MAX)) {
      const held = await rowsById(this.#work, some)
      await forEachConcurrent(some, deps.tuning.readers, async (id) => {
        const row = held.get(id)
        const askedAt = reader.now()
        const record = await reader.record(schema.name, id)
        if (record === null) {
          if (row === undefined || row.isDeleted) equal.push(id)
          else this.#takeExtra(row)
        } else if (record !== undefined && this.#take(record, row, { askedAt, isSure: true }))
          equal.push(id)
      })
    }
    await this.commit()
    return equal
  }

  /** Settles what waits, after what is being settled. */
  commit(): Promise<void> {
    const after = this.#committing.then(() => this.#commit())
    this.#committing = after.catch(() => {})
    return after
  }

  async #commitIfMany(): Promise<void> {
    if (this.#suspects.length + this.#extras.length >= SUSPECTS_MAX) await this.commit()
  }

  async #compare(records: readonly RecordRepresentation[], askedAt: string): Promise<void> {
    const held = await rowsById(
      this.#work,
      records.map(({ id }) => id),
    )
    for (const record of records)
      this.#take(record, held.get(record.id), { askedAt, isSure: false })
    await this.#commitIfMany()
  }

  /** Returns whether the record is as its row; otherwise it becomes a suspect. */
  #take(
    record: RecordRepresentation,
    held: StoredRow | undefined,
    look: Pick<Suspect, 'askedAt' | 'isSure'>,
  ): boolean {
    const suspect = suspectOf(this.#work, record, held, look)
    if (suspect === null) return true
    this.#remember(record.id, held)
    this.#suspects.push(suspect)
    return false
  }

  #takeExtra(held: StoredRow): void {
    this.#extraCount++
    if (this.#extraCount > UNSETTLED_MAX)
      throw new SyncError(
        'reconcile_extra',
        `${this.#work.schema.name}: more than ${UNSETTLED_MAX} rows have no record at the service any more; run the mirror with full: true, which reads everything and deletes them as configured`,
      )
    this.#remember(held.id, held)
    this.#extras.push(held.id)
  }

  #remember(id: string, held: StoredRow | undefined): void {
    if (this.#known.size >= KNOWN_MAX) return
    const { key, stream } = this.#work
    const isPresent = held !== undefined && !held.isDeleted
    this.#known.set(id, isPresent ? rowInstant(key, stream, held) : null)
  }

  async #commit(): Promise<void> {
    const suspects = this.#suspects
    const extras = this.#extras
    this.#suspects = []
    this.#extras = []
    const { schema } = this.#work
    await noteDifferences(
      this.#work,
      extras.map((id) => extraRow(schema.name, id)),
    )
    for (const some of slicesOf(suspects, SUSPECTS_MAX)) {
      const sure = await confirmSuspects(this.#work, some)
      await noteDifferences(
        this.#work,
        sure.flatMap(({ difference }) => differencesOf(difference)),
      )
      for (const { difference, record } of sure)
        if (difference.kind === 'pending') this.#pend(record.id)
      await repairRows(this.#work, sure)
    }
  }

  #pend(id: string): void {
    this.pending.add(id)
    if (this.pending.size > UNSETTLED_MAX)
      throw new SyncError(
        'reconcile_unread',
        `${this.#work.schema.name}: more than ${UNSETTLED_MAX} records changed since the mirror ran last; run it first`,
      )
  }
}

const isNullFilter = (filter: FilterNode | null): boolean =>
  filter !== null && 'op' in filter && filter.op === 'is_null'
