// Cancels statements on a server: a statement does not notice that its client has gone.

import pg, { type ClientBase, type ClientConfig } from 'pg'

const CANCEL_MAX_MS = 5_000

/** Asks the server, over another connection, to cancel the statements of these. Rejects if it cannot be asked. */
export async function cancelStatements(
  config: ClientConfig,
  clients: readonly ClientBase[],
): Promise<void> {
  const ids = clients.map((client) => (client as unknown as { processID: number }).processID)
  const other = new pg.Client({
    ...config,
    connectionTimeoutMillis: CANCEL_MAX_MS,
    query_timeout: CANCEL_MAX_MS,
  })
  other.on('error', () => {})
  try {
    await other.connect()
    await other.query('SELECT pg_cancel_backend(pid) FROM unnest($1::integer[]) AS asked (pid)', [
      ids,
    ])
  } finally {
    await other.end().catch(() => {})
  }
}
