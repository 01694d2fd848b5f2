// `records-sync plan SYNC`: what a run would do, and how long its requests take. Nothing is written to the service. Needs no
// Temporal server.

import { findSync, placedMapping } from '../../../config/index.ts'
import { ConfigError } from '../../core/errors.ts'
import { createClients, type CommandContext } from '../shared/context.ts'
import { forecast, readKeyQuota } from '../shared/forecast.ts'
import { planImport, type PlanOptions, type PlanParts } from './plan-import.ts'
import { planMirror } from './plan-mirror.ts'

/** @throws ConfigError if a mirror is asked for its rejects */
export async function plan(
  context: CommandContext,
  name: string,
  options: PlanOptions = {},
): Promise<number> {
  const config = await context.loadConfig()
  const sync = findSync(config, name)
  if (sync.kind === 'mirror' && options.rejects !== undefined)
    throw new ConfigError(
      '--rejects',
      `${name} is a mirror, which has no rejects; expected an import`,
    )
  const quotas = await context.openQuotas()
  const connections = await createClients(context, 'plan', quotas)
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
        return forecast(requests, priority, await readKeyQuota(quotas, key), { limit, reserve })
      },
    }
    return sync.kind === 'import'
      ? await planImport(context, sync, parts, options)
      : await planMirror(context, sync, parts)
  } catch (error) {
    throw await placedMapping(error, context.configFile, context.env)
  } finally {
    context.terminal.endLive()
    await connections.close()
    await quotas.close()
  }
}
