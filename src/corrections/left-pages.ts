// The rejects of a run that are left, page by page.

import { LIVE_STATES } from '../core/domain/books.ts'
import { REJECT_STATES } from '../core/domain/outcomes.ts'
import { LEDGER_ROWS_MAX } from '../core/limits.ts'
import type { ReportedItem, Run, RunReports } from '../ledger/ledger.ts'

/** Those that a retry would take; of a run that is not over, those that there are. */
export async function* leftPages(
  ledger: Pick<RunReports, 'report'>,
  run: Pick<Run, 'id' | 'state'>,
  after = 0,
): AsyncGenerator<readonly ReportedItem[], void, undefined> {
  const isLeft = !LIVE_STATES.includes(run.state)
  let place = after
  // Bounded by the run's items: every pass moves `place` forward.
  for (;;) {
    const items = await ledger.report(run.id, {
      states: REJECT_STATES,
      after: place,
      limit: LEDGER_ROWS_MAX,
      isLeft,
      readBack: true,
    })
    if (items.length === 0) return
    place = items.at(-1)!.ordinal
    yield items
  }
}
