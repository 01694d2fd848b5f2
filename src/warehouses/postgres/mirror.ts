// A schema of a PostgreSQL database as the tables of a mirror. Any number of processes may work on it: the writer of a stream
// holds the row of its fence until the end of its transaction. After a lost connection, the next call opens another.

import type { Holder } from '../../core/mirror.ts'
import type {
  Deletion,
  StoredRow,
  MirrorBatch,
  MirrorStream,
  MirrorTables,
  RowGroup,
  StreamChange,
  InstantRange,
} from '../mirror-tables.ts'
import type { WarehouseOptions } from '../warehouse.ts'
import {
  changeStreams,
  claimStream,
  ownSchema,
  readNames,
  readPosition,
  readStreams,
  storePosition,
} from './catalogue.ts'
import { type SchemaPlace } from './schema.ts'
import { PostgresConnections } from './connections.ts'
import { UNSTORABLE } from './copy.ts'
import { openBatch } from './merge.ts'
import { requiredGrants, type RequiredGrants } from './failures.ts'
import { readHolder, takeOver } from './holder.ts'
import { countRows, deleteRows, readGroups, readIds, readOwnersOfGone, readRows } from './rows.ts'

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
  return new PostgresMirror(new PostgresConnections(name, { url, schema }, options), schema)
}

class PostgresMirror implements MirrorTables {
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

  own(owner: string, project: string, sync: string | null = null): Promise<void> {
    return this.#connections.use(this.#needs.own, (lease) =>
      lease.transaction(() => ownSchema(lease, this.#home, { owner, project, sync })),
    )
  }

  takeOver(from: string, to: string): Promise<boolean> {
    return this.#connections.use(this.#needs.write, (lease) =>
      takeOver(lease, this.#home, [from, to]),
    )
  }

  streams(of?: readonly string[]): Promise<readonly MirrorStream[]> {
    return this.#connections.use(this.#needs.read, (lease) => readStreams(lease, this.#home, of))
  }

  holder(): Promise<Holder | null> {
    return this.#connections.use(this.#needs.read, (lease) => readHolder(lease, this.#home))
  }

  streamNames(): Promise<readonly string[]> {
    return this.#names('name')
  }

  tableNames(): Promise<readonly string[]> {
    return this.#names('table_name')
  }

  #names(of: 'name' | 'table_name'): Promise<readonly string[]> {
    return this.#connections.use(this.#needs.read, (lease) => readNames(lease, this.#home, of))
  }

  change(changes: readonly StreamChange[]): Promise<void> {
    return this.#connections.use(this.#needs.change, (lease) =>
      lease.transaction(() => changeStreams(lease, this.#home, changes)),
    )
  }

  claim(stream: string): Promise<{ fence: number; position: string | null }> {
    return this.#connections.use(this.#needs.write, (lease) =>
      claimStream(lease, this.#home, stream),
    )
  }

  position(stream: string): Promise<string | null> {
    return this.#connections.use(this.#needs.read, (lease) =>
      readPosition(lease, this.#home, stream),
    )
  }

  move(stream: string, fence: number, position: string): Promise<void> {
    return this.#connections.use(this.#needs.write, (lease) =>
      storePosition(lease, this.#home, stream, fence, position),
    )
  }

  batch(stream: MirrorStream): Promise<MirrorBatch> {
    return openBatch(this.#connections, this.#home, stream, this.#needs)
  }

  delete(
    stream: MirrorStream,
    fence: number,
    position: string,
    deletion: Deletion,
  ): Promise<number> {
    return this.#connections.use(this.#needs.write, (lease) =>
      lease.transaction(async () => {
        await storePosition(lease, this.#home, stream.name, fence, position)
        return await deleteRows(lease, this.#home, stream, deletion)
      }),
    )
  }

  count(stream: MirrorStream, within?: InstantRange): Promise<{ rows: number; misfits: number }> {
    return this.#connections.use(this.#needs.read, (lease) =>
      countRows(lease, this.#home, stream, within),
    )
  }

  groups(
    stream: MirrorStream,
    columns: readonly string[],
    within?: InstantRange,
  ): Promise<readonly RowGroup[]> {
    return this.#connections.use(this.#needs.read, (lease) =>
      readGroups(lease, this.#home, stream, columns, within),
    )
  }

  ownersOfGone(...choice: Parameters<MirrorTables['ownersOfGone']>): Promise<readonly string[]> {
    return this.#connections.use(this.#needs.read, (lease) =>
      readOwnersOfGone(lease, this.#home, ...choice),
    )
  }

  ids(
    stream: MirrorStream,
    choice: Parameters<MirrorTables['ids']>[1],
  ): Promise<readonly string[]> {
    return this.#connections.use(this.#needs.read, (lease) =>
      readIds(lease, this.#home, stream, choice),
    )
  }

  rows(stream: MirrorStream, ids: readonly string[]): Promise<readonly StoredRow[]> {
    return this.#connections.use(this.#needs.read, (lease) =>
      readRows(lease, this.#home, stream, ids),
    )
  }

  close(): Promise<void> {
    return this.#connections.close()
  }
}
