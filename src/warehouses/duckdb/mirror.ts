// A schema of a DuckDB file as the tables of a mirror. The file is open for one transaction at a time, and closed in between;
// rows wait for their merge in memory.

import { dirname } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { SyncError } from '../../core/errors.ts'
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
import { AttachedFile, type Ask } from './attached.ts'
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
import { realFile } from './file-gate.ts'
import { readHolder, takeOver } from './holder.ts'
import { openBatch } from './merge.ts'
import { countRows, deleteRows, readGroups, readIds, readOwnersOfGone, readRows } from './rows.ts'
import { LONE_SURROGATE } from './staged-cells.ts'
import { releaseStaging, openStaging, type Staging } from './staging.ts'

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
    return new DuckdbMirror(
      new AttachedFile(place, file, options),
      file,
      staging,
      connection,
      schema,
    )
  } catch (error) {
    await releaseStaging(file)
    throw error
  }
}

class DuckdbMirror implements MirrorTables {
  readonly place: string
  readonly #attached: AttachedFile
  readonly #file: string
  readonly #staging: Staging
  readonly #connection: DuckDBConnection
  readonly #home: SchemaPlace
  readonly #batches = new Set<MirrorBatch>()
  #closing: Promise<void> | undefined

  constructor(
    attached: AttachedFile,
    file: string,
    staging: Staging,
    connection: DuckDBConnection,
    schema: string,
  ) {
    this.place = attached.place
    this.#attached = attached
    this.#file = file
    this.#staging = staging
    this.#connection = connection
    this.#home = { place: attached.place, schema }
  }

  holdsId(id: string): boolean {
    return !LONE_SURROGATE.test(id)
  }

  own(owner: string, project: string, sync: string | null = null): Promise<void> {
    return this.#use((ask) => ownSchema(ask, this.#home, { owner, project, sync }), true)
  }

  async holder(): Promise<Holder | null> {
    if (!this.#attached.exists()) return null
    return await this.#use((ask) => readHolder(ask, this.#home.schema))
  }

  async takeOver(from: string, to: string): Promise<boolean> {
    if (!this.#attached.exists()) return false
    return await this.#use((ask) => takeOver(ask, this.#home.schema, [from, to]))
  }

  async streams(of?: readonly string[]): Promise<readonly MirrorStream[]> {
    if (!this.#attached.exists()) return []
    return await this.#use((ask) => readStreams(ask, this.#home, of))
  }

  streamNames(): Promise<readonly string[]> {
    return this.#names('name')
  }

  tableNames(): Promise<readonly string[]> {
    return this.#names('table_name')
  }

  async #names(of: 'name' | 'table_name'): Promise<readonly string[]> {
    if (!this.#attached.exists()) return []
    return await this.#use((ask) => readNames(ask, this.#home.schema, of))
  }

  change(changes: readonly StreamChange[]): Promise<void> {
    return this.#use((ask) => changeStreams(ask, this.#home, changes))
  }

  claim(stream: string): Promise<{ fence: number; position: string | null }> {
    return this.#use((ask) => claimStream(ask, this.#home, stream))
  }

  position(stream: string): Promise<string | null> {
    return this.#use((ask) => readPosition(ask, this.#home.schema, stream))
  }

  move(stream: string, fence: number, position: string): Promise<void> {
    return this.#use((ask) => storePosition(ask, this.#home.schema, stream, fence, position))
  }

  batch(stream: MirrorStream): Promise<MirrorBatch> {
    return this.#attached.guard(async () => {
      const over = (one: MirrorBatch) => this.#batches.delete(one)
      const batch = await openBatch(this.#attached, this.#staging, this.#home.schema, stream, over)
      this.#batches.add(batch)
      return batch
    })
  }

  delete(
    stream: MirrorStream,
    fence: number,
    position: string,
    deletion: Deletion,
  ): Promise<number> {
    return this.#use(async (ask) => {
      await storePosition(ask, this.#home.schema, stream.name, fence, position)
      return await deleteRows(ask, this.#home.schema, stream, deletion)
    })
  }

  count(stream: MirrorStream, within?: InstantRange): Promise<{ rows: number; misfits: number }> {
    return this.#use((ask) => countRows(ask, this.#home.schema, stream, within))
  }

  groups(
    stream: MirrorStream,
    columns: readonly string[],
    within?: InstantRange,
  ): Promise<readonly RowGroup[]> {
    return this.#use((ask) => readGroups(ask, this.#home.schema, stream, columns, within))
  }

  ids(
    stream: MirrorStream,
    choice: Parameters<MirrorTables['ids']>[1],
  ): Promise<readonly string[]> {
    return this.#use((ask) => readIds(ask, this.#home.schema, stream, choice))
  }

  ownersOfGone(...choice: Parameters<MirrorTables['ownersOfGone']>): Promise<readonly string[]> {
    return this.#use((ask) => readOwnersOfGone(ask, this.#home.schema, ...choice))
  }

  rows(stream: MirrorStream, ids: readonly string[]): Promise<readonly StoredRow[]> {
    return this.#use((ask) => readRows(ask, this.#home.schema, stream, ids))
  }

  /** The file's gate admits one call at a time, so one connection is enough for all calls. */
  #use<Result>(work: (ask: Ask) => Promise<Result>, create = false): Promise<Result> {
    return this.#attached.transaction(this.#connection, work, create)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await this.#attached.close()
    for (const batch of this.#batches) await batch.drop()
    this.#connection.closeSync()
    await releaseStaging(this.#file)
  }
}
