// Whether the services of one run or of several answer and accept its keys, asked before anything is started for it: a person at one terminal corrects
// an address or a key at once, and a run that waits for that helps nobody.

import { placedService, type Config, type SyncConfig } from '../../../config/index.ts'
import { isOfKey, SyncError } from '../../core/errors.ts'
import { findParts } from '../../dev/parts.ts'
import { connectionsOf } from '../../resources/deprecations.ts'
import { createClients, type CommandContext } from './context.ts'
import { withinDev } from './command-line.ts'
import { devCommand, isOfDev } from './dev-service.ts'
import { findQuotas } from './forecast.ts'

/** After this time a service counts as slow: the run itself waits for it. */
const MAX_MS = 10_000

/** @param command `run contacts` @throws SyncError `dev_service_missing`; why a service is not used */
export async function requireServices(
  context: CommandContext,
  config: Config,
  { syncs, command }: { readonly syncs: readonly SyncConfig[]; readonly command: string },
): Promise<void> {
  const quotas = await findQuotas(context)
  const clients = await createClients(context, 'run', quotas)
  try {
    for (const [name, sync] of byConnection(syncs)) {
      const signal = AbortSignal.timeout(MAX_MS)
      try {
        const { client } = await clients.connect(name)
        await client.readSelf({ signal, priority: 'interactive' })
      } catch (error) {
        if (!signal.aborted) throw await refusal(context, config, { name, sync, command, error })
      }
    }
  } finally {
    await clients.close()
    await quotas?.close()
  }
}

/** Each connection once, with the first of the syncs that use it. */
function byConnection(syncs: readonly SyncConfig[]): ReadonlyMap<string, string> {
  const first = new Map<string, string>()
  for (const sync of syncs)
    for (const name of connectionsOf(sync)) if (!first.has(name)) first.set(name, sync.name)
  return first
}

async function refusal(
  context: CommandContext,
  config: Config,
  of: {
    readonly name: string
    readonly sync: string
    readonly command: string
    readonly error: unknown
  },
): Promise<unknown> {
  const { configFile, env, hint } = context
  const { name, sync, command, error } = of
  const connection = config.connections[name]
  const isMissing = findParts(configFile)?.service == null
  if (connection && isMissing && isOfDev(configFile, connection)) {
    const dev = await devCommand(context, sync)
    return new SyncError(
      'dev_service_missing',
      `Connection ${name} leads to the Records Service of "records-sync dev" (${connection.service}), which does not run. Run it with the sync: ${hint(withinDev(command, dev))}`,
    )
  }
  const placed = await placedService(error, name, configFile, env)
  if (isOfKey(error) || !(placed instanceof SyncError)) return placed
  const message = `${placed.message}${placed.message.endsWith('?') ? '' : '.'} Nothing was started`
  return new SyncError(placed.code, message, placed.details)
}
