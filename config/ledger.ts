// Where the ledger is, with what is secret of it read.

import { SyncError } from '../src/core/errors.ts'
import type { Environment } from './environment.ts'
import type { LedgerConfig } from './load.ts'
import { readSecret } from './secret.ts'

/**
 * The configured ledger as its drivers take it; a PostgreSQL's URL is read from its place.
 * @throws SyncError `secret_unavailable`
 */
export async function readLedgerPlace(
  ledger: LedgerConfig,
  env: Environment,
): Promise<{ sqlite: string } | { url: string; schema: string }> {
  if ('sqlite' in ledger) return ledger
  const url = await readSecret(ledger.postgres, env).catch((error: unknown) => {
    if (!(error instanceof SyncError)) throw error
    throw new SyncError(error.code, `The URL of the ledger: ${error.message}`)
  })
  return { url, schema: ledger.schema }
}
