// Rows of a create that an earlier run has sent without an answer: a record that is there as they were sent is their own.

import type { PlannedItem } from '../../ledger/ledger.ts'
import type { ImportDeps } from '../ports.ts'
import type { ClaimedSegment, DeliveryLedger } from './claimed-segment.ts'

/**
 * Reads which rows, by ordinal, an earlier run has sent as they are now, without learning what became of them. A key that a later run
 * has settled is in doubt no more: its record is counted there.
 */
export function doubtReader(
  { ledger }: ImportDeps<DeliveryLedger>,
  { run, config }: ClaimedSegment,
): (items: readonly PlannedItem[]) => Promise<ReadonlySet<number>> {
  let runs: Promise<readonly number[]> | null = null
  return async (items) => {
    const found = new Set<number>()
    if (config.mode !== 'create') return found
    runs ??= ledger.runsInDoubt(run, { ofAnyKey: true })
    for (const earlier of await runs) {
      const left = items.filter(({ ordinal }) => !found.has(ordinal))
      const keys = left.map(({ key }) => key)
      const doubtful = keys.length > 0 ? await ledger.sentInDoubt(earlier, keys) : []
      if (doubtful.length === 0) continue
      const accepted = await ledger.acceptedRecords(run, [
        ...new Set(doubtful.map(({ key }) => key)),
      ])
      for (const { key, hash, ordinal } of left) {
        const isSettled = (accepted.get(key)?.run ?? 0) > earlier
        const isSame = doubtful.some((sent) => sent.key === key && sent.hash === hash)
        if (!isSettled && isSame) found.add(ordinal)
      }
    }
    return found
  }
}
