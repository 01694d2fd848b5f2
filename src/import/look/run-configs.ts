// What earlier runs were to do: whether they read all of their source, and their mappings, on which the order of stored baseline
// hashes depends.

import { isWholeScope } from '../../core/domain/purpose.ts'
import { jobOf } from '../../runs/job.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type { Run, Runs } from '../../ledger/ledger.ts'
import { sourceOf } from '../../sources/index.ts'

/** Reads the configuration of a run, each once. @param unknown that of runs that the ledger no longer has */
export function runConfigs(
  ledger: Pick<Runs, 'run'>,
  unknown: ImportConfig,
): (run: number) => Promise<ImportConfig> {
  const configs = new Map<number, Promise<ImportConfig>>()
  return (run) => {
    let known = configs.get(run)
    if (known === undefined) {
      // Bounded: a sync's keys come from few runs; if not, the configurations are read again.
      if (configs.size >= LEDGER_ROWS_MAX) configs.clear()
      known = ledger.run(run).then((row) => (row ? jobOf(row, 'import').sync.import : unknown))
      configs.set(run, known)
    }
    return known
  }
}

/** Whether the source of a run is read whole, so that its count of rows says something. */
export function readsAll(run: Run): boolean {
  const { sync, purpose, reconcile } = jobOf(run, 'import')
  const { from } = sync.import
  if (sourceOf(from).isIncremental(from)) return false
  return reconcile ? isWholeScope(reconcile) : purpose === 'sync'
}
