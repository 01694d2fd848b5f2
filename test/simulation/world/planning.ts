// Somebody makes a plan of an import: `plan SYNC --diff`, the product's own command, in a process of its own.

import { join } from 'node:path'
import { findSync, loadConfig } from '../../../config/index.ts'
import { planImport } from '../../../src/cli/commands/plan-import.ts'
import type { CommandContext } from '../../../src/cli/shared/context.ts'
import { forecast } from '../../../src/cli/shared/forecast.ts'
import type { Logger } from '../../../src/core/ports.ts'
import { openPostgresLedger } from '../../../src/ledger/postgres/index.ts'
import { openQuotaStore } from '../../../src/ledger/open.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { createClientRegistry } from '../../../src/resources/client-registry.ts'
import type { WorkerParts } from './worker.ts'

export type PlannerParts = Pick<
  WorkerParts,
  'process' | 'folder' | 'configFile' | 'env' | 'network' | 'database'
> & { readonly logger: Logger }

/** Nobody reads along. */
const terminal: CommandContext['terminal'] = {
  out: () => {},
  err: () => {},
  live: () => {},
  endLive: () => {},
  style: (_, text) => text,
}

function contextOf({ folder, configFile, env, database }: PlannerParts): CommandContext {
  const place = database ?? { sqlite: join(folder, 'ledger.db') }
  const openLedger = async () =>
    'sqlite' in place ? openSqliteLedger(place.sqlite) : await openPostgresLedger(place)
  return {
    terminal,
    json: true,
    configFile,
    env: { ...env },
    hint: (command) => `records-sync ${command}`,
    loadConfig: () => loadConfig(configFile, env),
    openLedger,
    findLedger: openLedger,
    openQuotas: () => openQuotaStore(place, { onSetAside: () => {} }),
  }
}

/** @throws whatever the command says in place of a plan */
export async function planWithDiff(name: string, parts: PlannerParts): Promise<void> {
  await parts.process.run(async () => {
    const context = contextOf(parts)
    const { configFile, env, logger, network, process } = parts
    const sync = findSync(await context.loadConfig(), name)
    if (sync.kind !== 'import') throw new Error(`${name} is no import`)
    const quotas = await context.openQuotas()
    const connections = createClientRegistry({
      configFile,
      env,
      logger,
      quotas: { store: quotas, user: process.name },
      connect: network.connect,
    })
    try {
      const { client, keyFingerprint } = await connections.connect(sync.import.to)
      const { connect } = connections
      const forecastOf = async (requests: number, priority = 'import' as const) =>
        forecast(requests, priority, null, { limit: client.quota.limitPerMinute(), reserve: 0 })
      await planImport(
        context,
        sync,
        { client, keyFingerprint, connect, forecastOf },
        { diff: true },
      )
    } finally {
      await connections.close()
      await quotas.close()
    }
  })
}
