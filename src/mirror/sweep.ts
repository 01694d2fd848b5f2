// The rows that neither a complete listing nor the changes after it showed. Promises kept here: a row that was listed is never
// among them; none is deleted before the service answered 404 for it, or, if they are many, before a second listing lacked them
// and the service answered 404 for each of a sample.

import { countText } from '../core/format.ts'
import { CONFIRM_MAX, confirmGone, isPlausible, deleteApproved } from './deletions.ts'
import { restartListing } from './listing.ts'
import type { StreamResult } from './ports.ts'
import type { RecordsWork } from './records-work.ts'
import { tableIds } from './table-ids.ts'

/** Ids that are read together. */
const PAGE = 1_000

/** Does a phase. Undefined if the next one may begin. */
export async function sweepDeletions(
  work: RecordsWork,
  phase: 'sweep' | 'resweep',
): Promise<StreamResult | undefined> {
  const { deps, position, stream, schema, reader, account } = work
  const { tables } = deps
  const before = position.listing!.startedAt
  const unseen = { column: '_last_seen_at', from: null, to: before }
  const { rows: missing } = await tables.count(stream, unseen)
  if (missing > CONFIRM_MAX && phase === 'sweep') {
    position.listing = restartListing(position.listing!)
    position.run.phase = 'relist'
    return undefined
  }
  if (missing > 0) {
    const isMany = missing > CONFIRM_MAX
    const asked = await unseenIds(work, missing)
    const gone = await confirmGone(work, asked)
    const share = `${missing} rows`
    const stay = staysText(position.run.tally.deleted)
    if (!isMany) {
      const wait = await deleteApproved(work, gone.length, { before, ids: gone })
      if (wait) return wait
    } else if (gone.length < asked.length) {
      account.differ(
        `two listings lacked ${share}, but ${asked.length - gone.length} of ${asked.length} of their records that were asked for are there, or cannot be read: ${stay}`,
      )
    } else if (!(await leavesEnough(work, missing))) {
      account.differ(
        `two listings lacked ${share}, but the service counts ${await reader.count(schema.name)} records: ${stay}`,
      )
    } else {
      const wait = await deleteApproved(work, missing, { before, isEvery: true })
      if (wait) return wait
    }
  }
  position.listing = null
  position.run.phase = 'compare'
  return undefined
}

/** @param deleted rows that the run deleted before, such as those that a first, shorter look lacked */
export const staysText = (deleted: number): string =>
  deleted === 0
    ? 'nothing was deleted'
    : `none of them was deleted; ${countText(deleted, 'other row')} ${deleted === 1 ? 'was' : 'were'}, earlier in the run`

async function leavesEnough({ deps, stream, reader, schema }: RecordsWork, missing: number) {
  const { rows } = await deps.tables.count(stream)
  return isPlausible(rows - missing, await reader.count(schema.name))
}

/** Ids of rows that were not seen: all of them, or a sample from first to last if they are many. */
async function unseenIds(
  { deps, stream, position }: RecordsWork,
  missing: number,
): Promise<string[]> {
  const seenBefore = position.listing!.startedAt
  const every = Math.max(1, missing / CONFIRM_MAX)
  const chosen: string[] = []
  let rows = 0
  for await (const ids of tableIds(deps.tables, stream, { limit: PAGE, seenBefore })) {
    for (const id of ids)
      if (chosen.length * every <= rows++ && chosen.length < CONFIRM_MAX) chosen.push(id)
    if (chosen.length === CONFIRM_MAX) break
  }
  return chosen
}
