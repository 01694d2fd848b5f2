// Finds differences by counting. If the service can group by properties of few values, one request compares a partition in a
// hundred cells at once; otherwise partitions that differ are halved. What is left is listed and compared field by field.
//
// What counting cannot see, and reading everything does: (1) a value that was altered in the table and not at the service; (2) a
// record of which the mirror missed a version, if both versions lie in the same partition and have the same values of the grouped
// properties; (3) an extra row in the very cell in which another row is missing. Of a million records in 12,000 cells, with 70
// missing or stale and 30 extra ones, two hide each other in one of six reconciliations. Because of (2) the newest records are read
// whole.

import { PAGE_LIMIT_MAX, type FilterNode, type ObjectSchema } from '../../contract/index.ts'
import { ServiceFailure } from '../../core/errors.ts'
import type { ColumnEquals, StoredRow, MirrorStream } from '../../warehouses/mirror-tables.ts'
import { midpoint } from '../ranges.ts'
import { rangeFilterOf, BEFORE_ALL, rowInstant, isInRange, tableRange } from './partition-key.ts'
import type { RecordDiffer } from './record-differ.ts'
import type { PartitionRange } from './state.ts'
import { idPages, rowPages } from './table-pages.ts'
import type { ReconcileWork } from './work.ts'

/** Field types by whose values counts are grouped. */
const GROUPABLE = ['text', 'select', 'user', 'boolean']
/** Combinations of values in one request, at most, and how many are worth one. */
const CELLS_MAX = PAGE_LIMIT_MAX
const CELLS_MIN = 5
/** Pages of groups, for values that the sample of rows did not show. */
const GROUP_PAGES_MAX = 3
/** Times that a partition is halved again because records moved in the meantime. */
const RESTARTS_MAX = 3

export interface CountingOptions {
  /** Properties that counts are grouped by; none: partitions are halved. */
  readonly groups: readonly string[]
  /** Records that are listed rather than counted once more. */
  readonly listMax: number
  /** Requests after which partitions that differ are read whole instead of halved. */
  readonly requestsMax: number
}

type Value = ColumnEquals['value']

export class Counting {
  readonly #work: ReconcileWork
  readonly #differ: RecordDiffer
  readonly #options: CountingOptions
  /** Number of the last request that may be spent on counting. */
  readonly #last: number
  /** Names of the columns of `groups`. */
  readonly #columns: readonly string[]
  #isRefused = false

  constructor(work: ReconcileWork, differ: RecordDiffer, options: CountingOptions) {
    this.#work = work
    this.#differ = differ
    this.#options = options
    this.#last = work.reader.requests + options.requestsMax
    const live = work.stream.columns.filter((column) => column.live)
    this.#columns = options.groups.map(
      (group) => live.find(({ property }) => property === group)!.name,
    )
  }

  async check(range: PartitionRange): Promise<void> {
    const { groups } = this.#options
    if (groups.length === 0 || this.#isRefused || !(await this.#checkGroups(range)))
      await this.#halveUntilStable(range)
  }

  /** Returns whether the service grouped. */
  async #checkGroups(range: PartitionRange): Promise<boolean> {
    const { schema, key: partitionKey, reader } = this.#work
    const { groups } = this.#options
    const differ = this.#differ
    let theirs
    try {
      theirs = await reader.groups(
        schema.name,
        groups,
        rangeFilterOf(partitionKey, range),
        GROUP_PAGES_MAX,
      )
    } catch (error) {
      if (!(error instanceof ServiceFailure) || error.kind !== 'problem') throw error
      if (error.status !== 400 && error.status !== 422) throw error
      this.#isRefused = true
      return false
    }
    if (theirs === null) return false
    const ours = await this.#cellsOf(range)
    const cells = new Map(theirs.map(({ values, records }) => [JSON.stringify(values), records]))
    for (const key of ours.keys()) if (!cells.has(key)) cells.set(key, 0)
    const differing = [...cells].filter(([key, records]) => records !== (ours.get(key) ?? 0))
    const pages = (records: number) => Math.max(1, Math.ceil(records / PAGE_LIMIT_MAX))
    const whole = pages([...cells.values()].reduce((sum, records) => sum + records, 0))
    const parts = differing.reduce((sum, [, records]) => sum + pages(records), 0)
    if (parts >= whole && differing.length > 0) await differ.examine(range)
    else
      for (const [key, records] of differing) {
        const values = JSON.parse(key) as Value[]
        const equals = this.#columns.map((column, index) => ({ column, value: values[index]! }))
        if (records === 0)
          for await (const ids of idPages(this.#work, range, equals)) await differ.absent(ids)
        else await differ.examine(range, filtersOf(groups, values), ours.has(key) ? equals : null)
      }
    return true
  }

  /** Rows of a partition by the JSON text of their grouped values, without those that are known to differ. */
  async #cellsOf(range: PartitionRange): Promise<Map<string, number>> {
    const { local, stream, key: partitionKey } = this.#work
    const cells = new Map<string, number>()
    const groups = await local.groups(stream, this.#columns, tableRange(partitionKey, range))
    for (const { values, rows } of groups) cells.set(JSON.stringify(values), rows)
    const columns = stream.columns.filter(
      ({ name }) => this.#columns.includes(name) || name === partitionKey.column,
    )
    const few = { ...stream, columns }
    const keyOf = keyer(few, this.#options.groups)
    for await (const known of rowPages(this.#work, this.#differ.knownIn(range), few))
      for (const row of known) {
        // One that was repaired since is counted as it is now.
        if (row.isDeleted || !isInRange(range, rowInstant(partitionKey, few, row))) continue
        const key = keyOf(row)
        cells.set(key, (cells.get(key) ?? 0) - 1)
      }
    return cells
  }

  async #halveUntilStable(range: PartitionRange): Promise<void> {
    // Records leave a partition while it is halved, and none enters it: an equal count afterwards shows that none left.
    let before = await this.#count(range)
    for (let restarts = 0; ; restarts++) {
      const isHalved = await this.#halve(range, before)
      if (!isHalved || restarts === RESTARTS_MAX) return
      const after = await this.#count(range)
      if (after === before) return
      before = after
    }
  }

  #count(range: PartitionRange): Promise<number> {
    const { reader, schema, key } = this.#work
    return reader.count(schema.name, rangeFilterOf(key, range) ?? undefined)
  }

  /** Returns whether one half's count was taken from the whole's. */
  async #halve(range: PartitionRange, records: number): Promise<boolean> {
    const { local, stream, key, reader } = this.#work
    const { rows: all } = await local.count(stream, tableRange(key, range))
    const rows = all - this.#differ.knownIn(range).length
    if (records === rows) return false
    const isSpent = reader.requests >= this.#last
    const isShort = isSpent || isWorthListing(records, rows, this.#options.listMax)
    const middle = isShort ? null : await this.#middle(range)
    if (middle === null) {
      await this.#differ.examine(range)
      return false
    }
    const newer = await this.#count({ from: middle, to: range.to })
    await this.#halve({ from: middle, to: range.to }, newer)
    await this.#halve({ from: range.from, to: middle }, records - newer)
    return true
  }

  /** The moment with about half of the rows before it; null if there is none. */
  async #middle({ from, to }: PartitionRange): Promise<string | null> {
    if (to === null) return null
    const { local, stream, key } = this.#work
    const { rows } = await local.count(stream, tableRange(key, { from, to }))
    let low = from ?? BEFORE_ALL
    let high = to
    let best: string | null = null
    // Bounded: the time is halved each time.
    for (let middle = midpoint(low, high); middle !== null; middle = midpoint(low, high)) {
      best = middle
      if (rows === 0) break
      const { rows: older } = await local.count(stream, tableRange(key, { from, to: middle }))
      if (older * 3 < rows) low = middle
      else if (older * 3 > rows * 2) high = middle
      else break
    }
    return best
  }
}

/** Whether reading so many records costs no more than counting on, for each that is known to differ. */
function isWorthListing(records: number, rows: number, listMax: number): boolean {
  if (records <= listMax) return true
  const differing = Math.abs(records - rows)
  const perOne = Math.log2(Math.max(2, records / differing / listMax)) + 3
  return records / PAGE_LIMIT_MAX <= differing * perOne
}

/** The combination of grouped values of a row, as text. */
function keyer(stream: MirrorStream, groups: readonly string[]): (row: StoredRow) => string {
  const live = stream.columns.filter((column) => column.live)
  const indexes = groups.map((name) => live.findIndex(({ property }) => property === name))
  return ({ cells }) => JSON.stringify(indexes.map((index) => cells[index]))
}

const filtersOf = (groups: readonly string[], values: readonly Value[]): FilterNode[] =>
  groups.map((property, index) => {
    const value = values[index]!
    return value === null ? { property, op: 'is_null', value: true } : { property, op: 'eq', value }
  })

/** Properties that counts are grouped by, and about how many combinations of values they have. */
export interface CountGroups {
  readonly names: readonly string[]
  readonly cells: number
}

/** The properties that together give the most cells that fit into one answer, judged by a sample of rows. */
export function chooseCountGroups(
  schema: ObjectSchema,
  stream: MirrorStream,
  rows: readonly StoredRow[],
): CountGroups {
  const live = stream.columns.filter((column) => column.live)
  const cellsOf = (names: readonly string[]) => {
    const keyOf = keyer(stream, names)
    return new Set(rows.map(keyOf)).size
  }
  const able = schema.properties
    .filter(
      ({ name, field_type: type, is_multi: isMulti, operators }) =>
        GROUPABLE.includes(type) &&
        !isMulti &&
        operators.includes('eq') &&
        operators.includes('is_null') &&
        live.some((column) => column.property === name && column.fieldType === type),
    )
    .map(({ name }) => ({ name, cells: cellsOf([name]) }))
    .filter(({ cells }) => cells > 1 && cells <= CELLS_MAX)
    .toSorted((a, b) => b.cells - a.cells)
  const chosen: string[] = []
  for (const { name } of able) if (cellsOf([...chosen, name]) <= CELLS_MAX) chosen.push(name)
  const cells = cellsOf(chosen)
  return cells >= CELLS_MIN ? { names: chosen, cells } : { names: [], cells: 1 }
}
