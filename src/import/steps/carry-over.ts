// What an incremental query does not return again: rows that the previous run could not bring in. They are staged again,
// as that run kept them, after the rows of the query; a row whose key the query has returned is left out. Where a run that was
// not complete, or a backfill, has read a row again since, it is that one's reading that comes: it may have been written.

import type { Json } from '../../core/json.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import { slicesOf } from '../../core/slices.ts'
import type {
  CarriedRow,
  LastReading,
  Leftovers,
  LinkStaging,
  RowStaging,
  Runs,
} from '../../ledger/ledger.ts'
import type { SourceRow } from '../../sources/source.ts'
import { linksOfRows } from '../mapping/map-links.ts'
import { stagedParts, withWatermark } from './staged-parts.ts'
import type { MappingPlan } from '../mapping/map.ts'
import type { ImportDeps } from '../ports.ts'

/** The line of a row that does not come from the source. */
export const NO_LINE = 0

type CarryDeps = Pick<
  ImportDeps<Leftovers & LinkStaging & RowStaging & Pick<Runs, 'run'>>,
  'ledger' | 'signal' | 'beat'
>

/** Makes the function that finds the cells of a row of a run by the names of its columns, for the columns of this run. */
export function cellFinder(
  ledger: Pick<Runs, 'run'>,
  columns: readonly string[],
  last: LastReading | null,
) {
  const placesIn = (theirs: readonly string[]) => {
    const places = new Map(theirs.map((column, place) => [column, place]))
    return columns.map((column) => places.get(column) ?? -1)
  }
  const placesOf = new Map(last === null ? [] : [[last.run, placesIn(last.columns)]])
  return async ({ run, raw }: CarriedRow): Promise<Json[]> => {
    let places = placesOf.get(run)
    if (places === undefined) {
      places = placesIn((await ledger.run(run))?.sourceColumns ?? [])
      placesOf.set(run, places)
    }
    return places.map((place) => raw[place] ?? null)
  }
}

/**
 * Stages the rows that `last` left over, with the ordinals after `rows`, and returns how many they are. Their cells are
 * found by the names of the columns; of a column that the query did not have then they are empty.
 */
export async function carryOver(
  deps: CarryDeps,
  job: {
    run: number
    fence: number
    rows: number
    columns: readonly string[]
    plan: MappingPlan
    /** Whether rows with one key do not take each other's place. */
    keysRepeat: boolean
  },
  last: LastReading,
): Promise<number> {
  const { ledger, signal } = deps
  const { run, fence, rows, plan, keysRepeat } = job
  const cellsOf = cellFinder(ledger, job.columns, last)
  let carried = 0
  // Bounded by the rows of that run: every pass goes beyond the last one, or ends.
  for (let after = 0; ;) {
    signal.throwIfAborted()
    const left = await ledger.leftRows(last.run, { after, limit: LEDGER_ROWS_MAX, keysRepeat })
    if (left.length === 0) return carried
    after = left.at(-1)!.ordinal
    const mapped = []
    for (const one of left) {
      const { watermark } = one
      const place = { ordinal: 0, line: NO_LINE, ...(watermark !== undefined && { watermark }) }
      const row: SourceRow = { ...place, cells: await cellsOf(one) }
      mapped.push({ row, item: withWatermark(plan.map(row), row) })
    }
    const keys = mapped.flatMap(({ item: { key } }) => (key === null ? [] : [key]))
    const returned = await ledger.stagedKeys(run, keys, { upTo: rows })
    const missing = mapped
      .filter(({ item: { key } }) => key === null || !returned.has(key))
      .map(({ row, item }, index) => {
        const ordinal = rows + carried + index + 1
        return { row: { ...row, ordinal }, item: { ...item, ordinal } }
      })
    const staged = missing.map(({ item }) => item)
    for (const part of stagedParts(staged)) await ledger.stageItems(run, fence, part)
    const links = linksOfRows(
      plan,
      missing.map(({ row }) => row),
      staged,
    )
    for (const part of slicesOf(links, LEDGER_ROWS_MAX)) await ledger.stageLinks(run, fence, part)
    carried += missing.length
    deps.beat(missing.length)
  }
}
