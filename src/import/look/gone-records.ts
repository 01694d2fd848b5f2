// Records that are gone: what is known of links holds only while both records are those that were linked. It is said to the ledger before
// it is settled that they are gone, so that a run that is killed between says it again.

import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import { slicesOf } from '../../core/slices.ts'
import type { KnownLinks } from '../../ledger/ledger.ts'
import type { ImportDeps } from '../ports.ts'

/** Links to the records are waiting, and those from them are forgotten, whichever sync made them. */
export async function noteRecordsGone(
  {
    ledger,
    logger,
    beat,
  }: Pick<ImportDeps<Pick<KnownLinks, 'recordsGone'>>, 'ledger' | 'logger' | 'beat'>,
  { run, objectType }: { readonly run: number; readonly objectType: string },
  recordIds: readonly string[],
): Promise<void> {
  for (const ids of slicesOf([...new Set(recordIds)], LEDGER_ROWS_MAX)) {
    const { waiting, forgotten } = await ledger.recordsGone(run, objectType, ids)
    beat()
    if (waiting + forgotten > 0) logger.info({ run, waiting, forgotten }, 'links_of_gone_records')
  }
}
