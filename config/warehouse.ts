// Where a warehouse is, with its secrets read.

import { dirname, join } from 'node:path'
import type { z } from 'zod'
import { ConfigError } from '../src/core/errors.ts'
import { joinWords, suggestNearest } from '../src/core/suggest.ts'
import { markOf } from '../src/settings/marks.ts'
import type { SecretSource } from '../src/settings/parts.ts'
import { warehouseOf, type WarehousePlace } from '../src/warehouses/index.ts'
import type { Environment } from './environment.ts'
import type { Config } from './load.ts'
import { readNamedSecret } from './secret.ts'

/** Files and folders that no query may read: those that hold keys, ledgers, and the system's facts about processes. */
function privatePlaces({ file, ledger, keyFiles }: Config): string[] {
  const places = [join(dirname(file), '.records-sync'), '/proc', '/sys', '/dev/fd', ...keyFiles]
  if ('sqlite' in ledger) {
    const quota = join(dirname(ledger.sqlite), 'quota.db')
    for (const path of [ledger.sqlite, quota]) places.push(path, `${path}-wal`, `${path}-shm`)
  }
  return places
}

/**
 * The warehouse of that name as its driver takes it: its secrets are read.
 * @throws ConfigError that lists the names there are; SyncError `secret_unavailable`
 */
export async function readWarehousePlace(
  config: Config,
  name: string,
  env: Environment,
): Promise<WarehousePlace> {
  const { warehouses } = config
  const warehouse = Object.hasOwn(warehouses, name) ? warehouses[name] : undefined
  if (warehouse === undefined) {
    const names = Object.keys(warehouses)
    const list = names.length === 0 ? 'there are none' : `valid: ${joinWords(names)}`
    throw new ConfigError(config.file, [
      { message: `no warehouse \`${name}\`; ${list}${suggestNearest(name, names)}` },
    ])
  }
  // By the schema of its driver: what is marked as a secret is one.
  const { settings } = warehouseOf(warehouse)
  const read = Object.entries(warehouse).map(async ([setting, value]) => {
    const mark = markOf(settings[setting] as z.ZodType)
    if (mark?.is !== 'secret') return [setting, value] as const
    const called = `${mark.what} of the warehouse ${name}`
    return [setting, await readNamedSecret(called, value as SecretSource, env)] as const
  })
  const place: Record<string, unknown> = {
    ...Object.fromEntries(await Promise.all(read)),
    folder: dirname(config.file),
    secrets: privatePlaces(config),
  }
  return place as WarehousePlace
}
