// What a plan is made with: the client and the ledger of the process that makes it, and no log.

import type { RecordsClient } from '../client/index.ts'
import { silentLogger, systemClock } from '../core/ports.ts'
import { DEFAULT_IMPORT_TUNING, type ImportDeps } from '../import/index.ts'
import type { Ledger } from '../ledger/ledger.ts'

export const planDeps = (
  ledger: Ledger,
  client: RecordsClient,
  beat: ImportDeps['beat'] = () => {},
  signal: AbortSignal = new AbortController().signal,
): ImportDeps<Ledger> => ({
  ledger,
  client,
  clock: systemClock,
  logger: silentLogger,
  tuning: DEFAULT_IMPORT_TUNING,
  signal,
  priority: 'import',
  beat,
})
