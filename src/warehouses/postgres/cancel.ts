// Cancels statements on a server: a statement does not notice that its client has gone.

import type { PoolConfig } from 'pg'
import { newClient } from '../../postgres/bound-client.ts'

const CANCEL_MAX_MS = 5_000

/**
 * Asks the server, over another connection, to cancel the statements of these processes of its own. Behind a pooler a process is
 * ours as long as our transaction is open. Rejects if it cannot be asked.
 */
export async function cancelStatements(
  config: PoolConfig,
  processes: readonly number[],
): Promise<void> {
  const other = newClient({
    ...config,
    connectionTimeoutMillis: CANCEL_MAX_MS,
    query_timeout: CANCEL_MAX_MS,
  })
  other.on('error', () => {})
  try {
    await other.connect()
    await other.query('SELECT pg_cancel_backend(pid) FROM unnest($1::integer[]) AS asked (pid)', [
      processes,
    ])
  } finally {
    await other.end().catch(() => {})
  }
}
