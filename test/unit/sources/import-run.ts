// The run of an import, opened in a ledger: what its steps are called with.

import type { ImportSync } from '../../../config/index.ts'
import type { RecordsClient } from '../../../src/client/index.ts'
import { silentLogger, systemClock } from '../../../src/core/ports.ts'
import { DEFAULT_IMPORT_TUNING, type ImportDeps } from '../../../src/import/ports.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'

export async function openImportRun(ledger: Ledger, client: RecordsClient, sync: ImportSync) {
  const deps: ImportDeps<Ledger> = {
    ledger,
    client,
    clock: systemClock,
    logger: silentLogger,
    tuning: DEFAULT_IMPORT_TUNING,
    priority: 'import',
    signal: new AbortController().signal,
    beat: () => {},
  }
  const opened = await ledger.openRun({
    sync: sync.name,
    kind: 'import',
    mode: 'run',
    workflowId: '',
    workflowRunId: '',
    config: sync as never,
  })
  if (!('run' in opened)) throw new Error('the ledger refused')
  return { deps, run: opened.run.id }
}
