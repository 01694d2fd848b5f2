// The sync that a run is opened for, as the configuration has it now. Promise kept here: a run is opened only in the ledger that the
// configuration names, and in an empty one only where no other ledger has runs of the sync.

import { findSync, loadConfig, readLedgerPlace, type SyncConfig } from '../../config/index.ts'
import { importSync, mirrorSync } from '../../workflows/names.ts'
import { ConfigError, LedgerError } from '../core/errors.ts'
import { keepRunsIn } from '../dev/known-ledgers.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { isSameLedger, type LedgerPlace } from '../ledger/open.ts'

/** @throws ConfigError if there is no such sync, or another workflow runs it */
function syncOfKind(
  config: Parameters<typeof findSync>[0],
  name: string,
  kind: SyncConfig['kind'],
): SyncConfig {
  const sync = findSync(config, name)
  if (sync.kind === kind) return sync
  const workflow = sync.kind === 'import' ? importSync : mirrorSync
  const message = `it is ${sync.kind === 'import' ? 'an import' : 'a mirror'}, which the workflow ${workflow} runs; "records-sync run ${name}" starts the right one`
  throw new ConfigError(config.file, [{ path: `syncs.${name}`, message }])
}

export const syncLoader =
  (
    { configFile, env }: { readonly configFile: string; readonly env: NodeJS.ProcessEnv },
    { ledger, ledgerPlace }: { readonly ledger: Ledger; readonly ledgerPlace: LedgerPlace },
  ) =>
  async (name: string, kind: SyncConfig['kind']): Promise<SyncConfig> => {
    const now = await loadConfig(configFile, env)
    // Commands would look for the run in one ledger, and this worker keep it in another.
    if (!isSameLedger(await readLedgerPlace(now.ledger, env), ledgerPlace))
      throw new LedgerError(
        'ledger_other',
        `${configFile} names another ledger than ${ledger.place}, which this worker has open: start the worker again, or put the setting back`,
      )
    const sync = syncOfKind(now, name, kind)
    await keepRunsIn(now, { place: ledgerPlace, ledger, sync: name })
    return sync
  }
