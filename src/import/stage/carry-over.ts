// What an incremental query does not return again: rows that the previous run could not bring in. They are staged again,
// as that run kept them, after the rows of the query; a row whose key the query has returned is left out.

import type { Json } from '../../core/json.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import type { LastReading, Leftovers, RowStaging } from '../../ledger/ledger.ts'
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
  deps: Pick<ImportDeps<Leftovers & RowStaging>, 'ledger' | 'signal' | 'beat'>,
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
    const items = left.map(({ raw }) =>
      plan.map({ ordinal: 0, line: NO_LINE, cells: cellsOf(raw) }),
    )
    const keys = items.flatMap(({ key }) => (key === null ? [] : [key]))
    const returned = await ledger.stagedKeys(run, keys, { upTo: rows })
    const missing = items.filter(({ key }) => key === null || !returned.has(key))
    const staged = missing.map((item, index) => ({ ...item, ordinal: rows + carried + index + 1 }))
    for (const part of stagedParts(staged)) await ledger.stageItems(run, fence, part)
    carried += missing.length
    deps.beat(missing.length)
  }
}
