// Rows that were written to another record than the sync wrote their keys to before. If the earlier record still exists, or the
// API key in use may not see it, the key has two records at the service, and the run says so.

import { forEachConcurrent } from '../../core/concurrency.ts'
import type { Json } from '../../core/json.ts'
import { isWritten } from '../../core/domain/item-states.ts'
import { SECOND_RECORD } from '../../core/domain/held-back.ts'
import type {
  AcceptedRecords,
  ItemOutcome,
  PlannedItem,
  RowStaging,
  Runs,
} from '../../ledger/ledger.ts'
import { hiddenFrom } from '../key-view.ts'
import { itemKey } from '../mapping/key.ts'
import { stagedMatchingProperty } from '../mapping/types.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { readRecordById } from '../verify/look-up.ts'

const WRITTEN_ANEW = 'this key was written to another record before'

/** Adds to each outcome of a batch, before it is settled, that its key has a second record now, or may have one. */
export function secondRecordReader(
  deps: ImportDeps<AcceptedRecords & RowStaging & Runs>,
  job: StagedImport,
): (
  items: readonly PlannedItem[],
  outcomes: readonly ItemOutcome[],
) => Promise<readonly ItemOutcome[]> {
  const { ledger, tuning } = deps
  const { run, config, schema } = job
  const matching = stagedMatchingProperty(config, schema)

  /** Why the key has a second record, or may have one; null if it has none. */
  const look = async (
    key: string,
    state: ItemOutcome['state'],
    before: { readonly recordId: string; readonly run: number },
    hidden: ReturnType<typeof hiddenFrom>,
  ): Promise<string | null> => {
    const record = await readRecordById(deps, config, before.recordId)
    if (record === null) {
      const reason = await hidden(before.run)
      return reason === null ? null : `${before.recordId} may still be there: ${reason}`
    }
    const held = [(record.properties[matching.name] as Json | undefined) ?? []].flat() as Json[]
    const keys = held.flatMap((value) => itemKey(value, matching.type, matching.folds) ?? [])
    if (keys.includes(key)) return `${before.recordId}, which is still there with the same key`
    // The key has moved to a record that existed, or the earlier record is that of another row.
    if (state === 'updated') return null
    const own = await ledger.stagedKeys(run, keys, { upTo: Number.MAX_SAFE_INTEGER })
    return own.size > 0 ? null : `${before.recordId}, which is still there with another key`
  }

  return async (items, outcomes) => {
    const written = outcomes.filter(({ state, recordId }) => isWritten(state) && recordId !== null)
    if (written.length === 0) return outcomes
    const keyOf = new Map(items.map(({ ordinal, key }) => [ordinal, key]))
    const accepted = await ledger.acceptedRecords(
      run,
      written.map(({ ordinal }) => keyOf.get(ordinal)!),
    )
    const details = new Map<number, string>()
    const hidden = hiddenFrom(deps, job)
    await forEachConcurrent(written, tuning.in_flight, async ({ ordinal, recordId, state }) => {
      const key = keyOf.get(ordinal)!
      const before = accepted.get(key)
      if (before === undefined || before.recordId === recordId) return
      // The answer is recorded even if the look-up fails.
      const found = await look(key, state, before, hidden).catch(
        () => `${before.recordId}, which could not be read now`,
      )
      if (found !== null) details.set(ordinal, `${WRITTEN_ANEW}: ${found}`)
    })
    const column = config.properties[matching.name]?.column ?? null
    const field = `/properties/${matching.name}`
    return outcomes.map((outcome) => {
      const detail = details.get(outcome.ordinal)
      if (detail === undefined) return outcome
      return { ...outcome, answered: { reason: SECOND_RECORD, field, detail, column, value: null } }
    })
  }
}
