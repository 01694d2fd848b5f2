// Records that rows in doubt may have made: an earlier run sent a row and never learned what became of it, and the source has no row
// of its key any more. Nothing was accepted for such a key, so no other look finds its record. It is reported, and never deleted.

import { IN_VALUES_MAX } from '../../contract/index.ts'
import type { Difference } from '../../core/domain/differences.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import { slicesOf } from '../../core/slices.ts'
import type { AcceptedRecords, RowStaging, RunReports } from '../../ledger/ledger.ts'
import type { ImportDeps } from '../ports.ts'
import { lookUpKeys } from '../look/look-up.ts'
import type { ReconcileJob } from './compare-items.ts'
import type { RecordReading } from '../look/reading.ts'

/** The records that the service has of such keys now, as differences. */
export async function findDoubtful(
  deps: ImportDeps<AcceptedRecords & RowStaging & RunReports>,
  job: ReconcileJob,
  { matching }: RecordReading,
): Promise<readonly Difference[]> {
  const { ledger, signal } = deps
  const { run, config } = job
  const found: Difference[] = []
  for (const keys of slicesOf([...(await doubtfulKeys(deps, run))], IN_VALUES_MAX)) {
    signal.throwIfAborted()
    const { ofKey } = await lookUpKeys(deps, config, matching, keys, [matching.name])
    const held = keys.flatMap((key) =>
      [...(ofKey.get(key)?.keys() ?? [])].map((recordId) => ({ key, recordId })),
    )
    const own = await ledger.recordsOfRows(
      run,
      held.map(({ recordId }) => recordId),
    )
    const elsewhere = await ledger.writtenElsewhere(run, held)
    for (const { key, recordId } of held)
      if (!own.has(recordId) && !elsewhere.has(key)) found.push(differenceOf(config, key, recordId))
    deps.beat()
  }
  return found
}

/** Keys that earlier runs left in doubt, for which nothing was accepted since, and of which the run has no row. */
async function doubtfulKeys(
  { ledger, signal }: ImportDeps<AcceptedRecords & RowStaging & RunReports>,
  run: number,
): Promise<ReadonlySet<string>> {
  const doubtful = new Set<string>()
  for (const earlier of await ledger.runsInDoubt(run, { ofAnyKey: true })) {
    // Bounded by the rows of the run: every page goes on after the one before it.
    for (let after = 0; ;) {
      signal.throwIfAborted()
      const choice = { states: ['outcome_unknown'] as const, after, limit: LEDGER_ROWS_MAX }
      const rows = await ledger.report(earlier, choice)
      if (rows.length === 0) break
      after = rows.at(-1)!.ordinal
      const keys = rows.flatMap(({ key, inDoubt }) => (inDoubt && key !== null ? [key] : []))
      const accepted = await ledger.acceptedRecords(run, keys)
      const staged = await ledger.stagedKeys(run, keys, { upTo: Number.MAX_SAFE_INTEGER })
      for (const key of keys) if (!accepted.has(key) && !staged.has(key)) doubtful.add(key)
    }
  }
  return doubtful
}

const differenceOf = (
  { object_type: stream }: ReconcileJob['config'],
  key: string,
  recordId: string,
): Difference => ({
  stream,
  key,
  recordId,
  ordinal: null,
  kind: 'extra',
  field: null,
  // Whether the row in doubt has made it is not known, so it is not deleted.
  whose: 'unknown',
  ours: null,
  theirs: null,
})
