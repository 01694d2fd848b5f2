// The rules of records that a reconciliation found to be extra. Promises kept here: a record stays that is not as it was compared, or not
// alone under its key; one that is not found is gone only to a key that sees all records of the org.

import type { StepStates } from '../../ledger/ledger.ts'
import { readRecordById } from '../look/look-up.ts'
import { openForm } from '../look/open-keys.ts'
import { recordVersion } from '../look/reading.ts'
import type { ImportDeps } from '../ports.ts'
import { checkDeletionView } from './deletion-view.ts'
import { unproven, type DeletionRules, type RemovalJob } from './deletions.ts'

/** @throws Blocked where the key in use sees less than when the records were compared */
export async function extraRecordRules(
  deps: ImportDeps<StepStates>,
  job: RemovalJob,
): Promise<DeletionRules> {
  const { config, openKeys, reading } = job
  const seesAll = await checkDeletionView(deps, job)
  return {
    names: reading.names,
    recordOf: ({ recordId }) => recordId,
    async verdict({ one, recordId, record, found }) {
      const { key, accepted, detail: version, isSent } = one
      if (openKeys.has(openForm(key))) return unproven('row_not_taken')
      if (found.several.has(key) || (accepted?.records ?? []).length > 0)
        return unproven('second_record')
      if (record !== undefined)
        return version === recordVersion(record, reading)
          ? null
          : { state: 'changed_since', reason: 'record_changed' }
      if ((await readRecordById(deps, config, recordId!)) !== null)
        return { state: 'changed_since', reason: 'key_changed' }
      if (!seesAll) return unproven('not_visible')
      return { state: isSent ? 'deleted' : 'already_gone' }
    },
  }
}
