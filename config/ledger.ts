// Where the ledger is and what signs it, with the secrets of both read.

import { SyncError } from '../src/core/errors.ts'
import type { Environment } from './environment.ts'
import type { LedgerConfig } from './load.ts'
import { readSecret, type SecretSource } from './secret.ts'

const SIGNING_KEY_CHARS_MIN = 16

/**
 * The configured ledger as its drivers take it; a PostgreSQL's URL is read from its place. The signing key is not read: a process
 * that only reads a ledger does not need it.
 * @throws SyncError `secret_unavailable`
 */
export async function readLedgerPlace(
  ledger: LedgerConfig,
  env: Environment,
): Promise<{ sqlite: string } | { url: string; schema: string }> {
  if ('sqlite' in ledger) return { sqlite: ledger.sqlite }
  return { url: await readAs('URL', ledger.postgres, env), schema: ledger.schema }
}

/**
 * The key that signs and checks manifests; null if none is configured.
 * @throws SyncError `secret_unavailable`, `signing_key_invalid`
 */
export async function readSigningKey(
  { signing_key: source }: LedgerConfig,
  env: Environment,
): Promise<string | null> {
  if (source === undefined) return null
  const key = await readAs('signing key', source, env)
  if (key.length >= SIGNING_KEY_CHARS_MIN) return key
  throw new SyncError(
    'signing_key_invalid',
    `The signing key of the ledger has ${key.length} characters; expected at least ${SIGNING_KEY_CHARS_MIN}; make one with: openssl rand -hex 32`,
  )
}

async function readAs(what: string, source: SecretSource, env: Environment): Promise<string> {
  return await readSecret(source, env).catch((error: unknown) => {
    if (!(error instanceof SyncError)) throw error
    throw new SyncError(error.code, `The ${what} of the ledger: ${error.message}`)
  })
}
