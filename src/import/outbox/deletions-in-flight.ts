// The deletions of a run whose outcome is not known: they are noted before they are sent. Promise kept here: a run that ends before
// its time asks for them before its books are closed, or says that they are in doubt.

import type { AcceptedRecords, KnownLinks, Runs, StepStates } from '../../ledger/ledger.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { stepPosition } from '../step-position.ts'
import { lookUpKeys, readRecordById } from '../look/look-up.ts'
import { checkDeletionView } from '../judge/deletion-view.ts'
import { recordDeleted } from './record-deleted.ts'
import { recordReading } from '../look/reading.ts'

interface DeletedRecord {
  readonly key: string
  readonly recordId: string
}

/** At most one look-up of them: `deleteExtra` settles as many before it goes on. */
interface InFlight {
  readonly records: readonly DeletedRecord[]
}

export const deletionsInFlight = (ledger: StepStates, run: number) =>
  stepPosition<InFlight>(ledger, run, 'delete_in_flight', { records: [] })

/** Records of the deletions in flight which of them were carried out. @returns how many stay in doubt */
export async function settleDeletions(
  deps: ImportDeps<AcceptedRecords & KnownLinks & StepStates>,
  job: StagedImport,
): Promise<number> {
  const { ledger } = deps
  const { records } = (await deletionsInFlight(ledger, job.run)).kept
  if (records.length === 0) return 0
  const { matching } = await recordReading(deps, job)
  const keys = records.map(({ key }) => key)
  const found = await lookUpKeys(deps, job.config, matching, keys, [matching.name])
  const absent: DeletedRecord[] = []
  for (const record of records) {
    const { recordId } = record
    if (found.byId.has(recordId)) continue
    // Under another key it is not deleted.
    if ((await readRecordById(deps, job.config, recordId)) === null) absent.push(record)
  }
  if (absent.length === 0) return 0
  if (!(await checkDeletionView(deps, job))) return absent.length
  await recordDeleted(deps, job, absent)
  await (await stepPosition(ledger, job.run, 'delete_extra', {})).sent()
  return 0
}

/** Says that deletions are in doubt. */
export async function warnOfDeletions(ledger: Runs, run: number, records: number): Promise<void> {
  const [were, they] = records === 1 ? ['deletion was', 'it was'] : ['deletions were', 'they were']
  await ledger.addWarnings(run, [
    `${records} ${were} in flight when the run ended, and it is not known whether ${they} carried out: records-sync reconcile shows which records are there`,
  ])
}
