// Opens the tables of a mirror with any driver. Drivers are loaded on demand.

import type { MirrorTables } from './mirror-tables.ts'
import type { WarehouseOptions, WarehousePlace } from './warehouse.ts'

/**
 * @param name in the configuration, for messages
 * @param schema of its own in the warehouse
 * @throws SyncError `warehouse_…`
 */
export async function openMirrorTables(
  name: string,
  place: WarehousePlace,
  schema: string,
  options: WarehouseOptions = {},
): Promise<MirrorTables> {
  if ('duckdb' in place) {
    const { openDuckdbMirror } = await import('./duckdb/mirror.ts')
    return await openDuckdbMirror(name, place, schema, options)
  }
  const { openPostgresMirror } = await import('./postgres/mirror.ts')
  return await openPostgresMirror(name, place, schema, options)
}
