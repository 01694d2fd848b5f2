// Deletes records that we wrote and that the source has no row for any more, where a person asked for that. Each is deleted by
// the id that was found for its key in this run; one that is gone meanwhile is deleted too, one that another sync has written
// meanwhile is left.

import { BATCH_ITEMS_MAX } from '../../contract/index.ts'
import type { ImportConfig } from '../../core/sync.ts'
import { withHeartbeat } from '../../runs/heartbeat.ts'
import { sendIfRunIsOpen } from '../push/send-deadline.ts'
import { stepPosition } from '../step-position.ts'
import type { ImportDeps } from '../ports.ts'

const DONE: readonly number[] = [200, 204, 404]

/** Deletes what is left of the extra records of a run, 50 a request. Returns how many were not deleted, and by whose doing. */
export async function deleteExtra(
  deps: ImportDeps,
  { run, config }: { run: number; config: ImportConfig },
): Promise<{ refused: number; written: number }> {
  const { ledger, client, signal, priority } = deps
  const place = await stepPosition(ledger, run, 'delete_extra', {
    after: 0,
    refused: 0,
    written: 0,
  })
  let { refused, written } = place.kept
  // Bounded by the differences of the run: every page goes on after the one before it.
  for (let { after } = place.kept; ;) {
    signal.throwIfAborted()
    const choice = { after, limit: BATCH_ITEMS_MAX, kind: 'extra', isRepaired: false } as const
    const { rows, next } = await ledger.differences(run, choice)
    const listed = rows.map(({ key, recordId }) => ({ key: key!, recordId: recordId! }))
    const elsewhere = await ledger.writtenElsewhere(run, listed)
    const records = listed.filter(({ key }) => !elsewhere.has(key))
    written += elsewhere.size
    if (records.length > 0) {
      const items = records.map(({ recordId }) => ({ id: recordId }))
      const deleting = sendIfRunIsOpen(deps, run, (sendBefore) =>
        client.batchDelete(config.object_type, { items }, { signal, priority, sendBefore }),
      )
      const { data } = await withHeartbeat(deps, deleting)
      await place.sent()
      const gone = records.filter((_, index) => DONE.includes(data[index]!.status))
      await ledger.recordDeleted(run, gone)
      refused += records.length - gone.length
      deps.beat(records.length)
    }
    if (next === null) return { refused, written }
    after = next
    await place.keep({ after, refused, written })
  }
}
