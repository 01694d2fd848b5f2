// Rows that were written to a record that is not the only one of their key, as far as it is known: the record that the key was
// written to before, or one that an earlier run named, still exists, or the API key in use may not see it.

import { forEachConcurrent } from '../../core/concurrency.ts'
import { isWritten } from '../../core/domain/item-states.ts'
import { SECOND_RECORD } from '../../core/domain/held-back.ts'
import type {
  AcceptedRecords,
  ItemOutcome,
  PlannedItem,
  RowStaging,
  Runs,
} from '../../ledger/ledger.ts'
import { stagedMatchingProperty } from '../mapping/types.ts'
import { hasOtherRecords, otherRecordsReader } from '../other-records.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'

const WRITTEN_BEFORE = 'this key was written to another record before'

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

  return async (items, outcomes) => {
    const written = outcomes.filter(({ state, recordId }) => isWritten(state) && recordId !== null)
    if (written.length === 0) return outcomes
    const keyOf = new Map(items.map(({ ordinal, key }) => [ordinal, key]))
    const accepted = await ledger.acceptedRecords(
      run,
      written.map(({ ordinal }) => keyOf.get(ordinal)!),
    )
    const details = new Map<number, string>()
    const notes: { key: string; records: readonly string[] }[] = []
    const read = otherRecordsReader(deps, job)
    await forEachConcurrent(written, tuning.in_flight, async ({ ordinal, recordId, state }) => {
      const key = keyOf.get(ordinal)!
      const known = accepted.get(key)
      if (known === undefined || !hasOtherRecords(known, recordId!)) return
      const now = { recordId: recordId!, isCreated: state === 'created' }
      // The answer is recorded even if the look-up fails.
      const { detail, records } = await read(key, known, now).catch(() => ({
        detail: `${known.recordId}, or one that was named before; they could not be read now`,
        records: [recordId!, known.recordId, ...known.records],
      }))
      if (detail !== null) details.set(ordinal, `${WRITTEN_BEFORE}: ${detail}`)
      notes.push({ key, records: [...new Set(records)] })
    })
    if (notes.length > 0) await ledger.noteRecordsOfKeys(run, notes)
    const column = config.properties[matching.name]?.column ?? null
    const field = `/properties/${matching.name}`
    return outcomes.map((outcome) => {
      const detail = details.get(outcome.ordinal)
      if (detail === undefined) return outcome
      return { ...outcome, answered: { reason: SECOND_RECORD, field, detail, column, value: null } }
    })
  }
}
