// Settings of the ledger: where it is, and what signs it. Its secrets are read here.

import { z } from 'zod'
import { SyncError } from '../src/core/errors.ts'
import type { Frozen } from '../src/settings/choice.ts'
import { marked } from '../src/settings/marks.ts'
import { pathSetting, schemaName, secretPlace } from '../src/settings/parts.ts'
import type { Environment } from './environment.ts'
import { readNamedSecret } from './secret.ts'

const SIGNING_KEY_CHARS_MIN = 16

const ways = [{ name: 'sqlite' }, { name: 'postgres' }]

export const ledgerSettings = z.union([
  pathSetting({
    expected:
      'expected the path of a file; a database is named by `ledger: { postgres: "${LEDGER_URL}" }`',
  }),
  marked(
    z.strictObject({
      sqlite: pathSetting()
        .optional()
        .describe('SQLite file, relative to this file: the long form.'),
      postgres: secretPlace(
        'URL',
        'its URL does not belong into this file, because it may hold a password; write `postgres: "${LEDGER_URL}"`, `postgres: { file: ./ledger-url }` or `postgres: { command: "…" }`',
      )
        .optional()
        .describe(
          'PostgreSQL database, for workers on several machines. Where its URL is, such as `postgres://user:password@host:5432/database`, never the URL itself: `"${NAME}"` (a variable of the environment), or a mapping with one of the following.',
        ),
      schema: schemaName()
        .default('records_sync')
        .describe(
          'Schema of its own in that database; made by the first run. With `postgres` only.',
        ),
      signing_key: secretPlace(
        'signing key',
        'a key does not belong into this file; write `signing_key: "${LEDGER_SIGNING_KEY}"`, `signing_key: { file: ./signing-key }` or `signing_key: { command: "…" }`',
      )
        .optional()
        .describe(
          'Where the key is with which a worker signs the manifest of each run, and `records-sync audit` checks it, never the key itself: at least 16 characters. Next to `sqlite` or `postgres`. Default: manifests are not signed. docs/ledger.md explains it.',
        ),
    }),
    { is: 'choice', among: ways },
  ),
])

/** The long form. Exactly one of the two is given, or the configuration was refused. */
export function ledgerOf(given: z.output<typeof ledgerSettings>) {
  if (typeof given === 'string') return { sqlite: given }
  const { sqlite, postgres, schema, ...signed } = given
  return postgres === undefined ? { sqlite: sqlite!, ...signed } : { postgres, schema, ...signed }
}

export type LedgerConfig = Frozen<ReturnType<typeof ledgerOf>>

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
  const url = await readNamedSecret('URL of the ledger', ledger.postgres, env)
  return { url, schema: ledger.schema }
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
  const key = await readNamedSecret('signing key of the ledger', source, env)
  if (key.length >= SIGNING_KEY_CHARS_MIN) return key
  throw new SyncError(
    'signing_key_invalid',
    `The signing key of the ledger has ${key.length} characters; expected at least ${SIGNING_KEY_CHARS_MIN}; make one with: openssl rand -hex 32`,
  )
}
