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
import { hiddenFrom } from '../key-view.ts'
import { hasOtherRecords, otherRecordsReader, UNKNOWN_RECORD } from '../other-records.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'

const WRITTEN_BEFORE = 'this key was written to another record before'
const MAYBE_WRITTEN_BEFORE = 'this key may have been written to another record before'

/** What the ledger notes of the records of a key. */
type Note = Parameters<AcceptedRecords['noteRecordsOfKeys']>[1][number]

export interface NotedOutcomes {
  readonly outcomes: readonly ItemOutcome[]
  /** To note once the outcomes are settled: until then nothing is accepted for these keys. */
  readonly later: readonly Note[]
}

/** Adds to each outcome of a batch, before it is settled, that its key has a second record now, or may have one. */
export function secondRecordReader(
  deps: ImportDeps<AcceptedRecords & RowStaging & Runs>,
  job: StagedImport,
): (items: readonly PlannedItem[], outcomes: readonly ItemOutcome[]) => Promise<NotedOutcomes> {
  const { ledger, tuning } = deps
  const { run, config, schema } = job
  const matching = stagedMatchingProperty(config, schema)

  const inDoubt = doubtReader(deps, job)

  const withDetails = (outcomes: readonly ItemOutcome[], details: ReadonlyMap<number, string>) => {
    const column = config.properties[matching.name]?.column ?? null
    const field = `/properties/${matching.name}`
    return outcomes.map((outcome) => {
      const detail = details.get(outcome.ordinal)
      if (detail === undefined) return outcome
      return { ...outcome, answered: { reason: SECOND_RECORD, field, detail, column, value: null } }
    })
  }

  return async (items, outcomes) => {
    const written = outcomes.filter(({ state, recordId }) => isWritten(state) && recordId !== null)
    if (written.length === 0) return { outcomes, later: [] }
    const keyOf = new Map(items.map(({ ordinal, key }) => [ordinal, key]))
    const own = await ledger.acceptedRecords(
      run,
      written.map(({ ordinal }) => keyOf.get(ordinal)!),
    )
    const unknown = written.flatMap(({ ordinal, state }) => {
      const key = keyOf.get(ordinal)!
      return state === 'created' && !own.has(key) ? [key] : []
    })
    // What another sync has written is a record of the key as well: a sync may have been renamed.
    const elsewhere = unknown.length === 0 ? [] : await ledger.recordsElsewhere(run, unknown)
    const accepted = new Map([...own, ...elsewhere])
    const details = new Map<number, string>()
    const notes: Note[] = []
    const later: Note[] = []
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
      const note = { key, records: [...new Set(records)] }
      if (own.has(key)) notes.push(note)
      else later.push(note)
    })
    if (notes.length > 0) await ledger.noteRecordsOfKeys(run, notes)
    const fresh = written.filter(
      ({ ordinal, state }) => state === 'created' && !accepted.has(keyOf.get(ordinal)!),
    )
    const doubtful = await inDoubt(fresh.map(({ ordinal }) => keyOf.get(ordinal)!))
    for (const { ordinal, recordId } of fresh) {
      const key = keyOf.get(ordinal)!
      const reason = doubtful.get(key)
      if (reason === undefined) continue
      details.set(ordinal, `${MAYBE_WRITTEN_BEFORE}: ${reason}`)
      later.push({ key, records: [recordId!, UNKNOWN_RECORD] })
    }
    return { outcomes: withDetails(outcomes, details), later }
  }
}

/**
 * Reads why rows that were created, and whose keys have no known record, may be second ones: a run with another key left them in
 * doubt. By key.
 */
function doubtReader(
  deps: ImportDeps<AcceptedRecords & Runs>,
  job: StagedImport,
): (keys: readonly string[]) => Promise<ReadonlyMap<string, string>> {
  const { ledger } = deps
  let runs: Promise<readonly number[]> | null = null
  return async (keys) => {
    const found = new Map<string, string>()
    if (keys.length === 0) return found
    runs ??= ledger.runsInDoubt(job.run)
    const hidden = hiddenFrom(deps, job)
    for (const earlier of await runs)
      for (const key of await ledger.keysInDoubt(earlier, keys)) {
        const reason = await hidden(earlier).catch(() => 'the reach of the key could not be read')
        if (reason !== null) found.set(key, `run ${earlier} left it in doubt: ${reason}`)
      }
    return found
  }
}
