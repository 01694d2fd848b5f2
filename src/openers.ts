// What sources open by its name in the configuration, as the file has it now. Apart from worker.ts, so that a command which
// only reads need not load the worker.

import { loadConfig, readWarehousePlace } from '../config/index.ts'
import type { SourceOpeners } from './sources/index.ts'
import { openWarehouse } from './warehouses/index.ts'

/** `connect` is a connector's: one client for each connection, whether it is read or written. */
export function sourceOpeners(
  {
    configFile,
    env,
  }: {
    readonly configFile: string
    readonly env: Readonly<Record<string, string | undefined>>
  },
  connect: SourceOpeners['connect'],
): SourceOpeners {
  return {
    connect,
    async openWarehouse(name, signal) {
      const config = await loadConfig(configFile, env)
      return await openWarehouse(name, await readWarehousePlace(config, name, env), { signal })
    },
  }
}
