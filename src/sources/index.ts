// The registry of sources: from what a sync names to an opened source. A new source is one more line here.

import type { SyncConfig } from '../core/sync.ts'
import type { Warehouse } from '../warehouses/warehouse.ts'
import { openCsv } from './csv/index.ts'
import { openQuery } from './query/index.ts'
import { openRecords, type SourceClient } from './records/index.ts'
import type { Source } from './source.ts'

/** Opens what a source names by its name in the configuration. */
export interface SourceOpeners {
  openWarehouse(name: string, signal?: AbortSignal): Promise<Warehouse>
  connect(connection: string): Promise<{ client: SourceClient }>
}

/** @throws SourceError where the source cannot be opened or has no usable header; Blocked where it cannot be reached now */
export async function openSource(
  sync: SyncConfig,
  openers: SourceOpeners,
  signal?: AbortSignal,
): Promise<Source> {
  const { from } = sync.import
  if ('csv' in from) return await openCsv({ ...from, path: from.csv })
  if ('records' in from) {
    const { client } = await openers.connect(from.records.connection)
    return await openRecords(client, from.records, { signal })
  }
  return await openQuery(sync.name, from, openers.openWarehouse, signal)
}
