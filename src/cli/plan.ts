// `records-sync plan SYNC`: what a run would do, and how long its requests take. Nothing is written to the service. Needs no
// Temporal server.

import { hostname } from 'node:os'
import { silentLogger } from '../core/ports.ts'
import { findSync } from '../core/sync.ts'
import type { CommandContext } from './context.ts'
import { forecast, quotaOfKey } from './forecast.ts'
import { planImport } from './plan-import.ts'
import { planMirror } from './plan-mirror.ts'
import type { PlanParts } from './plan-parts.ts'

export async function plan(context: CommandContext, name: string): Promise<number> {
  const config = await context.loadConfig()
  const sync = findSync(config, name)
  const { connector } = await import('../connections.ts')
  const quotas = await context.openQuotas()
  const connections = connector({
    configFile: context.configFile,
    env: context.env,
    logger: silentLogger,
    quotas: { store: quotas, user: `plan ${process.pid} on ${hostname()}` },
  })
  try {
    const connection = sync.kind === 'import' ? sync.import.to : sync.mirror.from
    const { client, keyFingerprint } = await connections.connect(connection)
    const parts: PlanParts = {
      client,
      keyFingerprint,
      connect: connections.connect,
      forecastOf: async (requests, priority = sync.kind) => {
        const key = { origin: client.origin, fingerprint: keyFingerprint }
        const { reserve } = config.connections[connection]!.quota
        const limit = client.quota.limitPerMinute()
        return forecast(requests, priority, await quotaOfKey(quotas, key), { limit, reserve })
      },
    }
    return sync.kind === 'import'
      ? await planImport(context, sync, parts)
      : await planMirror(context, sync, parts)
  } finally {
    context.terminal.endLive()
    await connections.close()
    await quotas.close()
  }
}
