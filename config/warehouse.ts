// Where a warehouse is, with its secrets read.

import { dirname, isAbsolute, join } from 'node:path'
import { ConfigError, SyncError } from '../src/core/errors.ts'
import type { Environment } from './environment.ts'
import type { Config } from './load.ts'
import { joinWords } from '../src/core/suggest.ts'
import { readSecret } from './secret.ts'

/** A DuckDB file, and which files its queries may read. */
interface DuckdbPlace {
  readonly duckdb: string
  readonly folder: string
  readonly files?: readonly string[]
  readonly secrets: readonly string[]
}

/** Files and folders that no query may read: those that hold keys, ledgers, and the system's facts about processes. */
function privatePlaces({ file, ledger, ...rest }: Config): string[] {
  const places = [join(dirname(file), '.records-sync'), '/proc', '/sys', '/dev/fd']
  if ('sqlite' in ledger) {
    const quota = join(dirname(ledger.sqlite), 'quota.db')
    for (const path of [ledger.sqlite, quota]) places.push(path, `${path}-wal`, `${path}-shm`)
  }
  const look = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const entries = Object.entries(value)
    const [only] = entries
    if (entries.length === 1 && only![0] === 'file' && typeof only![1] === 'string')
      places.push(only![1])
    for (const [, part] of entries) look(part)
  }
  look({ ledger, ...rest })
  for (const path of Object.values(Object(rest.temporal.tls)))
    if (typeof path === 'string' && isAbsolute(path)) places.push(path)
  return places
}

/**
 * The warehouse of that name as its drivers take it; a PostgreSQL's URL is read from its place.
 * @throws ConfigError that lists the names there are; SyncError `secret_unavailable`
 */
export async function readWarehousePlace(
  config: Config,
  name: string,
  env: Environment,
): Promise<DuckdbPlace | { url: string }> {
  const { warehouses } = config
  const warehouse = Object.hasOwn(warehouses, name) ? warehouses[name] : undefined
  if (warehouse === undefined) {
    const names = Object.keys(warehouses)
    const list = names.length === 0 ? 'there are none' : `valid: ${joinWords(names)}`
    throw new ConfigError(config.file, [{ message: `no warehouse \`${name}\`; ${list}` }])
  }
  if ('duckdb' in warehouse)
    return { ...warehouse, folder: dirname(config.file), secrets: privatePlaces(config) }
  const url = await readSecret(warehouse.postgres, env).catch((error: unknown) => {
    if (!(error instanceof SyncError)) throw error
    throw new SyncError(error.code, `The URL of the warehouse ${name}: ${error.message}`)
  })
  return { url }
}
