// Staging decides slice by slice; what it decides, and how slices make segments, is the same in every engine.

import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import type { ItemState } from '../../core/domain/outcomes.ts'
import type { RunSegment } from '../roles/outbox.ts'
import type { OnSlice } from '../roles/on-slice.ts'
import type { Correction, LeftCounts, StageCounts, StagedSource } from '../roles/staging.ts'
import type { Row } from '../rows/values.ts'
import { sampleBound, ordinalSlices } from './ranges.ts'

/** What is counted of the keys of a run, slice by slice: a count of all at once would keep others waiting, or run into its bound. */
export const KEY_COUNTS = ['loose', 'keyless', 'merged', 'variants'] as const
export const KEY_COUNT_ROWS = 10 * LEDGER_ROWS_MAX

/** The hash of a corrected row: that of its correction where both have one key, and the row takes the place of others; or null. */
export const hashOfPlace = (key: string | null, correction: Correction): string | null =>
  key === correction.key ? correction.hash : null

/** What was decided about the items of a slice, in rows. */
export type SliceCounts = Required<Omit<StageCounts, 'links' | 'corrected'>>

export interface PlannedSegment extends RunSegment {
  readonly planned: number
}

/**
 * Which accepted values staging relies on, by the run that they are from: those of runs after `after` are left out as
 * unchanged; those up to `restored`, before the ledger was restored from a backup, are counted. Null: it relies on none.
 */
export type Reliance = {
  readonly after: number
  readonly restored: number
  /** Runs whose written rows may not have been read back, and what becomes of these rows; null: they are as any other. */
  readonly unread: { readonly runs: readonly number[]; readonly become: 'read' | 'plan' } | null
} | null

/**
 * @param elsewhere the newest run that wrote the records as another destination
 * @param writers the runs of the destination that may not have read back all that they wrote
 */
export const relianceOf = (
  { skipUnchanged = true, unread }: StagedSource,
  known: {
    readonly elsewhere: unknown
    readonly restored: unknown
    readonly writers: readonly Row[]
  },
): Reliance => {
  if (!skipUnchanged) return null
  const restored = Number(known.restored)
  const after = Math.max(Number(known.elsewhere), restored)
  const runs = known.writers.map((row) => Number(row['id'])).filter((id) => id > after)
  return {
    after,
    restored,
    unread: unread === undefined || runs.length === 0 ? null : { runs, become: unread },
  }
}

/** Everything that a slice is decided by. */
export interface Decision {
  readonly source: StagedSource
  /** Of a retry: runs whose missing rows count as gone. Null: rows do not give way to them. */
  readonly readings: readonly number[] | null
}

/** The rows that a source gives. */
export const givenRows = ({ rows, again = 0 }: StagedSource): number => rows - again

/**
 * Of `items`, rows that the source gives, up to the ordinal `given`: whether it differs from the key of a row that an earlier run has read,
 * and that is sent, in capitals only. The service may take the two for one: then this one is sent as well, after that one.
 */
export const isSentAfterOlder = (run: string, given: string): string =>
  `lower(items.key) IN (SELECT lower(older.key) FROM items AS older
    WHERE older.run = ${run} AND older.ordinal > ${given} AND older.state = 'pending')`

/** The slices of a source, and behind them those of the rows that earlier runs have read. */
function* slicesOf(given: number, rows: number): Generator<RunSegment> {
  yield* ordinalSlices(given)
  for (const { first, last } of ordinalSlices(rows - given))
    yield { first: given + first, last: given + last }
}

/**
 * Decides about the rows of a source, slice by slice, and divides the run into segments: slices in a row that together have
 * at most `rowsPerSegment` planned items, or one slice that has more. Rows that earlier runs have read have segments of their own.
 * @param decide in a transaction of its own for each slice
 */
export async function decideSlices(
  source: StagedSource,
  decide: (slice: RunSegment) => Promise<SliceCounts>,
  onSlice: OnSlice = () => {},
): Promise<{ readonly segments: readonly PlannedSegment[]; readonly counts: StageCounts }> {
  const sum = {
    planned: 0,
    superseded: 0,
    unchanged: 0,
    invalid: 0,
    newer: 0,
    gone: 0,
    older: 0,
    unknown: 0,
    distrusted: 0,
    withdrawn: 0,
  }
  const segments: PlannedSegment[] = []
  const { rows, rowsPerSegment } = source
  const given = givenRows(source)
  for (const slice of slicesOf(given, rows)) {
    const found = await decide(slice)
    for (const name of Object.keys(sum) as (keyof SliceCounts)[]) sum[name] += found[name]
    const last = segments.at(-1)
    const open = last !== undefined && slice.first > given && last.last <= given ? undefined : last
    if (open && found.planned > 0 && open.planned + found.planned <= rowsPerSegment)
      segments.splice(-1, 1, {
        first: open.first,
        last: slice.last,
        planned: open.planned + found.planned,
      })
    else if (found.planned > 0) segments.push({ ...slice, planned: found.planned })
    await onSlice()
  }
  const { planned, superseded, unchanged, invalid, ...seldom } = sum
  const found = Object.entries(seldom).filter(([, count]) => count > 0)
  return {
    segments,
    counts: { planned, superseded, unchanged, invalid, ...Object.fromEntries(found) },
  }
}

/**
 * The bound in the order of a sample below which about `rows` of the planned items are kept, and at least one.
 * @param planned the sum of the segments' counts, which stay until the sample is taken: a second attempt takes the same one
 * @param lowest the lowest place of a planned item
 */
export const keptBelow = (rows: number, planned: unknown, lowest: unknown): number =>
  Math.max(sampleBound(rows, Number(planned)), Number(lowest ?? 0) + 1)

/** Counts the items of a run by state. */
export const LEFT_COUNTS_SQL =
  'SELECT state, count(*) AS items FROM items WHERE run = $1 GROUP BY state'

/** Reads the rows of `LEFT_COUNTS_SQL`. */
export function leftCountsOf(rows: readonly Row[]): LeftCounts {
  const of = (state: ItemState) =>
    Number(rows.find((row) => row['state'] === state)?.['items'] ?? 0)
  return {
    rows: rows.reduce((sum, row) => sum + Number(row['items']), 0),
    planned: of('pending'),
    superseded: of('superseded'),
    invalid: of('invalid'),
    withdrawn: of('deletion_requested'),
    corrected: of('corrected'),
  }
}

/**
 * The tables of a run's work, and by which columns their rows are deleted in order. Items go last: while a run has any, what
 * is left of the others is still found.
 */
export const WORK_TABLES = [
  { table: 'links', key: 'ordinal, number' },
  { table: 'payloads', key: 'ordinal' },
  { table: 'requests', key: 'batch' },
  { table: 'corrections', key: 'ordinal' },
  { table: 'differences', key: 'number' },
  { table: 'removals', key: 'number' },
  { table: 'before_images', key: 'ordinal' },
  { table: 'items', key: 'ordinal' },
] as const
export type WorkTable = (typeof WORK_TABLES)[number]['table']
