// The register of warehouses: a database is its folder and its line here. Settings, checks and openers follow from what it states.

import { SyncError } from '../core/errors.ts'
import { driverOf, type SettingsOf } from '../settings/choice.ts'
import type { PlaceOf, WarehouseDriver } from './driver.ts'
import { duckdb } from './duckdb/driver.ts'
import type { MirrorTables } from './mirror-tables.ts'
import { postgres } from './postgres/driver.ts'
import type { TextTables, Warehouse, WarehouseOptions } from './warehouse.ts'

export type { WarehouseDriver } from './driver.ts'
export { POSTGRES_MIN } from '../postgres/version.ts'

export const WAREHOUSES = [
  duckdb, //
  postgres,
] satisfies readonly WarehouseDriver[]

/** What a warehouse is set to. */
export type WarehouseSettings = SettingsOf<(typeof WAREHOUSES)[number]>
/** The same, as a driver takes it: with secrets, and with the project that uses it. */
export type WarehousePlace = WarehouseSettings extends infer T
  ? T extends unknown
    ? PlaceOf<T>
    : never
  : never

/** What the database of a warehouse can do. */
export const warehouseOf = (settings: WarehouseSettings | WarehousePlace): WarehouseDriver =>
  driverOf(WAREHOUSES, settings)

/** @throws SyncError `warehouse_not_installed`, with the command that adds what is missing */
export async function loadWarehouse(settings: WarehouseSettings | WarehousePlace): Promise<void> {
  await warehouseOf(settings).load?.()
}

/**
 * @param name in the configuration, for messages
 * @throws SyncError `warehouse_…`; Blocked if it is locked or unavailable
 */
export async function openWarehouse(
  name: string,
  place: WarehousePlace,
  options: WarehouseOptions = {},
): Promise<Warehouse> {
  await loadWarehouse(place)
  return await warehouseOf(place).open(name, place, options)
}

/**
 * Opens the tables of a mirror.
 * @param name of the warehouse in the configuration, for messages
 * @param schema of its own in the warehouse
 * @throws SyncError `warehouse_…`
 */
export async function openMirrorTables(
  name: string,
  place: WarehousePlace,
  schema: string,
  options: WarehouseOptions = {},
): Promise<MirrorTables> {
  await loadWarehouse(place)
  const { mirrors } = warehouseOf(place)
  if ('open' in mirrors) return await mirrors.open(name, place, schema, options)
  throw new SyncError('warehouse_no_mirrors', `The warehouse ${name} ${mirrors.problem()}`)
}

/**
 * Opens a database in memory for one query over texts.
 * @param place what is queried, for messages @param instead what to write where the query names another file
 * @throws SyncError `warehouse_not_installed`
 */
export async function openTextTables(place: string, instead: string): Promise<TextTables> {
  await duckdb.load?.()
  const tables = await import('./duckdb/text-tables.ts')
  return await tables.openDuckdbTables(place, instead)
}
