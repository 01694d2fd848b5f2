// Opens a warehouse, whatever drives it. Drivers are loaded when they are needed.

import type { WarehouseOptions, Warehouse, WarehousePlace } from './warehouse.ts'

/**
 * @param name in the configuration, for messages
 * @throws SyncError `warehouse_…`; Blocked where it is locked or away
 */
export async function openWarehouse(
  name: string,
  place: WarehousePlace,
  options: WarehouseOptions = {},
): Promise<Warehouse> {
  if ('duckdb' in place) {
    const { openDuckdb } = await import('./duckdb/index.ts')
    return await openDuckdb(name, place, options)
  }
  const { openPostgres } = await import('./postgres/index.ts')
  return await openPostgres(name, place, options)
}
