// What the test of stopped workers and its worker have in common.

import type { RecordsClient } from '../../src/client/index.ts'
import { silentLogger, systemClock, type Logger } from '../../src/core/ports.ts'
import type { ImportSync } from '../../config/index.ts'
import { DEFAULT_IMPORT_TUNING, type ImportDeps } from '../../src/import/ports.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'

/** After which a worker that is silent loses its work. */
export const HEARTBEAT_TIMEOUT_MS = 1_500

export const stopSync: ImportSync = {
  name: 'contacts',
  kind: 'import',
  import: {
    from: { csv: '' },
    to: 'crm',
    object_type: 'svc_contact',
    matching_property: 'svc_external_id',
    mode: 'upsert',
    empty: 'omit',
    verify: 'none',
    properties: {
      svc_external_id: { column: 'id' },
      svc_first_name: { column: 'name' },
    },
  },
}

export const stopDeps = (
  ledger: Ledger,
  client: RecordsClient,
  logger: Logger = silentLogger,
): ImportDeps<Ledger> => ({
  ledger,
  client,
  clock: systemClock,
  logger,
  tuning: {
    ...DEFAULT_IMPORT_TUNING,
    heartbeat_timeout_ms: HEARTBEAT_TIMEOUT_MS,
    resend_backoff_ms: [20, 50],
  },
  priority: 'import',
  signal: new AbortController().signal,
  beat() {},
})
