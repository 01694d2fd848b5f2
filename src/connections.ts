// Clients by connection of the configuration file. Apart from worker.ts, so that a command which only asks the service
// need not load the worker.

import { loadConfig, readSecret } from '../config/index.ts'
import { RecordsClient } from './client/index.ts'
import { ConfigError } from './core/errors.ts'
import type { Logger } from './core/ports.ts'

/** Clients by connection; one whose address or operations changed in the file is replaced. */
export function connector(options: {
  configFile: string
  env: Readonly<Record<string, string | undefined>>
  logger: Logger
}) {
  const clients = new Map<string, { settings: string; client: RecordsClient }>()
  return {
    async connect(name: string): Promise<{ client: RecordsClient; keyFingerprint: string }> {
      const config = await loadConfig(options.configFile, options.env)
      const connection = config.connections[name]
      if (!connection)
        throw new ConfigError(config.file, [{ message: `there is no connection "${name}"` }])
      const { service, operations } = connection
      const settings = JSON.stringify({ service, operations })
      let known = clients.get(name)
      if (!known || known.settings !== settings) {
        await known?.client.close()
        const client = new RecordsClient({
          baseUrl: service,
          operations,
          key: async () => {
            const fresh = await loadConfig(options.configFile, options.env)
            return await readSecret(fresh.connections[name]?.key ?? connection.key, options.env)
          },
          logger: options.logger,
        })
        known = { settings, client }
        clients.set(name, known)
      }
      return { client: known.client, keyFingerprint: await known.client.keyFingerprint() }
    },
    async close() {
      for (const { client } of clients.values()) await client.close()
    },
  }
}
