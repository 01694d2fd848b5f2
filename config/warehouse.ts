// Where a warehouse is, with what is secret of it read.

import { dirname } from 'node:path'
import { ConfigError, SyncError } from '../src/core/errors.ts'
import type { Environment } from './environment.ts'
import type { Config } from './load.ts'
import { listed } from '../src/core/nearest.ts'
import { readSecret } from './secret.ts'

/**
 * The warehouse of that name as its drivers take it; a PostgreSQL's URL is read from its place.
 * @throws ConfigError that lists the names there are; SyncError `secret_unavailable`
 */
export async function readWarehousePlace(
  config: Config,
  name: string,
  env: Environment,
): Promise<{ duckdb: string; folder: string } | { url: string }> {
  const { warehouses } = config
  const warehouse = Object.hasOwn(warehouses, name) ? warehouses[name] : undefined
  if (warehouse === undefined) {
    const names = Object.keys(warehouses)
    const list = names.length === 0 ? 'there are none' : `valid: ${listed(names)}`
    throw new ConfigError(config.file, [{ message: `no warehouse \`${name}\`; ${list}` }])
  }
  if ('duckdb' in warehouse) return { ...warehouse, folder: dirname(config.file) }
  const url = await readSecret(warehouse.postgres, env).catch((error: unknown) => {
    if (!(error instanceof SyncError)) throw error
    throw new SyncError(error.code, `The URL of the warehouse ${name}: ${error.message}`)
  })
  return { url }
}
