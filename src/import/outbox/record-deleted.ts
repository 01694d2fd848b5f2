// Records that a reconciliation found to be gone, or has deleted: nothing is accepted of them any more, and nothing known of links.

import type { AcceptedRecords, KeyedRecord, KnownLinks } from '../../ledger/ledger.ts'
import { noteRecordsGone } from '../look/gone-records.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'

export async function recordDeleted(
  deps: ImportDeps<AcceptedRecords & KnownLinks>,
  { run, config }: Pick<StagedImport, 'run' | 'config'>,
  records: readonly KeyedRecord[],
): Promise<void> {
  const ids = records.map(({ recordId }) => recordId)
  await noteRecordsGone(deps, { run, objectType: config.object_type }, ids)
  await deps.ledger.recordDeleted(run, records)
}
