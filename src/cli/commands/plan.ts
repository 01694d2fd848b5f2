// `records-sync plan SYNC`: what a run would do, and how long its requests take. Nothing is written to the service. Needs no
// Temporal server.

import { findSync, placedMapping, placedService } from '../../../config/index.ts'
import { ConfigError } from '../../core/errors.ts'
import { createClients, type CommandContext } from '../shared/context.ts'
import { readKeyQuota } from '../../resources/run-quota.ts'
import { forecast } from '../shared/forecast.ts'
import { checkPlanOptions, showPlanByNumber, showPlanOfRun } from './plan-diff.ts'
import { planImport, type PlanOptions, type PlanParts } from './plan-import.ts'
import { planMirror } from './plan-mirror.ts'

/** @throws ConfigError if a mirror is asked for what imports alone have */
export async function plan(
  context: CommandContext,
  name: string,
  options: PlanOptions = {},
): Promise<number> {
  const config = await context.loadConfig()
  const sync = findSync(config, name)
  checkPlanOptions(options)
  if (sync.kind === 'mirror') requireImport(name, options)
  if (options.number !== undefined)
    return await showPlanByNumber(context, name, options.number, options)
  if (options.run !== undefined) return await showPlanOfRun(context, name, options.run, options)
  const quotas = await context.openQuotas()
  const connections = await createClients(context, 'plan', quotas)
  const connection = sync.kind === 'import' ? sync.import.to : sync.mirror.from
  try {
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
    const { configFile, env } = context
    // The records of an import may come from another service, which may be the one that does not answer.
    const isOfOne = sync.kind === 'mirror' || !('records' in sync.import.from)
    const placed = isOfOne ? await placedService(error, connection, configFile, env) : error
    throw await placedMapping(placed, configFile, env)
  } finally {
    context.terminal.endLive()
    await connections.close()
    await quotas.close()
  }
}

function requireImport(name: string, { rejects, diff, number, run }: PlanOptions): void {
  const refuse = (option: string, lack: string) => {
    throw new ConfigError(option, `${name} is a mirror, which has no ${lack}; expected an import`)
  }
  if (rejects !== undefined) refuse('--rejects', 'rejects')
  if (diff === true) refuse('--diff', 'rows to send')
  if (number !== undefined) refuse('--number', 'kept plans')
  if (run !== undefined) refuse('--run', 'kept plans')
}
