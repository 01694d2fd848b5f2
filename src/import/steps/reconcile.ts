// Reconcile: what the source holds against what the service holds, by key, 100 keys a request. Promises kept here: what only
// looks different under the comparison of its type is equal; every difference says who changed the value last, as far as it
// is known; a record is missing only if neither its key nor its id finds it; only keys that we wrote can be extra.

import { IN_VALUES_MAX } from '../../contract/index.ts'
import { forEachConcurrent } from '../../core/concurrency.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import { slicesOf } from '../../core/slices.ts'
import { modeEntry } from '../../core/domain/import-modes.ts'
import { isWholeScope } from '../../core/domain/purpose.ts'
import type { BeforeImages, LedgerIdentity, Links } from '../../ledger/ledger.ts'
import { compareLinks } from './compare-links.ts'
import type { ImportDeps } from '../ports.ts'
import type { KeysOfSource } from './source-keys.ts'
import { ItemComparer, type ReconcileJob } from './compare-items.ts'
import { noteDeletionView } from '../judge/deletion-view.ts'
import { findExtra, type ExtraLedger } from './find-extra.ts'
import { recordReading } from '../look/reading.ts'

/**
 * Compares the planned items of a run that were not compared yet, then looks for what is extra. Returns whether it came to
 * the end before its time was over (`tuning.segment_ms`); what it did is in the ledger.
 * @param openKeys opens the keys of the source, to ask for those that it gave no row of
 * @throws Blocked, ServiceFailure, QuotaWait: called again, it goes on; MappingError if the matching property no longer exists
 */
export async function compareRun(
  deps: ImportDeps<ExtraLedger & BeforeImages & LedgerIdentity & Links>,
  job: ReconcileJob,
  openKeys: () => Promise<KeysOfSource | null> = async () => null,
): Promise<boolean> {
  const { ledger, clock, tuning, signal } = deps
  const { run } = job
  const deadline = clock.now() + tuning.segment_ms
  const isLate = () => clock.now() >= deadline
  const reading = await recordReading(deps, job)
  const comparer = new ItemComparer(deps, job, reading.matching)
  // Bounded by the run's items: every pass moves `after` forward.
  for (let after = 0; ;) {
    signal.throwIfAborted()
    const items = await ledger.uncompared(run, { after, limit: LEDGER_ROWS_MAX })
    if (items.length === 0) break
    after = items.at(-1)!.ordinal
    const slices = slicesOf(items, IN_VALUES_MAX)
    await forEachConcurrent(slices, tuning.in_flight, async (slice) => {
      signal.throwIfAborted()
      await comparer.compare(slice)
      deps.beat(slice.length)
    })
    if (isLate()) return false
  }
  if (!(await compareLinks(deps, job, isLate))) return false
  // An import that creates no record has none that is too many.
  if (!modeEntry(job.config.mode).needs.includes('create')) return true
  // What the source lacks is known only if all of its rows were read.
  if (!isWholeScope(job.scope)) return true
  if (job.scope.repair && job.scope.deleteExtra) await noteDeletionView(deps, job)
  return await findExtra(deps, job, { reading, openKeys }, isLate)
}
