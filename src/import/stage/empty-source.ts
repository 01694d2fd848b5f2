// A source without a row: a broken export looks the same as an empty one, so the run warns.

import { formatNumber } from '../../core/format.ts'
import type { Runs } from '../../ledger/ledger.ts'

/** Earlier runs that are searched for one that read rows. */
const CHECKED_MAX = 100

/** What a person should know of a complete read without rows. */
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
