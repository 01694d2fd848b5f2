// A schema of a DuckDB file as the tables of a mirror. The file is open for one transaction at a time, and closed in between;
// rows wait for their merge in memory.

import { dirname } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { SyncError } from '../../core/errors.ts'
import type { MirrorBatch, MirrorStream, MirrorTables } from '../mirror-tables.ts'
import type { MirrorSession, SchemaPlace } from '../mirror/session.ts'
import { SqlMirrorTables, type MirrorAccess, type MirrorDriver } from '../mirror/tables.ts'
import type { WarehouseOptions } from '../warehouse.ts'
import { AttachedFile } from './attached.ts'
import { realFile } from './file-gate.ts'
import { openBatch } from './merge.ts'
import { DuckdbSession } from './session.ts'
import { LONE_SURROGATE } from './staged-cells.ts'
import { openStaging, releaseStaging, type Staging } from './staging.ts'

/**
 * `own` creates the file if it does not exist; the file is not opened before the first call.
 * @throws SyncError `warehouse_missing` without its folder, `warehouse_no_file` for a database in memory
 */
export async function openDuckdbMirror(
  name: string,
  { duckdb: path }: { duckdb: string },
  schema: string,
  options: WarehouseOptions = {},
): Promise<MirrorTables> {
  const place = `${name} (${path}), schema ${schema}`
  if (path === ':memory:')
    throw new SyncError(
      'warehouse_no_file',
      `The warehouse ${place} is in memory and would be lost; a mirror needs the path of a DuckDB file`,
    )
  const file = await realFile(path).catch(() => {
    throw new SyncError(
      'warehouse_missing',
      `The folder ${dirname(path)} of the warehouse ${place} does not exist; make it, or correct the path`,
    )
  })
  const staging = await openStaging(file)
  try {
    const connection = await staging.connect()
    const attached = new AttachedFile(place, file, options)
    const driver = new DuckdbMirror(attached, staging, connection, { place, schema }, () =>
      releaseStaging(file),
    )
    return new SqlMirrorTables(driver)
  } catch (error) {
    await releaseStaging(file)
    throw error
  }
}

class DuckdbMirror implements MirrorDriver {
  readonly place: string
  readonly #attached: AttachedFile
  readonly #staging: Staging
  readonly #connection: DuckDBConnection
  readonly #home: SchemaPlace
  readonly #release: () => Promise<void>
  readonly #batches = new Set<MirrorBatch>()
  #closing: Promise<void> | undefined

  constructor(
    attached: AttachedFile,
    staging: Staging,
    connection: DuckDBConnection,
    home: SchemaPlace,
    release: () => Promise<void>,
  ) {
    this.place = home.place
    this.#attached = attached
    this.#staging = staging
    this.#connection = connection
    this.#home = home
    this.#release = release
  }

  holdsId(id: string): boolean {
    return !LONE_SURROGATE.test(id)
  }

  exists(): boolean {
    return this.#attached.exists()
  }

  /** The file's gate admits one call at a time, so one connection is enough for all calls. */
  session<Result>(
    access: MirrorAccess,
    work: (session: MirrorSession) => Promise<Result>,
  ): Promise<Result> {
    return this.#attached.transaction(
      this.#connection,
      (ask) => work(new DuckdbSession(ask, this.#home)),
      access === 'own',
    )
  }

  batch(stream: MirrorStream): Promise<MirrorBatch> {
    return this.#attached.guard(async () => {
      const onOver = (one: MirrorBatch) => this.#batches.delete(one)
      const batch = await openBatch(this.#attached, this.#staging, this.#home, stream, onOver)
      this.#batches.add(batch)
      return batch
    })
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await this.#attached.close()
    for (const batch of this.#batches) await batch.drop()
    this.#connection.closeSync()
    await this.#release()
  }
}
