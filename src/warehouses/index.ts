// Opens a warehouse with any driver. Drivers are loaded on demand.

import type { WarehouseOptions, Warehouse, WarehousePlace } from './warehouse.ts'

/**
 * @param name in the configuration, for messages
 * @throws SyncError `warehouse_…`; Blocked if it is locked or unavailable
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
