// A schema of a DuckDB file as the tables of a mirror. The file is open for one transaction at a time, and closed in between;
// rows wait for their merge in memory.

import { dirname } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { SyncError } from '../../core/errors.ts'
import type { MirrorBatch, MirrorTables } from '../mirror-tables.ts'
import { sqlMirrorTables, type MirrorDriver } from '../mirror/tables.ts'
import type { WarehouseOptions } from '../warehouse.ts'
import { AttachedFile } from './attached.ts'
import { realFile } from './file-gate.ts'
import { openBatch } from './merge.ts'
import { DuckdbSession } from './session.ts'
import { LONE_SURROGATE } from './staged-rows.ts'
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
    return sqlMirrorTables(duckdbDriver(attached, staging, connection, { file, schema }))
  } catch (error) {
    await releaseStaging(file)
    throw error
  }
}

function duckdbDriver(
  attached: AttachedFile,
  staging: Staging,
  connection: DuckDBConnection,
  { file, schema }: { file: string; schema: string },
): MirrorDriver {
  const { place } = attached
  const home = { place, schema }
  const batches = new Set<MirrorBatch>()
  const end = async () => {
    await attached.close()
    for (const batch of batches) await batch.drop()
    connection.closeSync()
    await releaseStaging(file)
  }
  let closing: Promise<void> | undefined
  return {
    place,
    holdsId: (id) => !LONE_SURROGATE.test(id),
    exists: () => attached.exists(),
    // The file's gate admits one call at a time, so one connection is enough for all calls.
    session: (access, work) =>
      attached.transaction(
        connection,
        (ask) => work(new DuckdbSession(ask, home)),
        access === 'own',
      ),
    batch: (stream) =>
      attached.guard(async () => {
        const onOver = (one: MirrorBatch) => batches.delete(one)
        const batch = await openBatch(attached, staging, home, stream, onOver)
        batches.add(batch)
        return batch
      }),
    close: () => (closing ??= end()),
  }
}
