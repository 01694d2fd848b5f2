// Which server a ledger's URL leads to, whether or not the ledger is there yet.

import { LedgerError } from '../../core/errors.ts'
import { newClient } from '../../postgres/bound-client.ts'
import { toLedgerError } from '../../postgres/failures.ts'
import { resolveConnection, type Connection } from './connection.ts'
import { subject } from './subject.ts'

const MAX_MS = 5_000

/** Its version: `15.3`. @throws LedgerError if it cannot be asked */
export async function postgresVersion(connection: Connection): Promise<string> {
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
    const { rows } = await client.query(`SELECT current_setting('server_version') AS version`)
    return String((rows[0] as { version: string }).version).split(' ')[0]!
  } catch (error) {
    throw toLedgerError(error, resolved.place, subject)
  } finally {
    await client.end().catch(() => {})
  }
}
