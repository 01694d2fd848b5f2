// Which server a ledger's URL leads to, whether or not the ledger is there yet.

import type { Client } from 'pg'
import { LedgerError } from '../../core/errors.ts'
import { newClient } from '../../postgres/bound-client.ts'
import { toLedgerError } from '../../postgres/failures.ts'
import { resolveConnection, type Connection } from './connection.ts'
import { subject } from './subject.ts'

const MAX_MS = 5_000

/** Its version: `15.3`. @throws LedgerError if it cannot be asked */
export async function postgresVersion(connection: Connection): Promise<string> {
  const version = await asked(connection, async (client) => {
    const { rows } = await client.query(`SELECT current_setting('server_version') AS version`)
    return String((rows[0] as { version: string }).version)
  })
  return version.split(' ')[0]!
}

/** The version of the tables there; 0 if there is no ledger. @throws LedgerError if it cannot be asked */
export async function schemaVersion(connection: Connection): Promise<number> {
  const table = `${connection.schema}.schema_version`
  return await asked(connection, async (client) => {
    const { rows } = await client.query('SELECT to_regclass($1) IS NOT NULL AS found', [table])
    if (!(rows[0] as { found: boolean }).found) return 0
    const { rows: versions } = await client.query(`SELECT version FROM ${table}`)
    return (versions[0] as { version: number } | undefined)?.version ?? 0
  })
}

async function asked<Answer>(
  connection: Connection,
  ask: (client: Client) => Promise<Answer>,
): Promise<Answer> {
  const resolved = resolveConnection(connection)
  if ('problem' in resolved) throw new LedgerError('ledger_url', `The ledger ${resolved.problem}`)
  const client = newClient({
    application_name: 'records-sync',
    connectionTimeoutMillis: MAX_MS,
    query_timeout: MAX_MS,
    ...resolved.config,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    return await ask(client)
  } catch (error) {
    throw toLedgerError(error, resolved.place, subject)
  } finally {
    await client.end().catch(() => {})
  }
}
