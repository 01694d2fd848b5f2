// By what a stream is cut into shares: the time of modification, else that of creation, else not at all.

import {
  allOf,
  creationProperty,
  spanOf,
  type FilterNode,
  type ObjectSchema,
  type RecordRepresentation,
} from '../../contract/index.ts'
import type { HeldRow, MirrorStream, Within } from '../../warehouses/mirror-tables.ts'
import { instantAt, instantOf } from '../instant.ts'
import { modifiedOf, sorted, type RecordsJob } from '../records.ts'
import type { LocalTables } from './local.ts'
import type { AxisKind, Span } from './place.ts'

/** Before every instant. */
export const FIRST = '0001-01-01T00:00:00.000Z'

export interface Axis {
  readonly kind: AxisKind
  /** Name of the property; null with `none`. */
  readonly property: string | null
  /** The table's column of these instants; null with `none`. */
  readonly column: string | null
  /** Whether the service answers who has one of a list of values. */
  readonly hasIn: boolean
}

export function axisOf(
  job: Pick<RecordsJob, 'sortable' | 'config'>,
  schema: ObjectSchema,
  { columns }: MirrorStream,
): Axis {
  const modified = modifiedOf(job, schema)
  if (modified !== null)
    return {
      kind: 'modified',
      property: modified.name,
      column: '_version',
      hasIn: modified.operators.includes('in'),
    }
  const created = sorted(job, creationProperty(schema))
  const column = columns.find(
    ({ property, live, type }) => property === created?.name && live && type.holds === 'instant',
  )
  if (created === null || column === undefined)
    return { kind: 'none', property: null, column: null, hasIn: false }
  const hasIn = created.operators.includes('in')
  return { kind: 'created', property: created.name, column: column.name, hasIn }
}

/** The instant by which the service puts a record in order; null where it has none. */
export const valueOf = ({ property }: Axis, record: RecordRepresentation): string | null =>
  property === null ? null : instantOf(record.properties[property])

/** The same of a row. */
export function heldValueOf(axis: Axis, { columns }: MirrorStream, row: HeldRow): string | null {
  if (axis.kind === 'modified') return row.version
  const live = columns.filter((column) => column.live)
  const cell = row.cells[live.findIndex(({ name }) => name === axis.column)]
  return typeof cell === 'string' ? cell : null
}

/** What asks the service for a share; null for everything. */
export const filterOf = (
  { property }: Axis,
  { from, to }: Span,
  more: readonly FilterNode[] = [],
): FilterNode | null => allOf([...(property === null ? [] : spanOf(property, from, to)), ...more])

/** The same of the table. */
export const withinOf = ({ column }: Axis, { from, to }: Span): Within | undefined =>
  column === null ? undefined : { column, from, to }

/** The millisecond after an instant: what is later begins there. */
export const afterOf = (instant: string): string => instantAt(Date.parse(instant) + 1)

/** Shares that are counted are cut finer than asked for, and put together again. */
const FINER = 4
/** How far back the oldest row is looked for at first, and how much further each time. */
const BACK_MS = 3_600_000
const FURTHER = 8
/** Shortest share, ms. */
const SHORTEST_MS = 1

/**
 * Cuts what is before `to` into shares of at most `rows` rows of the table each, where their times differ, and hardly fewer than
 * that; newest first. Asks the table only.
 */
export async function cut(
  tables: Pick<LocalTables, 'count'>,
  stream: MirrorStream,
  axis: Axis,
  { to, rows, beat }: { readonly to: string; readonly rows: number; beat(): void },
): Promise<Span[]> {
  const piece = Math.max(1, Math.floor(rows / FINER))
  const count = async (from: number, until: number) => {
    beat()
    const span = { from: instantAt(from), to: instantAt(until) }
    return (await tables.count(stream, withinOf(axis, span))).rows
  }
  // Where the pieces begin, newest first, and how many rows each has.
  const pieces: { from: number; rows: number }[] = []
  const first = Date.parse(FIRST)
  const end = Math.max(first, Date.parse(to))
  const all = await count(first, end)
  // Most of the years that there are have no rows.
  let begin = end
  let within = 0
  for (let back = BACK_MS; begin > first && within < all; back *= FURTHER) {
    begin = Math.max(first, end - back)
    within = begin === first ? all : await count(begin, end)
  }
  const waiting = [{ from: begin, to: end, rows: all }]
  // Bounded: each pass takes one away that is small, or halves its time.
  for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
    if (one.rows <= piece || one.to - one.from <= SHORTEST_MS) {
      pieces.push(one)
      continue
    }
    const middle = Math.ceil((one.from + one.to) / 2)
    const newer = await count(middle, one.to)
    waiting.push({ from: one.from, to: middle, rows: one.rows - newer })
    waiting.push({ from: middle, to: one.to, rows: newer })
  }
  const spans: Span[] = []
  let upper = instantAt(end)
  let held = 0
  for (const [index, { from, rows: more }] of pieces.entries()) {
    held += more
    const next = pieces[index + 1]
    if (next !== undefined && held + next.rows <= rows) continue
    // What is older than the oldest row belongs to the last share.
    const lower = next === undefined ? null : instantAt(from)
    spans.push({ from: lower, to: upper })
    if (lower !== null) upper = lower
    held = 0
  }
  return spans
}

/** The moment since which the table has about so many rows before `to`, and no more unless they share a time. */
export async function newestOf(
  tables: Pick<LocalTables, 'count'>,
  stream: MirrorStream,
  axis: Axis,
  { to, rows, beat }: { readonly to: string; readonly rows: number; beat(): void },
): Promise<string> {
  let low = Date.parse(FIRST)
  let high = Math.max(low, Date.parse(to))
  const end = high
  // Bounded: the time is halved each time, or begins near its end.
  for (let back = BACK_MS; high - low > SHORTEST_MS; back *= FURTHER) {
    beat()
    const middle = Math.max(end - back, Math.ceil((low + high) / 2))
    const span = { from: instantAt(middle), to: instantAt(end) }
    const { rows: newer } = await tables.count(stream, withinOf(axis, span))
    if (newer <= rows) high = middle
    else low = middle
    if (newer <= rows && newer * 2 > rows) break
  }
  return instantAt(high)
}

/** Cuts the time between two instants into equal shares, newest first: for a table that has hardly a row. */
export function cutEvenly(low: string, to: string, parts: number): Span[] {
  const begin = Date.parse(low)
  const step = (Date.parse(to) - begin) / parts
  const bounds = [
    ...new Set(
      Array.from({ length: parts - 1 }, (_, index) => Math.round(begin + step * (index + 1))),
    ),
  ]
    .filter((ms) => ms > begin && ms < Date.parse(to))
    .map(instantAt)
    .toReversed()
  const uppers = [to, ...bounds]
  return uppers.map((upper, index) => ({ from: uppers[index + 1] ?? null, to: upper }))
}
