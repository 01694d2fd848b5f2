// By what a stream is cut into shares: the time of modification, else that of creation, else not at all.

import {
  allFilter,
  creationProperty,
  spanFilter,
  type FilterNode,
  type ObjectSchema,
  type RecordRepresentation,
} from '../../contract/index.ts'
import type { StoredRow, MirrorStream, InstantRange } from '../../warehouses/mirror-tables.ts'
import { formatInstant, parseInstant } from '../instant.ts'
import { modifiedProperty, sortableProperty, type RecordsJob } from '../records-work.ts'
import { compareInstants } from './compare.ts'
import type { LocalTables } from './local-tables.ts'
import type { PartitionKeyKind, PartitionRange } from './state.ts'

/** Before every instant. */
export const BEFORE_ALL = '0001-01-01T00:00:00.000Z'

export interface PartitionKey {
  readonly kind: PartitionKeyKind
  /** Name of the property; null with `none`. */
  readonly property: string | null
  /** The table's column of these instants; null with `none`. */
  readonly column: string | null
  /** Whether the service answers who has one of a list of values. */
  readonly hasIn: boolean
}

export function partitionKey(
  job: Pick<RecordsJob, 'sortable' | 'config'>,
  schema: ObjectSchema,
  { columns }: MirrorStream,
): PartitionKey {
  const modified = modifiedProperty(job, schema)
  if (modified !== null)
    return {
      kind: 'modified',
      property: modified.name,
      column: '_version',
      hasIn: modified.operators.includes('in'),
    }
  const created = sortableProperty(job, creationProperty(schema))
  const column = columns.find(
    ({ property, live, type }) => property === created?.name && live && type.holds === 'instant',
  )
  if (created === null || column === undefined)
    return { kind: 'none', property: null, column: null, hasIn: false }
  const hasIn = created.operators.includes('in')
  return { kind: 'created', property: created.name, column: column.name, hasIn }
}

/** The instant by which the service puts a record in order; null where it has none. */
export const recordInstant = (
  { property }: PartitionKey,
  record: RecordRepresentation,
): string | null => (property === null ? null : parseInstant(record.properties[property]))

/** The same of a row. */
export function rowInstant(
  axis: PartitionKey,
  { columns }: MirrorStream,
  row: StoredRow,
): string | null {
  if (axis.kind === 'modified') return row.version
  const live = columns.filter((column) => column.live)
  const cell = row.cells[live.findIndex(({ name }) => name === axis.column)]
  return typeof cell === 'string' ? cell : null
}

/** Whether an instant belongs to a share. */
export const isInRange = ({ from, to }: PartitionRange, at: string | null): boolean =>
  at !== null &&
  (from === null || compareInstants(at, from) >= 0) &&
  (to === null || compareInstants(at, to) < 0)

/** What asks the service for a share; null for everything. */
export const rangeFilterOf = (
  { property }: PartitionKey,
  { from, to }: PartitionRange,
  more: readonly FilterNode[] = [],
): FilterNode | null =>
  allFilter([...(property === null ? [] : spanFilter(property, from, to)), ...more])

/** The same of the table. */
export const tableRange = (
  { column }: PartitionKey,
  { from, to }: PartitionRange,
): InstantRange | undefined => (column === null ? undefined : { column, from, to })

/** The millisecond after an instant: what is later begins there. */
export const nextMillisecond = (instant: string): string => formatInstant(Date.parse(instant) + 1)

/** A share may have so much less than it could. */
const FULL_ENOUGH = 0.75
/** Between both. */
const AIM = 0.9
/** How far back rows are looked for at first, and how much further where there are none. */
const BACK_MS = 3_600_000
const FURTHER = 8
/** Guesses at a moment; after that the time is halved. */
const GUESSES_MAX = 8

interface Cutting {
  readonly to: string
  /** Rows of the table in a share, at most, where their times differ. */
  readonly rows: number
  beat(): void
}

/** Cuts what is before `to` into shares with hardly fewer rows than they may have; newest first. Asks the table only. */
export async function cutByRows(
  tables: Pick<LocalTables, 'count'>,
  stream: MirrorStream,
  axis: PartitionKey,
  { to, rows, beat }: Cutting,
): Promise<PartitionRange[]> {
  const count = counterOf(tables, stream, axis, beat)
  const first = Date.parse(BEFORE_ALL)
  const spans: PartitionRange[] = []
  let upper = Math.max(first, Date.parse(to))
  let left = await count(first, upper)
  let width = BACK_MS
  // Bounded: each pass takes rows away.
  while (left > rows) {
    const moment = await momentBefore(count, upper, rows, width)
    spans.push({ from: formatInstant(moment.at), to: formatInstant(upper) })
    width = upper - moment.at
    upper = moment.at
    left -= moment.rows
  }
  // What is older than the oldest row belongs to the last share.
  return [...spans, { from: null, to: formatInstant(upper) }]
}

/** The moment since which the table has about so many rows before `to`. */
export async function newestPartitionStart(
  tables: Pick<LocalTables, 'count'>,
  stream: MirrorStream,
  axis: PartitionKey,
  { to, rows, beat }: Cutting,
): Promise<string> {
  const count = counterOf(tables, stream, axis, beat)
  const upper = Math.max(Date.parse(BEFORE_ALL), Date.parse(to))
  if ((await count(Date.parse(BEFORE_ALL), upper)) <= rows) return BEFORE_ALL
  return formatInstant((await momentBefore(count, upper, rows, BACK_MS)).at)
}

type Counter = (from: number, to: number) => Promise<number>

const counterOf =
  (
    tables: Pick<LocalTables, 'count'>,
    stream: MirrorStream,
    axis: PartitionKey,
    beat: () => void,
  ) =>
  async (from: number, to: number): Promise<number> => {
    beat()
    const span = { from: formatInstant(from), to: formatInstant(to) }
    return (await tables.count(stream, tableRange(axis, span))).rows
  }

/** Since when there are at most `rows` rows, but not many fewer, before `upper`; there are more in all. */
async function momentBefore(
  count: Counter,
  upper: number,
  rows: number,
  width: number,
): Promise<{ at: number; rows: number }> {
  // Too many rows since `low`, and not too many since `high`.
  let low = { at: Date.parse(BEFORE_ALL), rows: Infinity }
  let high = { at: upper, rows: 0 }
  let guess = upper - width
  // Bounded: the time between both is halved, after some guesses.
  for (let guesses = 0; high.at - low.at > 1; guesses++) {
    const isWithin = guess > low.at && guess < high.at && guesses < GUESSES_MAX
    const at = isWithin ? Math.round(guess) : Math.floor((low.at + high.at) / 2)
    const found = { at, rows: await count(at, upper) }
    if (found.rows > rows) low = found
    else high = found
    if (found.rows <= rows && found.rows >= rows * FULL_ENOUGH) break
    const further = found.rows === 0 ? FURTHER : (rows * AIM) / found.rows
    guess = upper - Math.max(1, upper - at) * Math.min(FURTHER, further)
  }
  // Where more than that share a millisecond, they are in one share.
  return high.rows > 0 ? high : low
}

/** Cuts the time between two instants into equal shares, newest first: for a table that has hardly a row. */
export function cutByTime(low: string, to: string, parts: number): PartitionRange[] {
  const begin = Date.parse(low)
  const step = (Date.parse(to) - begin) / parts
  const bounds = [
    ...new Set(
      Array.from({ length: parts - 1 }, (_, index) => Math.round(begin + step * (index + 1))),
    ),
  ]
    .filter((ms) => ms > begin && ms < Date.parse(to))
    .map(formatInstant)
    .toReversed()
  const uppers = [to, ...bounds]
  return uppers.map((upper, index) => ({ from: uppers[index + 1] ?? null, to: upper }))
}
