// Finds what differs by counting. Where the service can group by properties of few values, one request compares a share in a
// hundred cells at once; elsewhere shares that differ are halved. What is left is listed and compared field by field.
//
// What counting cannot see, and reading everything does: a value that was altered in the table and not at the service; a record of
// which the mirror missed a version that lies in the same share as the one it has, where the values that are grouped by are the
// same; and a row too many in the very cell in which another is missing. Of a million records in 12,000 cells, with 70 missing or
// stale and 30 extra ones, two hide each other in one of six reconciliations. What changed last is read whole for the second.

import { PAGE_LIMIT_MAX, type FilterNode, type ObjectSchema } from '../../contract/index.ts'
import { ServiceFailure } from '../../core/errors.ts'
import type { ColumnEquals, StoredRow, MirrorStream } from '../../warehouses/mirror-tables.ts'
import { midpoint } from '../ranges.ts'
import type { Reader } from '../reader.ts'
import {
  rangeFilterOf,
  BEFORE_ALL,
  rowInstant,
  isInRange,
  tableRange,
  type PartitionKey,
} from './partition-key.ts'
import type { LocalTables } from './local-tables.ts'
import type { RecordDiffer } from './record-differ.ts'
import type { PartitionRange } from './state.ts'

/** Field types by whose values counts are grouped. */
const GROUPABLE = ['text', 'select', 'user', 'boolean']
/** Combinations of values in one request, and those that are worth a request. */
const CELLS_MAX = PAGE_LIMIT_MAX
const CELLS_MIN = 5
/** Pages of groups, for values that the sample of rows did not show. */
const GROUP_PAGES_MAX = 3
/** Times that a share is halved anew because records moved meanwhile. */
const RESTARTS_MAX = 3

export interface CountingParts {
  readonly type: string
  readonly stream: MirrorStream
  readonly partitionKey: PartitionKey
  readonly reader: Reader
  readonly local: LocalTables
  readonly differ: RecordDiffer
  /** Properties that counts are grouped by; none: shares are halved. */
  readonly groups: readonly string[]
  /** Records that are listed rather than counted once more. */
  readonly listMax: number
  /** Requests after which shares that differ are read whole instead of halved. */
  readonly requestsMax: number
}

type Value = ColumnEquals['value']

export class Counting {
  readonly #parts: CountingParts
  readonly #last: number
  /** Names of the columns of `groups`. */
  readonly #columns: readonly string[]
  #isRefused = false

  constructor(parts: CountingParts) {
    this.#parts = parts
    this.#last = parts.reader.requests + parts.requestsMax
    const live = parts.stream.columns.filter((column) => column.live)
    this.#columns = parts.groups.map(
      (group) => live.find(({ property }) => property === group)!.name,
    )
  }

  async look(span: PartitionRange): Promise<void> {
    if (this.#parts.groups.length === 0 || this.#isRefused || !(await this.#grouped(span)))
      await this.#halving(span)
  }

  /** Returns whether the service grouped. */
  async #grouped(span: PartitionRange): Promise<boolean> {
    const { type, partitionKey: axis, reader, differ: looker, groups } = this.#parts
    let theirs
    try {
      theirs = await reader.groups(type, groups, rangeFilterOf(axis, span), GROUP_PAGES_MAX)
    } catch (error) {
      if (!(error instanceof ServiceFailure) || error.kind !== 'problem') throw error
      if (error.status !== 400 && error.status !== 422) throw error
      this.#isRefused = true
      return false
    }
    if (theirs === null) return false
    const ours = await this.#cellsOf(span)
    const cells = new Map(theirs.map(({ values, records }) => [JSON.stringify(values), records]))
    for (const key of ours.keys()) if (!cells.has(key)) cells.set(key, 0)
    const differing = [...cells].filter(([key, records]) => records !== (ours.get(key) ?? 0))
    const pages = (records: number) => Math.max(1, Math.ceil(records / PAGE_LIMIT_MAX))
    const whole = pages([...cells.values()].reduce((sum, records) => sum + records, 0))
    const parts = differing.reduce((sum, [, records]) => sum + pages(records), 0)
    if (parts >= whole && differing.length > 0) await looker.examine(span)
    else
      for (const [key, records] of differing) {
        const values = JSON.parse(key) as Value[]
        const equals = this.#columns.map((column, index) => ({ column, value: values[index]! }))
        if (records === 0)
          for await (const ids of looker.idsOf(span, equals)) await looker.absent(ids)
        else await looker.examine(span, filtersOf(groups, values), ours.has(key) ? equals : null)
      }
    return true
  }

  /** Rows of a share by the JSON text of the values that are grouped by, but for those that are known to differ. */
  async #cellsOf(span: PartitionRange): Promise<Map<string, number>> {
    const { local, stream, partitionKey: axis, differ: looker, groups } = this.#parts
    const cells = new Map<string, number>()
    for (const { values, rows } of await local.groups(
      stream,
      this.#columns,
      tableRange(axis, span),
    ))
      cells.set(JSON.stringify(values), rows)
    const columns = stream.columns.filter(
      ({ name }) => this.#columns.includes(name) || name === axis.column,
    )
    const few = { ...stream, columns }
    const keyOf = keyer(few, groups)
    for await (const known of looker.rowsOf(looker.knownIn(span), few))
      for (const row of known) {
        // One that was mended meanwhile is not among those that were counted as they were.
        if (row.isDeleted || !isInRange(span, rowInstant(axis, few, row))) continue
        const key = keyOf(row)
        cells.set(key, (cells.get(key) ?? 0) - 1)
      }
    return cells
  }

  async #halving(span: PartitionRange): Promise<void> {
    // Records leave a share while it is halved, and none comes: an equal count afterwards says that none did.
    let before = await this.#count(span)
    for (let restarts = 0; ; restarts++) {
      const isHalved = await this.#halve(span, before)
      if (!isHalved || restarts === RESTARTS_MAX) return
      const after = await this.#count(span)
      if (after === before) return
      before = after
    }
  }

  #count(span: PartitionRange): Promise<number> {
    const { reader, type, partitionKey: axis } = this.#parts
    return reader.count(type, rangeFilterOf(axis, span) ?? undefined)
  }

  /** Returns whether counts were taken from each other. */
  async #halve(span: PartitionRange, records: number): Promise<boolean> {
    const { local, stream, partitionKey: axis, differ: looker, reader, listMax } = this.#parts
    const { rows: all } = await local.count(stream, tableRange(axis, span))
    const rows = all - looker.knownIn(span).length
    if (records === rows) return false
    const isSpent = reader.requests >= this.#last
    const middle =
      isSpent || isWorthListing(records, rows, listMax) ? null : await this.#middle(span)
    if (middle === null) {
      await looker.examine(span)
      return false
    }
    const newer = await this.#count({ from: middle, to: span.to })
    await this.#halve({ from: middle, to: span.to }, newer)
    await this.#halve({ from: span.from, to: middle }, records - newer)
    return true
  }

  /** The moment that has half of the rows before it, about; null where there is none. */
  async #middle({ from, to }: PartitionRange): Promise<string | null> {
    if (to === null) return null
    const { local, stream, partitionKey: axis } = this.#parts
    const { rows } = await local.count(stream, tableRange(axis, { from, to }))
    let low = from ?? BEFORE_ALL
    let high = to
    let best: string | null = null
    // Bounded: the time is halved each time.
    for (let middle = midpoint(low, high); middle !== null; middle = midpoint(low, high)) {
      best = middle
      if (rows === 0) break
      const { rows: older } = await local.count(stream, tableRange(axis, { from, to: middle }))
      if (older * 3 < rows) low = middle
      else if (older * 3 > rows * 2) high = middle
      else break
    }
    return best
  }
}

/** Whether reading so many records costs no more than counting on would, for each that is known to differ. */
function isWorthListing(records: number, rows: number, listMax: number): boolean {
  if (records <= listMax) return true
  const differing = Math.abs(records - rows)
  const perOne = Math.log2(Math.max(2, records / differing / listMax)) + 3
  return records / PAGE_LIMIT_MAX <= differing * perOne
}

/** The combination of values that a row has, as text. */
function keyer(stream: MirrorStream, groups: readonly string[]): (row: StoredRow) => string {
  const live = stream.columns.filter((column) => column.live)
  const places = groups.map((name) => live.findIndex(({ property }) => property === name))
  return ({ cells }) => JSON.stringify(places.map((place) => cells[place]))
}

const filtersOf = (groups: readonly string[], values: readonly Value[]): FilterNode[] =>
  groups.map((property, index) => {
    const value = values[index]!
    return value === null ? { property, op: 'is_null', value: true } : { property, op: 'eq', value }
  })

/** Properties that counts are grouped by, and the number of combinations of their values, about. */
export interface CountGroups {
  readonly names: readonly string[]
  readonly cells: number
}

/** The properties whose values, taken together, make the most cells that fit into one answer; judged by some rows. */
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
