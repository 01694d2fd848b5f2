// Which rows of a run have no key that can be read, in words.

import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import type { RunReports } from '../../ledger/ledger.ts'

/** Rows without a key that are named, and rejects that are searched for them. */
const NAMED_MAX = 5

/** The first of them, such as ` (row 7, line 8)`; empty if none of the first rejects is one. */
export async function keylessText(
  ledger: Pick<RunReports, 'report'>,
  run: number,
): Promise<string> {
  const page = { after: 0, limit: LEDGER_ROWS_MAX }
  const rejects = await ledger.report(run, { states: ['invalid'], ...page })
  const named = rejects
    .filter(({ key }) => key === null)
    .slice(0, NAMED_MAX)
    .map(({ ordinal, line }) => `row ${ordinal}, line ${line}`)
  return named.length === 0 ? '' : ` (${named.join('; ')})`
}
