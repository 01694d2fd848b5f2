// What an incremental query does not return again: rows that the previous run could not bring in. They are staged again,
// as that run kept them, after the rows of the query; a row whose key the query has returned is left out.

import type { Json } from '../../core/json.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import { slicesOf } from '../../core/slices.ts'
import type { LastReading, Leftovers, LinkStaging, RowStaging } from '../../ledger/ledger.ts'
import type { SourceRow } from '../../sources/source.ts'
import { linksOfRows } from '../links/map-links.ts'
import { stagedParts } from './staged-parts.ts'
import type { MappingPlan } from '../mapping/map.ts'
import type { ImportDeps } from '../ports.ts'

/** The line of a row that does not come from the source. */
const NO_LINE = 0

/**
 * Stages the rows that `last` left over, with the ordinals after `rows`, and returns how many they are. Their cells are
 * found by the names of the columns; of a column that the query did not have then they are empty.
 */
export async function carryOver(
  deps: Pick<ImportDeps<Leftovers & LinkStaging & RowStaging>, 'ledger' | 'signal' | 'beat'>,
  job: { run: number; fence: number; rows: number; columns: readonly string[]; plan: MappingPlan },
  last: LastReading,
): Promise<number> {
  const { ledger, signal } = deps
  const { run, fence, rows, plan } = job
  const places = job.columns.map((column) => last.columns.indexOf(column))
  const cellsOf = (raw: readonly Json[]) => places.map((place) => raw[place] ?? null)
  let carried = 0
  // Bounded by the rows of that run: every pass goes beyond the last one, or ends.
  for (let after = 0; ;) {
    signal.throwIfAborted()
    const left = await ledger.leftRows(last.run, { after, limit: LEDGER_ROWS_MAX })
    if (left.length === 0) return carried
    after = left.at(-1)!.ordinal
    const mapped = left.map(({ raw }) => {
      const row: SourceRow = { ordinal: 0, line: NO_LINE, cells: cellsOf(raw) }
      return { row, item: plan.map(row) }
    })
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
