// A schema of a PostgreSQL database as the tables of a mirror. Any number of processes may work on it: the writer of a stream
// holds the row of its fence until the end of its transaction. After a lost connection, the next call opens another.

import type { MirrorBatch, MirrorStream, MirrorTables } from '../mirror-tables.ts'
import type { MirrorSession, SchemaPlace } from '../mirror/session.ts'
import { SqlMirrorTables, type MirrorAccess, type MirrorDriver } from '../mirror/tables.ts'
import type { WarehouseOptions } from '../warehouse.ts'
import { PostgresConnections } from './connections.ts'
import { UNSTORABLE } from './copy.ts'
import { requiredGrants, type RequiredGrants } from './failures.ts'
import { openBatch } from './merge.ts'
import { PostgresSession } from './session.ts'

/**
 * Makes no request to the server before the first call. The rows of a batch are lost with its connection, or if they cannot be
 * copied: then `merge` throws the same error every time, and the batch must be dropped. After any other failure of a merge, it
 * can be merged again.
 * @throws SyncError `warehouse_url`
 */
export async function openPostgresMirror(
  name: string,
  { url }: { url: string },
  schema: string,
  options: WarehouseOptions = {},
): Promise<MirrorTables> {
  const connections = new PostgresConnections(name, { url, schema }, options)
  return new SqlMirrorTables(new PostgresMirror(connections, schema))
}

class PostgresMirror implements MirrorDriver {
  readonly place: string
  readonly #connections: PostgresConnections
  readonly #home: SchemaPlace
  readonly #needs: RequiredGrants

  constructor(connections: PostgresConnections, schema: string) {
    this.#connections = connections
    this.place = connections.place
    this.#home = { place: this.place, schema }
    this.#needs = requiredGrants(schema)
  }

  holdsId(id: string): boolean {
    return !UNSTORABLE.test(id)
  }

  /** Whether it does is known only by asking. */
  exists(): boolean {
    return true
  }

  session<Result>(
    access: MirrorAccess,
    work: (session: MirrorSession) => Promise<Result>,
  ): Promise<Result> {
    return this.#connections.use(this.#needs[access], (lease) => {
      const session = new PostgresSession(lease, this.#home)
      return access === 'read' ? work(session) : lease.transaction(() => work(session))
    })
  }

  batch(stream: MirrorStream): Promise<MirrorBatch> {
    return openBatch(this.#connections, this.#home, stream, this.#needs)
  }

  close(): Promise<void> {
    return this.#connections.close()
  }
}
