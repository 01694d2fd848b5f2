// What a plan in a terminal is made with: the client and the ledger of the command, and no log.

import type { RecordsClient } from '../../client/index.ts'
import { silentLogger, systemClock } from '../../core/ports.ts'
import { DEFAULT_IMPORT_TUNING, type ImportDeps } from '../../import/index.ts'
import type { Ledger } from '../../ledger/ledger.ts'

export const planDeps = (
  ledger: Ledger,
  client: RecordsClient,
  beat: ImportDeps['beat'] = () => {},
): ImportDeps<Ledger> => ({
  ledger,
  client,
  clock: systemClock,
  logger: silentLogger,
  tuning: DEFAULT_IMPORT_TUNING,
  signal: new AbortController().signal,
  priority: 'import',
  beat,
})
