// A source without a row: an export that broke looks like one that has nothing to say, so it is told.

import { formatNumber } from '../../core/format.ts'
import type { Runs } from '../../ledger/ledger.ts'

/** Earlier runs that are looked through for one that read rows. */
const CHECKED_MAX = 100

/** What a person should know of a whole reading that gave no row. */
export async function emptySourceWarning(
  ledger: Pick<Runs, 'runs'>,
  sync: string,
  run: number,
): Promise<readonly string[]> {
  const earlier = await ledger.runs({ sync, limit: CHECKED_MAX })
  const last = earlier.find(
    ({ id, mode, purpose, rowsRead }) =>
      // Numbers of plans are negative: every run is earlier than a plan.
      (run < 0 || id < run) && mode === 'run' && purpose === 'sync' && (rowsRead ?? 0) > 0,
  )
  const before =
    last === undefined
      ? ''
      : `; run ${last.id} read ${formatNumber(last.rowsRead!)}: did its export break?`
  return [`the source has no rows${before}`]
}
