// Opens sources and mirrors by name, as the configuration file defines them now. Separate from worker.ts, so that a command which
// only reads need not load the worker.

import { loadConfig, readWarehousePlace } from '../../config/index.ts'
import type { SourceOpeners } from '../sources/index.ts'
import { openMirrorTables, openTextTables, openWarehouse } from '../warehouses/index.ts'
import type { MirrorTables } from '../warehouses/mirror-tables.ts'

/** Where the configuration is, and the environment to read it with. */
export interface ConfigRef {
  readonly configFile: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** `connect` belongs to a connector: one client for each connection, whether it is read or written. Warehouses are opened by `open`. */
export function createSourceOpeners(
  { configFile, env }: ConfigRef,
  connect: SourceOpeners['connect'],
  open = openWarehouse,
): SourceOpeners {
  return {
    connect,
    openTextTables,
    async openWarehouse(name, signal) {
      const config = await loadConfig(configFile, env)
      return await open(name, await readWarehousePlace(config, name, env), { signal })
    },
  }
}

/** Opens the tables of a mirror in a warehouse, by `open`; the signal ends all work on them. */
export function createMirrorOpener({ configFile, env }: ConfigRef, open = openMirrorTables) {
  return async (name: string, schema: string, signal?: AbortSignal): Promise<MirrorTables> => {
    const config = await loadConfig(configFile, env)
    const place = await readWarehousePlace(config, name, env)
    return await open(name, place, schema, { signal })
  }
}
