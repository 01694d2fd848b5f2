// A schema of a PostgreSQL database as the tables of a mirror. Any number of processes may work on it: the writer of a stream
// holds the row of its fence until the end of its transaction. After a lost connection, the next call opens another.

import type { MirrorTables } from '../mirror-tables.ts'
import { sqlMirrorTables } from '../mirror/tables.ts'
import type { WarehouseOptions } from '../warehouse.ts'
import { PostgresConnections } from './connections.ts'
import { UNSTORABLE } from './copy.ts'
import { requiredGrants } from './failures.ts'
import { PostgresBatch } from './merge.ts'
import { PostgresSession } from './session.ts'

/**
 * Makes no request to the server before the first call. A batch can be merged again after every failure but one: rows that cannot
 * be copied.
 * @throws SyncError `warehouse_url`
 */
export async function openPostgresMirror(
  name: string,
  { url }: { url: string },
  schema: string,
  options: WarehouseOptions = {},
): Promise<MirrorTables> {
  const connections = new PostgresConnections(name, { url, schema }, options)
  const { place } = connections
  const home = { place, schema }
  const needs = requiredGrants(schema)
  return sqlMirrorTables({
    place,
    holdsId: (id) => !UNSTORABLE.test(id),
    // Whether it does is known only by asking.
    exists: () => true,
    session: (access, work) =>
      connections.transaction(needs[access], (lease) => work(new PostgresSession(lease, home)), {
        isRead: access === 'read',
      }),
    batch: async (stream) => new PostgresBatch(connections, home, stream, needs),
    close: () => connections.close(),
  })
}
