// Detects a service that went back in time, such as one restored from a backup: a read of changes does not show that, but it lacks
// records that the table has in the same span of time. A few of those are asked for. Promise kept here: the run that notices it
// reports it, and the next run reads everything.

import { confirmGone } from './deletions.ts'
import type { RecordsWork } from './records-work.ts'

/** Records that are asked for: one of them that is older than before is enough. */
const ASKED_MAX = 5

/**
 * @param since changes were read from this time to their end
 * @param beganAt when that read began
 */
export async function checkWentBack(
  work: RecordsWork,
  since: string,
  beganAt: string,
): Promise<void> {
  const { deps, stream, merger, position, account } = work
  await merger.flush()
  const lacked = { after: null, limit: ASKED_MAX, versionFrom: since, seenBefore: beganAt }
  const ids = await deps.tables.ids(stream, lacked)
  if (ids.length === 0) return
  const { reverted } = position.run.tally
  // Deleted records are found by counting, as always.
  await confirmGone(work, ids)
  await merger.flush()
  if (position.run.tally.reverted === reverted) return
  position.wanting = true
  account.differ('the service went back in time: the next run reads everything')
}
