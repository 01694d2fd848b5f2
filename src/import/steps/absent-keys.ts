// What a look-up shows of keys that this sync wrote and that the source has no row of: the record is there, alone or not, or the key
// in use does not find it. That is a deletion only where the key sees all records of the org.

import type { RecordRepresentation } from '../../contract/index.ts'
import type {
  AcceptedRecords,
  KeyedRecord,
  KnownLinks,
  RowStaging,
  Runs,
} from '../../ledger/ledger.ts'
import { hiddenFrom } from '../look/key-view.ts'
import { otherRecordsOf, otherRecordsReader } from '../look/other-records.ts'
import type { ImportDeps } from '../ports.ts'
import { lookUpKeys, readRecordById } from '../look/look-up.ts'
import type { ReconcileJob } from './compare-items.ts'
import type { RecordReading } from '../look/reading.ts'
import { recordDeleted } from '../outbox/record-deleted.ts'

export type AbsentKeys = Awaited<ReturnType<AcceptedRecords['absentKeys']>>['keys']

/** A key whose record is there, or may be. */
export interface HeldKey extends KeyedRecord {
  /** Null if the key in use does not find it, and may not see it. */
  readonly record: RecordRepresentation | null
  /** Whether the key has another record, or may have. */
  readonly isSecond: boolean
}

/**
 * The keys whose records are there, or may be, of at most 100. A run that deletes what is extra forgets the keys whose records are
 * gone: to a key that sees less they would stay in doubt.
 */
export async function readAbsentKeys(
  deps: ImportDeps<AcceptedRecords & KnownLinks & RowStaging & Runs>,
  job: ReconcileJob,
  reading: RecordReading,
  absent: AbsentKeys,
): Promise<readonly HeldKey[]> {
  const { ledger } = deps
  const { run, config, scope } = job
  const keys = absent.map(({ key }) => key)
  const found = await lookUpKeys(deps, config, reading.matching, keys, reading.names)
  const hidden = hiddenFrom(deps, job)
  const readOthers = otherRecordsReader(deps, job, hidden)
  const held: HeldKey[] = []
  const gone: KeyedRecord[] = []
  const notes: { key: string; records: readonly string[] }[] = []
  for (const accepted of absent) {
    const { key, recordId, records = [] } = accepted
    if (recordId === null) continue
    const here = found.ofKey.get(key)
    // A record of the key that is another one is not ours.
    const id = [recordId, ...records].find((one) => here?.has(one))
    if (id !== undefined) {
      const others = await otherRecordsOf({ key, accepted }, found, readOthers)
      if (others.records !== null) notes.push({ key, records: others.records })
      held.push({ key, recordId: id, record: here!.get(id)!, isSecond: others.detail !== null })
    } else if ((await hidden(accepted.run)) !== null) {
      held.push({ key, recordId, record: null, isSecond: records.length > 0 })
    } else if (scope.repair && scope.deleteExtra) {
      const { detail } = await otherRecordsOf({ key, accepted }, found, readOthers)
      if (detail === null && (await readRecordById(deps, config, recordId)) === null)
        gone.push({ key, recordId })
    }
  }
  if (notes.length > 0) await ledger.noteRecordsOfKeys(run, notes)
  if (gone.length > 0) await recordDeleted(deps, job, gone)
  return held
}
