// The console of a worker: where `worker.console` is set, the process of a worker serves the pages too.

import { basename, relative } from 'node:path'
import { loadConfig, readLedgerPlace } from '../../config/index.ts'
import type { ActionPlace } from '../actions/place.ts'
import { consolePartsOf, startConsole, type RunningConsole } from '../console/index.ts'
import { LedgerError } from '../core/errors.ts'
import { splitHostPort } from '../core/loopback.ts'
import type { Logger } from '../core/ports.ts'
import { LedgerWatch, openLedger, openQuotaStore } from '../ledger/open.ts'

interface Served {
  readonly configFile: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly logger: Logger
}

/** @throws ConfigError if other machines reach the address, and what that needs is missing; SyncError `port_taken` */
export async function serveConsole(served: Served, address: string): Promise<RunningConsole> {
  const { host, port } = splitHostPort(address)
  const { logger } = served
  const running = await startConsole({
    parts: consolePartsOf(placeOf(served)),
    host,
    port,
    logger,
    portAdvice: 'change worker.console, which one worker of a machine has',
  })
  logger.info({ url: running.url }, 'worker_console')
  return running
}

function placeOf({ configFile, env, logger }: Served): ActionPlace {
  const load = () => loadConfig(configFile, env)
  const ledgerPlace = async () => await readLedgerPlace((await load()).ledger, env)
  const option =
    basename(configFile) === 'records-sync.yaml' ? '' : ` -c ${relative('.', configFile)}`
  const watch = new LedgerWatch()
  const place: ActionPlace = {
    configFile,
    env,
    terminal: { err: (line) => logger.info({ line }, 'console_waits') },
    hint: (command) => `records-sync${option} ${command}`,
    loadConfig: load,
    openLedger: async ({ readOnly = true, thread = false, isWatched = false } = {}) =>
      await openLedger(await ledgerPlace(), { readOnly, thread, ...(isWatched && { watch }) }),
    async findLedger(options = {}) {
      try {
        return await place.openLedger(options)
      } catch (error) {
        if (error instanceof LedgerError && error.code === 'ledger_missing') return null
        throw error
      }
    },
    openQuotas: async () => await openQuotaStore(await ledgerPlace()),
  }
  return place
}
