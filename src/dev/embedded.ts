// The embedded engine: service, Temporal development server and worker in one process, for `dev` and the demo.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SyncError } from '../core/errors.ts'
import type { Logger } from '../core/ports.ts'
import { UI_PORT_ABOVE } from '../core/temporal/temporal-ui.ts'
import { startService, type RunningService } from '../service/index.ts'
import { startWorker } from '../worker.ts'
import { findTemporalCli } from './temporal-cli.ts'
import { startTemporal } from './temporal-server.ts'

export interface EmbeddedOptions {
  readonly configFile: string
  readonly env: NodeJS.ProcessEnv
  /** Folder for the Temporal database and the key file. */
  readonly stateDir: string
  /** Port of the Records Service; 0 for a free one; null to start none. */
  readonly servicePort: number | null
  readonly serviceLimit: number | null
  /** Port of the Temporal server; 0 for a free one. */
  readonly temporalPort: number
  readonly keepHistory: boolean
  readonly logger: Logger
  progress(line: string): void
}

/** Starts all parts; if a later part fails, the started ones are stopped again. */
export async function startEmbedded(options: EmbeddedOptions) {
  const { configFile, stateDir, logger, progress } = options
  const uiPort = options.temporalPort === 0 ? 0 : options.temporalPort + UI_PORT_ABOVE
  if (
    options.servicePort &&
    (options.servicePort === uiPort || options.servicePort === options.temporalPort)
  )
    throw new SyncError(
      'port_taken',
      `Port ${options.servicePort} is wanted twice: for the Records Service, and for ${
        options.servicePort === uiPort
          ? `the Temporal UI, which is ${UI_PORT_ABOVE} above the Temporal server's ${options.temporalPort}`
          : 'the Temporal server'
      }. Choose another --service-port or --temporal-port`,
      { port: options.servicePort },
    )
  mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  const stops: (() => Promise<unknown>)[] = []
  /** Stops all parts: the worker first, so that its batches in flight are settled. */
  const stop = async () => {
    // Bounded: every part that was started is stopped once.
    for (let next = stops.pop(); next; next = stops.pop()) await next()
  }
  try {
    const env = { ...options.env }
    let service: RunningService | null = null
    let keyFile: string | null = null
    if (options.servicePort !== null) {
      service = await startService({
        port: options.servicePort,
        limitPerMinute: options.serviceLimit,
      })
      stops.push(service.close)
      keyFile = join(stateDir, 'dev.key')
      writeFileSync(keyFile, `${service.key}\n`, { mode: 0o600 })
      env['RECORDS_URL'] ??= service.url
      env['RECORDS_API_KEY'] ??= service.key
    }
    const { path } = await findTemporalCli({ env: options.env, progress })
    const temporal = await startTemporal({
      cliPath: path,
      port: options.temporalPort,
      // `links` and the codec server look for it on this port.
      uiPort,
      logger,
      ...(options.keepHistory ? { dbFile: join(stateDir, 'temporal.db') } : {}),
    })
    stops.push(temporal.stop)
    const worker = await startWorker({ configFile, env, temporal, logger })
    stops.push(async () => {
      worker.shutdown()
      await worker.stopped.catch(() => {})
    })
    return { service, keyFile, temporal, worker, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
