// Whether later runs have brought in all that a run left over. Promise kept here: it is asked of a bounded number of rows.

import { countReadBackDifferent, countRejects, LIVE_STATES } from '../../core/domain/books.ts'
import type { Ledger, Run } from '../../ledger/ledger.ts'

/** A run that left more than that is not asked: its page of rejects counts them. */
const ASKED_ROWS_MAX = 1_000

export async function isNothingLeft(ledger: Ledger, run: Run): Promise<boolean> {
  const { id, kind, mode, sync, state, counts } = run
  if (kind !== 'import' || mode !== 'run' || counts === null || LIVE_STATES.includes(state))
    return false
  const rows = countRejects(counts) + countReadBackDifferent(counts)
  if (rows === 0 || rows > ASKED_ROWS_MAX) return false
  const [newest] = await ledger.runs({ sync, limit: 1 })
  if (newest === undefined || newest.id <= id) return false
  if ((await ledger.retryRows(id, {}, { after: 0, limit: 1 })).length > 0) return false
  // Nothing is known of rows that are not kept any more.
  return (await ledger.rejectGroups(id)).length > 0
}
